/* SPDX-License-Identifier: MIT */
/* The disk: requests of any length, from threads and from code that must not block.
 *
 * Threads share one slot of the driver, by a mutex; code with interrupts off uses the other one, by
 * the disk lock, which it holds from submission to completion. Threads take that lock only to
 * submit and to look, so the two never wait for each other longer than a request lasts.
 */
#include "kernel/disk.h"

#include "arch/x86/layout.h"
#include "arch/x86/timer.h"
#include "arch/x86/virtio_blk.h"
#include "kernel/err.h"
#include "kernel/panic.h"
#include "kernel/printf.h"
#include "kernel/spinlock.h"
#include "kernel/thread.h"
#include "kernel/waitqueue.h"

_Static_assert(DISK_SECTOR == VIRTIO_BLK_SECTOR, "one size of sectors");

/* A request is late when both are passed: time alone also passes while a host does not run us, and
 * a thread looks only when it gets the CPU. With interrupts off it must be found before the
 * watchdog finds a lockup. */
static const struct {
    uint64_t ns;
    uint32_t looks;
} limits[] = {{20000000000ull, 1000}, {3000000000ull, 100000}}; /* by enum slot */

enum slot { SLOT_THREAD, SLOT_NOW };
_Static_assert(SLOT_NOW < VIRTIO_BLK_SLOTS, "the driver has a slot for each");

static struct mutex disk_mutex; /* SLOT_THREAD */
static struct spinlock disk_lock = SPINLOCK_INIT(LOCK_DISK, "disk");

static struct virtio_blk disk;                            /* fixed after disk_init */
static const char *absence = "it was not looked for yet"; /* disk_lock to write; NULL: present */
static bool failed;                                       /* disk_lock: was present once */
static struct disk_info counters;                         /* disk_lock; only the counters */

/* One request to the device. */
struct request {
    enum slot slot;
    enum virtio_blk_type type;
    uint64_t sector;
    uint32_t count;
    uint64_t physical;
    uint64_t submitted; /* ns */
    uint32_t looks;
};

/* --- one request; the caller holds disk_lock --- */

static void count_request(const struct request *request)
{
    switch (request->type) {
    case VIRTIO_BLK_READ:
        counters.reads++;
        counters.sectors_read += request->count;
        break;
    case VIRTIO_BLK_WRITE:
        counters.writes++;
        counters.sectors_written += request->count;
        break;
    case VIRTIO_BLK_FLUSH:
        counters.flush_requests++;
        break;
    }
}

static int submit(struct request *request)
{
    if (absence)
        return failed ? ERR_DISK_FAILED : ERR_NO_DISK;
    count_request(request);
    request->submitted = timer_now_ns();
    request->looks = 0;
    virtio_blk_submit(request->slot, request->type, request->sector, request->count,
                      request->physical);
    return 0;
}

static void give_up(const char *why)
{
    virtio_blk_stop();
    failed = true;
    __atomic_store_n(&absence, why, __ATOMIC_RELEASE);
    printk("disk: given up: %s\n", why);
}

static bool is_late(struct request *request)
{
    uint64_t now = timer_now_ns();
    if (request->looks < limits[request->slot].looks)
        request->looks++;
    /* A thread may have come to a CPU whose clock is a little behind. */
    return request->looks == limits[request->slot].looks && now > request->submitted &&
           now - request->submitted > limits[request->slot].ns;
}

/* VIRTIO_BLK_PENDING, or how the request ended. */
static int look(struct request *request)
{
    if (failed)
        return ERR_DISK_FAILED; /* by the other slot, while this request was with the device */
    int status = virtio_blk_poll(request->slot);
    if (status == ERR_DISK_PROTOCOL)
        give_up(virtio_blk_offence());
    if (status == VIRTIO_BLK_PENDING && is_late(request)) {
        give_up("a request was not finished in time");
        status = ERR_TIMED_OUT;
    }
    if (status < 0)
        counters.errors++;
    return status;
}

/* --- one request, to its end --- */

static int run_blocking(struct request *request)
{
    bool enabled = spin_lock_irq(&disk_lock);
    int status = submit(request);
    spin_unlock_irq(&disk_lock, enabled);
    if (status)
        return status;
    for (;;) {
        enabled = spin_lock_irq(&disk_lock);
        status = look(request);
        spin_unlock_irq(&disk_lock, enabled);
        if (status != VIRTIO_BLK_PENDING)
            return status;
        cpu_pause();
        thread_yield();
    }
}

static int run_polling(struct request *request)
{
    bool enabled = spin_lock_irq(&disk_lock);
    int status = submit(request);
    if (!status)
        while ((status = look(request)) == VIRTIO_BLK_PENDING)
            cpu_pause();
    spin_unlock_irq(&disk_lock, enabled);
    return status;
}

/* --- any length --- */

/* What the device can be told of a buffer; a mistake of the caller is a panic. */
static uint64_t buffer_physical(const void *buffer)
{
    uint64_t address = (uint64_t)buffer;
    if (address >= DIRECT_MAP_BASE && address < STACKS_BASE)
        return VIRT_TO_PHYS(buffer);
    if (address >= (uint64_t)image_start && address < (uint64_t)image_end)
        return IMAGE_TO_PHYS(buffer);
    panic("disk: a buffer must lie in the direct map or the image, not at 0x%lx", address);
}

static int transfer(enum slot slot, enum virtio_blk_type type, uint64_t sector, uint32_t count,
                    const void *buffer)
{
    int (*run)(struct request *) = slot == SLOT_NOW ? run_polling : run_blocking;
    uint64_t physical = buffer_physical(buffer);
    if (sector > disk.sectors || count > disk.sectors - sector)
        return disk.sectors ? ERR_RANGE : ERR_NO_DISK;
    while (count > 0) {
        uint32_t part = count < disk.sectors_max ? count : disk.sectors_max;
        struct request request = {slot, type, sector, part, physical, 0, 0};
        int status = run(&request);
        if (status)
            return status;
        sector += part;
        count -= part;
        physical += (uint64_t)part * DISK_SECTOR;
    }
    return 0;
}

static int transfer_blocking(enum virtio_blk_type type, uint64_t sector, uint32_t count,
                             const void *buffer)
{
    kassert(spin_locks_held() == 0 && irq_enabled());
    mutex_lock(&disk_mutex);
    int status = transfer(SLOT_THREAD, type, sector, count, buffer);
    mutex_unlock(&disk_mutex);
    return status;
}

int disk_read(uint64_t sector, uint32_t count, void *buffer)
{
    return transfer_blocking(VIRTIO_BLK_READ, sector, count, buffer);
}

int disk_write(uint64_t sector, uint32_t count, const void *buffer)
{
    if (disk.read_only)
        return ERR_READ_ONLY;
    return transfer_blocking(VIRTIO_BLK_WRITE, sector, count, buffer);
}

int disk_read_now(uint64_t sector, uint32_t count, void *buffer)
{
    return transfer(SLOT_NOW, VIRTIO_BLK_READ, sector, count, buffer);
}

/* A device without FLUSH has no volatile cache: what it has finished is durable (VIRTIO 1.2,
 * 5.2.6.2). */
int disk_flush(void)
{
    struct request request = {.slot = SLOT_THREAD, .type = VIRTIO_BLK_FLUSH};
    kassert(spin_locks_held() == 0 && irq_enabled());
    if (!disk_present())
        return failed ? ERR_DISK_FAILED : ERR_NO_DISK;
    if (!disk.flushes)
        return 0;
    mutex_lock(&disk_mutex);
    int status = run_blocking(&request);
    mutex_unlock(&disk_mutex);
    return status;
}

/* --- what is there --- */

const char *disk_absence(void)
{
    return __atomic_load_n(&absence, __ATOMIC_ACQUIRE);
}

bool disk_present(void)
{
    return !disk_absence();
}

uint64_t disk_sectors(void)
{
    return disk_present() ? disk.sectors : 0;
}

bool disk_read_only(void)
{
    return disk.read_only;
}

void disk_get_info(struct disk_info *out)
{
    bool enabled = spin_lock_irq(&disk_lock);
    *out = counters;
    spin_unlock_irq(&disk_lock, enabled);
    out->kind = disk.kind;
    out->bus = disk.bus;
    out->device = disk.device;
    out->function = disk.function;
    out->offered = disk.offered;
    out->features = disk.features;
    out->sectors_max = disk.sectors_max;
    out->flushes = disk.flushes;
}

void disk_init(void)
{
    mutex_init(&disk_mutex, "disk");
    absence = virtio_blk_init(&disk);
    if (!absence)
        printk("disk: virtio-blk, %s, %llu MiB%s\n", disk.kind,
               (unsigned long long)(disk.sectors * DISK_SECTOR >> 20),
               disk.read_only ? ", read-only" : "");
    else if (disk.kind)
        printk("disk: not used: %s\n", absence);
    if (absence)
        disk.sectors = 0;
}
