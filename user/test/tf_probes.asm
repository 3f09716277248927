; SPDX-License-Identifier: MIT
; Every way in which ring 3 sees or loads EFLAGS, as functions that C can call.
;
; Unless said otherwise a probe returns the flags it saw. Probes that load flags end with all of
; them in their normal state. None uses a red zone.

default rel
bits 64

FLAGS_NORMAL equ 0x202
FLAG_TF equ 0x100
SYS_GETPID equ 39

%macro PROBE 1
global %1:function (%1.end - %1)
%1:
%endmacro

; Ends a probe that has changed flags.
%macro RETURN_NORMAL 0
    push FLAGS_NORMAL
    popfq
    ret
%endmacro

section .text

; --- pushf, each encoding that assemblers and nature produce

PROBE tf_pushf
    pushfq
    pop rax
    ret
.end:

PROBE tf_pushf_16
    xor eax, eax
    pushfw
    pop ax
    ret
.end:

PROBE tf_pushf_rex
    db 0x48, 0x9c
    pop rax
    ret
.end:

; REX.W wins over the operand size prefix: eight bytes.
PROBE tf_pushf_16_rex
    db 0x66, 0x48, 0x9c
    pop rax
    ret
.end:

PROBE tf_pushf_segment
    db 0x2e, 0x9c
    pop rax
    ret
.end:

PROBE tf_pushf_16_twice
    xor eax, eax
    db 0x66, 0x66, 0x9c
    pop ax
    ret
.end:

PROBE tf_pushf_rep
    db 0xf3, 0x9c
    pop rax
    ret
.end:

; A prefix that is followed by another is not a REX prefix any more: two bytes.
PROBE tf_pushf_dead_rex
    xor eax, eax
    db 0x48, 0x66, 0x9c
    pop ax
    ret
.end:

; Whether a REX prefix before another prefix is without effect, as the manuals say (Intel SDM
; vol. 2, 2.2.1): INC then is of 16 bits and carries nothing into bit 16. Some emulators obey it.
PROBE tf_dead_rex_is_dead
    mov eax, 0xffff
    db 0x48, 0x66, 0xff, 0xc0
    shr eax, 16
    xor eax, 1
    ret
.end:

; uint64_t tf_pushf_at(void *top): on a stack that ends at top.
PROBE tf_pushf_at
    mov rdx, rsp
    mov rsp, rdi
    pushfq
    pop rax
    mov rsp, rdx
    ret
.end:

PROBE tf_pushf_16_at
    xor eax, eax
    mov rdx, rsp
    mov rsp, rdi
    pushfw
    pop ax
    mov rsp, rdx
    ret
.end:

; --- popf: uint64_t probe(uint64_t flags) loads them and returns what pushf then sees

PROBE tf_popf
    push rdi
    popfq
    pushfq
    pop rax
    RETURN_NORMAL
.end:

PROBE tf_popf_16
    push di
    popfw
    pushfq
    pop rax
    RETURN_NORMAL
.end:

; uint64_t tf_popf_at(uint64_t flags, void *bottom): the image stands at bottom.
PROBE tf_popf_at
    mov [rsi], rdi
    mov rdx, rsp
    mov rsp, rsi
    popfq
    mov rcx, rsp
    mov rsp, rdx
    pushfq
    pop rax
    push FLAGS_NORMAL
    popfq
    sub rcx, rsi
    cmp rcx, 8
    jne tf_wrong
    ret
.end:

PROBE tf_popf_16_at
    mov [rsi], di
    mov rdx, rsp
    mov rsp, rsi
    popfw
    mov rcx, rsp
    mov rsp, rdx
    pushfq
    pop rax
    push FLAGS_NORMAL
    popfq
    sub rcx, rsi
    cmp rcx, 2
    jne tf_wrong
    ret
.end:

; The stack pointer moved by a wrong amount.
tf_wrong:
    mov rax, -1
    ret

; --- mov ss holds traps off for one instruction; that instruction is the one to watch

PROBE tf_mov_ss_pushf
    mov eax, ss
    mov ss, ax
    pushfq
    pop rax
    ret
.end:

PROBE tf_mov_ss_memory_pushf
    push 0
    mov [rsp], ss
    mov ss, [rsp]
    pushfq
    pop rax
    pop rcx
    ret
.end:

PROBE tf_mov_ss_pushf_16
    mov ecx, ss
    xor eax, eax
    mov ss, cx
    pushfw
    pop ax
    ret
.end:

PROBE tf_mov_ss_twice_pushf
    mov eax, ss
    mov ss, ax
    mov ss, ax
    pushfq
    pop rax
    ret
.end:

PROBE tf_mov_ss_popf
    push rdi
    mov eax, ss
    mov ss, ax
    popfq
    pushfq
    pop rax
    RETURN_NORMAL
.end:

; Returns what R11 was.
PROBE tf_mov_ss_syscall
    mov ecx, ss
    mov eax, SYS_GETPID
    mov ss, cx
    syscall
    mov rax, r11
    ret
.end:

; --- syscall: uint64_t tf_syscall(uint64_t flags, uint64_t seen[2]) enters with the flags given;
; seen[0] = R11, seen[1] = RCX minus the address that it must be; returns the flags afterwards

PROBE tf_syscall
    push rdi
    popfq
    mov eax, SYS_GETPID
    syscall
.return:
    pushfq
    pop rax
    push FLAGS_NORMAL
    popfq
    mov [rsi], r11
    lea rdx, [.return]
    sub rcx, rdx
    mov [rsi + 8], rcx
    ret
.end:

; --- iret from ring 3 to itself: uint64_t probe(uint64_t flags)

PROBE tf_iretq
    mov rdx, rsp
    mov ecx, ss
    push rcx
    push rdx
    push rdi
    mov ecx, cs
    push rcx
    lea rcx, [.here]
    push rcx
    iretq
.here:
    pushfq
    pop rax
    cmp rsp, rdx
    push FLAGS_NORMAL                ; does not touch the flags that cmp has set
    jne .wrong
    popfq
    ret
.wrong:
    popfq
    mov rsp, rdx
    mov rax, -1
    ret
.end:

; After mov ss, so that the iret is the instruction without a trap.
PROBE tf_mov_ss_iretq
    mov rdx, rsp
    mov eax, ss
    push rax
    push rdx
    push rdi
    mov ecx, cs
    push rcx
    lea rcx, [.here]
    push rcx
    mov ss, ax
    iretq
.here:
    pushfq
    pop rax
    RETURN_NORMAL
.end:

; 32-bit operands: code and, for the moment, stack are below 4 GiB.
PROBE tf_iretd
    mov rdx, rsp
    lea rsp, [low_stack.top]
    mov eax, ss
    mov [rsp + 16], eax
    mov [rsp + 12], esp
    mov [rsp + 8], edi
    mov eax, cs
    mov [rsp + 4], eax
    lea ecx, [.here]
    mov [rsp], ecx
    iretd
.here:
    pushfq
    pop rax
    mov rsp, rdx
    RETURN_NORMAL
.end:

; --- fatal ones

PROBE tf_raise_int3
    int3
    ret
.end:

PROBE tf_raise_icebp
    db 0xf1
    ret
.end:

PROBE tf_raise_settf
    push FLAGS_NORMAL | FLAG_TF
    popfq
    nop
    nop
    ret
.end:

section .bss align=16
low_stack:
    resb 256
.top:
    resb 32

section .note.GNU-stack noalloc noexec nowrite progbits
