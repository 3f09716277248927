/* SPDX-License-Identifier: MIT */
/* The store on the kernel's disk, and the command `disk`. */
#include "replay/store_disk.h"

#include "arch/x86/virtio_blk.h"
#include "kernel/command.h"
#include "kernel/disk.h"
#include "kernel/err.h"
#include "kernel/printf.h"
#include "kernel/string.h"
#include "kernel/waitqueue.h"
#include "replay/recording_file.h"

#define CONFIRMATION "erase"

static struct mutex store_mutex;
static struct store store;         /* store_mutex */
static struct store_device device; /* store_mutex; fixed once the disk was looked at */

static int device_read(void *context, uint64_t sector, uint32_t count, void *buffer)
{
    (void)context;
    return disk_read(sector, count, buffer);
}

static int device_write(void *context, uint64_t sector, uint32_t count, const void *buffer)
{
    (void)context;
    return disk_write(sector, count, buffer);
}

static int device_flush(void *context)
{
    (void)context;
    return disk_flush();
}

static int find_device(void)
{
    if (!disk_present())
        return ERR_NO_DISK;
    device = (struct store_device){
        .read = device_read,
        .write = device_write,
        .flush = device_flush,
        .sectors = disk_sectors(),
        .read_only = disk_read_only(),
    };
    return 0;
}

static int mount_or_format(void)
{
    int error = find_device();
    if (!error)
        error = store_mount(&store, &device);
    if (error != ERR_STORE_BLANK || device.read_only)
        return error;
    printk("disk: blank; formatted for recordings\n");
    return store_format(&store, &device, recording_new_id());
}

int store_disk_open(struct store **out)
{
    mutex_lock(&store_mutex);
    int error = store.device && disk_present() ? 0 : mount_or_format();
    if (error)
        mutex_unlock(&store_mutex);
    *out = error ? NULL : &store;
    return error;
}

void store_disk_release(void)
{
    mutex_unlock(&store_mutex);
}

/* --- the command --- */

static void print_features(const char *what, uint64_t features)
{
    char text[320] = "";
    size_t used = 0;
    for (unsigned bit = 0; bit < 64 && used < sizeof(text); bit++) {
        const char *name = virtio_blk_feature_name(bit);
        if (!(features & 1ull << bit))
            continue;
        used += (size_t)(name ? format_text(text + used, sizeof(text) - used, " %s", name)
                              : format_text(text + used, sizeof(text) - used, " %u", bit));
    }
    printk("  %s%s\n", what, text);
}

static void print_device(const struct disk_info *info)
{
    printk("  virtio-blk at %02x:%02x.%x, %s%s, %llu KiB, requests up to %u KiB\n", info->bus,
           info->device, info->function, info->kind, disk_read_only() ? ", read-only" : "",
           (unsigned long long)disk_sectors() / 2, info->sectors_max / 2);
    print_features("features in use: ", info->features);
    print_features("features offered:", info->offered);
    printk("  %llu reads (%llu KiB), %llu writes (%llu KiB), %llu flushes%s, %llu errors\n",
           (unsigned long long)info->reads, (unsigned long long)info->sectors_read / 2,
           (unsigned long long)info->writes, (unsigned long long)info->sectors_written / 2,
           (unsigned long long)info->flush_requests, info->flushes ? "" : " (it has no cache)",
           (unsigned long long)info->errors);
    printk("@disk sectors=%llu read_only=%d reads=%llu writes=%llu flushes=%llu errors=%llu\n",
           (unsigned long long)disk_sectors(), disk_read_only(), (unsigned long long)info->reads,
           (unsigned long long)info->writes, (unsigned long long)info->flush_requests,
           (unsigned long long)info->errors);
}

static int show_disk(void)
{
    struct disk_info info;
    if (!disk_present()) {
        printk("  no disk: %s\n", disk_absence());
        return ERR_NO_DISK;
    }
    disk_get_info(&info);
    print_device(&info);
    return 0;
}

static int format_disk(void)
{
    mutex_lock(&store_mutex);
    int error = store.writing ? ERR_STORE_OPEN : find_device();
    if (!error)
        error = store_format(&store, &device, recording_new_id());
    if (!error)
        recording_forget_file(NULL);
    mutex_unlock(&store_mutex);
    if (!error)
        printk("disk: formatted for recordings\n");
    return error;
}

static int command_disk(int count, char **words)
{
    if (count == 1)
        return show_disk();
    if (count == 3 && strcmp(words[1], "format") == 0 && strcmp(words[2], CONFIRMATION) == 0)
        return format_disk();
    return ERR_USAGE;
}

static struct command disk_command = {
    .name = "disk",
    .arguments = "[format " CONFIRMATION "]",
    .help = "show the disk; make it an empty store",
    .function = command_disk,
};

void store_disk_init(void)
{
    mutex_init(&store_mutex, "store");
    command_register(&disk_command);
}
