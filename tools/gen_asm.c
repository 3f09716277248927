/* SPDX-License-Identifier: MIT */
/* Writes what NASM needs of the kernel's C headers, so that no number stands in two places.
 *
 *   gen_asm offsets OUT.inc    structure offsets and constants
 *   gen_asm vectors OUT.inc    one line `VECTOR number, has_error_code, ist` for each of 256
 *
 * Runs on the host, compiled from the root of the tree with -I.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "arch/x86/cpu.h"
#include "arch/x86/frame.h"
#include "arch/x86/gdt.h"
#include "arch/x86/layout.h"
#include "arch/x86/marker_site.h"
#include "arch/x86/msr.h"
#include "arch/x86/smp.h"
#include "arch/x86/text_probe.h"
#include "arch/x86/vectors.h"

struct constant {
    const char *name;
    uint64_t value;
};

#define CONSTANT(name)                                                                             \
    {                                                                                              \
#name, (uint64_t)(name)                                                                    \
    }
#define OFFSET(name, type, field)                                                                  \
    {                                                                                              \
#name, offsetof(type, field)                                                               \
    }

static const struct constant constants[] = {
    CONSTANT(PAGE_SIZE),
    CONSTANT(DIRECT_MAP_BASE),
    CONSTANT(KERNEL_BASE),
    CONSTANT(KERNEL_STACK_SIZE),
    CONSTANT(IST_STACK_SIZE),
    CONSTANT(IST_LANDING_SIZE),
    CONSTANT(IST_NMI),
    CONSTANT(IST_DEBUG),
    CONSTANT(IST_MACHINE_CHECK),
    CONSTANT(IST_DOUBLE_FAULT),
    CONSTANT(SELECTOR_KERNEL_CODE),
    CONSTANT(SELECTOR_KERNEL_DATA),
    CONSTANT(SELECTOR_USER_CODE),
    CONSTANT(SELECTOR_USER_DATA),
    CONSTANT(VECTOR_BREAKPOINT),
    CONSTANT(VECTOR_SYSCALL),
    CONSTANT(MSR_EFER),
    CONSTANT(EFER_LONG_MODE),
    CONSTANT(MSR_FS_BASE),
    CONSTANT(MSR_GS_BASE),
    CONSTANT(MSR_KERNEL_GS_BASE),
    OFFSET(CPU_KERNEL_STACK_TOP, struct cpu, kernel_stack_top),
    OFFSET(CPU_USER_RSP, struct cpu, user_rsp),
    OFFSET(CPU_ARCH, struct cpu, arch),
    OFFSET(ARCH_NMI_STACK, struct cpu_arch, ist_stacks[IST_NMI]),
    OFFSET(ARCH_DEBUG_STACK, struct cpu_arch, ist_stacks[IST_DEBUG]),
    OFFSET(FRAME_CS, struct trap_frame, cs),
    OFFSET(FRAME_VECTOR, struct trap_frame, vector),
    OFFSET(FRAME_ERROR, struct trap_frame, error),
    OFFSET(FRAME_RIP, struct trap_frame, rip),
    OFFSET(FRAME_RFLAGS, struct trap_frame, rflags),
    OFFSET(FRAME_RSP, struct trap_frame, rsp),
    OFFSET(FRAME_SS, struct trap_frame, ss),
    {"FRAME_SIZE", sizeof(struct trap_frame)},
    CONSTANT(TEXT_PROBES_MAX),
    CONSTANT(TEXT_PROBE_BLOCK),
    OFFSET(PLACE_ADDRESS, struct marker_place, address),
    OFFSET(PLACE_LENGTH, struct marker_place, length),
    OFFSET(TRAMPOLINE_TICKET, struct trampoline, ticket),
    OFFSET(TRAMPOLINE_EFER, struct trampoline, efer),
    OFFSET(TRAMPOLINE_ROOT, struct trampoline, root),
    OFFSET(TRAMPOLINE_FAR, struct trampoline, far_base),
    OFFSET(TRAMPOLINE_GDT_POINTER, struct trampoline, gdt_limit),
    OFFSET(TRAMPOLINE_STACK_TOP, struct trampoline, stack_top),
    OFFSET(TRAMPOLINE_CPU, struct trampoline, cpu),
    OFFSET(TRAMPOLINE_ENTRY, struct trampoline, entry),
    {"TRAMPOLINE_HEADER_SIZE", sizeof(struct trampoline)},
};

static void write_offsets(FILE *out)
{
    fprintf(out, "; Written by tools/gen_asm.c.\n");
    for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++)
        fprintf(out, "%%define %s 0x%" PRIx64 "\n", constants[i].name, constants[i].value);
}

struct vector_entry {
    int has_error;
    int ist;
};

static const struct vector_entry vectors[256] = {
#define V(number, name, mnemonic, description, has_error, ist) [number] = {has_error, ist},
    VECTOR_TABLE(V)
#undef V
};

static void write_vectors(FILE *out)
{
    fprintf(out, "; Written by tools/gen_asm.c.\n");
    for (int i = 0; i < 256; i++)
        fprintf(out, "VECTOR %d, %d, %d\n", i, vectors[i].has_error, vectors[i].ist);
}

int main(int argc, char **argv)
{
    void (*write)(FILE *) = NULL;

    if (argc == 3 && strcmp(argv[1], "offsets") == 0)
        write = write_offsets;
    if (argc == 3 && strcmp(argv[1], "vectors") == 0)
        write = write_vectors;
    if (write == NULL) {
        fprintf(stderr, "usage: gen_asm offsets|vectors OUT.inc\n");
        return 2;
    }
    FILE *out = fopen(argv[2], "w");
    if (out == NULL) {
        perror(argv[2]);
        return 1;
    }
    write(out);
    if (ferror(out) | (fclose(out) != 0)) {
        fprintf(stderr, "gen_asm: error: cannot write %s\n", argv[2]);
        return 1;
    }
    return 0;
}
