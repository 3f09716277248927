/* SPDX-License-Identifier: MIT */
/* Names of what events of a recording refer to: system calls, ordered objects. Pure; also on the
 * host.
 */
#include "kernel/abi.h"
#include "kernel/object.h"
#include "kernel/syscall.h"

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
