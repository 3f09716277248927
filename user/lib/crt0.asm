; SPDX-License-Identifier: MIT
; First instructions of a program: from the initial stack of the System V ABI to main().
;
; On entry RSP points to argc, then argv[0..argc-1], 0. Nothing else is defined.

default rel
bits 64

extern main
extern thread_start_main
global _start:function (_start.end - _start)

SYS_EXIT_GROUP equ 231

section .text
_start:
    xor ebp, ebp                    ; the debugger's back trace ends here
    mov rbx, [rsp]
    lea r12, [rsp + 8]
    and rsp, -16
    call thread_start_main
    mov edi, ebx
    mov rsi, r12
    call main
    mov edi, eax
    mov eax, SYS_EXIT_GROUP
    syscall
    ud2                             ; exit_group does not return
.end:

section .note.GNU-stack noalloc noexec nowrite progbits
