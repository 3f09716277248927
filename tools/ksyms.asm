; SPDX-License-Identifier: MIT
; The kernel's symbol table as an object: the build passes KSYMS_FILE, written by tools/ksyms.

section .ksyms progbits alloc noexec nowrite align=8
        incbin KSYMS_FILE
