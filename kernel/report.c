/* SPDX-License-Identifier: MIT */
/* Registers, faults and backtraces as text, for panics and for the crash report of a process.
 *
 * Stack memory is read only after paging_lookup() found its page present in the current address
 * space, so a smashed frame pointer ends a backtrace and never faults.
 *
 * Context: any; in NMI only while this CPU panics (printk).
 */
#include "kernel/panic.h"

#include "arch/x86/cpu.h"
#include "arch/x86/layout.h"
#include "arch/x86/paging.h"
#include "arch/x86/vectors.h"
#include "kernel/printf.h"
#include "kernel/string.h"
#include "kernel/symbols.h"

#define BACKTRACE_LINES 40
#define BACKTRACE_FRAMES 10000 /* traps can lead in a circle through a damaged stack */
#define SYMBOL_MAX 80

/* --- appending to a bounded text --- */

struct text {
    char *out;
    size_t size;
    size_t length; /* that the whole text has, as format_text counts */
};

static void text_add(struct text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void text_add(struct text *text, const char *format, ...)
{
    size_t used = text->length < text->size ? text->length : text->size;
    va_list arguments;

    va_start(arguments, format);
    int length = format_text_va(text->out + used, text->size - used, format, arguments);
    va_end(arguments);
    if (length > 0)
        text->length += (size_t)length;
}

/* --- what happened --- */

static const char *page_fault_access(uint64_t error)
{
    if (error & PF_FETCH)
        return "instruction fetch from";
    return (error & PF_WRITE) ? "write to" : "read of";
}

static const char *page_fault_reason(uint64_t error)
{
    if (error & PF_RESERVED)
        return "reserved bit set in a page table";
    return (error & PF_PRESENT) ? "no right to the page" : "page not present";
}

static void describe_page_fault(struct text *text, uint64_t error, uint64_t address)
{
    text_add(text, "%s 0x%lx by %s code (%s", page_fault_access(error), address,
             error & PF_USER ? "user" : "kernel", page_fault_reason(error));
    const char *place = error & PF_USER ? NULL : paging_describe(address);
    if (place && *place)
        text_add(text, "; %s", place);
    text_add(text, ")");
}

/* Error code of #TS, #NP, #SS and #GP (Intel SDM vol. 3, 6.13). */
static void describe_selector(struct text *text, uint64_t error)
{
    const char *table = error & 2 ? "IDT" : error & 4 ? "LDT" : "GDT";

    if (error == 0)
        return;
    text_add(text, " (%s entry %lu%s)", table, (error & 0xffff) >> 3,
             error & 1 ? ", external event" : "");
}

/* A double fault of the kernel is nearly always a push onto the guard page, whose #PF left CR2. */
static void describe_double_fault(struct text *text, uint64_t address)
{
    const char *place = paging_describe(address);

    text_add(text, " (last page fault at 0x%lx", address);
    if (place && *place)
        text_add(text, ": %s", place);
    text_add(text, ")");
}

int report_describe_fault(char *out, unsigned size, const struct trap_frame *frame,
                          uint64_t address)
{
    struct text text = {.out = out, .size = size};

    if (frame->vector == VECTOR_PAGE_FAULT) {
        describe_page_fault(&text, frame->error, address);
        return (int)text.length;
    }
    text_add(&text, "%s", vector_description((unsigned)frame->vector));
    switch (frame->vector) {
    case VECTOR_INVALID_TSS:
    case VECTOR_SEGMENT_NOT_PRESENT:
    case VECTOR_STACK_FAULT:
    case VECTOR_GENERAL_PROTECTION:
        describe_selector(&text, frame->error);
        break;
    case VECTOR_DOUBLE_FAULT:
        describe_double_fault(&text, address);
        break;
    default:
        break;
    }
    return (int)text.length;
}

/* --- registers --- */

static void describe_flags(struct text *text, uint64_t rflags)
{
    static const struct {
        unsigned bit;
        const char *name;
    } flags[] = {
        {0, "CF"}, {2, "PF"},  {4, "AF"},  {6, "ZF"},  {7, "SF"},  {8, "TF"},
        {9, "IF"}, {10, "DF"}, {11, "OF"}, {14, "NT"}, {16, "RF"}, {18, "AC"},
    };

    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (rflags >> flags[i].bit & 1)
            text_add(text, " %s", flags[i].name);
    if (rflags & RFLAGS_IOPL)
        text_add(text, " IOPL=%llu", (rflags & RFLAGS_IOPL) >> 12);
}

static void report_vector(const struct trap_frame *frame)
{
    char what[160];
    bool user = frame_from_user(frame);

    if (frame->vector == VECTOR_SYSCALL) {
        printk("vector: SYSCALL instruction, number %lu\n", frame->rax);
        return;
    }
    /* CR2 is this fault's only as long as no other thread ran, which is so for the kernel's own;
     * the caller that reports a process has the address and names it. */
    if (frame->vector == VECTOR_PAGE_FAULT && user)
        format_text(what, sizeof what, "%s a page by user code: %s",
                    page_fault_access(frame->error), page_fault_reason(frame->error));
    else
        report_describe_fault(what, sizeof what, frame, cpu_read_cr2());
    printk("vector: %lu %s, error code 0x%lx: %s\n", frame->vector,
           vector_mnemonic((unsigned)frame->vector), frame->error, what);
}

void report_registers(const struct trap_frame *frame)
{
    char flags_out[64] = "", symbol[SYMBOL_MAX];
    struct text flags = {.out = flags_out, .size = sizeof flags_out};

    report_vector(frame);
    describe_flags(&flags, frame->rflags);
    if (frame_from_user(frame))
        printk("  rip 0x%016lx  (user mode)\n", frame->rip);
    else
        printk("  rip 0x%016lx  %s\n", frame->rip,
               symbol_format(symbol, sizeof symbol, frame->rip));
    printk("  rsp 0x%016lx  cs 0x%02lx  ss 0x%02lx  rflags 0x%06lx%s\n", frame->rsp, frame->cs,
           frame->ss, frame->rflags, flags_out);
    printk("  rax 0x%016lx  rbx 0x%016lx  rcx 0x%016lx\n", frame->rax, frame->rbx, frame->rcx);
    printk("  rdx 0x%016lx  rsi 0x%016lx  rdi 0x%016lx\n", frame->rdx, frame->rsi, frame->rdi);
    printk("  rbp 0x%016lx  r8  0x%016lx  r9  0x%016lx\n", frame->rbp, frame->r8, frame->r9);
    printk("  r10 0x%016lx  r11 0x%016lx  r12 0x%016lx\n", frame->r10, frame->r11, frame->r12);
    printk("  r13 0x%016lx  r14 0x%016lx  r15 0x%016lx\n", frame->r13, frame->r14, frame->r15);
    if (!frame_from_user(frame))
        printk("  cr2 0x%016lx  cr3 0x%016lx\n", cpu_read_cr2(), cpu_read_cr3());
}

/* --- backtrace --- */

/* Kernel addresses only: a frame pointer into user memory is the user's, not to be followed. */
static bool readable(uint64_t address, uint64_t length)
{
    uint64_t root = cpu_read_cr3() & PT_ADDRESS;
    uint64_t end = address + length;

    if (address < DIRECT_MAP_BASE || end < address || address % 8 != 0)
        return false;
    for (uint64_t page = address & PAGE_MASK; page < end; page += PAGE_SIZE)
        if (!(paging_lookup(root, page) & PT_PRESENT))
            return false;
    return true;
}

static bool in_kernel_text(uint64_t address)
{
    return address >= (uint64_t)text_start && address < (uint64_t)text_end;
}

/* The trap frame that the entry code left right above the arguments of a C handler, whose own
 * frame is at `rbp`; NULL when what lies there is none. */
static const struct trap_frame *frame_above(uint64_t rbp)
{
    const struct trap_frame *frame = (const struct trap_frame *)(rbp + 16);

    if (!readable(rbp, 16 + sizeof *frame) || frame->vector > VECTOR_SYSCALL)
        return NULL;
    if (frame->cs == SELECTOR_USER_CODE && frame->ss == SELECTOR_USER_DATA)
        return frame;
    /* Entries from ring 0 change neither RBP nor let the handler run with another one. */
    bool from_kernel = frame->cs == SELECTOR_KERNEL_CODE && layout_is_code(frame->rip) &&
                       frame->rbp == *(const uint64_t *)rbp;
    return from_kernel ? frame : NULL;
}

/* Prints lines of a backtrace, runs of the same one as a count: a recursion must not hide its
 * start. */
struct trace {
    uint64_t last;    /* return address of the line printed last */
    uint32_t repeats; /* of it since */
    uint32_t lines, frames;
};

static void end_repeats(struct trace *trace)
{
    if (trace->repeats > 0)
        printk("  -- the same %u more times\n", trace->repeats);
    trace->repeats = 0;
}

/* A return address may be the first byte of the next function when the call never returns. */
static void print_caller(struct trace *trace, uint64_t return_address)
{
    const char *name;
    uint64_t offset;

    trace->frames++;
    if (return_address == trace->last) {
        trace->repeats++;
        return;
    }
    end_repeats(trace);
    trace->last = return_address;
    trace->lines++;
    if (symbol_find(return_address - 1, &name, &offset))
        printk("  0x%016lx  %s+0x%lx\n", return_address, name, offset + 1);
    else
        printk("  0x%016lx  ?\n", return_address);
}

static void print_trap(struct trace *trace, const struct trap_frame *frame)
{
    const char *mnemonic = vector_mnemonic((unsigned)frame->vector);
    char symbol[SYMBOL_MAX];

    end_repeats(trace);
    trace->last = 0;
    if (frame_from_user(frame))
        printk("  -- %s from user mode at 0x%lx\n", mnemonic, frame->rip);
    else
        printk("  -- %s at\n  0x%016lx  %s\n", mnemonic, frame->rip,
               symbol_format(symbol, sizeof symbol, frame->rip));
}

/* Prints the caller of the frame at *rbp, a trap frame above it, and goes up one frame. */
static bool backtrace_step(struct trace *trace, uint64_t *rbp)
{
    if (!readable(*rbp, 16))
        return false;
    const uint64_t *link = (const uint64_t *)*rbp;
    if (!in_kernel_text(link[1]))
        return false;
    print_caller(trace, link[1]);

    const struct trap_frame *frame = frame_above(*rbp);
    if (frame)
        print_trap(trace, frame);
    if (frame && frame_from_user(frame))
        return false;
    /* Without a trap, which may have changed stacks, callers lie above. */
    bool goes_up = frame || link[0] > *rbp;
    *rbp = link[0];
    return goes_up;
}

void report_backtrace(uint64_t rip, uint64_t rbp)
{
    struct trace trace = {0};
    char symbol[SYMBOL_MAX];

    printk("backtrace:\n  0x%016lx  %s\n", rip, symbol_format(symbol, sizeof symbol, rip));
    while (backtrace_step(&trace, &rbp))
        if (trace.lines >= BACKTRACE_LINES || trace.frames >= BACKTRACE_FRAMES) {
            end_repeats(&trace);
            printk("  -- more than %u frames\n", trace.frames);
            return;
        }
    end_repeats(&trace);
}
