; SPDX-License-Identifier: MIT
; From the boot loader to kernel_main(): checks, the first page tables, long mode.
;
; Entered by multiboot in 32-bit protected mode, flat segments, paging off: EAX = magic, EBX =
; physical address of the information. Both are kept in EDI and ESI for kernel_main(magic,
; information).
; The code in .boot is linked where it is loaded; everything else in the upper half.

%include "asm_offsets.inc"
%include "arch/x86/macros.inc"

MULTIBOOT1_LOADED equ 0x2badb002
MULTIBOOT2_LOADED equ 0x36d76289

EFLAGS_ID equ 1 << 21
CPUID_EXTENDED equ 0x80000000
CPUID_LONG_MODE equ 1 << 29             ; 0x80000001, EDX
CR4_PAE equ 1 << 5
CR0_PG_WP_PE equ 1 << 31 | 1 << 16 | 1 << 0

VGA_TEXT equ 0xb8000
VGA_WHITE_ON_RED equ 0x4f
COM1 equ 0x3f8
COM1_LINE_STATUS equ COM1 + 5
LINE_STATUS_EMPTY equ 1 << 5
COM1_PATIENCE equ 100000                ; polls for each byte: there may be no such port

        extern kernel_main
        extern cpu_storage

; --- 32-bit ---

        section .boot.text progbits alloc exec nowrite align=16
        bits 32

        global boot_start:function (boot_start.end - boot_start)
boot_start:
        cli
        cld
        mov edi, eax
        mov esi, ebx
        mov esp, boot_stack_top - KERNEL_BASE
        mov ebp, message_not_multiboot
        cmp edi, MULTIBOOT1_LOADED
        je .loaded
        cmp edi, MULTIBOOT2_LOADED
        jne boot_refuse
.loaded:
        mov ebp, message_no_long_mode
        pushfd                          ; CPUID is there if its flag can be changed
        pop eax
        mov ecx, eax
        xor eax, EFLAGS_ID
        push eax
        popfd
        pushfd
        pop eax
        cmp eax, ecx
        je boot_refuse
        mov eax, CPUID_EXTENDED
        cpuid
        cmp eax, CPUID_EXTENDED + 1
        jb boot_refuse
        mov eax, CPUID_EXTENDED + 1
        cpuid
        test edx, CPUID_LONG_MODE
        jz boot_refuse

        mov eax, CR4_PAE
        mov cr4, eax
        mov eax, boot_pml4 - KERNEL_BASE
        mov cr3, eax
        mov ecx, MSR_EFER
        rdmsr
        or eax, EFER_LONG_MODE
        wrmsr
        mov eax, cr0
        or eax, CR0_PG_WP_PE
        mov cr0, eax
        lgdt [boot_gdt_pointer]
        jmp SELECTOR_KERNEL_CODE:boot_long_mode
.end:

; EBP: text. Shows it on the screen and the serial port and halts.
boot_refuse:
        mov edi, VGA_TEXT
        mov dx, COM1 + 1                ; 115200 8N1, no interrupts
        xor eax, eax
        out dx, al
        mov dx, COM1 + 3
        mov al, 0x80
        out dx, al
        mov dx, COM1
        mov al, 1
        out dx, al
        mov dx, COM1 + 1
        xor eax, eax
        out dx, al
        mov dx, COM1 + 3
        mov al, 3
        out dx, al
.next:
        mov bl, [ebp]
        inc ebp
        test bl, bl
        jz .halt
        mov ecx, COM1_PATIENCE
        mov dx, COM1_LINE_STATUS
.wait:
        in al, dx
        test al, LINE_STATUS_EMPTY
        loopz .wait
        mov al, bl
        mov dx, COM1
        out dx, al
        cmp bl, ' '
        jb .next                        ; the line's end
        mov bh, VGA_WHITE_ON_RED
        mov [edi], bx
        add edi, 2
        jmp .next
.halt:
        cli
        hlt
        jmp .halt

        bits 64
boot_long_mode:
        mov rax, boot_high
        jmp rax

        section .boot.data progbits alloc noexec nowrite align=8
message_not_multiboot:
        db "Skeleton Crew: error: not loaded by a multiboot boot loader", 13, 10, 0
message_no_long_mode:
        db "Skeleton Crew: error: this CPU has no 64-bit mode (long mode)", 13, 10, 0

        align 8
boot_gdt:
        dq 0
        dq 0x00209b0000000000           ; SELECTOR_KERNEL_CODE
        dq 0x0000930000000000           ; SELECTOR_KERNEL_DATA
boot_gdt_pointer:
        dw boot_gdt_pointer - boot_gdt - 1
        dd boot_gdt

; --- 64-bit ---

        section .text
boot_high:
        LOAD_KERNEL_SEGMENTS cpu_storage ; the boot CPU's: this_cpu() works from here on
        mov rsp, boot_stack_top
        xor ebp, ebp                    ; backtraces end here
        mov edi, edi
        mov esi, esi
        call kernel_main                ; does not return
.halt:
        cli
        hlt
        jmp .halt

; --- page tables until paging_init(), and for the start of other CPUs ---
;
;   0                 the first 4 GiB, identity
;   DIRECT_MAP_BASE   the same
;   KERNEL_BASE       the first 1 GiB

PT_TABLE equ 0x3                        ; present, writable
PT_LARGE equ 0x83                       ; 2 MiB
%define PML4_INDEX(address) ((address) >> 39 & 511)
%define PDPT_INDEX(address) ((address) >> 30 & 511)
%define PHYSICAL(symbol) (symbol - KERNEL_BASE)

        section .data.boot_tables progbits alloc noexec write align=4096
        global boot_pml4
boot_pml4:
        dq PHYSICAL(boot_pdpt_low) + PT_TABLE
        times PML4_INDEX(DIRECT_MAP_BASE) - 1 dq 0
        dq PHYSICAL(boot_pdpt_low) + PT_TABLE
        times PML4_INDEX(KERNEL_BASE) - PML4_INDEX(DIRECT_MAP_BASE) - 1 dq 0
        dq PHYSICAL(boot_pdpt_high) + PT_TABLE
        times 512 - PML4_INDEX(KERNEL_BASE) - 1 dq 0
boot_pdpt_low:
%assign gigabyte 0
%rep 4
        dq PHYSICAL(boot_pd) + gigabyte * PAGE_SIZE + PT_TABLE
    %assign gigabyte gigabyte + 1
%endrep
        times 508 dq 0
boot_pdpt_high:
        times PDPT_INDEX(KERNEL_BASE) dq 0
        dq PHYSICAL(boot_pd) + PT_TABLE
        times 512 - PDPT_INDEX(KERNEL_BASE) - 1 dq 0
boot_pd:
%assign page 0
%rep 4 * 512
        dq page << 21 | PT_LARGE
    %assign page page + 1
%endrep

        section .bss.boot_stack nobits alloc noexec write align=4096
        global boot_stack_guard, boot_stack_top
boot_stack_guard:                       ; arch_late_init() unmaps it
        resb PAGE_SIZE
        resb KERNEL_STACK_SIZE
boot_stack_top:

        section .note.GNU-stack noalloc noexec nowrite progbits
