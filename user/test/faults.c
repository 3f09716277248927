/* SPDX-License-Identifier: MIT */
/* faults [KIND [thread]]: raises one exception, in the main thread or in another.
 *
 * Each must end this process and nothing else. Without arguments it lists the kinds, one a line:
 * the kind, the exception, what it does. A kind that does not end it makes it fail, except that ac
 * is "not armed" where the kernel leaves alignment checks off.
 */
#include <stddef.h>

#include "user/lib/print.h"
#include "user/lib/string.h"
#include "user/lib/thread.h"

#define FAULT_TABLE(X)                                                                             \
    X(de, "#DE", "division by zero")                                                               \
    X(de_overflow, "#DE", "division whose quotient does not fit")                                  \
    X(ud, "#UD", "ud2")                                                                            \
    X(ud_lock, "#UD", "lock nop")                                                                  \
    X(bp, "#BP", "int3")                                                                           \
    X(bp_long, "#BP", "int 3 in its two-byte form")                                                \
    X(db, "#DB", "icebp")                                                                          \
    X(db_step, "#DB", "a trap flag of its own")                                                    \
    X(gp_load, "#GP", "load from a non-canonical address")                                         \
    X(gp_store, "#GP", "store to a non-canonical address")                                         \
    X(gp_jump, "#GP", "jump to a non-canonical address")                                           \
    X(gp_hlt, "#GP", "hlt")                                                                        \
    X(gp_cli, "#GP", "cli")                                                                        \
    X(gp_sti, "#GP", "sti")                                                                        \
    X(gp_in, "#GP", "in")                                                                          \
    X(gp_out, "#GP", "out")                                                                        \
    X(gp_wrmsr, "#GP", "wrmsr")                                                                    \
    X(gp_rdmsr, "#GP", "rdmsr")                                                                    \
    X(gp_cr3, "#GP", "read of CR3")                                                                \
    X(gp_dr7, "#GP", "write of DR7")                                                               \
    X(gp_lidt, "#GP", "lidt")                                                                      \
    X(gp_swapgs, "#GP", "swapgs")                                                                  \
    X(gp_int, "#GP", "int 0x20")                                                                   \
    X(gp_int_fault, "#GP", "int 14")                                                               \
    X(gp_int_double, "#GP", "int 8")                                                               \
    X(gp_int_nmi, "#GP", "int 2")                                                                  \
    X(gp_selector, "#GP", "a selector outside the tables")                                         \
    X(gp_null_ss, "#GP", "a null stack selector")                                                  \
    X(gp_iret, "#GP", "iret to ring 0")                                                            \
    X(gp_sse, "#GP", "unaligned movaps")                                                           \
    X(ss_push, "#SS", "push on a non-canonical stack")                                             \
    X(ss_load, "#SS", "load through a non-canonical RBP")                                          \
    X(pf_null, "#PF", "load from address 0")                                                       \
    X(pf_read, "#PF", "load from an unmapped page")                                                \
    X(pf_write, "#PF", "store to an unmapped page")                                                \
    X(pf_exec, "#PF", "jump to an unmapped page")                                                  \
    X(jump_middle, "#PF", "call through a pointer into the middle of a function")                  \
    X(ret_smashed, "#PF", "return to an address that was overwritten")                             \
    X(pf_kernel_read, "#PF", "load from a kernel address")                                         \
    X(pf_kernel_write, "#PF", "store to a kernel address")                                         \
    X(pf_kernel_exec, "#PF", "jump to a kernel address")                                           \
    X(pf_text_write, "#PF", "store to text")                                                       \
    X(pf_rodata_write, "#PF", "store to constants")                                                \
    X(pf_rep, "#PF", "rep stosb that runs out of the data")                                        \
    X(nx_data, "#PF", "call of data")                                                              \
    X(nx_rodata, "#PF", "call of constants")                                                       \
    X(nx_stack, "#PF", "call of the stack")                                                        \
    X(stack_overflow, "#PF", "recursion into the guard page")                                      \
    X(ac, "#AC", "unaligned access with AC set")                                                   \
    X(mf, "#MF", "unmasked x87 exception")                                                         \
    X(xm, "#XM", "unmasked SSE exception")

#define X(kind, exception, what) void raise_##kind(void);
FAULT_TABLE(X)
#undef X

static const struct fault_kind {
    const char *name;
    const char *exception;
    const char *what;
    void (*raise)(void);
} kinds[] = {
#define X(kind, exception, what) {#kind, exception, what, raise_##kind},
    FAULT_TABLE(X)
#undef X
};

#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

static int list_kinds(void)
{
    for (unsigned i = 0; i < KIND_COUNT; i++)
        printf("%-16s %s %s\n", kinds[i].name, kinds[i].exception, kinds[i].what);
    printf("faults: ok\n");
    return 0;
}

static uint64_t raise_in_thread(void *kind)
{
    ((const struct fault_kind *)kind)->raise();
    return 0;
}

static int raise_kind(const struct fault_kind *kind, int in_thread)
{
    struct thread *thread;

    if (!in_thread) {
        kind->raise();
    } else {
        long error = thread_create(&thread, raise_in_thread, (void *)kind);
        if (error < 0)
            printf("faults: no thread, error %ld\n", error);
        else
            thread_join(thread);
    }
    if (strcmp(kind->name, "ac") == 0) {
        printf("faults: ac not armed\n");
        return 0;
    }
    printf("faults: %s (%s) did not end the process\n", kind->name, kind->exception);
    return 1;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return list_kinds();
    if (argc > 2 && strcmp(argv[2], "thread") != 0) {
        printf("faults: the second argument can only be thread, not \"%s\"\n", argv[2]);
        return 2;
    }
    for (unsigned i = 0; i < KIND_COUNT; i++) {
        if (strcmp(argv[1], kinds[i].name) == 0)
            return raise_kind(&kinds[i], argc > 2);
    }
    printf("faults: no kind is called \"%s\"; without arguments they are listed\n", argv[1]);
    return 2;
}
