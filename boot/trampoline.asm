; SPDX-License-Identifier: MIT
; Where a starting CPU begins: from real mode to long mode in one step.
;
; smp.c copies this to a page below 1 MiB and fills in the header, struct trampoline of
; arch/x86/smp.h. The CPU starts at offset 0 with CS = page / 16. No stack is used before the
; kernel's, and the code does not know on which CPU it runs: who takes the ticket gets the
; parameters.

%include "asm_offsets.inc"
%include "arch/x86/macros.inc"

        section .rodata align=16
        global trampoline_start, trampoline_end, trampoline_long_mode

        bits 16
trampoline_start:
        jmp short trampoline_real_mode
        times TRAMPOLINE_HEADER_SIZE - 24 - ($ - trampoline_start) db 0
        dq 0                            ; GDT: null, kernel code, kernel data
        dq 0x00209b0000000000
        dq 0x0000930000000000

%define HEADER(field) [field]

trampoline_real_mode:
        cli
        cld
        mov ax, cs
        mov ds, ax
        xor eax, eax
        xchg eax, HEADER(TRAMPOLINE_TICKET)
        test eax, eax
        jz .not_expected
        o32 lgdt HEADER(TRAMPOLINE_GDT_POINTER)
        mov eax, 1 << 5                 ; CR4.PAE
        mov cr4, eax
        mov eax, HEADER(TRAMPOLINE_ROOT)
        mov cr3, eax
        mov ecx, MSR_EFER
        mov eax, HEADER(TRAMPOLINE_EFER)
        xor edx, edx
        wrmsr
        mov eax, 0x80010033             ; CR0: PG WP NE ET MP PE, caches on
        mov cr0, eax
        jmp dword far HEADER(TRAMPOLINE_FAR)
.not_expected:
        hlt
        jmp .not_expected

        bits 64
        default rel
trampoline_long_mode:
        LOAD_KERNEL_SEGMENTS [trampoline_start + TRAMPOLINE_CPU]
        mov rsp, [trampoline_start + TRAMPOLINE_STACK_TOP]
        mov rdi, [trampoline_start + TRAMPOLINE_CPU]
        xor ebp, ebp
        mov rax, [trampoline_start + TRAMPOLINE_ENTRY]
        call rax                        ; does not return
.halt:
        hlt
        jmp .halt
trampoline_end:

        section .note.GNU-stack noalloc noexec nowrite progbits
