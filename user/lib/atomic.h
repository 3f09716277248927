/* SPDX-License-Identifier: MIT */
/* Atomic operations on 32- and 64-bit words, all sequentially consistent. */
#ifndef USER_LIB_ATOMIC_H
#define USER_LIB_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

#define atomic_load(word) __atomic_load_n((word), __ATOMIC_SEQ_CST)
#define atomic_store(word, value) __atomic_store_n((word), (value), __ATOMIC_SEQ_CST)

/* These return the old value. */
#define atomic_add(word, value) __atomic_fetch_add((word), (value), __ATOMIC_SEQ_CST)
#define atomic_exchange(word, value) __atomic_exchange_n((word), (value), __ATOMIC_SEQ_CST)

/* Stores desired if *word is expected; returns what *word was. */
static inline uint32_t atomic_replace(uint32_t *word, uint32_t expected, uint32_t desired)
{
    __atomic_compare_exchange_n(word, &expected, desired, false, __ATOMIC_SEQ_CST,
                                __ATOMIC_SEQ_CST);
    return expected;
}

/* Tells the CPU (and an emulator) that this is a waiting loop. */
static inline void cpu_relax(void)
{
    __builtin_ia32_pause();
}

#endif
