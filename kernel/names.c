/* SPDX-License-Identifier: MIT */
/* Names of system calls and ordered objects. */
#include "kernel/names.h"

#include "kernel/abi.h"

const char *syscall_name_x86_64(uint64_t number)
{
    switch (number) {
#define X(number, name)                                                                            \
    case number:                                                                                   \
        return #name;
        SYSCALL_TABLE(X)
#undef X
    default:
        return "?";
    }
}

const char *object_name(enum object_id id)
{
    switch (id) {
    case OBJECT_MAP:
        return "address-space map";
    case OBJECT_THREADS:
        return "thread table";
    case OBJECT_OUTPUT:
        return "output";
    default:
        return "futex bucket";
    }
}
