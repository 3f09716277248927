; SPDX-License-Identifier: MIT
; Ring-3 loops whose branches are known, for the self-test of the PMU.
;
; Position-independent; copied into a page of a test process. Entered with RDI = iterations and
; RSI = writable memory; each ends in exit(0). kernel/pmu_calibration.c has the numbers of branches.

bits 64
default rel

SYS_GETPID equ 39
SYS_EXIT equ 60

section .rodata

global pmu_loops_start, pmu_loops_end
global pmu_loop_conditional, pmu_loop_mixed, pmu_loop_loop, pmu_loop_rep, pmu_loop_calls
global pmu_loop_faults, pmu_loop_syscalls

%macro EXIT 0
    xor edi, edi
    mov eax, SYS_EXIT
    syscall
%endmacro

pmu_loops_start:

pmu_loop_conditional:
.next:
    dec rdi
    jnz .next
    EXIT

; One branch that is taken every other time, a jump, a call and its return.
pmu_loop_mixed:
.next:
    test dil, 1
    jz .even
    nop
.even:
    jmp .over
.function:
    ret
.over:
    call .function
    dec rdi
    jnz .next
    EXIT

pmu_loop_loop:
    mov rcx, rdi
.next:
    jrcxz .out
    loop .next
.out:
    EXIT

; Iterations of `rep` are no branches.
pmu_loop_rep:
    mov r8, rdi
.next:
    mov rdi, rsi
    mov ecx, 64
    rep stosb
    dec r8
    jnz .next
    EXIT

pmu_loop_calls:
    lea rax, [.function]
    jmp .next
.function:
    ret
.next:
    call rax
    dec rdi
    jnz .next
    EXIT

; A page fault an iteration.
pmu_loop_faults:
.next:
    mov [rsi], rdi
    add rsi, 4096
    dec rdi
    jnz .next
    EXIT

pmu_loop_syscalls:
    mov r8, rdi
.next:
    mov eax, SYS_GETPID
    syscall
    dec r8
    jnz .next
    EXIT

pmu_loops_end:
