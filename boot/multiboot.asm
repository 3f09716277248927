; SPDX-License-Identifier: MIT
; The headers by which boot loaders know the image: multiboot 1 and 2 side by side.
;
; Both must lie at the beginning of the file: within 8 KiB, 4-byte aligned, and within 32 KiB,
; 8-byte aligned. Sources: Multiboot Specification 0.6.96, 3.1; Multiboot2 Specification 2.0, 3.1.

MULTIBOOT1_MAGIC equ 0x1badb002
MULTIBOOT1_FLAGS equ 3                  ; modules page aligned; memory map wanted

MULTIBOOT2_MAGIC equ 0xe85250d6
MULTIBOOT2_I386 equ 0
TAG_END equ 0
TAG_INFORMATION_REQUEST equ 1
TAG_MODULE_ALIGN equ 6
WANT_CMDLINE equ 1
WANT_MODULES equ 3
WANT_MEMORY_MAP equ 6

        section .boot.header progbits alloc noexec nowrite align=8

multiboot1:
        dd MULTIBOOT1_MAGIC
        dd MULTIBOOT1_FLAGS
        dd -(MULTIBOOT1_MAGIC + MULTIBOOT1_FLAGS)

        align 8
multiboot2:
        dd MULTIBOOT2_MAGIC
        dd MULTIBOOT2_I386
        dd multiboot2_end - multiboot2
        dd -(MULTIBOOT2_MAGIC + MULTIBOOT2_I386 + (multiboot2_end - multiboot2))
.request:
        dw TAG_INFORMATION_REQUEST, 0
        dd .request_end - .request
        dd WANT_CMDLINE, WANT_MODULES, WANT_MEMORY_MAP
.request_end:
        align 8
        dw TAG_MODULE_ALIGN, 0
        dd 8
        dw TAG_END, 0
        dd 8
multiboot2_end:

        section .note.GNU-stack noalloc noexec nowrite progbits
