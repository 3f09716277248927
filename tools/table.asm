; SPDX-License-Identifier: MIT
; A table that describes the kernel, as an object to be linked into it: the build passes its section
; and the file that a tool wrote.

section TABLE_SECTION progbits alloc noexec nowrite align=8
        incbin TABLE_FILE
