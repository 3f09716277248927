/* SPDX-License-Identifier: MIT */
/* The one table of interrupt vectors: stubs (through build/gen/vectors.inc), IDT and names come
 * from it.
 *
 * V(number, NAME, mnemonic, description, has_error_code, ist)
 * ist 0 = the stack of the privilege change; 1…4 = IST stacks, see IST_*.
 * Source: Intel SDM vol. 3, table 6-1.
 */
#ifndef ARCH_X86_VECTORS_H
#define ARCH_X86_VECTORS_H

#define IST_NMI 1
#define IST_DOUBLE_FAULT 2
#define IST_MACHINE_CHECK 3
#define IST_DEBUG 4

#define VECTOR_TABLE(V)                                                                            \
    V(0, DIVIDE_ERROR, "#DE", "divide error", 0, 0)                                                \
    V(1, DEBUG, "#DB", "debug", 0, IST_DEBUG)                                                      \
    V(2, NMI, "NMI", "non-maskable interrupt", 0, IST_NMI)                                         \
    V(3, BREAKPOINT, "#BP", "breakpoint", 0, 0)                                                    \
    V(4, OVERFLOW, "#OF", "overflow", 0, 0)                                                        \
    V(5, BOUND, "#BR", "bound range exceeded", 0, 0)                                               \
    V(6, INVALID_OPCODE, "#UD", "invalid opcode", 0, 0)                                            \
    V(7, NO_FPU, "#NM", "device not available", 0, 0)                                              \
    V(8, DOUBLE_FAULT, "#DF", "double fault", 1, IST_DOUBLE_FAULT)                                 \
    V(10, INVALID_TSS, "#TS", "invalid TSS", 1, 0)                                                 \
    V(11, SEGMENT_NOT_PRESENT, "#NP", "segment not present", 1, 0)                                 \
    V(12, STACK_FAULT, "#SS", "stack-segment fault", 1, 0)                                         \
    V(13, GENERAL_PROTECTION, "#GP", "general protection", 1, 0)                                   \
    V(14, PAGE_FAULT, "#PF", "page fault", 1, 0)                                                   \
    V(16, FPU_ERROR, "#MF", "x87 floating-point error", 0, 0)                                      \
    V(17, ALIGNMENT_CHECK, "#AC", "alignment check", 1, 0)                                         \
    V(18, MACHINE_CHECK, "#MC", "machine check", 0, IST_MACHINE_CHECK)                             \
    V(19, SIMD_ERROR, "#XM", "SIMD floating-point error", 0, 0)                                    \
    V(20, VIRTUALIZATION, "#VE", "virtualization", 0, 0)                                           \
    V(21, CONTROL_PROTECTION, "#CP", "control protection", 1, 0)                                   \
    V(32, PIC_FIRST, "PIC", "spurious interrupt of the masked 8259", 0, 0)                         \
    V(39, PIC_SPURIOUS_LOW, "PIC", "spurious interrupt of the masked 8259", 0, 0)                  \
    V(47, PIC_SPURIOUS_HIGH, "PIC", "spurious interrupt of the masked 8259", 0, 0)                 \
    V(48, KEYBOARD, "KBD", "PS/2 keyboard", 0, 0)                                                  \
    V(49, SERIAL, "COM1", "serial port", 0, 0)                                                     \
    V(240, TIMER, "TIMER", "local APIC timer", 0, 0)                                               \
    V(241, IPI_RESCHEDULE, "IPI", "reschedule", 0, 0)                                              \
    V(242, IPI_KICK, "IPI", "kick", 0, 0)                                                          \
    V(243, IPI_CALL, "IPI", "call function", 0, 0)                                                 \
    V(254, APIC_ERROR, "APIC", "local APIC error", 0, 0)                                           \
    V(255, APIC_SPURIOUS, "APIC", "spurious interrupt", 0, 0)

enum vector {
#define V(number, name, mnemonic, description, has_error, ist) VECTOR_##name = number,
    VECTOR_TABLE(V)
#undef V
        VECTOR_SYSCALL = 256, /* not in the IDT: frames of the SYSCALL instruction */
};

/* "#PF"; "vector" when the table does not know the number. */
const char *vector_mnemonic(unsigned vector);
const char *vector_description(unsigned vector);

#endif
