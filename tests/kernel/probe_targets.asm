; SPDX-License-Identifier: MIT
; Functions whose every instruction is probed by suite_probes.c, and how they are called there.
;
; A target gets all registers from a struct target_registers (probe_targets_run.asm), with RDI and
; RSI pointing into probe_target_data, and leaves its results in registers and there. It is
; balanced: RSP comes out as it was.

%include "arch/x86/macros.inc"

        default rel

%define MSR_EFER 0xc0000080
%define NOT_CANONICAL 0x8000000000000000

; --- targets ---

        section .rodata.probe_targets progbits alloc noexec nowrite align=8
        global probe_targets, probe_targets_end
probe_targets:                          ; struct target
        section .text

; TARGET name, straight: whether each instruction runs exactly once
%macro TARGET 2
    %defstr TARGET_NAME %1
        section .rodata
%%name: db TARGET_NAME, 0
        section .rodata.probe_targets progbits alloc noexec nowrite align=8
        dq %%name, target_%1, target_%1.end, %2
        section .text
FUNCTION target_%1
%endmacro

; The fault at the next instruction goes on at label %1 (trap.c's table).
%macro FAULTS 1
%%here:
        section .fixups
        dq %%here, %1
        section .text
%endmacro

TARGET plain, 1
        push rbp
        mov rbp, rsp
        lea rax, [rbx + rcx * 4 + 0x12345678]
        add rax, rdx
        adc r8, rax
        sub r9d, [rdi + 8]
        mov [rdi], r8
        movzx r10d, byte [rdi + 1]
        movsx r11, word [rdi + 2]
        bswap r12
        shl r13, 5
        imul r14, r15
        xchg rbx, r8
        xchg rax, r8
        cmovc rdx, r9
        setc r9b
        bt rdx, 3
        rcl r15, 1
        mov rcx, 0x1122334455667788
        mov ecx, 77
        xor edx, edx
        mov eax, 1000
        div ecx
        nop
        db 0x0f, 0x1f, 0x44, 0x00, 0x00
        pause
        mov rbx, [gs:0]
        mov rbx, [rbx]
        sub rbx, [gs:0]
        pop rbp
        ret
END_FUNCTION

TARGET rip_relative, 1
        mov rax, [probe_target_data + 16]
        add [probe_target_data + 24], rbx
        cmp byte [probe_target_data], 0x42
        setb r8b
        lea rcx, [probe_target_data]
        lea rdx, [target_plain]
        mov dword [probe_target_data + 32], 0x12345678
        mov byte [probe_target_data + 36], 0x12
        inc qword [probe_target_data + 40]
        push qword [probe_target_data + 48]
        pop qword [probe_target_data + 56]
        imul r9, [probe_target_data + 64], 0x1234567
        ret
END_FUNCTION

TARGET conditions, 0
        xor eax, eax
        xor r8d, r8d
.again:
%assign bit 0
%rep 16
        cmp rbx, rcx
        db 0x70 + bit, 5                ; jcc over the next one
        bts rax, bit
        cmp rbx, rcx
        db 0x0f, 0x80 + bit, 5, 0, 0, 0
        bts rax, 16 + bit
    %assign bit bit + 1
%endrep
        rol rax, 20
        add rbx, rdx
        inc r8
        cmp r8, 3
        jne .again
        ret
END_FUNCTION

TARGET loops, 0
        mov ecx, 5
        xor eax, eax
.first:
        add eax, ecx
        loop .first
        mov rcx, 0x300000003            ; ECX counts
.second:
        lea eax, [eax + ecx * 2]
        a32 loop .second
        mov ecx, 9
.third:
        cmp ecx, 4
        lea eax, [rax + rcx * 4]
        loopne .third
        mov ecx, 4
.fourth:
        cmp eax, eax
        lea eax, [rax + rcx]
        loope .fourth
        jrcxz .fifth
        inc rax
.fifth:
        mov rcx, 0x100000000
        jrcxz .sixth
        a32 jecxz .sixth
        inc rax
.sixth:
        ret
END_FUNCTION

TARGET calls, 0
        call .next                      ; pushes the original's address
.next:
        pop rax
        lea rbx, [callee]
        call rbx
        mov r12, rbx
        call r12
        call [callee_pointer]
        lea r12, [callee_pointer]
        call [r12]
        xor ecx, ecx
        call [r12 + rcx * 8]
        mov rdx, r12
        call [rdx + rcx * 8 + 8]
        call callee
        push 3
        push 4
        call .inner
        ret
.inner:
        add r8, [rsp + 8]
        ret 16
END_FUNCTION

FUNCTION callee
        rol r9, 3
        xor r9, [rsp]                   ; the return address
        inc r8
        ret
END_FUNCTION

TARGET jumps, 0
        jmp short .first
        inc r8
.first:
        jmp near .second
        inc r8
.second:
        lea rax, [.third]
        jmp rax
        inc r8
.third:
        jmp [jump_table]
        inc r8
.fourth:
        mov ecx, 1
        lea r11, [jump_table]
        jmp [r11 + rcx * 8]
        inc r8
.fifth:
        ret
END_FUNCTION

TARGET strings, 1
        mov ecx, 16
        lea rsi, [probe_target_data]
        lea rdi, [probe_target_data + 128]
        rep movsb
        mov ecx, 4
        rep stosq
        lea rdi, [probe_target_data]
        mov ecx, 20
        mov al, [probe_target_data + 9]
        repne scasb
        mov r8, rdi
        mov ecx, 20
        rep cmpsb
        lodsb
        stosw
        std
        movsb
        mov ecx, 0
        rep movsb
        cld
        ret
END_FUNCTION

TARGET flags, 1
        pushfq
        pop rax
        stc
        pushfq
        pop rbx
        push rax
        popfq
        cli
        pushfq
        pop rcx
        pushfq
        popfq
        pushfq
        pop r8
        push rax
        popfq
        pushfq
        pop rdx
        lahf
        cmc
        mov r9, rax
        sahf
        std
        pushfq
        pop r10
        cld
        pushfw
        pop r11w
        ret
END_FUNCTION

TARGET faults, 1
        mov r8, NOT_CANONICAL
        mov r9, rsp
FAULTS .load
        mov rax, [r8]
.load:
        inc ebx
FAULTS .store
        mov [r8 + 8], rbx
.store:
        inc ebx
FAULTS .update
        lock add qword [r8], 1
.update:
        inc ebx
FAULTS .segment
        mov es, r15d
.segment:
        inc ebx
FAULTS .called
        call [r8]
.called:
        inc ebx
FAULTS .jumped
        jmp [r8 + 16]
.jumped:
        inc ebx
FAULTS .pushed
        push qword [r8]
.pushed:
        inc ebx
FAULTS .popped
        pop qword [r8]
.popped:
        mov ecx, 3
        mov r10, rsi
        mov rsi, r8
FAULTS .copied
        rep movsb
.copied:
        mov rsi, r10
        sub r9, rsp
        pushfq
        pop r11
        and r11d, 0x300
        ret
END_FUNCTION

TARGET system, 1
        mov rax, cr0
        mov cr0, rax
        mov rbx, cr3
        mov cr3, rbx
        mov rdx, cr4
        mov cr4, rdx
        mov r8, dr7
        mov dr7, r8
        invlpg [rdi]
        str r9d
        mov ecx, MSR_EFER
        rdmsr
        wrmsr
        mov r10, rax
        xor eax, eax
        cpuid
        ret
END_FUNCTION

TARGET stack, 1
        push 5
        push 0x12345678
        push r8
        push qword [rdi]
        pop qword [rdi + 8]
        pop rax
        pop rbx
        pop rcx
        push rsp
        pop rdx
        sub rdx, rsp
        enter 32, 0
        mov [rsp], rax
        leave
        push rbp
        mov rbp, rsp
        sub rsp, 64
        mov [rsp + 8], rbx
        mov rsp, rbp
        pop rbp
        test eax, eax                   ; flags that do not tell where the stack is
        ret
END_FUNCTION

TARGET atomics, 1
        lock xadd [rdi], rbx
        mov rax, [rdi + 8]
        lock cmpxchg [rdi + 8], rcx
        setz r8b
        xchg [rdi + 16], rdx
        lock bts qword [rdi + 24], 7
        setc r9b
        lock inc dword [rdi + 32]
        mov rax, [rdi + 48]
        lock cmpxchg16b [rdi + 48]
        setz r10b
        mfence
        ret
END_FUNCTION

; --- under load: registers and stack only, so that all CPUs can be in it ---

TARGET hot, 0
        push rbp
        mov rbp, rsp
        sub rsp, 64
        mov rax, rdi
        mov ecx, 3
.again:
        lea rax, [rax + rax * 2 + 1]
        call .inner
        test al, 1
        jz .even
        xor rax, [rel salt]
.even:
        loop .again
        mov [rsp], rax
        mov rsi, rsp
        lea rdi, [rsp + 16]
        mov ecx, 8
        rep movsb
        mov rax, [rsp + 16]
        xor esi, esi                    ; the stack is another one for each caller
        xor edi, edi
        pushfq
        pop rdx
        leave
        ret
.inner:
        rol rax, 7
        ret
END_FUNCTION

; What NMIs run; alone, so that it can be probed by itself.
TARGET leaf, 1
        lea rax, [rdi + rdi * 2]
        xor rax, rsi
        rol rax, 9
        ret
END_FUNCTION

        section .rodata.probe_targets
probe_targets_end:

        section .rodata align=8
callee_pointer:
        dq callee
        dq callee
jump_table:
        dq target_jumps.fourth
        dq target_jumps.fifth
salt:   dq 0x9e3779b97f4a7c15

        section .data align=64
        global probe_target_data
probe_target_data:
        times 512 db 0

        section .note.GNU-stack noalloc noexec nowrite progbits
