/* SPDX-License-Identifier: MIT */
/* Files to the outside, as text that survives a serial line and can be checked there.
 *
 *   @file begin name=NAME size=N
 *   @data OFFSET CRC32C BASE64             720 bytes at most, OFFSET decimal, CRC of these bytes
 *   @file end name=NAME size=N crc=CRC32C  of the whole file
 *
 * CRCs are 8 hexadecimal digits. Lines go to the second serial port where there is one, else (or
 * with `export=console` on the kernel's command line) to the console, in whole lines between those
 * of others. tools/receive.c makes files of a captured text.
 *
 * Context: threads. One file at a time: a mutex is held from begin to end.
 */
#ifndef KERNEL_SEND_H
#define KERNEL_SEND_H

#include <stddef.h>
#include <stdint.h>

#define SEND_LINE_BYTES 720 /* a line of the console goes out as one up to 1 KiB */

struct send_file {
    const char *name;
    uint64_t size, offset; /* offset: of what is in `bytes` */
    uint32_t crc, used;
    uint8_t bytes[SEND_LINE_BYTES];
};

/* NAME: letters, digits, `.`, `_`, `-`, and one `/` that is neither first nor last. size: what the
 * calls of send_data() will bring in all. */
void send_file_begin(struct send_file *file, const char *name, uint64_t size);
void send_data(struct send_file *file, const void *data, size_t size);

/* 0, or ERR_FAILED when the port stopped taking text at any time. */
int send_file_end(struct send_file *file);

/* "COM2" or "console": for messages. */
const char *send_port_name(void);

/* The text of one @data line with its end, pure. Returns its length. */
#define SEND_LINE_MAX 1024
size_t send_format_data(char out[SEND_LINE_MAX], uint64_t offset, const uint8_t *bytes,
                        size_t size);

#endif
