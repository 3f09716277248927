/* SPDX-License-Identifier: MIT */
/* Shell commands about programs and the machine: programs, run, threads, cpus, mem. */
#ifndef KERNEL_COMMANDS_H
#define KERNEL_COMMANDS_H

#include <stdint.h>

struct process;

void commands_register(void);
void pmu_commands_register(void); /* kernel/pmu_commands.c: pmu */

/* Runs a program natively to its end and prints its @native line, n of a series. 0, or a negative
 * error: of the loader, or ERR_KILLED. `output_hash` may be NULL; else 16 bytes. */
int program_run(int count, char **words, uint32_t n, uint8_t *output_hash);

/* 32 hex digits and a 0 of a 128-bit hash. */
const char *hash_text(char out[33], const uint8_t hash[16]);

/* For programs that end otherwise than by exit(0): says how, and gives the command's error. */
int program_end_status(const struct process *process);

#endif
