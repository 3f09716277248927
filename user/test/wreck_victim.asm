; SPDX-License-Identifier: MIT
; Where `wreck jump` lands: in the middle of an ordinary function, past its prologue and its check.
; In assembly, so that what happens there is the same with every compiler.

bits 64

section .text

; uint64_t wreck_victim(const struct node *list): the second word of the list's first node, or 0
global wreck_victim:function (wreck_victim.end - wreck_victim)
wreck_victim:
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
.end:

section .rodata align=8
global wreck_victim_middle:data (wreck_victim_middle.end - wreck_victim_middle)
wreck_victim_middle:
    dq wreck_victim.middle
.end:

section .note.GNU-stack noalloc noexec nowrite progbits
