/* SPDX-License-Identifier: MIT */
/* Counters of one CPU: atomic against interrupts and NMIs of that CPU, since each is one
 * instruction, and not against other CPUs, which may only read them: no LOCK prefix, so no bus
 * traffic. Compilers move no memory access across. Stores of one CPU are seen by the others in
 * their order (Intel SDM vol. 3, 8.2.2), so what precedes one of these is seen by whoever sees its
 * result.
 */
#ifndef ARCH_X86_CPU_LOCAL_H
#define ARCH_X86_CPU_LOCAL_H

#include <stdbool.h>
#include <stdint.h>

/* When *word is `expected` it becomes `desired`; else false. */
static inline bool cpu_local_compare_exchange(uint64_t *word, uint64_t expected, uint64_t desired)
{
    bool done;
    __asm__ volatile("cmpxchgq %3, %1"
                     : "=@ccz"(done), "+m"(*word), "+a"(expected)
                     : "r"(desired)
                     : "memory");
    return done;
}

static inline void cpu_local_add(uint64_t *word, uint64_t value)
{
    __asm__ volatile("addq %1, %0" : "+m"(*word) : "er"(value) : "memory", "cc");
}

#endif
