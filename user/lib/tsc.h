/* SPDX-License-Identifier: MIT */
/* The time stamp counter, as a program reads it. */
#ifndef USER_LIB_TSC_H
#define USER_LIB_TSC_H

#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>

#define CPUID_EXTENDED_FEATURES 0x80000001u
#define CPUID_EDX_RDTSCP (1u << 27)

static inline uint64_t tsc_read(void)
{
    uint32_t low, high;

    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

/* Only where tsc_has_rdtscp(); *aux receives TSC_AUX. */
static inline uint64_t tsc_read_ordered(uint32_t *aux)
{
    uint32_t low, high;

    __asm__ volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(*aux));
    return (uint64_t)high << 32 | low;
}

static inline bool tsc_has_rdtscp(void)
{
    uint32_t a, b, c, d;

    return __get_cpuid(CPUID_EXTENDED_FEATURES, &a, &b, &c, &d) != 0 && (d & CPUID_EDX_RDTSCP) != 0;
}

#endif
