/* SPDX-License-Identifier: MIT */
/* Error codes as text. Any context. */
#include <stdint.h>
#include "kernel/err.h"
#include "kernel/printf.h"

/* Several, so that callers on different CPUs do not overwrite each other's text. */
#define UNKNOWN_SLOTS 16
#define UNKNOWN_SIZE 32

static const char *unknown_text(int64_t code)
{
    static char slots[UNKNOWN_SLOTS][UNKNOWN_SIZE];
    static unsigned next;
    char *slot = slots[__atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % UNKNOWN_SLOTS];

    format_text(slot, UNKNOWN_SIZE, "error %lld", (long long)code);
    return slot;
}

/* The compiler refuses a code that stands twice. */
const char *err_text(int64_t code)
{
    switch (code) {
    case 0:
        return "no error";
#define X(value, name, text)                                                                       \
    case value:                                                                                    \
        return #name ": " text;
        ERR_TABLE(X)
#undef X
#define X(value, name)                                                                             \
    case -(value):                                                                                 \
        return #name;
        ABI_ERROR_TABLE(X)
#undef X
    default:
        return unknown_text(code);
    }
}
