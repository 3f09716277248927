; SPDX-License-Identifier: MIT
; Where dynamic probes run code of their own: room for copies of instructions, and what a jump that
; replaces instructions leads to.
;
; The template is copied for each such jump, its holes are filled in (text_probe_change.c), and the
; copies of the replaced instructions follow it. It leaves a whole struct trap_frame, as if at an
; int3, and restores what the frame says, but for RIP, RSP and the selectors. Interrupts are off
; from .masked to .unmasked, so that an interrupt finds RIP at the few instructions outside only,
; where text_probe.c knows how to undo what was pushed.

%include "asm_offsets.inc"
%include "arch/x86/macros.inc"

        section .rodata align=8
        global probe_template:data (probe_template.end - probe_template)
        global probe_template_offsets:data (probe_template_offsets.end - probe_template_offsets)

probe_template:
        push SELECTOR_KERNEL_DATA
.ss_pushed:
        push rsp
.rsp_pushed:
        pushfq
.flags_pushed:
        cli
.masked:
        push SELECTOR_KERNEL_CODE
        push strict dword 0             ; RIP
.rip_hole:
        push 0                          ; error
        push VECTOR_BREAKPOINT
        PUSH_REGISTERS
        cld
        mov rdi, rsp
        add qword [rdi + FRAME_RSP], 8  ; SS was pushed before
        mov rsi, strict qword 0         ; struct text_probe
.probe_hole:
        mov rbx, rsp                    ; the frame has the interrupted one
        and rsp, -16
        db 0xe8                         ; call text_probe_jumped
        dd 0
.call_hole:
        mov rsp, rbx
        POP_REGISTERS
        add rsp, 32                     ; vector, error, RIP, CS
        popfq
.unmasked:
        lea rsp, [rsp + 16]             ; RSP, SS
.end:

; enum template_offset
probe_template_offsets:
        db probe_template.ss_pushed - probe_template
        db probe_template.rsp_pushed - probe_template
        db probe_template.flags_pushed - probe_template
        db probe_template.rip_hole - probe_template
        db probe_template.probe_hole - probe_template
        db probe_template.call_hole - probe_template
        db probe_template.unmasked - probe_template
        db probe_template.end - probe_template
.end:

; Filled with int3. Executable and not writable, as all text (paging_open_text).
        section .text.probe_blocks progbits alloc exec nowrite align=4096
        global probe_blocks:data (probe_blocks.end - probe_blocks)
probe_blocks:
        times TEXT_PROBES_MAX * TEXT_PROBE_BLOCK db 0xcc
.end:

        section .note.GNU-stack noalloc noexec nowrite progbits
