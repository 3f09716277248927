; SPDX-License-Identifier: MIT
; Every way into the kernel and out of it: exceptions, interrupts, NMI, SYSCALL, IRETQ, switches.
;
; What stands on the stack when C gets control (struct trap_frame, lowest address first):
;
;   r15 … r8  rbp rdi rsi rdx rcx rbx rax   pushed here
;   vector                                  pushed by the stub
;   error                                   pushed by the CPU, or 0 by the stub
;   rip cs rflags rsp ss                    pushed by the CPU, or in its form by syscall_entry
;
; 22 words: with a 16-byte aligned stack top the stack is aligned at each call.
;
; GS. In ring 3 GS.base is the user's (0: there is no way to set it), MSR_KERNEL_GS_BASE points to
; struct cpu; in the kernel they are exchanged. Faults and interrupts that use the stack of the
; privilege change cannot hit the few instructions of ring 0 with the user's GS: interrupts are
; off there, and those instructions do not fault. What cannot be held off (NMI, #MC, and #DB, since
; `mov ss` delays a trap into the first instruction of syscall_entry) uses an IST stack and
; decides by the sign of GS.base.
;
; IST stacks. From ring 3 the frame moves to the thread's empty kernel stack, and all is as for any
; other vector. From ring 0 it may not stay where the CPU pushed it: the next NMI would be pushed
; to the same place, and NMIs can come again before the handler ends, since any IRETQ (that of an
; int3 met in the handler, say) lets them in. Therefore:
;
;   high  +------------------+ ist_stacks[n] + IST_STACK_SIZE
;         |  work region     |   frames stay here, each below the one that it interrupted
;         +------------------+ ist_stacks[n] + IST_LANDING_SIZE = what the TSS says
;         |  landing zone    |   the CPU pushes here; a few instructions later it is free again
;   low   +------------------+ ist_stacks[n], guard page below
;
; Where in the work region: if the interrupted RSP lies in it, some frame is in use, and all below
; RSP is free (the kernel is compiled without a red zone): go on there. Otherwise no frame is in
; use, and the region's top is taken. No flag has to change together with RSP. The argument needs
; that
;
;   1. RSP stays in the region of a handler as long as the handler runs. Interrupt gates without
;      IST do not change the stack in ring 0, handlers do not switch stacks, #MC and #DF from ring 0
;      never return. #DB within an NMI handler does change it, so it is moved below the RSP of that
;      handler; and an NMI that hits it before it has moved goes by the RSP that the #DB
;      interrupted.
;   2. RSP lies in a region only if ring 0 put it there. Ring 0 runs on a RSP of ring 3 only within
;      syscall_entry's window, which RIP tells.
;   3. Nobody else lands while a landing zone is in use. In that of NMI, NMIs are blocked by the CPU
;      itself. An NMI may hit that of #DB, and its handler may meet a #DB, too: therefore every NMI
;      puts the zone back as it found it, always, so that an NMI that hits another one in the act
;      does no harm either. The code that runs on a landing zone does not fault.
;
; NMIs whose handlers let in the next one before they end, each of them, for long enough, would fill
; the region; the guard page then makes it a double fault. The rates of the kernel's own NMIs are
; far from that.

%include "asm_offsets.inc"
%include "arch/x86/macros.inc"

        default rel

        extern trap_dispatch
        extern trap_breakpoint
        extern trap_check_user_frame

; --- pieces ---

; A NOP of three bytes that arch_early_init() makes a CLAC if the CPU has SMAP: ring 3 may have set
; AC.
%macro CLAC_SITE 0-1 .text
%%site: db 0x0f, 0x1f, 0x00
        section .clac_sites progbits alloc noexec nowrite align=8
        dq %%site
        section %1
%endmacro

; --- stubs ---

; VECTOR number, has_error_code, ist
%macro VECTOR 3
        align 16
vector_stub_%1:
    %if %2 == 0
        push 0
    %endif
        push %1
    %if %3 == IST_DOUBLE_FAULT
        jmp ist_entry.stay
    %elif %1 == VECTOR_BREAKPOINT
        jmp breakpoint_entry
    %elif %3 != 0
        jmp ist_entry
    %else
        jmp trap_entry
    %endif
%endmacro

        section .text
%include "vectors.inc"

%unmacro VECTOR 3
%macro VECTOR 3
        dq vector_stub_%1
%endmacro

        section .rodata align=8
        global vector_stubs:data (vector_stubs.end - vector_stubs)
vector_stubs:
%include "vectors.inc"
.end:

        section .text

; --- entry on the stack of the privilege change ---

; RSP: vector, error, frame of the CPU.
FUNCTION trap_entry
        cld
        CLAC_SITE
        test byte [rsp + FRAME_CS - FRAME_VECTOR], 3
        jz .from_kernel
        swapgs
.from_user:
        PUSH_REGISTERS
        xor ebp, ebp                    ; backtraces end here
        mov rdi, rsp
        call trap_dispatch
        jmp return_to_user
.from_kernel:
        PUSH_REGISTERS
        mov rdi, rsp
        call trap_dispatch
        POP_REGISTERS
        add rsp, 16                     ; vector, error
        iretq
END_FUNCTION

; RSP: a whole struct trap_frame of ring 3, checked, so that IRETQ cannot fault. Interrupts are off.
FUNCTION return_to_user
        POP_REGISTERS
        add rsp, 16                     ; vector, error
        swapgs
        iretq
END_FUNCTION

; --- breakpoints ---

; RSP: vector, error, frame of the CPU. An int3 in the kernel can stand for a CALL, whose return
; address belongs just below the interrupted RSP, where the CPU has put its frame. So the frame
; moves down by its size and a word, for alignment: the 7 words below the interrupted RSP are free.
        section .text.noprobe progbits alloc exec nowrite align=16
FUNCTION breakpoint_entry
        test byte [rsp + FRAME_CS - FRAME_VECTOR], 3
        jnz trap_entry
        cld
        CLAC_SITE .text.noprobe
        sub rsp, 8
%rep 7                                  ; ss rsp rflags cs rip error vector
        push qword [rsp + 8 * 7]
%endrep
        PUSH_REGISTERS
        mov rdi, rsp
        call trap_breakpoint
        POP_REGISTERS
        add rsp, 16                     ; vector, error
        iretq
END_FUNCTION
        section .text

; --- entry on an IST stack ---

; RSP: vector, error, frame of the CPU, in the landing zone.
FUNCTION ist_entry
        cld
        CLAC_SITE
        test byte [rsp + FRAME_CS - FRAME_VECTOR], 3
        jz .save
        swapgs
        push rax
        mov rax, rsp
        mov rsp, [gs:CPU_KERNEL_STACK_TOP]
%assign word 7                          ; ss rsp rflags cs rip error vector
%rep 7
        push qword [rax + 8 * word]
    %assign word word - 1
%endrep
        mov rax, [rax]
        jmp trap_entry.from_user

.stay:                                  ; #DF: never moves, whatever the ring; it is fatal
        cld
        CLAC_SITE
.save:
        push rax
        push rbx
        push rcx
        push rdx
        push rsi
        push rdi
        mov ecx, MSR_GS_BASE
        rdmsr
        mov ebx, edx                    ; kept by C; bit 31: GS was the kernel's
        test ebx, ebx
        js .gs_is_kernel
        swapgs
.gs_is_kernel:

; Words above RSP now: rdi rsi rdx rcx rbx rax vector error rip cs rflags rsp ss.
%define LANDED(n) [rsp + 8 * (n)]
        mov rcx, LANDED(11)             ; what was interrupted: RSP, RIP
        mov rax, LANDED(8)
        mov rsi, [gs:CPU_ARCH]
        mov rdi, [rsi + ARCH_DEBUG_STACK]
        mov rdx, rcx
        sub rdx, rdi
        cmp rdx, IST_LANDING_SIZE
        jae .not_landing
        mov rcx, [rdi + IST_LANDING_SIZE - 16] ; a #DB that had not moved yet: what that interrupted
        mov rax, [rdi + IST_LANDING_SIZE - 40]
.not_landing:
        mov rdi, rsp
        and rdi, -PAGE_SIZE             ; this IST stack: the landing zone is in its first page
        lea rdx, [syscall_entry]
        sub rax, rdx
        cmp rax, syscall_entry.window_end - syscall_entry
        jb .take_top                    ; RSP is ring 3's
        mov rdx, rdi
        call .find_region
        jc .place
        mov rdx, [rsi + ARCH_NMI_STACK]
        call .find_region
        jc .place
.take_top:
        lea rcx, [rdi + IST_STACK_SIZE]
.place:
        and rcx, -16
        mov rax, rsp
        mov rsp, rcx
%assign word 12                         ; ss rsp rflags cs rip error vector rax rbx rcx rdx rsi rdi
%rep 13
        push qword [rax + 8 * word]
    %assign word word - 1
%endrep
        PUSH_FROM_RBP
        mov rax, rsp                    ; struct trap_frame
        mov rsi, [rsi + ARCH_DEBUG_STACK]
        sub rsp, IST_LANDING_SIZE
        mov rdi, rsp
        mov ecx, IST_LANDING_SIZE / 8
        rep movsq
        mov rdi, rax
        call trap_dispatch
        mov rdi, [gs:CPU_ARCH]
        mov rdi, [rdi + ARCH_DEBUG_STACK]
        mov rsi, rsp
        mov ecx, IST_LANDING_SIZE / 8
        rep movsq
        add rsp, IST_LANDING_SIZE
        test ebx, ebx
        js .return
        swapgs
.return:
        POP_REGISTERS
        add rsp, 16                     ; vector, error
        iretq

; CF = whether RCX lies in the work region of the IST stack at RDX. Changes RDX.
.find_region:
        add rdx, IST_LANDING_SIZE
        cmp rdx, rcx
        jnc .not_there
        add rdx, IST_STACK_SIZE - IST_LANDING_SIZE + 1
        cmp rcx, rdx
.not_there:
        ret
END_FUNCTION

; --- SYSCALL ---

; SFMASK has cleared IF, TF, DF, AC, NT, IOPL, RF. RCX = RIP, R11 = RFLAGS of ring 3, and so do they
; stand in the frame.
FUNCTION syscall_entry
        swapgs
        mov [gs:CPU_USER_RSP], rsp
        mov rsp, [gs:CPU_KERNEL_STACK_TOP]
.window_end:
        push SELECTOR_USER_DATA
        push qword [gs:CPU_USER_RSP]
        push r11
        push SELECTOR_USER_CODE
        push rcx
        push 0
        push VECTOR_SYSCALL
        jmp trap_entry.from_user
END_FUNCTION

; --- leaving to ring 3 for the first time, switching stacks ---

; void context_enter_user(struct trap_frame *frame)
FUNCTION context_enter_user
        mov rbx, rdi
        call trap_check_user_frame
        mov rsp, rbx
        jmp return_to_user
END_FUNCTION

; void context_switch(struct context *from, struct context *to)
FUNCTION context_switch
        push rbp
        push rbx
        push r12
        push r13
        push r14
        push r15
        mov [rdi], rsp
        mov rsp, [rsi]
        pop r15
        pop r14
        pop r13
        pop r12
        pop rbx
        pop rbp
        ret
END_FUNCTION

; Where the first switch to a context goes: R12 = function, R13 = argument (context_init).
FUNCTION context_start
        mov rdi, r13
        call r12
        ud2                             ; the function must not return
END_FUNCTION

        section .note.GNU-stack noalloc noexec nowrite progbits
