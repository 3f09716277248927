; SPDX-License-Identifier: MIT
; Where the code of markers goes when they are on (arch/x86/marker_site.h), one entry a kind.
;
; None of them may change a register that its kind does not declare to be changed. The stack is as
; the place had it: not aligned. Direction flag clear, as everywhere in the kernel.

%include "asm_offsets.inc"
%include "arch/x86/macros.inc"

        default rel

        extern marker_hit
        extern marker_hit_frame
        extern marker_hit_call

%define WORD(n) 8 * (n)

%macro PUSH_CALLER_SAVED 0
        push rax
        push rcx
        push rdx
        push rsi
        push rdi
        push r8
        push r9
        push r10
        push r11
%endmacro

%macro POP_CALLER_SAVED 0
        pop r11
        pop r10
        pop r9
        pop r8
        pop rdi
        pop rsi
        pop rdx
        pop rcx
        pop rax
%endmacro

        section .text

; NOP_JMP, IMMEDIATE. Stack: return address, struct marker_site *, values of the arguments. Changes
; nothing but the flags.
FUNCTION marker_quiet_entry
        PUSH_CALLER_SAVED
        mov rdi, [rsp + WORD(10)]
        lea rsi, [rsp + WORD(11)]
        call marker_hit
        POP_CALLER_SAVED
        ret
END_FUNCTION

; BOOT_CALL. RDI, RSI: as for marker_hit. An ordinary call, but for the alignment.
FUNCTION marker_boot_entry
        push rbp
        mov rbp, rsp
        and rsp, -16
        call marker_hit
        leave
        ret
END_FUNCTION

; FRAME_JUMP. Stack: struct marker_place *. Makes the frame of an exception of the place, and leaves
; by what the probe made of it, but for RSP. The word of the place becomes the return address.
FUNCTION marker_frame_entry
        pushfq
        lea rsp, [rsp - (FRAME_SIZE - FRAME_VECTOR)]
        PUSH_REGISTERS
        mov rsi, [rsp + FRAME_SIZE + WORD(1)]   ; the place
        mov rax, [rsp + FRAME_SIZE]             ; flags
        mov [rsp + FRAME_RFLAGS], rax
        mov qword [rsp + FRAME_VECTOR], VECTOR_BREAKPOINT
        mov qword [rsp + FRAME_ERROR], 0
        movzx eax, byte [rsi + PLACE_LENGTH]
        add rax, [rsi + PLACE_ADDRESS]
        mov [rsp + FRAME_RIP], rax
        mov qword [rsp + FRAME_CS], SELECTOR_KERNEL_CODE
        mov qword [rsp + FRAME_SS], SELECTOR_KERNEL_DATA
        lea rax, [rsp + FRAME_SIZE + WORD(2)]
        mov [rsp + FRAME_RSP], rax
        mov rdi, rsp
        mov rbx, rsp
        and rsp, -16
        call marker_hit_frame
        mov rsp, rbx
        mov rax, [rsp + FRAME_RIP]
        mov [rsp + FRAME_SIZE + WORD(1)], rax
        mov rax, [rsp + FRAME_RFLAGS]
        mov [rsp + FRAME_SIZE], rax
        POP_REGISTERS
        lea rsp, [rsp + FRAME_SIZE - FRAME_VECTOR]
        popfq
        ret
END_FUNCTION

; CALL_STUB. Stack: return address, which tells the place. Only what C may change is put back; the
; others are there for the arguments.
FUNCTION marker_call_entry
        PUSH_REGISTERS
        mov rdi, [rsp + FRAME_VECTOR]           ; behind the registers: the return address
        sub rdi, 5
        mov rsi, rsp
        mov rbp, rsp
        and rsp, -16
        call marker_hit_call
        lea rsp, [rbp + WORD(4)]                ; r15 … r12 are as they were
        pop r11
        pop r10
        pop r9
        pop r8
        pop rbp
        pop rdi
        pop rsi
        pop rdx
        pop rcx
        lea rsp, [rsp + WORD(1)]                ; rbx, too
        pop rax
        ret
END_FUNCTION

        section .note.GNU-stack noalloc noexec nowrite progbits
