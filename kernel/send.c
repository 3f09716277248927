/* SPDX-License-Identifier: MIT */
/* Sends files as lines of text.
 *
 * Locks: sending, a mutex, held from begin to end. Nothing else may be held: the port is slow.
 */
#include "kernel/send.h"

#include "arch/x86/devices.h"
#include "kernel/cmdline.h"
#include "kernel/console.h"
#include "kernel/err.h"
#include "kernel/hash.h"
#include "kernel/panic.h"
#include "kernel/printf.h"
#include "kernel/string.h"
#include "kernel/waitqueue.h"

_Static_assert(SEND_LINE_BYTES % 3 == 0 && SEND_LINE_BYTES / 3 * 4 + 40 <= SEND_LINE_MAX,
               "a full line has no padding and fits");

static struct mutex sending = {.queue = WAIT_QUEUE_INIT(sending.queue, "sending a file")};
static bool dropped; /* sending: text of this file */

static bool use_export_port(void)
{
    char word[16];
    bool console = cmdline_get("export", word, sizeof(word)) && strcmp(word, "console") == 0;
    return !console && serial_export_present();
}

const char *send_port_name(void)
{
    return use_export_port() ? "COM2" : "console";
}

static void send_line(const char *text, size_t length)
{
    if (!use_export_port()) {
        console_end_line();
        console_write(text, length);
    } else if (!serial_export_write(text, length)) {
        dropped = true;
    }
}

static void send_buffered(struct send_file *file)
{
    char line[SEND_LINE_MAX];
    if (file->used == 0)
        return;
    send_line(line, send_format_data(line, file->offset, file->bytes, file->used));
    file->crc = crc32c(file->crc, file->bytes, file->used);
    file->offset += file->used;
    file->used = 0;
}

void send_file_begin(struct send_file *file, const char *name, uint64_t size)
{
    char line[160];
    mutex_lock(&sending);
    dropped = false;
    file->name = name;
    file->size = size;
    file->offset = file->crc = file->used = 0;
    int length = format_text(line, sizeof(line), "@file begin name=%s size=%lu\n", name, size);
    send_line(line, (size_t)length);
}

void send_data(struct send_file *file, const void *data, size_t size)
{
    const uint8_t *from = data;
    while (size > 0) {
        size_t part = SEND_LINE_BYTES - file->used < size ? SEND_LINE_BYTES - file->used : size;
        memcpy(file->bytes + file->used, from, part);
        file->used += (uint32_t)part;
        from += part;
        size -= part;
        if (file->used == SEND_LINE_BYTES)
            send_buffered(file);
    }
}

int send_file_end(struct send_file *file)
{
    char line[160];
    send_buffered(file);
    kassert_equal(file->offset, file->size);
    int length = format_text(line, sizeof(line), "@file end name=%s size=%lu crc=%08x\n",
                             file->name, file->size, file->crc);
    send_line(line, (size_t)length);
    bool failed = dropped;
    mutex_unlock(&sending);
    return failed ? ERR_FAILED : 0;
}
