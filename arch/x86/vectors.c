/* SPDX-License-Identifier: MIT */
/* Names of interrupt vectors. Context: any.
 */
#include "arch/x86/vectors.h"

#include <stddef.h>

struct vector_name {
    const char *mnemonic;
    const char *description;
};

static const struct vector_name vector_names[VECTOR_SYSCALL + 1] = {
#define V(number, name, mnemonic, description, has_error, ist) [number] = {mnemonic, description},
    VECTOR_TABLE(V)
#undef V
        [VECTOR_SYSCALL] = {"SYSCALL", "system call"},
};

static const struct vector_name *vector_lookup(unsigned vector)
{
    if (vector > VECTOR_SYSCALL || vector_names[vector].mnemonic == NULL)
        return NULL;
    return &vector_names[vector];
}

const char *vector_mnemonic(unsigned vector)
{
    const struct vector_name *name = vector_lookup(vector);
    return name ? name->mnemonic : "vector";
}

const char *vector_description(unsigned vector)
{
    const struct vector_name *name = vector_lookup(vector);
    return name ? name->description : "interrupt that nothing was set up for";
}
