/* SPDX-License-Identifier: MIT */
/* hostile [SEED=1] [N=2000] [threads=3] [recorder]: random system calls with random arguments.
 *
 * Several threads make N calls each, with addresses in an arena that they map, unmap and protect
 * meanwhile, in the kernel, nowhere, or in constants. What would only kill or hang the program
 * itself is left out: it never unmaps its own text, stack or data, never sleeps for long, and exits
 * only in threads made for that. The user side never touches the arena. With `recorder` it also
 * starts and stops recordings, which a kernel with a recorder must survive as well. A seed fixes
 * each thread's sequence of calls. Harmless on Linux: unknown numbers are far above its table, and
 * clone only asks for threads or for what it refuses.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "user/lib/argument.h"
#include "user/lib/atomic.h"
#include "user/lib/hash.h"
#include "user/lib/print.h"
#include "user/lib/string.h"
#include "user/lib/syscall.h"
#include "user/lib/team.h"
#include "user/lib/thread.h"

/* Far from where a kernel puts mappings of its own choice: none may come into the arena's holes. */
#define ARENA_ADDRESS 0x200000000000ul
#define ARENA_PAGES 64
#define BAD_ENDS_MAX 8
#define ANONYMOUS (ABI_MAP_PRIVATE | ABI_MAP_ANONYMOUS)

static unsigned long seed;
static unsigned long calls;
static bool with_recorder;
static uint64_t accepted;
static uint32_t bad_ends;

static const char constants[PAGE_SIZE] __attribute__((aligned(4096))) = "read-only";

/* At and around every border that a check can get wrong. */
static const unsigned long edges[] = {
    0,
    1,
    7,
    0xfff,
    0x1000,
    0x7fffffff,
    0x80000000,
    0xffffffff,
    0x7ffffffff000,
    0x7fffffffffff,
    0x800000000000,
    0x8000000000000000,
    0xffff7fffffffffff,
    0xffff800000000000,
    0xffffffff80000000,
    0xfffffffffffff000,
    -8ul,
    -1ul,
};

static unsigned long random_edge(uint64_t *random)
{
    return edges[random_next(random) % (sizeof(edges) / sizeof(edges[0]))];
}

/* An address that the program can spare, at any alignment. */
static unsigned long random_address(uint64_t *random)
{
    uint64_t choice = random_next(random);
    unsigned long offset = choice >> 8 & 0xffff;

    switch (choice % 8) {
    case 0:
        return random_edge(random);
    case 1:
        return (unsigned long)constants + offset % PAGE_SIZE;
    case 2:
        return random_next(random);
    case 3: /* around a page boundary of the arena */
        return ARENA_ADDRESS + (offset % ARENA_PAGES + 1) * PAGE_SIZE - choice % 16;
    default:
        return ARENA_ADDRESS + (offset << 3) % (ARENA_PAGES * PAGE_SIZE);
    }
}

static unsigned long random_length(uint64_t *random)
{
    uint64_t choice = random_next(random);

    if (choice % 4 == 0)
        return random_edge(random);
    return (choice >> 8) % (4 * PAGE_SIZE);
}

/* A range whose pages are all in the arena, or one that no program can own. */
static void random_range(uint64_t *random, unsigned long *address, unsigned long *length)
{
    uint64_t choice = random_next(random);
    unsigned long first = (choice >> 8) % ARENA_PAGES;
    unsigned long room = ARENA_PAGES - first;

    *address = ARENA_ADDRESS + first * PAGE_SIZE + (choice % 8 == 0 ? choice >> 32 & 0xfff : 0);
    *length = (choice >> 16) % (room * PAGE_SIZE);
    if (*length + (*address & 0xfff) > room * PAGE_SIZE)
        *length = 0;
    if (choice % 8 == 1) {
        *address = 0xffff800000000000 | choice;
        *length = random_length(random);
    }
}

static long try_memory(uint64_t *random)
{
    unsigned long address, length;
    uint64_t choice = random_next(random);

    random_range(random, &address, &length);
    switch (choice % 4) {
    case 0:
        return syscall_raw(SYS_munmap, address, length, 0, 0, 0, 0);
    case 1:
        return syscall_raw(SYS_mprotect, address, length, choice >> 8 & 3, 0, 0, 0);
    default:
        return syscall_raw(SYS_mmap, address, length, choice >> 8 & 3, ANONYMOUS | ABI_MAP_FIXED,
                           -1ul, choice % 16 == 2 ? choice : 0);
    }
}

/* Without a fixed address: whatever it gets goes back at once. */
static long try_map_anywhere(uint64_t *random)
{
    uint64_t choice = random_next(random);
    unsigned long length = random_length(random);
    unsigned long flags = choice % 4 == 0 ? choice >> 16 & 3 : ANONYMOUS;
    long result = syscall_raw(SYS_mmap, 0, length, choice >> 8 & 7, flags, -1ul, 0);

    if (result > 0)
        sys_munmap((void *)result, length);
    return result;
}

/* To descriptors that do not exist, or of nothing, or from addresses that must fail. */
static long try_write(uint64_t *random)
{
    uint64_t choice = random_next(random);
    unsigned long address = random_address(random);

    switch (choice % 3) {
    case 0:
        return syscall_raw(SYS_write, 1, address, 0, 0, 0, 0);
    case 1:
        return syscall_raw(SYS_write, 1, 0xffff800000000000 | address, random_length(random), 0, 0,
                           0);
    default:
        return syscall_raw(SYS_write, 0x10000 + (choice >> 16 & 0xfff), address,
                           random_length(random), 0, 0, 0);
    }
}

/* Always with a timeout, short or invalid; other operations than wait and wake are refused. */
static long try_futex(uint64_t *random)
{
    struct abi_timespec timeout = {0, 1000};
    uint64_t choice = random_next(random);
    unsigned long operation = choice % 2 | (choice >> 8 & ABI_FUTEX_PRIVATE_FLAG);
    unsigned long when = (unsigned long)&timeout;

    if (choice % 8 == 0)
        timeout.nanoseconds = (long)random_edge(random) | 1l << 62;
    if (choice % 8 == 2)
        when = random_address(random) | 0xffff800000000000;
    if (choice % 16 == 4)
        operation = 64 + (choice >> 32 & 31);
    return syscall_raw(SYS_futex, random_address(random), operation, choice >> 16 & 1, when,
                       random_address(random), choice);
}

static long try_time(uint64_t *random)
{
    struct abi_timespec request = {0, 1000};
    uint64_t choice = random_next(random);

    switch (choice % 4) {
    case 0:
        request.nanoseconds = (long)random_edge(random) | 1l << 62;
        return sys_nanosleep(&request, (void *)random_address(random));
    case 1:
        return sys_nanosleep((void *)(random_address(random) | 0xffff800000000000), NULL);
    case 2:
        return sys_nanosleep(&request, (void *)random_address(random));
    default:
        return syscall_raw(SYS_clock_gettime, choice >> 8 & 1 ? 1 : random_edge(random),
                           random_address(random), 0, 0, 0, 0);
    }
}

/* Both are put right again before anything of this thread needs them. */
static long try_identity(uint64_t *random)
{
    uint64_t choice = random_next(random);
    struct thread *self = thread_self();
    long result;

    switch (choice % 4) {
    case 0:
        result = syscall_raw(SYS_arch_prctl, ABI_ARCH_SET_FS, random_address(random), 0, 0, 0, 0);
        sys_arch_prctl(ABI_ARCH_SET_FS, (unsigned long)self);
        return result;
    case 1:
        return syscall_raw(SYS_arch_prctl, ABI_ARCH_GET_FS, random_address(random), 0, 0, 0, 0);
    case 2:
        result = syscall_raw(SYS_set_tid_address, random_address(random), 0, 0, 0, 0, 0);
        sys_set_tid_address(&self->tid);
        return result;
    default:
        return syscall_raw(choice >> 8 & 1 ? SYS_getpid : SYS_gettid, choice, choice, choice,
                           choice, choice, choice);
    }
}

/* Ends with a tid word nowhere, so nobody can learn of its end, and its stack is never freed. */
static uint64_t end_badly(void *random)
{
    uint64_t own = (uint64_t)(uintptr_t)random;

    sys_set_tid_address((uint32_t *)random_address(&own));
    return 0;
}

static uint64_t end_well(void *random)
{
    return hash_mix(0, (uint64_t)(uintptr_t)random);
}

static long try_thread(uint64_t *random)
{
    void *own = (void *)random_next(random);
    bool badly = (*random >> 8 & 3) == 0 && atomic_add(&bad_ends, 1) < BAD_ENDS_MAX;
    struct thread *thread;
    long error = thread_create(&thread, badly ? end_badly : end_well, own);

    if (error == 0 && !badly)
        thread_join(thread);
    return error;
}

/* No thread without VM: must be refused. */
static long try_clone(uint64_t *random)
{
    uint64_t choice = random_next(random);

    if (choice % 4 == 0)
        return try_thread(random);
    return syscall_raw(SYS_clone,
                       (choice & 0xffffff00 & ~(uint64_t)ABI_CLONE_VM) | ABI_CLONE_THREAD,
                       random_address(random), random_address(random), random_address(random),
                       random_address(random), 0);
}

static long try_unknown(uint64_t *random)
{
    uint64_t choice = random_next(random);
    unsigned long number = 4096 + (choice & 0x3fffffff) % 0x3fff0000;

    if (choice >> 40 & 1)
        number |= 0xffffffff80000000;
    return syscall_raw(number, random_address(random), choice, random_edge(random), choice >> 7,
                       random_edge(random), random_address(random));
}

static long try_recorder(uint64_t *random)
{
    uint64_t choice = random_next(random);

    if (with_recorder && choice % 16 == 0)
        return syscall_raw(SYS_start_rec, 0, 0, 0, 0, 0, 0);
    if (with_recorder && choice % 16 == 1)
        return syscall_raw(SYS_stop_rec, 0, 0, 0, 0, 0, 0);
    return syscall_raw(SYS_rec_owner, random_address(random), random_length(random),
                       choice >> 8 & 3, 0, 0, 0);
}

typedef long hostile_try(uint64_t *random);

static hostile_try *const tries[] = {
    try_memory, try_memory, try_memory,   try_map_anywhere, try_write,    try_futex,
    try_futex,  try_time,   try_identity, try_clone,        try_recorder, try_unknown,
};

static uint64_t hostile_work(const struct team_member *member)
{
    uint64_t random = hash_mix(seed, member->index);

    for (unsigned long i = 0; i < calls; i++) {
        uint64_t choice = random_next(&random) >> 8;
        if (tries[choice % (sizeof(tries) / sizeof(tries[0]))](&random) >= 0)
            atomic_add(&accepted, 1);
        if (choice % 128 == 0)
            sys_sched_yield();
    }
    return 0;
}

int main(int argc, char **argv)
{
    seed = argument_number(argc, argv, &(struct argument){1, "SEED", 1, 0, ULONG_MAX - 1});
    calls = argument_number(argc, argv, &(struct argument){2, "N", 2000, 1, 1000000000});
    unsigned threads =
        (unsigned)argument_number(argc, argv, &(struct argument){3, "threads", 3, 1, TEAM_MAX});
    with_recorder = argc > 4 && strcmp(argv[4], "recorder") == 0;
    if (argc > 4 && !with_recorder) {
        printf("hostile: the fourth argument can only be recorder, not \"%s\"\n", argv[4]);
        return 2;
    }

    long area = sys_mmap((void *)ARENA_ADDRESS, ARENA_PAGES * PAGE_SIZE,
                         ABI_PROT_READ | ABI_PROT_WRITE, ANONYMOUS | ABI_MAP_FIXED);
    if (area < 0) {
        printf("hostile: no memory for the arena, error %ld\n", area);
        return 1;
    }
    team_run(threads, hostile_work);
    printf("hostile: seed %lu, %u threads x %lu calls, %lu accepted\n", seed, threads, calls,
           accepted);
    printf("hostile: ok\n");
    return 0;
}
