/* SPDX-License-Identifier: MIT */
/* The text of a @data line. Pure. Base64: RFC 4648, section 4. */
#include "kernel/send.h"

#include "kernel/hash.h"
#include "kernel/printf.h"

static const char base64_letters[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* One to three bytes as four letters. */
static void base64_group(char out[4], const uint8_t *bytes, size_t size)
{
    uint32_t bits = (uint32_t)bytes[0] << 16;
    if (size > 1)
        bits |= (uint32_t)bytes[1] << 8;
    if (size > 2)
        bits |= bytes[2];
    for (unsigned i = 0; i < 4; i++)
        out[i] = i <= size ? base64_letters[bits >> (18 - 6 * i) & 63] : '=';
}

size_t send_format_data(char out[SEND_LINE_MAX], uint64_t offset, const uint8_t *bytes, size_t size)
{
    int length = format_text(out, SEND_LINE_MAX, "@data %lu %08x ", offset, crc32c(0, bytes, size));
    size_t used = (size_t)length;
    for (size_t i = 0; i < size; i += 3, used += 4)
        base64_group(out + used, bytes + i, size - i < 3 ? size - i : 3);
    out[used] = '\n';
    return used + 1;
}
