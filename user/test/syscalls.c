/* SPDX-License-Identifier: MIT */
/* syscalls: every call with good and bad arguments, and the exact answers.
 *
 * Passes on Linux too, with standard output anything but /dev/null (which takes bad buffers).
 * Where two answers are accepted the reason stands beside it. The recorder's calls are not here:
 * their numbers belong to other calls on Linux.
 */
#include "user/test/syscalls.h"

#include <limits.h>

#include "user/lib/atomic.h"
#include "user/lib/check.h"
#include "user/lib/print.h"

#define CLONE_SIGHAND_ONLY ABI_CLONE_SIGHAND
#define CLONE_THREAD_ONLY ABI_CLONE_THREAD
#define CLONE_NEWNS 0x00020000ul
#define WAITERS 3

unsigned long syscalls_lost_registers(long number);

static void check_write(void)
{
    static const char line[] = "syscalls: a line to standard error\n";
    long area = sys_mmap(NULL, 2 * PAGE_SIZE, READ_WRITE, ANONYMOUS);
    char *end = (char *)area + PAGE_SIZE;

    check_equal("write to 1", sys_write(1, "syscalls: a line\n", 17), 17);
    check_equal("write to 2", sys_write(2, line, sizeof(line) - 1), sizeof(line) - 1);
    check_equal("write of nothing", sys_write(1, line, 0), 0);
    check_equal("write to 77", sys_write(77, line, 1), -ABI_EBADF);
    check_equal("write to -1", sys_write(-1, line, 1), -ABI_EBADF);
    check_equal("write to 77 of a bad buffer", sys_write(77, UNMAPPED, 1), -ABI_EBADF);
    check_equal("write of address 0", sys_write(1, NULL, 8), -ABI_EFAULT);
    check_equal("write of unmapped pages", sys_write(1, UNMAPPED, 8), -ABI_EFAULT);
    check_equal("write of the kernel", sys_write(1, KERNEL_ADDRESS, 8), -ABI_EFAULT);
    check_equal("write of a non-canonical address", sys_write(1, NONCANONICAL, 8), -ABI_EFAULT);
    check_equal("write that wraps", sys_write(1, line, -1ul), -ABI_EFAULT);
    for (int i = 1; i <= 5; i++)
        end[-i] = i == 1 ? '\n' : '.';
    sys_munmap(end, PAGE_SIZE);
    /* Linux: 5 to a file, EFAULT to a pipe. */
    check_either("write of a buffer half of which is there", sys_write(1, end - 5, 10), 5,
                 -ABI_EFAULT);
    sys_munmap((void *)area, PAGE_SIZE);
}

static int64_t elapsed(const struct abi_timespec *from, const struct abi_timespec *to)
{
    return (to->seconds - from->seconds) * 1000000000 + to->nanoseconds - from->nanoseconds;
}

static void check_clock(void)
{
    struct abi_timespec first, second;

    check_equal("monotonic clock", sys_clock_gettime(ABI_CLOCK_MONOTONIC, &first), 0);
    check_equal("monotonic clock again", sys_clock_gettime(ABI_CLOCK_MONOTONIC, &second), 0);
    check_true("it does not run backwards", elapsed(&first, &second) >= 0);
    check_true("its nanoseconds are in range",
               first.nanoseconds >= 0 && first.nanoseconds < 1000000000);
    check_equal("real-time clock", sys_clock_gettime(ABI_CLOCK_REALTIME, &first), 0);
    check_true("its nanoseconds are in range too",
               first.nanoseconds >= 0 && first.nanoseconds < 1000000000);
    check_equal("clock 77", sys_clock_gettime(77, &first), -ABI_EINVAL);
    check_equal("clock 77 to a bad address", sys_clock_gettime(77, UNMAPPED), -ABI_EINVAL);
    check_equal("clock to a bad address", sys_clock_gettime(ABI_CLOCK_MONOTONIC, UNMAPPED),
                -ABI_EFAULT);
    check_equal("clock to the kernel", sys_clock_gettime(ABI_CLOCK_MONOTONIC, KERNEL_ADDRESS),
                -ABI_EFAULT);
    check_equal("clock to constants",
                sys_clock_gettime(ABI_CLOCK_MONOTONIC, (void *)(uintptr_t) "read-only constants"),
                -ABI_EFAULT);
}

static long sleep_for(int64_t seconds, int64_t nanoseconds)
{
    struct abi_timespec request = {seconds, nanoseconds};

    return sys_nanosleep(&request, NULL);
}

static void check_sleep(void)
{
    struct abi_timespec before, after;

    check_equal("nanosleep for nothing", sleep_for(0, 0), 0);
    check_equal("nanosleep for 10^9 ns", sleep_for(0, 1000000000), -ABI_EINVAL);
    check_equal("nanosleep for -1 ns", sleep_for(0, -1), -ABI_EINVAL);
    check_equal("nanosleep for -1 s", sleep_for(-1, 0), -ABI_EINVAL);
    check_equal("nanosleep for a bad address", sys_nanosleep(UNMAPPED, NULL), -ABI_EFAULT);
    check_equal("nanosleep for address 0", sys_nanosleep(NULL, NULL), -ABI_EFAULT);
    sys_clock_gettime(ABI_CLOCK_MONOTONIC, &before);
    check_equal("nanosleep for 3 ms", sleep_for(0, 3000000), 0);
    sys_clock_gettime(ABI_CLOCK_MONOTONIC, &after);
    check_true("it took that long", elapsed(&before, &after) >= 3000000);
    check_equal("sched_yield", sys_sched_yield(), 0);
}

static void check_futex_errors(void)
{
    uint32_t words[2] = {7, 0};
    struct abi_timespec bad_nanoseconds = {0, 1000000000};
    struct abi_timespec negative = {-1, 0};
    int wait = ABI_FUTEX_WAIT | ABI_FUTEX_PRIVATE_FLAG;
    int wake = ABI_FUTEX_WAKE | ABI_FUTEX_PRIVATE_FLAG;

    check_equal("futex wait, other value", sys_futex(words, wait, 8, NULL), -ABI_EAGAIN);
    check_equal("futex wait at an odd address",
                sys_futex((void *)((char *)words + 1), wait, 7, NULL), -ABI_EINVAL);
    check_equal("futex wait, unmapped", sys_futex(UNMAPPED, wait, 0, NULL), -ABI_EFAULT);
    check_equal("futex wait at address 0", sys_futex(NULL, wait, 0, NULL), -ABI_EFAULT);
    check_equal("futex wait in the kernel", sys_futex(KERNEL_ADDRESS, wait, 0, NULL), -ABI_EFAULT);
    check_equal("futex wait, bad timeout address", sys_futex(words, wait, 7, UNMAPPED),
                -ABI_EFAULT);
    check_equal("futex wait for 10^9 ns", sys_futex(words, wait, 7, &bad_nanoseconds), -ABI_EINVAL);
    check_equal("futex wait for -1 s", sys_futex(words, wait, 7, &negative), -ABI_EINVAL);
    check_equal("futex wake, nobody there", sys_futex(words, wake, INT_MAX, NULL), 0);
    check_equal("futex wake at an odd address",
                sys_futex((void *)((char *)words + 2), wake, 1, NULL), -ABI_EINVAL);
    check_equal("futex wake in the kernel", sys_futex(KERNEL_ADDRESS, wake, 1, NULL), -ABI_EFAULT);
    check_equal("futex operation 99", sys_futex(words, 99, 0, NULL), -ABI_ENOSYS);
}

static void check_futex_timeout(void)
{
    uint32_t word = 7;
    struct abi_timespec none = {0, 0};
    struct abi_timespec short_time = {0, 3000000};
    struct abi_timespec before, after;

    check_equal("futex wait for no time",
                sys_futex(&word, ABI_FUTEX_WAIT | ABI_FUTEX_PRIVATE_FLAG, 7, &none),
                -ABI_ETIMEDOUT);
    sys_clock_gettime(ABI_CLOCK_MONOTONIC, &before);
    check_equal("futex wait for 3 ms, shared", sys_futex(&word, ABI_FUTEX_WAIT, 7, &short_time),
                -ABI_ETIMEDOUT);
    sys_clock_gettime(ABI_CLOCK_MONOTONIC, &after);
    check_true("it took that long", elapsed(&before, &after) >= 3000000);
}

static uint32_t gate;
static uint32_t woken;

static uint64_t wait_at_gate(void *unused)
{
    (void)unused;
    long result = sys_futex(&gate, ABI_FUTEX_WAIT | ABI_FUTEX_PRIVATE_FLAG, 0, NULL);
    atomic_add(&woken, 1);
    return (uint64_t)result;
}

/* Wakes up to limit threads, again until that many have been woken in all. */
static long wake_exactly(uint32_t limit, long wanted)
{
    long sum = 0;

    for (int tries = 0; tries < 2000 && sum < wanted; tries++) {
        long result = sys_futex(&gate, ABI_FUTEX_WAKE | ABI_FUTEX_PRIVATE_FLAG, limit, NULL);
        if (result < 0)
            return result;
        sum += result;
        sleep_for(0, 1000000); /* the others may not have come so far */
    }
    return sum;
}

static void check_futex_wake(void)
{
    struct thread *threads[WAITERS];

    for (int i = 0; i < WAITERS; i++)
        check_equal("thread", thread_create(&threads[i], wait_at_gate, NULL), 0);
    check_equal("futex wake of one", wake_exactly(1, 1), 1);
    check_equal("futex wake of the rest", wake_exactly(INT_MAX, WAITERS - 1), WAITERS - 1);
    for (int i = 0; i < WAITERS; i++)
        check_equal("futex wait that was woken", (long)thread_join(threads[i]), 0);
    check_equal("threads woken", woken, WAITERS);
}

static uint64_t report_identity(void *pid)
{
    *(long *)pid = sys_getpid();
    check_equal("tid in the control block", (long)thread_self()->tid, sys_gettid());
    return (uint64_t)sys_gettid();
}

static void check_identity(void)
{
    struct thread *thread;
    long pid = 0;

    check_true("getpid is positive", sys_getpid() > 0);
    check_equal("gettid of the main thread", sys_gettid(), sys_getpid());
    check_equal("set_tid_address", sys_set_tid_address(NULL), sys_gettid());
    if (thread_create(&thread, report_identity, &pid) < 0) {
        check_true("thread for its identity", false);
        return;
    }
    long tid = (long)thread_join(thread);
    check_equal("getpid in a thread", pid, sys_getpid());
    check_true("gettid in a thread", tid > 0 && tid != sys_gettid());
}

static long clone_raw(unsigned long flags, unsigned long tls)
{
    return syscall_raw(SYS_clone, flags, 0, 0, 0, tls, 0);
}

/* Only flags that Linux refuses too: others would make a process there. */
static void check_clone_errors(void)
{
    check_equal("clone, THREAD without SIGHAND", clone_raw(CLONE_THREAD_ONLY, 0), -ABI_EINVAL);
    check_equal("clone, SIGHAND without VM", clone_raw(CLONE_SIGHAND_ONLY, 0), -ABI_EINVAL);
    check_equal("clone, namespace and FS", clone_raw(CLONE_NEWNS | ABI_CLONE_FS, 0), -ABI_EINVAL);
    check_equal("clone, thread with a namespace",
                clone_raw(ABI_CLONE_THREAD_FLAGS | CLONE_NEWNS, 0), -ABI_EINVAL);
    /* Linux says EPERM as arch_prctl would; EINVAL is as clear. */
    check_either(
        "clone, FS in the kernel",
        clone_raw(ABI_CLONE_THREAD_FLAGS | ABI_CLONE_SETTLS, (unsigned long)KERNEL_ADDRESS),
        -ABI_EPERM, -ABI_EINVAL);
}

static void check_arch_prctl(void)
{
    unsigned long fs = 0;

    check_equal("arch_prctl, get FS", sys_arch_prctl(ABI_ARCH_GET_FS, (unsigned long)&fs), 0);
    check_equal("FS", (long)fs, (long)thread_self());
    check_equal("arch_prctl, get FS to a bad address",
                sys_arch_prctl(ABI_ARCH_GET_FS, (unsigned long)UNMAPPED), -ABI_EFAULT);
    check_equal("arch_prctl, FS in the kernel",
                sys_arch_prctl(ABI_ARCH_SET_FS, (unsigned long)KERNEL_ADDRESS), -ABI_EPERM);
    check_equal("arch_prctl, FS not canonical",
                sys_arch_prctl(ABI_ARCH_SET_FS, (unsigned long)NONCANONICAL), -ABI_EPERM);
    check_equal("arch_prctl, unknown code", sys_arch_prctl(0x9999, 0), -ABI_EINVAL);
    check_equal("FS afterwards", (long)thread_self(), (long)fs);
}

static void check_unknown(void)
{
    static const unsigned long numbers[] = {1000, 9999, 0x7fffffff, 0x80000000, -1ul};

    for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        check_equal("unknown call", syscall_raw(numbers[i], 1, 2, 3, 4, 5, 6), -ABI_ENOSYS);
    check_equal("registers lost by getpid", (long)syscalls_lost_registers(SYS_getpid), 0);
    check_equal("registers lost by sched_yield", (long)syscalls_lost_registers(SYS_sched_yield), 0);
    check_equal("registers lost by an unknown call", (long)syscalls_lost_registers(9999), 0);
}

int main(void)
{
    check_begin("syscalls");
    check_write();
    check_clock();
    check_sleep();
    check_futex_errors();
    check_futex_timeout();
    check_futex_wake();
    check_identity();
    check_clone_errors();
    check_arch_prctl();
    check_unknown();
    syscalls_check_memory();
    return check_end();
}
