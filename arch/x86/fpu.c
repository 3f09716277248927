/* SPDX-License-Identifier: MIT */
/* State of the x87, SSE, AVX and AVX-512 units: XSAVE's standard form where offered, else FXSAVE.
 *
 * Both forms share the first 512 bytes; an area as fpu_init_area() makes it is right for either.
 * The kernel itself uses none of these registers, so they hold the current thread's state until it
 * is switched away (eager: no #NM). Context: interrupts off, the owner of the registers. Sources:
 * Intel SDM vol. 1, chapter 13 and 10.5; AMD APM vol. 2, 11.4.4.
 */
#include <stdbool.h>
#include <stddef.h>
#include "arch/x86/arch.h"
#include "arch/x86/context.h"
#include "arch/x86/cpu.h"
#include "kernel/panic.h"
#include "kernel/string.h"

enum fpu_component {
    COMPONENT_X87 = 0,
    COMPONENT_SSE = 1,
    COMPONENT_AVX = 2,
    COMPONENT_OPMASK = 5,
    COMPONENT_ZMM_HIGH = 6,
    COMPONENT_ZMM_MORE = 7,
    COMPONENTS = 8,
};

#define BIT(component) (1ull << (component))
#define COMPONENTS_ALWAYS (BIT(COMPONENT_X87) | BIT(COMPONENT_SSE))
#define COMPONENTS_AVX512                                                                          \
    (BIT(COMPONENT_OPMASK) | BIT(COMPONENT_ZMM_HIGH) | BIT(COMPONENT_ZMM_MORE))
#define COMPONENTS_KNOWN (COMPONENTS_ALWAYS | BIT(COMPONENT_AVX) | COMPONENTS_AVX512)

#define LEAF_XSAVE 0xd
#define FCW_INITIAL 0x37f
#define MXCSR_INITIAL 0x1f80
#define MXCSR_MASK_DEFAULT 0xffbf /* when FXSAVE stores 0 */

/* FXSAVE's 512 bytes, then XSAVE's header. */
struct fpu_legacy {
    uint16_t fcw, fsw;
    uint8_t ftw, reserved0;
    uint16_t fop;
    uint64_t fip, fdp;
    uint32_t mxcsr, mxcsr_mask;
    uint8_t st[8][16]; /* 10 bytes used of each */
    uint8_t xmm[16][16];
    uint8_t reserved1[96];
    uint64_t xstate_bv, xcomp_bv;
    uint8_t reserved2[48];
};
_Static_assert(offsetof(struct fpu_legacy, xmm) == 160, "Intel SDM vol. 1, table 10-2");
_Static_assert(offsetof(struct fpu_legacy, xstate_bv) == 512, "Intel SDM vol. 1, 13.4.2");
_Static_assert(sizeof(struct fpu_legacy) == 576, "Intel SDM vol. 1, 13.4");

/* Fixed by the boot CPU. */
static uint64_t components = COMPONENTS_ALWAYS;
static uint32_t area_size = 512;
static uint32_t mxcsr_mask = MXCSR_MASK_DEFAULT;
static bool stale_error_pointers; /* AMD: FXRSTOR may leave FIP, FDP and FOP of the thread before */
static struct {
    uint32_t offset, size;
} layout[COMPONENTS];

static void set_xcr0(uint64_t value)
{
    __asm__ volatile("xsetbv" ::"c"(0), "a"((uint32_t)value), "d"((uint32_t)(value >> 32)));
}

/* The size of an area with the components that XCR0 has now. */
static uint32_t enabled_size(void)
{
    uint32_t out[4];

    cpu_cpuid(LEAF_XSAVE, 0, out);
    return out[1];
}

static void find_layout(void)
{
    uint32_t out[4];

    for (uint32_t i = COMPONENT_AVX; i < COMPONENTS; i++) {
        cpu_cpuid(LEAF_XSAVE, i, out);
        layout[i].size = (components & BIT(i)) ? out[0] : 0;
        layout[i].offset = (components & BIT(i)) ? out[1] : 0;
        kassert(layout[i].offset + layout[i].size <= area_size);
    }
}

static void choose_components(void)
{
    uint32_t out[4];

    cpu_cpuid(LEAF_XSAVE, 0, out);
    components = (out[0] | (uint64_t)out[3] << 32) & COMPONENTS_KNOWN;
    if ((components & COMPONENTS_AVX512) != COMPONENTS_AVX512 || !(components & BIT(COMPONENT_AVX)))
        components &= ~COMPONENTS_AVX512; /* XCR0 takes them together or not at all */
    set_xcr0(components);
    if (enabled_size() > FPU_AREA_MAX) {
        components &= ~COMPONENTS_AVX512;
        set_xcr0(components);
    }
    area_size = enabled_size();
    kassert(area_size <= FPU_AREA_MAX);
    find_layout();
}

static void find_mxcsr_mask(void)
{
    static struct fpu_legacy picture __attribute__((aligned(64)));

    __asm__ volatile("fxsave64 %0" : "=m"(picture));
    if (picture.mxcsr_mask)
        mxcsr_mask = picture.mxcsr_mask;
}

static void find_stale_error_pointers(void)
{
    uint32_t out[4] = {0};

    if (cpu_features.max_extended_leaf >= 0x80000008)
        cpu_cpuid(0x80000008, 0, out);
    stale_error_pointers = strcmp(cpu_features.vendor, "AuthenticAMD") == 0 && !(out[1] & 1u << 2);
}

void fpu_setup(void)
{
    static uint8_t initial[FPU_AREA_MAX] __attribute__((aligned(64)));

    __asm__ volatile("clts; fninit");
    if (this_cpu()->index == 0) {
        if (cpu_features.xsave)
            choose_components();
        find_mxcsr_mask();
        find_stale_error_pointers();
        fpu_init_area(initial);
    } else if (cpu_features.xsave) {
        set_xcr0(components);
        kassert(enabled_size() == area_size);
    }
    fpu_restore(initial);
}

uint32_t fpu_area_size(void)
{
    return area_size;
}

uint32_t fpu_mxcsr_mask(void)
{
    return mxcsr_mask;
}

uint64_t fpu_components(void)
{
    return components;
}

void fpu_init_area(void *area)
{
    struct fpu_legacy *legacy = area;

    memset(area, 0, FPU_AREA_MAX);
    legacy->fcw = FCW_INITIAL;
    legacy->mxcsr = MXCSR_INITIAL;
}

void fpu_save(void *area)
{
    if (cpu_features.xsave)
        __asm__ volatile("xsave64 (%0)" ::"r"(area), "a"((uint32_t)components),
                         "d"((uint32_t)(components >> 32))
                         : "memory");
    else
        __asm__ volatile("fxsave64 (%0)" ::"r"(area) : "memory");
}

/* FILD of a variable of the kernel's makes the pointers the same for every thread. */
static void hide_error_pointers(void)
{
    static const uint32_t zero;

    __asm__ volatile("fnclex; emms; fildl %0" ::"m"(zero));
}

void fpu_restore(const void *area)
{
    if (stale_error_pointers)
        hide_error_pointers();
    if (cpu_features.xsave)
        __asm__ volatile("xrstor64 (%0)" ::"r"(area), "a"((uint32_t)components),
                         "d"((uint32_t)(components >> 32))
                         : "memory");
    else
        __asm__ volatile("fxrstor64 (%0)" ::"r"(area) : "memory");
}

static bool area_is_valid(const void *area)
{
    const struct fpu_legacy *legacy = area;

    if (legacy->mxcsr & ~mxcsr_mask)
        return false;
    if (!cpu_features.xsave)
        return true;
    for (size_t i = 0; i < sizeof(legacy->reserved2); i++)
        if (legacy->reserved2[i])
            return false;
    return (legacy->xstate_bv & ~components) == 0 && legacy->xcomp_bv == 0;
}

bool fpu_load_area(void *area, const void *from, uint32_t length)
{
    struct fpu_legacy *legacy = area;

    fpu_init_area(area);
    memcpy(area, from, length);
    if (length <= offsetof(struct fpu_legacy, xstate_bv) && cpu_features.xsave)
        legacy->xstate_bv = COMPONENTS_ALWAYS; /* FXSAVE's: both are there */
    return area_is_valid(area);
}

/* --- the canonical picture --- */

static uint8_t *put(uint8_t *out, const void *from, size_t length)
{
    memcpy(out, from, length);
    return out + length;
}

static bool all_zero(const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (bytes[i])
            return false;
    return true;
}

/* Without FIP, FDP, FOP: whether they are kept differs between CPUs. */
static uint8_t *put_x87(uint8_t *out, const struct fpu_legacy *legacy)
{
    out = put(out, &legacy->fcw, sizeof(legacy->fcw));
    out = put(out, &legacy->fsw, sizeof(legacy->fsw));
    out = put(out, &legacy->ftw, sizeof(legacy->ftw));
    for (int i = 0; i < 8; i++)
        out = put(out, legacy->st[i], 10);
    return out;
}

/* A component in its initial state is all zero, but for the x87 control word. MXCSR does not depend
 * on XSTATE_BV: XRSTOR always loads it. */
uint32_t fpu_canonical(const void *area, uint8_t *out)
{
    static const struct fpu_legacy initial = {.fcw = FCW_INITIAL};
    const struct fpu_legacy *legacy = area;
    uint64_t valid = cpu_features.xsave ? legacy->xstate_bv : COMPONENTS_ALWAYS;
    uint8_t *next = out;

    next = put_x87(next, valid & BIT(COMPONENT_X87) ? legacy : &initial);
    next = put(next, &legacy->mxcsr, sizeof(legacy->mxcsr));
    next = put(next, valid & BIT(COMPONENT_SSE) ? legacy->xmm : initial.xmm, sizeof(legacy->xmm));
    for (uint8_t i = COMPONENT_AVX; i < COMPONENTS; i++) {
        const uint8_t *component = (const uint8_t *)area + layout[i].offset;
        if (!(valid & BIT(i)) || all_zero(component, layout[i].size))
            continue;
        next = put(next, &i, sizeof(i));
        next = put(next, component, layout[i].size);
    }
    return (uint32_t)(next - out);
}
