; SPDX-License-Identifier: MIT
; Where `crash jump` lands: in the middle of an ordinary function, past its prologue and its check.
; In assembly, so that what happens there is the same with every compiler.

%include "arch/x86/macros.inc"

        section .text

; uint64_t crash_victim(const struct node *list): the second word of the list's first node, or 0
FUNCTION crash_victim
        push rbp
        mov rbp, rsp
        push rbx
        mov rbx, rdi
        xor eax, eax
        test rbx, rbx
        jz .out
        mov rcx, [rbx]
.middle:
        pop rbx                         ; jumped to, this takes the return address off the stack
        pop rbp                         ; and this some word of the caller's, for a frame pointer
        mov rax, [rcx + 8]              ; RCX is whatever the caller left there
        ret
.out:
        pop rbx
        pop rbp
        ret
END_FUNCTION

        section .rodata align=8
        global crash_victim_middle:data (crash_victim_middle.end - crash_victim_middle)
crash_victim_middle:
        dq crash_victim.middle
.end:

        section .note.GNU-stack noalloc noexec nowrite progbits
