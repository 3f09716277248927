/* SPDX-License-Identifier: MIT */
/* Time: the TSC calibrated against HPET, ACPI PM timer or PIT, and a one-shot interrupt per CPU.
 */
#ifndef ARCH_X86_TIMER_H
#define ARCH_X86_TIMER_H

#include <stdbool.h>
#include <stdint.h>

/* Boot CPU: finds a reference (in the order HPET, ACPI PM timer, PIT), calibrates TSC and LAPIC
 * timer, checks the result for sense (three tries that agree within 1 %, else the median and a
 * warning on the console). */
void timer_init(void);
void timer_setup_cpu(void); /* on every CPU: TSC-deadline where offered, else LAPIC one-shot */

uint64_t timer_now_ns(void);            /* since timer_init; monotonic per CPU; any context */
uint64_t timer_tsc_to_ns(uint64_t tsc); /* on the same scale; a time before it is 0 */
uint64_t timer_tsc_khz(void);
uint64_t timer_tsc_hz(void);
const char *timer_reference_name(void); /* "HPET", "ACPI PM timer", "PIT" */
const char *timer_event_name(void);     /* "TSC-deadline", "LAPIC one-shot" */

/* upcall_timer() on this CPU at or soon after the given time; replaces what was armed. A time in
 * the past fires at once. UINT64_MAX: none. Interrupts off. */
void timer_arm_at_ns(uint64_t when);

/* Busy wait for hardware protocols at boot. */
void timer_delay_us(uint32_t microseconds);

#endif
