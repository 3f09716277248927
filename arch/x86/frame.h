/* SPDX-License-Identifier: MIT */
/* The registers that every entry into the kernel leaves on the stack.
 *
 * One layout for exceptions, interrupts, NMI and SYSCALL. It is both the saved state of a
 * user thread (at the top of its kernel stack) and what a panic prints.
 */
#ifndef ARCH_X86_FRAME_H
#define ARCH_X86_FRAME_H

#include <stdbool.h>
#include <stdint.h>

/* Lowest address first: the order in which entry.asm leaves them. */
struct trap_frame {
    uint64_t r15, r14, r13, r12, r11, r10, r9, r8;
    uint64_t rbp, rdi, rsi, rdx, rcx, rbx, rax;
    uint64_t vector; /* VECTOR_*, or VECTOR_SYSCALL for the SYSCALL instruction */
    uint64_t error;  /* as the CPU pushed it, else 0 */
    uint64_t rip, cs, rflags, rsp, ss;
};

_Static_assert(sizeof(struct trap_frame) == 22 * 8, "entry.asm knows this layout");

#define RFLAGS_CF (1ull << 0)
#define RFLAGS_FIXED (1ull << 1)
#define RFLAGS_TF (1ull << 8)
#define RFLAGS_IF (1ull << 9)
#define RFLAGS_DF (1ull << 10)
#define RFLAGS_IOPL (3ull << 12)
#define RFLAGS_NT (1ull << 14)
#define RFLAGS_RF (1ull << 16)
#define RFLAGS_AC (1ull << 18)

/* Page-fault error code (Intel SDM vol. 3, 4.7). */
#define PF_PRESENT (1u << 0)
#define PF_WRITE (1u << 1)
#define PF_USER (1u << 2)
#define PF_RESERVED (1u << 3)
#define PF_FETCH (1u << 4)

static inline bool frame_from_user(const struct trap_frame *frame)
{
    return (frame->cs & 3) == 3;
}

#endif
