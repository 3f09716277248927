; SPDX-License-Identifier: MIT
; One function for each way to raise an exception from ring 3. Those that return have failed.

default rel
bits 64

NONCANONICAL equ 0x8000000000000000
KERNEL_ADDRESS equ 0xffffffff80000000
FLAG_AC_BIT equ 18

%macro RAISE 1+
global raise_%1:function (raise_%1.end - raise_%1)
raise_%1:
%endmacro

%macro RAISE_END 0
    ret
.end:
%endmacro

section .text

RAISE de
    xor edx, edx
    xor ecx, ecx
    mov eax, 1
    div ecx
RAISE_END

RAISE de_overflow                   ; the quotient does not fit
    mov eax, 0x80000000
    cdq
    mov ecx, -1
    idiv ecx
RAISE_END

RAISE ud
    ud2
RAISE_END

RAISE ud_lock                       ; lock before an instruction that cannot have it
    db 0xf0, 0x90
RAISE_END

; An ordinary function, but for who calls it.
victim:
    xor eax, eax
    test rdi, rdi
    jz .none
    mov rcx, [rdi]
.middle:
    mov rax, [rcx + 8]              ; RCX is whatever the caller left there
.none:
    ret

RAISE jump_middle
    lea rax, [victim.middle]
    mov ecx, 0x5ace
    call rax
RAISE_END

RAISE ret_smashed
    mov qword [rsp], 0x5bad0000
RAISE_END

RAISE bp
    int3
RAISE_END

RAISE bp_long                       ; the two-byte form
    db 0xcd, 0x03
RAISE_END

RAISE db
    db 0xf1
RAISE_END

RAISE db_step
    pushfq
    or qword [rsp], 0x100
    popfq
    nop
    nop
RAISE_END

RAISE gp_load
    mov rax, NONCANONICAL
    mov rax, [rax]
RAISE_END

RAISE gp_store
    mov rax, NONCANONICAL
    mov [rax], rax
RAISE_END

RAISE gp_jump                       ; the fault is at the jump or at its target
    mov rax, NONCANONICAL
    jmp rax
RAISE_END

RAISE gp_hlt
    hlt
RAISE_END

RAISE gp_cli
    cli
RAISE_END

RAISE gp_sti
    sti
RAISE_END

RAISE gp_in
    mov edx, 0x3f8
    in al, dx
RAISE_END

RAISE gp_out
    mov edx, 0x80
    xor eax, eax
    out dx, al
RAISE_END

RAISE gp_wrmsr
    mov ecx, 0xc0000080
    xor eax, eax
    xor edx, edx
    wrmsr
RAISE_END

RAISE gp_rdmsr
    mov ecx, 0xc0000080
    rdmsr
RAISE_END

RAISE gp_cr3
    mov rax, cr3
RAISE_END

RAISE gp_dr7
    xor eax, eax
    mov dr7, rax
RAISE_END

RAISE gp_lidt
    lidt [rsp - 16]
RAISE_END

RAISE gp_swapgs
    swapgs
RAISE_END

RAISE gp_int                        ; a vector that ring 3 may not call
    int 0x20
RAISE_END

RAISE gp_int_fault                  ; the same, where it pretends to be a page fault
    int 14
RAISE_END

RAISE gp_int_double                 ; and a double fault
    int 8
RAISE_END

RAISE gp_int_nmi
    int 2
RAISE_END

RAISE gp_selector                   ; far outside every descriptor table
    mov eax, 0xfff8
    mov ds, ax
RAISE_END

RAISE gp_null_ss
    xor eax, eax
    mov ss, ax
RAISE_END

RAISE gp_iret                       ; to ring 0
    mov rdx, rsp
    push 0
    push rdx
    pushfq
    push 8
    lea rax, [.here]
    push rax
    iretq
.here:
    mov rsp, rdx
RAISE_END

RAISE gp_sse                        ; an unaligned operand where alignment is demanded
    movaps xmm0, [rsp + 1]
RAISE_END

RAISE ss_push
    mov rdx, rsp
    mov rsp, NONCANONICAL
    push rax
    mov rsp, rdx
RAISE_END

RAISE ss_load
    push rbp
    mov rbp, NONCANONICAL
    mov rax, [rbp]
    pop rbp
RAISE_END

RAISE pf_null
    xor eax, eax
    mov rax, [rax]
RAISE_END

RAISE pf_read
    mov rax, 0x5ead00000000
    mov rax, [rax]
RAISE_END

RAISE pf_write
    mov rax, 0x5ead00000000
    mov [rax], rax
RAISE_END

RAISE pf_exec
    mov rax, 0x5ead00000000
    jmp rax
RAISE_END

RAISE pf_kernel_read
    mov rax, KERNEL_ADDRESS
    mov rax, [rax]
RAISE_END

RAISE pf_kernel_write
    mov rax, KERNEL_ADDRESS
    mov [rax], rax
RAISE_END

RAISE pf_kernel_exec
    mov rax, KERNEL_ADDRESS
    jmp rax
RAISE_END

RAISE pf_text_write
    lea rax, [raise_pf_text_write]
    mov [rax], al
RAISE_END

RAISE pf_rodata_write
    lea rax, [constant]
    mov dword [rax], 1
RAISE_END

RAISE pf_rep                        ; in the middle of a string instruction, leaving the data pages
    lea rdi, [return_in_data]
    mov ecx, 1 << 30
    xor eax, eax
    rep stosb
RAISE_END

RAISE nx_data
    lea rax, [return_in_data]
    call rax
RAISE_END

RAISE nx_rodata
    lea rax, [constant]
    call rax
RAISE_END

RAISE nx_stack
    sub rsp, 8
    mov byte [rsp], 0xc3
    call rsp
    add rsp, 8
RAISE_END

RAISE stack_overflow
    sub rsp, 1024
    mov [rsp], rsp
    call raise_stack_overflow
    add rsp, 1024
RAISE_END

RAISE ac                            ; only where the kernel has set CR0.AM
    mov rax, rsp
    pushfq
    bts qword [rsp], FLAG_AC_BIT
    popfq
    mov eax, [rax + 1]
    pushfq
    btr qword [rsp], FLAG_AC_BIT
    popfq
RAISE_END

RAISE mf
    fninit
    push 0x37b                      ; division by zero unmasked
    fldcw [rsp]
    pop rax
    fld1
    fldz
    fdivp
    fwait
    fninit
RAISE_END

RAISE xm
    push 0x1d80                     ; division by zero unmasked
    ldmxcsr [rsp]
    pop rax
    mov eax, 1
    cvtsi2sd xmm0, eax
    xorps xmm1, xmm1
    divsd xmm0, xmm1
    push 0x1f80
    ldmxcsr [rsp]
    pop rax
RAISE_END

section .rodata
constant:
    db 0xc3, 0, 0, 0

section .data
return_in_data:
    db 0xc3

section .note.GNU-stack noalloc noexec nowrite progbits
