/* SPDX-License-Identifier: MIT */
/* The format of a recording's file and of its event streams: one header for the kernel and the host
 * tools. All numbers are little-endian.
 *
 * A file is a row of chunks, each at an offset that is a multiple of LOG_CHUNK_ALIGN: struct
 * log_chunk, `length` bytes of payload, zeroes up to the next multiple. Chunks are only ever
 * appended. Their order: HEADER first; VMA, THREAD and PAGE, which make up the checkpoint; BEGIN
 * closes that; STREAM, in any order of the threads; END last, when the recording was brought to its
 * end. PAD may stand anywhere after HEADER. A file without END was cut and is good up to its last
 * whole chunk.
 *
 * A stream holds the events of one thread in order; an event's number is its place, from 1. It is
 * cut into blocks, one a STREAM chunk, each of which can be decoded by itself: the coder's state
 * starts afresh there.
 *
 * An event is coded as
 *   u8      kind | LOG_SAME_POINT
 *   unless LOG_SAME_POINT (the point is that of the event before, in the same block):
 *     varint  ticks - last ticks
 *     svarint rip - last rip
 *     svarint rcx - last rcx
 *     u32     check, little-endian
 *   then those of these fields that the kind has, in this order:
 *     PAGE    svarint  page number - last page number (address / 4096)
 *     RIGHTS  u8       enum log_rights, and LOG_RIGHTS_EXECUTE
 *     A, B    varint
 *     DEPS    varint   how many; for each: varint slot, varint event number
 * varint: little-endian groups of 7 bits, top bit = more follows. svarint: zigzag, then varint.
 * "Last" values are 0 at the start of a block.
 *
 * A change of anything here changes LOG_FORMAT_VERSION; tests/host/test_log_layout.c holds a
 * digest of the layout and fails when only one of them changes.
 */
#ifndef REPLAY_LOG_FORMAT_H
#define REPLAY_LOG_FORMAT_H

#include <stdint.h>

#define LOG_FORMAT_VERSION 2
#define LOG_MAX_SLOTS 64 /* threads of one recording, the ended ones included */
#define LOG_MAX_DEPS LOG_MAX_SLOTS
#define LOG_SAME_POINT 0x80

/* What a tick is. COND: retired user-mode conditional branches. ALL: all retired user-mode
 * branches, far transfers (calls of the kernel, INT n, IRET) not counted. */
#define LOG_UNIT_TABLE(X)                                                                          \
    X(0, COND, "cond")                                                                             \
    X(1, ALL, "all")

enum log_unit {
#define X(number, name, text) LOG_UNIT_##name = number,
    LOG_UNIT_TABLE(X)
#undef X
};

enum log_rights {
    LOG_RIGHTS_NONE,
    LOG_RIGHTS_READ,
    LOG_RIGHTS_WRITE,
};
#define LOG_RIGHTS_MASK 3
#define LOG_RIGHTS_EXECUTE 4 /* added to the others by PROMOTE: the mapping allows that, too */

/* A place in one thread's execution. check: a hash of the general registers, which tells
 * apart what ticks, RIP and RCX do not (a function without conditional branches that is
 * called twice) and finds a divergence where it begins. */
struct log_point {
    uint64_t ticks, rip, rcx;
    uint32_t check;
};

struct log_dep {
    uint32_t slot;
    uint64_t event;
};

#define LOG_FIELD_PAGE 1
#define LOG_FIELD_RIGHTS 2
#define LOG_FIELD_A 4
#define LOG_FIELD_B 8
#define LOG_FIELD_DEPS 16

/* E(number, NAME, text, asynchronous, fields)
 * Asynchronous events do not come by themselves in a replay: it must stop the thread there. */
#define LOG_EVENT_TABLE(E)                                                                         \
    /* the view gains rights on page, at a fault or for a system call */                           \
    E(1, PROMOTE, "promote", 0, LOG_FIELD_PAGE | LOG_FIELD_RIGHTS | LOG_FIELD_DEPS)                \
    /* the view is left with rights on page */                                                     \
    E(2, DEMOTE, "demote", 1, LOG_FIELD_PAGE | LOG_FIELD_RIGHTS)                                   \
    /* a: number */                                                                                \
    E(3, SYSCALL, "syscall", 0, LOG_FIELD_A)                                                       \
    /* a: RAX; its point is the one at which the thread goes on */                                 \
    E(4, RESULT, "result", 0, LOG_FIELD_A)                                                         \
    /* a: enum object_id; the system call uses that kernel object */                               \
    E(5, ORDER, "order", 0, LOG_FIELD_A | LOG_FIELD_DEPS)                                          \
    /* the system call copies from or to page, which the view holds */                             \
    E(6, ACCESS, "access", 0, LOG_FIELD_PAGE | LOG_FIELD_RIGHTS)                                   \
    /* the system call was refused page: no mapping, no right */                                   \
    E(7, REFUSED, "refused", 0, LOG_FIELD_PAGE | LOG_FIELD_RIGHTS | LOG_FIELD_DEPS)                \
    /* a: enum value_kind, b: the value */                                                         \
    E(8, VALUE, "value", 0, LOG_FIELD_A | LOG_FIELD_B)                                             \
    /* rec_owner: a: pages held, b: hash of which */                                               \
    E(9, OWNER, "owner", 0, LOG_FIELD_A | LOG_FIELD_B)                                             \
    /* the thread is stopped here: end of the recording or of its process */                       \
    E(10, STOP, "stop", 1, 0)                                                                      \
    /* the thread ends itself; a: status */                                                        \
    E(11, EXIT, "exit", 0, LOG_FIELD_A)                                                            \
    /* an exception ends the process; a: vector | error << 32, b: address */                       \
    E(12, FATAL, "fatal", 0, LOG_FIELD_A | LOG_FIELD_B | LOG_FIELD_DEPS)                           \
    /* munmap or mprotect has taken page from the views that held it */                            \
    E(13, REVOKE, "revoke", 0, LOG_FIELD_PAGE | LOG_FIELD_DEPS)

enum log_kind {
#define E(number, name, text, asynchronous, fields) LOG_##name = number,
    LOG_EVENT_TABLE(E)
#undef E
};

/* --- the file --- */

#define LOG_CHUNK_MAGIC 0x31574353u /* "SCW1" */
#define LOG_CHUNK_ALIGN 8
#define LOG_CHUNK_MAX 8192 /* bytes of a chunk, header and padding included */
#define LOG_PAGE_SIZE 4096
#define LOG_FILE_MAGIC "SKELCREW"

/* K(number, NAME, text) */
#define LOG_CHUNK_TABLE(K)                                                                         \
    K(1, HEADER, "header") /* struct log_header */                                                 \
    K(2, VMA, "vma")       /* struct log_vma */                                                    \
    K(3, THREAD, "thread") /* struct log_thread, then its FPU area of fpu_bytes */                 \
    K(4, PAGE, "page")     /* struct log_page, then LOG_PAGE_SIZE bytes */                         \
    K(5, BEGIN, "begin")   /* struct log_begin */                                                  \
    K(6, STREAM, "stream") /* struct log_block, then coded events; slot: the thread's */           \
    K(7, END, "end")       /* struct log_end, then struct log_end_thread for each slot */          \
    K(8, PAD, "pad")       /* zeroes */

enum log_chunk_kind {
#define K(number, name, text) LOG_CHUNK_##name = number,
    LOG_CHUNK_TABLE(K)
#undef K
};

/* In front of every payload. crc: CRC-32C over the chunk, padding included, with crc itself as 0.
 * file_id: a number that hardly any two files share, so that what is left of an older file in the
 * same place of a disk is never taken for a part of this one. */
struct log_chunk {
    uint32_t magic;
    uint16_t kind;   /* enum log_chunk_kind */
    uint16_t slot;   /* THREAD, STREAM; else 0 */
    uint32_t length; /* of the payload */
    uint32_t crc;
    uint64_t file_id;
    uint64_t sequence; /* of the chunk in its file, from 0 */
};

/* The fields of each structure: F(type, name, [count], FORM). FORM says how a reader shows it:
 * NUMBER, HEX, TEXT (ended by 0), WORDS (texts, each ended by 0), BYTES. Names that begin with
 * `reserved` are 0. */
#define LOG_HEADER_FIELDS(F)                                                                       \
    F(char, magic, [8], TEXT) /* LOG_FILE_MAGIC without its end */                                 \
    F(uint32_t, version, , NUMBER)                                                                 \
    F(uint32_t, page_size, , NUMBER)                                                               \
    F(char, kernel, [32], TEXT) /* name and version of what wrote this */                          \
    /* the program */                                                                              \
    F(char, program, [32], TEXT)                                                                   \
    F(uint64_t, program_bytes, , NUMBER)  /* of its file */                                        \
    F(uint8_t, program_hash, [32], BYTES) /* BLAKE2b-256 of its file */                            \
    F(uint32_t, argument_count, , NUMBER)                                                          \
    F(uint32_t, pid, , NUMBER)                                                                     \
    F(char, arguments, [256], WORDS)                                                               \
    F(char, warnings, [160], TEXT)  /* instructions that no recorder can trap */                   \
    F(uint8_t, random, [16], BYTES) /* what AT_RANDOM points to */                                 \
    F(uint32_t, next_index, ,                                                                      \
      NUMBER) /* of the thread that is created next; its tid is pid + it */                        \
    /* ticks */                                                                                    \
    F(uint32_t, unit, , NUMBER) /* enum log_unit */                                                \
    F(char, source, [8], TEXT)                                                                     \
    F(char, source_model, [48], TEXT)  /* the PMU model's name in pmu_models.c; "" for step */     \
    F(uint32_t, source_skid, , NUMBER) /* most ticks that an overflow comes late */                \
    F(uint32_t, source_cost_syscall, , NUMBER) /* events that the counter adds for an entry */     \
    F(uint32_t, source_cost_fault, , NUMBER)                                                       \
    F(uint32_t, source_cost_interrupt, , NUMBER)                                                   \
    /* the machine */                                                                              \
    F(uint32_t, cpus, , NUMBER)                                                                    \
    F(char, cpu_vendor, [16], TEXT)                                                                \
    F(char, cpu_brand, [52], TEXT)                                                                 \
    F(uint32_t, cpu_signature, , HEX)  /* CPUID.1:EAX */                                           \
    F(uint32_t, guards, , HEX)         /* LOG_GUARD_* */                                           \
    F(uint64_t, fpu_components, , HEX) /* XCR0; 3 with FXSAVE */                                   \
    F(uint32_t, fpu_bytes, , NUMBER)   /* of an area: XSAVE's standard form, or FXSAVE's 512 */    \
    F(uint32_t, mxcsr_mask, , HEX)                                                                 \
    /* what the process had written before: BLAKE2b in the middle (kernel/hash.h) */               \
    F(uint64_t, output_bytes, , NUMBER)                                                            \
    F(uint64_t, output_state, [8], BYTES)                                                          \
    F(uint64_t, output_count, [2], BYTES)                                                          \
    F(uint8_t, output_block, [128], BYTES)                                                         \
    F(uint32_t, output_used, , NUMBER)                                                             \
    F(uint32_t, output_digest_size, , NUMBER)

/* What the recorder could trap: the rest of it a program could have used unseen. */
#define LOG_GUARD_TSC 1   /* RDTSC, RDTSCP are logged */
#define LOG_GUARD_UMIP 2  /* SGDT and its like are refused */
#define LOG_GUARD_CPUID 4 /* CPUID is trapped */

/* A mapping. prot: 1 read, 2 write, 4 execute (kernel/abi.h). Ascending, not overlapping. */
#define LOG_VMA_FIELDS(F)                                                                          \
    F(uint64_t, start, , HEX)                                                                      \
    F(uint64_t, end, , HEX)                                                                        \
    F(uint32_t, prot, , NUMBER)                                                                    \
    F(uint32_t, reserved, , NUMBER)

/* A thread that there was when the recording began; its slot in the chunk. Slots ascend from 0. */
#define LOG_THREAD_FIELDS(F)                                                                       \
    F(uint32_t, index, , NUMBER) /* in its process: gives the tid */                               \
    F(uint32_t, fpu_bytes, , NUMBER)                                                               \
    F(uint64_t, r15, , HEX)                                                                        \
    F(uint64_t, r14, , HEX)                                                                        \
    F(uint64_t, r13, , HEX)                                                                        \
    F(uint64_t, r12, , HEX)                                                                        \
    F(uint64_t, r11, , HEX)                                                                        \
    F(uint64_t, r10, , HEX)                                                                        \
    F(uint64_t, r9, , HEX)                                                                         \
    F(uint64_t, r8, , HEX)                                                                         \
    F(uint64_t, rbp, , HEX)                                                                        \
    F(uint64_t, rdi, , HEX)                                                                        \
    F(uint64_t, rsi, , HEX)                                                                        \
    F(uint64_t, rdx, , HEX)                                                                        \
    F(uint64_t, rcx, , HEX)                                                                        \
    F(uint64_t, rbx, , HEX)                                                                        \
    F(uint64_t, rax, , HEX)                                                                        \
    F(uint64_t, rip, , HEX)                                                                        \
    F(uint64_t, cs, , HEX)                                                                         \
    F(uint64_t, rflags, , HEX)                                                                     \
    F(uint64_t, rsp, , HEX)                                                                        \
    F(uint64_t, ss, , HEX)                                                                         \
    F(uint64_t, fs_base, , HEX)                                                                    \
    F(uint64_t, clear_child_tid, , HEX)                                                            \
    F(uint16_t, ds, , HEX)                                                                         \
    F(uint16_t, es, , HEX)                                                                         \
    F(uint16_t, fs, , HEX)                                                                         \
    F(uint16_t, gs, , HEX)

/* A page that is not all zero. Ascending. */
#define LOG_PAGE_FIELDS(F) F(uint64_t, address, , HEX)

/* How many of each the checkpoint has. */
#define LOG_BEGIN_FIELDS(F)                                                                        \
    F(uint32_t, vmas, , NUMBER)                                                                    \
    F(uint32_t, threads, , NUMBER)                                                                 \
    F(uint64_t, pages, , NUMBER)

/* Events first_event … first_event + events - 1 of the chunk's slot. */
#define LOG_BLOCK_FIELDS(F)                                                                        \
    F(uint64_t, first_event, , NUMBER)                                                             \
    F(uint32_t, events, , NUMBER)                                                                  \
    F(uint32_t, reserved, , NUMBER)

/* complete: 1; 0 when the recorder gave up, for `reason`: the streams are good up to here, and
 * nothing is said about the end state. hash: BLAKE2b-128 of the end state (docs/log-format.md). */
#define LOG_END_FIELDS(F)                                                                          \
    F(uint32_t, complete, , NUMBER)                                                                \
    F(uint32_t, slots, , NUMBER) /* threads, the ended ones included */                            \
    F(char, reason, [64], TEXT)  /* why it is not complete */                                      \
    F(uint8_t, hash, [16], BYTES)                                                                  \
    F(uint8_t, output_hash, [16], BYTES)                                                           \
    F(uint64_t, elapsed_ns, , NUMBER)                                                              \
    F(uint32_t, ended, , NUMBER)  /* 1: the process ended within the recording, as follows */      \
    F(uint32_t, killed, , NUMBER) /* 1: by an exception */                                         \
    F(uint32_t, exit_status, , NUMBER)                                                             \
    F(uint32_t, reserved, , NUMBER)                                                                \
    F(char, end_reason, [192], TEXT) /* what killed it */

#define LOG_END_THREAD_FIELDS(F)                                                                   \
    F(uint64_t, ticks, , NUMBER)                                                                   \
    F(uint64_t, events, , NUMBER)

/* STRUCT(name, FIELDS, bytes) */
#define LOG_STRUCT_TABLE(STRUCT)                                                                   \
    STRUCT(header, LOG_HEADER_FIELDS, 960)                                                         \
    STRUCT(vma, LOG_VMA_FIELDS, 24)                                                                \
    STRUCT(thread, LOG_THREAD_FIELDS, 192)                                                         \
    STRUCT(page, LOG_PAGE_FIELDS, 8)                                                               \
    STRUCT(begin, LOG_BEGIN_FIELDS, 16)                                                            \
    STRUCT(block, LOG_BLOCK_FIELDS, 16)                                                            \
    STRUCT(end, LOG_END_FIELDS, 320)                                                               \
    STRUCT(end_thread, LOG_END_THREAD_FIELDS, 16)

#define F(type, name, count, form) type name count;
#define STRUCT(name, FIELDS, bytes)                                                                \
    struct log_##name {                                                                            \
        FIELDS(F)                                                                                  \
    };                                                                                             \
    _Static_assert(sizeof(struct log_##name) == (bytes), "a new size is a new version");
LOG_STRUCT_TABLE(STRUCT)
#undef STRUCT
#undef F
#define F(type, name, count, form) +sizeof(type count)
#define STRUCT(name, FIELDS, bytes) _Static_assert((bytes) == 0 FIELDS(F), "no hidden padding");
LOG_STRUCT_TABLE(STRUCT)
#undef STRUCT
#undef F
_Static_assert(sizeof(struct log_chunk) == 32, "no hidden padding");

/* What a block can hold: with its chunk it fills a page of memory. */
#define LOG_BLOCK_BYTES (LOG_PAGE_SIZE - sizeof(struct log_chunk) - sizeof(struct log_block))

/* Bytes of a chunk with this payload. */
#define LOG_CHUNK_BYTES(length)                                                                    \
    ((sizeof(struct log_chunk) + (uint64_t)(length) + LOG_CHUNK_ALIGN - 1) &                       \
     ~(uint64_t)(LOG_CHUNK_ALIGN - 1))

#endif
