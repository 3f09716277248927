/* SPDX-License-Identifier: MIT */
/* The stubs that save branch records: what is emitted, and what it does.
 *
 * Decoded by the kernel's own decoder, and run on this CPU: RDMSR, WRMSR and the read of CR3, which
 * a program may not execute, are replaced by instructions of the same length (a register reads as
 * its own number then).
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "arch/x86/insn.h"
#include "arch/x86/layout.h"
#include "arch/x86/lbr_stub.h"
#include "arch/x86/msr.h"
#include "tests/host/tap.h"

#define CODE_SIZE 8192
#define STACK_WORDS 1024

/* --- machines --- */

static struct lbr_machine machine_of(uint32_t depth, uint32_t info, uint32_t top, uint32_t stride)
{
    return (struct lbr_machine){
        .kind = LBR_LEGACY,
        .depth = depth,
        .from = 0x680,
        .to = 0x6c0,
        .info = info,
        .stride = stride,
        .top = top,
        .control = 0x1d9,
        .control_on = 1,
    };
}

/* --- decoding --- */

struct seen {
    unsigned reads, writes, pushes, pops, branches, undecoded, wrong_order, bytes;
    unsigned last_class;
    uint8_t read[0x2000]; /* by MSR number, how often */
};

static void look_at(struct seen *seen, const struct insn *insn, uint32_t *ecx)
{
    bool two_bytes = insn->map == 1;

    if (!two_bytes && insn->opcode == 0xb9)
        *ecx = (uint32_t)insn->immediate;
    if (two_bytes && insn->opcode == 0x32) {
        seen->reads++;
        seen->read[*ecx & 0x1fff]++;
    }
    seen->writes += two_bytes && insn->opcode == 0x30;
    seen->pushes += !two_bytes && (insn->opcode & 0xf8) == 0x50;
    seen->pops += !two_bytes && (insn->opcode & 0xf8) == 0x58;
    seen->branches += insn->class != INSN_OTHER;
    seen->last_class = insn->class;
}

static void decode_all(const uint8_t *code, size_t length, struct seen *seen)
{
    struct insn insn;
    uint32_t ecx = 0;

    memset(seen, 0, sizeof *seen);
    for (size_t at = 0; at < length; at += insn.length) {
        if (insn_decode(code + at, (unsigned)(length - at), INSN_MODE_64, &insn)) {
            seen->undecoded++;
            return;
        }
        look_at(seen, &insn, &ecx);
        seen->bytes += insn.length;
    }
}

static void test_shape(const char *name, struct lbr_machine machine, bool has_error,
                       uint64_t ist_stack, bool again)
{
    static uint8_t code[LBR_STUB_MAX];
    static struct seen seen;
    uint64_t at = CODE_BASE;
    struct lbr_stub stub = {
        .machine = &machine,
        .has_error = has_error,
        .records_again = again,
        .ist_stack = ist_stack,
        .area = DIRECT_MAP_BASE,
        .entry = KERNEL_BASE + 0x100000,
    };
    size_t length = lbr_stub_emit(&stub, at, code);
    unsigned expected =
        machine.depth * (machine.info ? 3 : 2) + (machine.top ? 1 : 0) + (again ? 1 : 0);
    unsigned once = 0;
    int32_t distance;

    ok(length > 0, "%s: it fits into %u bytes (%zu)", name, LBR_STUB_MAX, length);
    decode_all(code, length, &seen);
    ok(!seen.undecoded && seen.bytes == length, "%s: every byte belongs to an instruction", name);
    is_u64(seen.reads, expected, "%s: registers read", name);
    is_u64(seen.writes, again, "%s: registers written", name);
    for (uint32_t i = 0; i < machine.depth; i++)
        once += seen.read[machine.from + i * machine.stride] == 1 &&
                seen.read[machine.to + i * machine.stride] == 1 &&
                (!machine.info || seen.read[machine.info + i * machine.stride] == 1);
    is_u64(once, machine.depth, "%s: every entry once", name);
    ok(seen.pushes == 5 && seen.pops == 5, "%s: five pushes, five pops", name);
    ok(seen.branches == 1 && seen.last_class == INSN_JMP, "%s: one branch, the last", name);
    memcpy(&distance, code + length - 4, 4);
    is_u64(at + length + (uint64_t)(int64_t)distance, stub.entry, "%s: to the usual entry", name);
}

static void test_shapes(void)
{
    test_shape("4 entries", machine_of(4, 0, 0x1c9, 1), false, 0, false);
    test_shape("16 entries, error code", machine_of(16, 0, 0x1c9, 1), true, 0, false);
    test_shape("32 entries with INFO", machine_of(32, 0xdc0, 0x1c9, 1), true, 0, false);
    test_shape("32 entries, no top register, #DB", machine_of(32, 0x1200, 0, 1), false, STACKS_BASE,
               true);
    test_shape("a pair, IST", machine_of(2, 0, 0, 2), false, STACKS_BASE, false);
}

static void test_too_far(void)
{
    static uint8_t code[LBR_STUB_MAX];
    struct lbr_machine machine = machine_of(4, 0, 0x1c9, 1);
    struct lbr_stub stub = {.machine = &machine, .entry = KERNEL_BASE};

    is_u64(lbr_stub_emit(&stub, DIRECT_MAP_BASE, code), 0, "an entry out of reach is refused");
}

/* --- running --- */

struct run {
    uint64_t rax, rcx, rdx, rbx, rsi, rsp;
    const void *code;
};

void stub_enter(struct run *run);
extern const uint8_t stub_landing[];
__asm__(".pushsection .text\n"
        ".globl stub_enter, stub_landing\n"
        "stub_enter:\n\t"
        "push %rbx\n\t"
        "push %rbp\n\t"
        "mov %rsp, stub_saved_rsp(%rip)\n\t"
        "mov 0(%rdi), %rax\n\t"
        "mov 8(%rdi), %rcx\n\t"
        "mov 16(%rdi), %rdx\n\t"
        "mov 24(%rdi), %rbx\n\t"
        "mov 32(%rdi), %rsi\n\t"
        "mov 40(%rdi), %rsp\n\t"
        "jmp *48(%rdi)\n"
        "stub_landing:\n\t"
        "mov %rax, 0(%rdi)\n\t"
        "mov %rcx, 8(%rdi)\n\t"
        "mov %rdx, 16(%rdi)\n\t"
        "mov %rbx, 24(%rdi)\n\t"
        "mov %rsi, 32(%rdi)\n\t"
        "mov %rsp, 40(%rdi)\n\t"
        "mov stub_saved_rsp(%rip), %rsp\n\t"
        "pop %rbp\n\t"
        "pop %rbx\n\t"
        "ret\n"
        ".popsection\n"
        ".pushsection .bss\n"
        "stub_saved_rsp: .quad 0\n"
        ".popsection\n");

static uint8_t *code_page;
static struct lbr_area area;
static uint64_t nmis, stack_top, stack[STACK_WORDS];

/* A jump through the word behind it. */
static const uint8_t far_jump[] = {0xff, 0x25, 0, 0, 0, 0};

static void replace_privileged(uint8_t *code, size_t length)
{
    struct insn insn;

    for (size_t at = 0; at < length; at += insn.length) {
        if (insn_decode(code + at, (unsigned)(length - at), INSN_MODE_64, &insn))
            abort();
        if (insn.map == 1 && insn.opcode == 0x32)
            memcpy(code + at, "\x89\xc8", 2); /* mov eax, ecx */
        if (insn.map == 1 && insn.opcode == 0x30)
            memcpy(code + at, "\x66\x90", 2); /* nop */
        if (insn.map == 1 && insn.opcode == 0x20)
            memcpy(code + at, "\x48\x31\xd2", 3); /* xor rdx, rdx */
    }
}

static void build(struct lbr_stub *stub)
{
    const uint8_t *landing = stub_landing;

    code_page = code_page ? code_page
                          : mmap(NULL, CODE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code_page == MAP_FAILED)
        abort();
    memcpy(code_page, far_jump, sizeof far_jump);
    memcpy(code_page + sizeof far_jump, &landing, sizeof landing);
    uint8_t *start = code_page + 64;
    stub->area = (uint64_t)&area;
    stub->nmi_arrivals = (uint64_t)&nmis;
    stub->stack_top = (uint64_t)&stack_top;
    stub->entry = (uint64_t)code_page;
    size_t length = lbr_stub_emit(stub, (uint64_t)start, start);
    if (!length)
        abort();
    replace_privileged(start, length);
}

static void reset(void)
{
    memset(&area, 0, sizeof area);
    memset(stack, 0, sizeof stack);
    area.frame = (uint64_t)&area.arrivals;
    area.rip = UINT64_MAX;
    stack_top = (uint64_t)&stack[STACK_WORDS];
}

/* An exception whose frame begins at stack[index]: runs the stub, and checks what must be as it
 * was. */
static bool arrive(const struct lbr_stub *stub, unsigned index, uint64_t rip, uint64_t cs,
                   uint64_t rsp)
{
    static uint64_t before[STACK_WORDS];
    uint64_t frame[5] = {rip, cs, 0x202, rsp, 0x10};
    unsigned low = index - (stub->has_error ? 1 : 0);
    struct run run = {1, 2, 3, 4, 5, (uint64_t)&stack[low], code_page + 64};

    memcpy(&stack[index], frame, sizeof frame);
    if (stub->has_error)
        stack[low] = 0xe44;
    memcpy(before, stack, sizeof stack);
    stub_enter(&run);
    return run.rax == 1 && run.rcx == 2 && run.rdx == 3 && run.rbx == 4 && run.rsi == 5 &&
           run.rsp == (uint64_t)&stack[low] &&
           memcmp(&before[low], &stack[low], (STACK_WORDS - low) * 8) == 0 &&
           memcmp(before, stack, (low - 5) * 8) == 0;
}

static void test_saves(void)
{
    struct lbr_machine machine = machine_of(16, 0xdc0, 0x1c9, 1);
    struct lbr_stub stub = {.machine = &machine, .has_error = true};
    const struct lbr_slot *slot = &area.slots[0];
    unsigned right = 0;

    build(&stub);
    reset();
    nmis = 77;
    ok(arrive(&stub, 1000, 0x401000, 0x23, 0x7fff0000), "registers, frame and stack are kept");
    ok(slot->rip == 0x401000 && slot->cs == 0x23 && slot->rsp == 0x7fff0000,
       "what was interrupted is saved");
    is_u64(slot->frame, (uint64_t)&stack[1000], "and where its frame is");
    ok(slot->nmis_before == 77 && slot->nmis_after == 77, "and the count of NMIs");
    ok(slot->time != 0, "and the time");
    is_u64((uint32_t)slot->top, 0x1c9, "and the top register");
    for (uint32_t i = 0; i < 16; i++)
        right += (uint32_t)slot->entries[i].from == 0x680 + i &&
                 (uint32_t)slot->entries[i].to == 0x6c0 + i &&
                 (uint32_t)slot->entries[i].info == 0xdc0 + i;
    is_u64(right, 16, "and all records");
}

static void test_ring(void)
{
    struct lbr_machine machine = machine_of(4, 0, 0x1c9, 1);
    struct lbr_stub stub = {.machine = &machine};
    bool kept = true;

    build(&stub);
    reset();
    for (unsigned i = 0; i < 2 * LBR_SLOTS + 1; i++) /* from ring 3, each at the stack's top */
        kept &= arrive(&stub, STACK_WORDS - 5, 0x1000 + i, 0x23, 0x7fff0000);
    ok(kept, "exceptions of ring 3, one after the other: all is kept");
    ok(area.arrivals == 2 * LBR_SLOTS + 1 && area.nested == 0, "none is inside of another");
    is_u64(area.slots[0].rip, 0x1000 + 2 * LBR_SLOTS, "the newest has taken the oldest's place");
    is_u64(area.slots[1].rip, 0x1000 + LBR_SLOTS + 1, "the one before it stays");
}

static void test_inside(void)
{
    struct lbr_machine machine = machine_of(4, 0, 0x1c9, 1);
    struct lbr_stub stub = {.machine = &machine};

    build(&stub);
    reset();
    arrive(&stub, STACK_WORDS - 5, 0x1000, 0x23, 0x7fff0000);
    arrive(&stub, 800, 0x2000, 8, (uint64_t)&stack[805]);
    ok(area.arrivals == 2 && area.nested == 1, "deeper on the same stack: inside, counted");
    is_u64(area.slots[0].rip, 0x1000, "the first is kept");
    is_u64(area.slots[1].rip, 0, "the ring is left alone");
    is_u64(area.slots[LBR_SLOTS].rip, 0x2000, "the other one is beside it");
    arrive(&stub, 700, 0x3000, 8, (uint64_t)&stack[705]);
    ok(area.nested == 2 && area.slots[0].rip == 0x1000, "inside of that: the same");
    arrive(&stub, STACK_WORDS - 5, 0x1004, 0x23, 0x7fff0000);
    ok(area.nested == 2 && area.slots[1].rip == 0x1004, "the next of ring 3 is not");
}

static void test_not_inside(void)
{
    struct lbr_machine machine = machine_of(4, 0, 0x1c9, 1);
    struct lbr_stub stub = {.machine = &machine};

    build(&stub);
    reset();
    arrive(&stub, 900, 0x2000, 8, (uint64_t)&stack[905]);
    stack[900] = 0x2002; /* the handler made it go on elsewhere */
    arrive(&stub, 800, 0x2000, 8, (uint64_t)&stack[805]);
    ok(area.nested == 0, "deeper, but the one before has changed its RIP: it is over");
    arrive(&stub, 950, 0x2000, 8, (uint64_t)&stack[955]);
    ok(area.nested == 0, "higher on the stack: the one before is over");
    stack_top = (uint64_t)&stack[600];
    arrive(&stub, 500, 0x2000, 8, (uint64_t)&stack[505]);
    ok(area.nested == 0, "the one before is on another thread's stack");
    is_u64(area.arrivals, 4, "all counted");
}

static void test_ist(void)
{
    struct lbr_machine machine = machine_of(4, 0, 0x1c9, 1);
    uint64_t ist = 0x5000000000;
    struct lbr_stub stub = {.machine = &machine, .ist_stack = ist, .records_again = true};
    static const struct {
        const char *what;
        uint64_t cs, rsp;
        bool inside;
    } cases[] = {
        {"IST: from below the stack", 8, 0x4ffffffff8, false},
        {"IST: from the stack's lowest word", 8, 0x5000000000, true},
        {"IST: from its highest", 8, 0x5000000000 + IST_STACK_SIZE - 8, true},
        {"IST: from above", 8, 0x5000000000 + IST_STACK_SIZE, false},
        {"IST: from ring 3 with such an RSP", 0x23, 0x5000000010, false},
    };
    uint64_t inside = 0;

    build(&stub);
    reset();
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool kept = arrive(&stub, 16, 0x1000, cases[i].cs, cases[i].rsp);
        inside += cases[i].inside;
        ok(kept && area.nested == inside && area.arrivals == i + 1, "%s: %s", cases[i].what,
           cases[i].inside ? "inside" : "not inside");
    }
}

int main(void)
{
    test_shapes();
    test_too_far();
    test_saves();
    test_ring();
    test_inside();
    test_not_inside();
    test_ist();
    return done();
}
