/* SPDX-License-Identifier: MIT */
/* Functions to be probed (probe_targets.asm), and how the suites call them. */
#ifndef TESTS_KERNEL_PROBE_TARGETS_H
#define TESTS_KERNEL_PROBE_TARGETS_H

#include <stdint.h>

struct target {
    const char *name;
    uint64_t start, end;
    uint64_t straight; /* 1: each instruction runs once */
};
extern const struct target probe_targets[], probe_targets_end[];

struct target_registers {
    uint64_t rax, rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15, rflags;
};

#define TARGET_DATA_SIZE 512
extern uint8_t probe_target_data[TARGET_DATA_SIZE];

void probe_target_run(struct target_registers *registers, uint64_t function);

void target_bad_load(void); /* its first instruction reads address 8 */

/* NULL: there is none of this name. */
const struct target *probe_target_find(const char *name);

/* Its instructions: their offsets. Returns how many. */
unsigned probe_target_list(const struct target *target, uint16_t *offsets, unsigned limit);

/* What a target made of a start that is always the same. */
struct target_result {
    struct target_registers registers;
    uint8_t data[TARGET_DATA_SIZE];
};
void probe_target_result(const struct target *target, struct target_result *result);

#endif
