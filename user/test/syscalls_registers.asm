; SPDX-License-Identifier: MIT
; A system call keeps every register but RAX, RCX and R11.
;
; unsigned long syscalls_lost_registers(long number): the call with odd values in all registers;
; returns a bit for each that differs afterwards (0 RBX, 1 RBP, 2 RDX, 3 RSI, 4 RDI, 5 R8, 6 R9,
; 7 R10, 8 R12, 9 R13, 10 R14, 11 R15, 12 XMM0, 13 XMM15).

default rel
bits 64

PATTERN equ 0x0123456789abcd00

global syscalls_lost_registers:function (syscalls_lost_registers.end - syscalls_lost_registers)

; Sets bit %2 of RAX if register %1 is not its pattern.
%macro COMPARE 2
    mov rcx, PATTERN + %2
    cmp %1, rcx
    setne cl
    movzx ecx, cl
    shl ecx, %2
    or eax, ecx
%endmacro

; Applies macro or instruction %1 to all of the general registers, with their numbers.
%macro FOR_REGISTERS 1
    %1 rbx, 0
    %1 rbp, 1
    %1 rdx, 2
    %1 rsi, 3
    %1 rdi, 4
    %1 r8, 5
    %1 r9, 6
    %1 r10, 7
    %1 r12, 8
    %1 r13, 9
    %1 r14, 10
    %1 r15, 11
%endmacro

%macro SET 2
    mov %1, PATTERN + %2
%endmacro

section .text
syscalls_lost_registers:
    push rbx
    push rbp
    push r12
    push r13
    push r14
    push r15
    mov rax, rdi
    FOR_REGISTERS SET
    movq xmm0, rbx
    movq xmm15, r15
    syscall
    xor eax, eax
    FOR_REGISTERS COMPARE
    movq rdx, xmm0
    mov rcx, PATTERN
    cmp rdx, rcx
    setne cl
    movzx ecx, cl
    shl ecx, 12
    or eax, ecx
    movq rdx, xmm15
    mov rcx, PATTERN + 11
    cmp rdx, rcx
    setne cl
    movzx ecx, cl
    shl ecx, 13
    or eax, ecx
    pop r15
    pop r14
    pop r13
    pop r12
    pop rbp
    pop rbx
    ret
.end:

section .note.GNU-stack noalloc noexec nowrite progbits
