; SPDX-License-Identifier: MIT
; How the targets of probes are called: with all registers from a struct, and back.

%include "arch/x86/macros.inc"

%define REGISTER(n) 8 * (n)             ; struct target_registers
%define R_FLAGS REGISTER(15)

        section .text

; void probe_target_run(struct target_registers *registers, void (*function)(void))
FUNCTION probe_target_run
        pushfq
        push rbx
        push rbp
        push r12
        push r13
        push r14
        push r15
        push rdi
        push rsi
        mov rax, rdi
        mov rbx, [rax + REGISTER(1)]
        mov rcx, [rax + REGISTER(2)]
        mov rdx, [rax + REGISTER(3)]
        mov rsi, [rax + REGISTER(4)]
        mov rdi, [rax + REGISTER(5)]
        mov rbp, [rax + REGISTER(6)]
%assign number 8
%rep 8
        mov r%[number], [rax + REGISTER(number - 1)]
    %assign number number + 1
%endrep
        push qword [rax + R_FLAGS]
        mov rax, [rax]
        popfq
        call [rsp]
        pushfq
        push rax
        mov rax, [rsp + 24]
        mov [rax + REGISTER(1)], rbx
        mov [rax + REGISTER(2)], rcx
        mov [rax + REGISTER(3)], rdx
        mov [rax + REGISTER(4)], rsi
        mov [rax + REGISTER(5)], rdi
        mov [rax + REGISTER(6)], rbp
%assign number 8
%rep 8
        mov [rax + REGISTER(number - 1)], r%[number]
    %assign number number + 1
%endrep
        pop qword [rax]
        pop qword [rax + R_FLAGS]
        pop rsi
        pop rdi
        pop r15
        pop r14
        pop r13
        pop r12
        pop rbp
        pop rbx
        popfq
        ret
END_FUNCTION

FUNCTION target_bad_load
        mov rax, [8]
        ret
END_FUNCTION

        section .note.GNU-stack noalloc noexec nowrite progbits
