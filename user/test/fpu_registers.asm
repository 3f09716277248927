; SPDX-License-Identifier: MIT
; Holding values in vector and x87 registers while the thread gives its CPU away and is preempted.
;
; void fpu_hold_X(const void *in, void *out, long yields, long spins): loads all registers of kind X
; from in, then `yields` times calls sched_yield and counts down from `spins`, then stores them to
; out. Nothing in between touches them but the kernel.

default rel
bits 64

SYS_SCHED_YIELD equ 24
MXCSR_DEFAULT equ 0x1f80
XCR0_AVX_STATE equ 6                ; SSE and AVX
CPUID_OSXSAVE_AVX equ (1 << 27) | (1 << 28)

%macro FUNCTION 1
global %1:function (%1.end - %1)
%1:
%endmacro

; RDX yields, R10 spins. Uses RAX, RCX, R8, R11.
%macro GIVE_AWAY 0
%%round:
    mov eax, SYS_SCHED_YIELD
    syscall
    mov r8, r10
%%spin:
    dec r8
    jnz %%spin
    dec rdx
    jnz %%round
%endmacro

section .text

; 16 registers of 16 bytes, then MXCSR.
FUNCTION fpu_hold_sse
    mov r10, rcx
%assign i 0
%rep 16
    movups xmm%[i], [rdi + 16 * i]
%assign i i + 1
%endrep
    ldmxcsr [rdi + 256]
    GIVE_AWAY
%assign i 0
%rep 16
    movups [rsi + 16 * i], xmm%[i]
%assign i i + 1
%endrep
    stmxcsr [rsi + 256]
    push MXCSR_DEFAULT
    ldmxcsr [rsp]
    pop rax
    ret
.end:

; 16 registers of 32 bytes.
FUNCTION fpu_hold_avx
    mov r10, rcx
%assign i 0
%rep 16
    vmovups ymm%[i], [rdi + 32 * i]
%assign i i + 1
%endrep
    GIVE_AWAY
%assign i 0
%rep 16
    vmovups [rsi + 32 * i], ymm%[i]
%assign i i + 1
%endrep
    vzeroupper
    ret
.end:

; Eight registers of ten bytes, then the control word.
FUNCTION fpu_hold_x87
    mov r10, rcx
    fninit
    fldcw [rdi + 80]
%assign i 7
%rep 8
    fld tword [rdi + 10 * i]
%assign i i - 1
%endrep
    GIVE_AWAY
    fnstcw [rsi + 80]
%assign i 0
%rep 8
    fstp tword [rsi + 10 * i]
%assign i i + 1
%endrep
    fninit
    ret
.end:

; int fpu_has_avx(void): whether CPU and kernel offer it.
FUNCTION fpu_has_avx
    push rbx
    mov eax, 1
    xor ecx, ecx
    cpuid
    pop rbx
    xor eax, eax
    and ecx, CPUID_OSXSAVE_AVX
    cmp ecx, CPUID_OSXSAVE_AVX
    jne .no
    xor ecx, ecx
    xgetbv
    and eax, XCR0_AVX_STATE
    cmp eax, XCR0_AVX_STATE
    sete al
    movzx eax, al
    ret
.no:
    xor eax, eax
    ret
.end:

; void fpu_read_control(uint32_t *mxcsr, uint16_t *control_word)
FUNCTION fpu_read_control
    stmxcsr [rdi]
    fnstcw [rsi]
    ret
.end:

section .note.GNU-stack noalloc noexec nowrite progbits
