/* SPDX-License-Identifier: MIT */
/* What a switch of threads needs beside context_switch(): first contexts, and the selectors that
 * ring 3 can see. Context: interrupts off.
 */
#include "arch/x86/context.h"

#include "arch/x86/arch.h"
#include "arch/x86/msr.h"

extern char context_start[]; /* entry.asm: calls R12 with R13 */

/* What context_switch() pops, lowest address first. */
struct switch_frame {
    uint64_t r15, r14, r13, r12, rbx, rbp;
    uint64_t rip;
    uint64_t padding; /* context_start begins with an aligned stack */
};
_Static_assert(sizeof(struct switch_frame) % 16 == 0, "the stack stays aligned");

void context_init(struct context *context, void *stack_top, void (*function)(void *),
                  void *argument)
{
    uint64_t top = (uint64_t)stack_top & ~15ull;
    struct switch_frame *frame = (struct switch_frame *)top - 1;

    *frame = (struct switch_frame){
        .r12 = (uint64_t)function,
        .r13 = (uint64_t)argument,
        .rip = (uint64_t)context_start,
    };
    context->rsp = (uint64_t)frame;
}

#define SEGMENT_READ(name, value) __asm__ volatile("mov %%" #name ", %0" : "=r"(value))
#define SEGMENT_WRITE(name, value) __asm__ volatile("mov %0, %%" #name ::"r"(value) : "memory")

void context_save_segments(struct user_segments *segments)
{
    uint32_t ds, es, fs, gs;

    SEGMENT_READ(ds, ds);
    SEGMENT_READ(es, es);
    SEGMENT_READ(fs, fs);
    SEGMENT_READ(gs, gs);
    segments->ds = (uint16_t)ds;
    segments->es = (uint16_t)es;
    segments->fs = (uint16_t)fs;
    segments->gs = (uint16_t)gs;
    segments->fs_base = msr_read(MSR_FS_BASE);
}

/* Loading GS sets its base, so that is done while the user's is the active one; an NMI there
 * decides by the base itself (entry.asm). A null selector does not clear the base on AMD CPUs: it
 * is written anyway. */
static void load_user_gs(uint32_t selector)
{
    __asm__ volatile("swapgs\n\t"
                     "mov %0, %%gs\n\t"
                     "swapgs" ::"r"(selector)
                     : "memory");
    msr_write(MSR_KERNEL_GS_BASE, 0);
}

void context_load_segments(const struct user_segments *segments)
{
    uint32_t fs, gs;

    SEGMENT_READ(fs, fs);
    SEGMENT_READ(gs, gs);
    SEGMENT_WRITE(ds, (uint32_t)segments->ds);
    SEGMENT_WRITE(es, (uint32_t)segments->es);
    if (fs != segments->fs)
        SEGMENT_WRITE(fs, (uint32_t)segments->fs);
    if (gs != segments->gs)
        load_user_gs(segments->gs);
    msr_write(MSR_FS_BASE, segments->fs_base);
}
