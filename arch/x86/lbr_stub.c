/* SPDX-License-Identifier: MIT */
/* Emits the stub of one vector: see arch/x86/lbr_stub.h. Encodings: Intel SDM vol. 2.
 */
#include "arch/x86/lbr_stub.h"

#include "arch/x86/layout.h"

_Static_assert((LBR_SLOTS & (LBR_SLOTS - 1)) == 0, "the ring's index is masked");
_Static_assert(sizeof(struct lbr_slot) % 8 == 0, "slots follow each other");

/* Numbers as in ModRM. RBX: the area, then the slot; RSI: other memory. */
enum gpr { RAX, RCX, RDX, RBX, RSP, RBP, RSI };

static const uint8_t saved[] = {RAX, RCX, RDX, RBX, RSI};
#define SAVED_BYTES (8 * (unsigned)sizeof(saved))

/* The CPU's frame, from RIP on. */
#define FRAME_RIP_AT 0u
#define FRAME_CS_AT 8u
#define FRAME_RSP_AT 24u

#define AREA(field) ((uint32_t)offsetof(struct lbr_area, field))
#define SLOT(field) ((uint32_t)offsetof(struct lbr_slot, field))

struct emitter {
    uint8_t *out;
    size_t used;
    uint32_t frame; /* from RSP, once the registers are pushed */
};

/* --- bytes --- */

static void emit(struct emitter *e, uint8_t byte)
{
    if (e->used < LBR_STUB_MAX)
        e->out[e->used] = byte;
    e->used++;
}

static void emit_number(struct emitter *e, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        emit(e, (uint8_t)(value >> (8 * i)));
}

/* opcode: one byte, or 0x0fxx for two. */
static void emit_opcode(struct emitter *e, uint32_t opcode)
{
    if (opcode > 0xff)
        emit(e, (uint8_t)(opcode >> 8));
    emit(e, (uint8_t)opcode);
}

#define REX_W 0x48

/* ModRM of a register and [base + 32 bits]. */
static void emit_memory(struct emitter *e, unsigned reg, enum gpr base, uint32_t displacement)
{
    emit(e, (uint8_t)(0x80 | reg << 3 | base));
    if (base == RSP)
        emit(e, 0x24); /* SIB: no index */
    emit_number(e, displacement, 4);
}

static void with_memory(struct emitter *e, uint32_t opcode, unsigned reg, enum gpr base,
                        uint32_t displacement)
{
    emit(e, REX_W);
    emit_opcode(e, opcode);
    emit_memory(e, reg, base, displacement);
}

static void with_register(struct emitter *e, uint32_t opcode, unsigned reg, enum gpr rm)
{
    emit(e, REX_W);
    emit_opcode(e, opcode);
    emit(e, (uint8_t)(0xc0 | reg << 3 | rm));
}

/* --- instructions --- */

#define OPCODE_ADD 0x01
#define OPCODE_SUB 0x2b /* register -= r/m */
#define OPCODE_CMP 0x3b /* register with r/m */
#define OPCODE_TEST 0x85
#define OPCODE_STORE 0x89
#define OPCODE_LOAD 0x8b
#define OPCODE_LEA 0x8d
#define OPCODE_CMOVNZ 0x0f45
#define OPCODE_SETB 0x92
#define OPCODE_SETZ 0x94
#define OPCODE_SETBE 0x96

static void load(struct emitter *e, enum gpr to, enum gpr base, uint32_t displacement)
{
    with_memory(e, OPCODE_LOAD, to, base, displacement);
}

static void store(struct emitter *e, enum gpr from, enum gpr base, uint32_t displacement)
{
    with_memory(e, OPCODE_STORE, from, base, displacement);
}

static void move_address(struct emitter *e, enum gpr to, uint64_t address)
{
    emit(e, REX_W);
    emit(e, (uint8_t)(0xb8 + to));
    emit_number(e, address, 8);
}

static void clear_eax(struct emitter *e)
{
    emit(e, 0x31);
    emit(e, 0xc0);
}

/* AL = the condition. */
static void set_al(struct emitter *e, uint8_t condition)
{
    emit(e, 0x0f);
    emit(e, condition);
    emit(e, 0xc0);
}

/* AL &= the condition. DL is lost. */
static void and_al(struct emitter *e, uint8_t condition)
{
    emit(e, 0x0f);
    emit(e, condition);
    emit(e, 0xc2);
    emit(e, 0x20); /* and al, dl */
    emit(e, 0xd0);
}

/* EDX:EAX = the MSR, stored in [RBX + displacement]. */
static void save_msr(struct emitter *e, uint32_t msr, uint32_t displacement)
{
    emit(e, 0xb8 + RCX);
    emit_number(e, msr, 4);
    emit(e, 0x0f); /* rdmsr */
    emit(e, 0x32);
    emit(e, OPCODE_STORE);
    emit_memory(e, RAX, RBX, displacement);
    emit(e, OPCODE_STORE);
    emit_memory(e, RDX, RBX, displacement + 4);
}

/* --- parts of a stub --- */

/* EAX = 1 if the interrupted RSP is one of ring 0 within the vector's own IST stack, else 0. */
static void decide_by_ist_stack(struct emitter *e, uint64_t ist_stack)
{
    clear_eax(e);
    load(e, RCX, RSP, e->frame + FRAME_RSP_AT);
    move_address(e, RSI, ist_stack);
    with_register(e, OPCODE_SUB, RCX, RSI);
    emit(e, REX_W); /* cmp rcx, the stack's size */
    emit(e, 0x81);
    emit(e, 0xf8 | RCX);
    emit_number(e, IST_STACK_SIZE, 4);
    set_al(e, OPCODE_SETB);
    emit(e, 0xf6); /* test byte [cs], 3 */
    emit_memory(e, 0, RSP, e->frame + FRAME_CS_AT);
    emit(e, 3);
    and_al(e, OPCODE_SETZ);
}

/* EAX = 1 if the newest history's frame lies above this one, not above the top of the current
 * thread's stack, and still holds its RIP, else 0. What is read there has been a stack. */
static void decide_by_frame(struct emitter *e, uint64_t stack_top)
{
    clear_eax(e);
    load(e, RCX, RBX, AREA(frame));
    with_memory(e, OPCODE_LEA, RDX, RSP, e->frame + FRAME_RIP_AT);
    with_register(e, OPCODE_CMP, RDX, RCX);
    set_al(e, OPCODE_SETB);
    move_address(e, RSI, stack_top);
    with_memory(e, OPCODE_CMP, RCX, RSI, 0);
    and_al(e, OPCODE_SETBE);
    load(e, RCX, RCX, 0);
    with_memory(e, OPCODE_CMP, RCX, RBX, AREA(rip));
    and_al(e, OPCODE_SETZ);
}

/* EAX: inside. Counts; RBX becomes the slot; RDX = the interrupted RIP. */
static void choose_slot(struct emitter *e)
{
    load(e, RCX, RBX, AREA(arrivals));
    with_memory(e, OPCODE_SUB, RCX, RBX, AREA(nested));
    emit(e, 0x83); /* and ecx, LBR_SLOTS - 1 */
    emit(e, 0xe0 | RCX);
    emit(e, LBR_SLOTS - 1);
    emit(e, 0xb8 + RSI); /* mov esi, LBR_SLOTS */
    emit_number(e, LBR_SLOTS, 4);
    emit(e, REX_W); /* add qword [arrivals], 1 */
    emit(e, 0x83);
    emit_memory(e, 0, RBX, AREA(arrivals));
    emit(e, 1);
    with_memory(e, OPCODE_ADD, RAX, RBX, AREA(nested));
    with_register(e, OPCODE_TEST, RAX, RAX); /* no flags change from here on */
    with_register(e, OPCODE_CMOVNZ, RCX, RSI);
    with_memory(e, OPCODE_LEA, RSI, RSP, e->frame + FRAME_RIP_AT);
    with_memory(e, OPCODE_CMOVNZ, RSI, RBX, AREA(frame));
    store(e, RSI, RBX, AREA(frame));
    load(e, RDX, RSP, e->frame + FRAME_RIP_AT);
    with_register(e, OPCODE_STORE, RDX, RSI); /* mov rsi, rdx */
    with_memory(e, OPCODE_CMOVNZ, RSI, RBX, AREA(rip));
    store(e, RSI, RBX, AREA(rip));
    emit(e, 0x69); /* imul ecx, ecx, sizeof(struct lbr_slot) */
    emit(e, 0xc0 | RCX << 3 | RCX);
    emit_number(e, sizeof(struct lbr_slot), 4);
    emit(e, REX_W); /* lea rbx, [rbx + rcx + slots] */
    emit(e, OPCODE_LEA);
    emit(e, 0x80 | RBX << 3 | 4);
    emit(e, RCX << 3 | RBX);
    emit_number(e, AREA(slots), 4);
}

static void save_header(struct emitter *e, uint64_t nmi_arrivals)
{
    store(e, RDX, RBX, SLOT(rip));
    load(e, RDX, RSP, e->frame + FRAME_CS_AT);
    store(e, RDX, RBX, SLOT(cs));
    load(e, RDX, RSP, e->frame + FRAME_RSP_AT);
    store(e, RDX, RBX, SLOT(rsp));
    with_memory(e, OPCODE_LEA, RDX, RSP, e->frame + FRAME_RIP_AT);
    store(e, RDX, RBX, SLOT(frame));
    emit(e, 0x0f); /* mov rdx, cr3 */
    emit(e, 0x20);
    emit(e, 0xda);
    store(e, RDX, RBX, SLOT(root));
    emit(e, 0x0f); /* rdtsc */
    emit(e, 0x31);
    emit(e, OPCODE_STORE);
    emit_memory(e, RAX, RBX, SLOT(time));
    emit(e, OPCODE_STORE);
    emit_memory(e, RDX, RBX, SLOT(time) + 4);
    move_address(e, RSI, nmi_arrivals);
    load(e, RDX, RSI, 0);
    store(e, RDX, RBX, SLOT(nmis_before));
}

static void save_records(struct emitter *e, const struct lbr_machine *machine)
{
    if (machine->top)
        save_msr(e, machine->top, SLOT(top));
    for (uint32_t i = 0; i < machine->depth; i++) {
        uint32_t step = i * machine->stride, entry = SLOT(entries) + i * 24;
        save_msr(e, machine->from + step, entry);
        save_msr(e, machine->to + step, entry + 8);
        if (machine->info)
            save_msr(e, machine->info + step, entry + 16);
    }
    load(e, RDX, RSI, 0);
    store(e, RDX, RBX, SLOT(nmis_after));
}

static void record_again(struct emitter *e, const struct lbr_machine *machine)
{
    emit(e, 0xb8 + RCX);
    emit_number(e, machine->control, 4);
    emit(e, 0x0f); /* rdmsr */
    emit(e, 0x32);
    emit(e, 0x0d); /* or eax, control_on */
    emit_number(e, machine->control_on, 4);
    emit(e, 0x0f); /* wrmsr */
    emit(e, 0x30);
}

static bool emit_jump(struct emitter *e, uint64_t at, uint64_t to)
{
    int64_t distance = (int64_t)(to - (at + e->used + 5));

    emit(e, 0xe9);
    emit_number(e, (uint64_t)distance, 4);
    return distance == (int32_t)distance;
}

size_t lbr_stub_emit(const struct lbr_stub *stub, uint64_t at, uint8_t *out)
{
    struct emitter e = {.out = out, .frame = SAVED_BYTES + (stub->has_error ? 8 : 0)};

    for (size_t i = 0; i < sizeof(saved); i++)
        emit(&e, 0x50 + saved[i]);
    move_address(&e, RBX, stub->area);
    if (stub->ist_stack)
        decide_by_ist_stack(&e, stub->ist_stack);
    else
        decide_by_frame(&e, stub->stack_top);
    choose_slot(&e);
    save_header(&e, stub->nmi_arrivals);
    save_records(&e, stub->machine);
    if (stub->records_again)
        record_again(&e, stub->machine);
    for (size_t i = sizeof(saved); i-- > 0;)
        emit(&e, 0x58 + saved[i]);
    bool near = emit_jump(&e, at, stub->entry);
    return near && e.used <= LBR_STUB_MAX ? e.used : 0;
}
