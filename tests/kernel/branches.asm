; SPDX-License-Identifier: MIT
; A piece of code whose branches are known, for suite_branches.c.

bits 64
default rel

section .text

; void branches_run(uint32_t msr, uint64_t on, uint64_t off): writes `on`, branches, writes `off`.
; Nothing branches in between but what is in the table below, in its order.
global branches_run
branches_run:
    push rbx
    mov rbx, rdx
    mov r8d, edi
    mov ecx, edi
    mov eax, esi
    mov rdx, rsi
    shr rdx, 32
    wrmsr

.jump:
    jmp .jumped
    ud2
.jumped:
    xor eax, eax
    jnz .wrong
.jump_if_zero:
    jz .zero
.wrong:
    ud2
.zero:
.call:
    call .function
.returned:
    lea rax, [.indirect]
.jump_rax:
    jmp rax
    ud2
.indirect:
    lea rax, [.function_2]
.call_rax:
    call rax
.returned_2:
.jump_memory:
    jmp [pointer]
    ud2
.by_memory:
    mov ecx, 3
.next:
    nop
.loop:
    loop .next
.jump_if_rcx:
    jrcxz .no_count
    ud2
.no_count:
    cmp ecx, ecx
    jnz .not_taken ; both directions of a branch to the next instruction
.not_taken:
.to_next:
    jz .taken
.taken:
.call_next:
    call .here
.here:
    pop rax

    mov rax, rsp
    mov ecx, ss
    push rcx
    push rax
    pushfq
    mov ecx, cs
    push rcx
    lea rax, [.far]
    push rax
.iret:
    iretq
    ud2
.far:
    mov ecx, r8d
    mov eax, ebx
    mov rdx, rbx
    shr rdx, 32
    wrmsr
    pop rbx
    ret

.function:
    nop
.return:
    ret
.function_2:
    nop
.return_2:
    ret

section .rodata
align 8
pointer:
    dq branches_run.by_memory

; From, to, kind (enum kind in suite_branches.c): oldest first. FAR is a word of NASM's.
KIND_JCC equ 0
KIND_REL_JMP equ 1
KIND_IND_JMP equ 2
KIND_REL_CALL equ 3
KIND_IND_CALL equ 4
KIND_RETURN equ 5
KIND_FAR_ equ 6

%macro TAKEN 3
    dq branches_run.%2, branches_run.%3, KIND_%1
%endmacro

global branches_expected, branches_expected_end
branches_expected:
    TAKEN REL_JMP, jump, jumped
    TAKEN JCC, jump_if_zero, zero
    TAKEN REL_CALL, call, function
    TAKEN RETURN, return, returned
    TAKEN IND_JMP, jump_rax, indirect
    TAKEN IND_CALL, call_rax, function_2
    TAKEN RETURN, return_2, returned_2
    TAKEN IND_JMP, jump_memory, by_memory
    TAKEN JCC, loop, next
    TAKEN JCC, loop, next
    TAKEN JCC, jump_if_rcx, no_count
    TAKEN JCC, to_next, taken
    TAKEN REL_CALL, call_next, here
    TAKEN FAR_, iret, far
branches_expected_end:
