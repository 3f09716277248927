; SPDX-License-Identifier: MIT
; clone() for threads. In assembly because the child returns on an empty stack.
;
; long thread_clone(unsigned long flags, void *stack, uint32_t *parent_tid, uint32_t *child_tid,
;                   void *tls);
; stack must be 16-byte aligned. Returns the child's tid or a negated error to the parent only;
; the child goes to thread_start_child, which finds itself through FS.

default rel
bits 64

extern thread_start_child
global thread_clone:function (thread_clone.end - thread_clone)

SYS_CLONE equ 56

section .text
thread_clone:
    mov r10, rcx
    mov eax, SYS_CLONE
    syscall
    test rax, rax
    jz .child
    ret
.child:
    xor ebp, ebp
    call thread_start_child
    ud2                             ; a thread ends by its exit call
.end:

section .note.GNU-stack noalloc noexec nowrite progbits
