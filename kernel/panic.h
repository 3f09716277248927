/* SPDX-License-Identifier: MIT */
/* Panic: what, where, expected against actual, registers, stack, and one machine-readable line.
 *
 * Any context, NMI included. All other CPUs are stopped by NMI. Ends in QEMU's debug exit with
 * PANIC_EXIT_CODE, else the machine halts.
 */
#ifndef KERNEL_PANIC_H
#define KERNEL_PANIC_H

#include <stdbool.h>
#include <stdint.h>
#include "arch/x86/frame.h"

#define PANIC_EXIT_CODE 0x3e /* QEMU's exit status 125 */

_Noreturn void panic_at(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
_Noreturn void panic_frame(const struct trap_frame *frame, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define panic(...) panic_at(__FILE__, __LINE__, __VA_ARGS__)

/* Stays on in every build. */
#define kassert(condition)                                                                         \
    do {                                                                                           \
        if (__builtin_expect(!(condition), 0))                                                     \
            panic("assertion failed: %s", #condition);                                             \
    } while (0)

/* The values are shown; for quantities of any integer type. */
#define kassert_equal(actual, expected)                                                            \
    do {                                                                                           \
        uint64_t actual_ = (uint64_t)(actual), expected_ = (uint64_t)(expected);                   \
        if (__builtin_expect(actual_ != expected_, 0))                                             \
            panic("assertion failed: %s: expected %s = 0x%lx, actual 0x%lx", #actual, #expected,   \
                  expected_, actual_);                                                             \
    } while (0)

/* For all CPUs' NMI handlers: true while a panic stops the machine, on all CPUs but the one that
 * panicked; the CPU must then call panic_stop_this_cpu(). */
bool panic_in_progress(void);
_Noreturn void panic_stop_this_cpu(const struct trap_frame *frame);

/* Who runs on this CPU, for the panic's report: "thread 3 of sieve". The scheduler's, which
 * replaces a weak one that says "none". No locks, nothing that can fault. */
void panic_describe_thread(char *out, unsigned size);

/* Prints registers with decoded flags, vector and error code ("write to a page not present by
 * user code"), and a backtrace with symbols for kernel frames (it never faults: every address is
 * checked by paging_lookup). Used by panics and by the crash report of a process. */
void report_registers(const struct trap_frame *frame);
void report_backtrace(uint64_t rip, uint64_t rbp);

/* "read of 0x10 (page not present)" … for a vector, error code and address. */
int report_describe_fault(char *out, unsigned size, const struct trap_frame *frame,
                          uint64_t address);

#endif
