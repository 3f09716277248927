/* SPDX-License-Identifier: MIT */
/* Suites that run inside the kernel (make TESTS=1): TAP on the console, and crowds of threads.
 *
 * The shell command `selftest [SUITE]` runs all suites or one, `die KIND` ends the kernel in a way
 * that must be noticed. A suite's function runs on the shell's thread and may block; test points
 * may come from any thread.
 */
#ifndef TESTS_KERNEL_SUITE_H
#define TESTS_KERNEL_SUITE_H

#include <stdbool.h>
#include <stdint.h>

struct suite {
    const char *name;
    void (*run)(void);
};

/* All that there are, in the order in which they run. */
#define SUITE_TABLE(S)                                                                             \
    S(frames)                                                                                      \
    S(heap)                                                                                        \
    S(paging)                                                                                      \
    S(locks)                                                                                       \
    S(waiting)                                                                                     \
    S(threads)                                                                                     \
    S(calls)                                                                                       \
    S(console)                                                                                     \
    S(user_memory)                                                                                 \
    S(processes)                                                                                   \
    S(recorder)                                                                                    \
    S(branches)                                                                                    \
    S(disk)                                                                                        \
    S(flight)                                                                                      \
    S(lbr)                                                                                         \
    S(marker)                                                                                      \
    S(probe_load)                                                                                  \
    S(probes)                                                                                      \
    S(recording_damage)                                                                            \
    S(recording_file)

#define S(name) extern const struct suite suite_##name;
SUITE_TABLE(S)
#undef S

bool suite_ok(bool passed, const char *file, int line, const char *condition, const char *format,
              ...) __attribute__((format(printf, 5, 6)));
bool suite_equal(uint64_t actual, uint64_t expected, const char *file, int line, const char *format,
                 ...) __attribute__((format(printf, 5, 6)));
void suite_skip(const char *what, const char *reason);

/* ok(condition, "what is tested", …), is_equal(actual, expected, "what", …): whether it passed. */
#define ok(condition, ...)                                                                         \
    suite_ok((condition) ? true : false, __FILE__, __LINE__, #condition, __VA_ARGS__)
#define is_equal(actual, expected, ...)                                                            \
    suite_equal((uint64_t)(actual), (uint64_t)(expected), __FILE__, __LINE__, __VA_ARGS__)

/* Runs function in `count` new kernel threads with the indices 0 … count - 1 and waits for all of
 * them; the kernel panics when they do not end. */
#define CROWD_MAX 128
typedef void crowd_function(unsigned index, void *argument);
void crowd_run(unsigned count, crowd_function *function, void *argument);

void suite_sleep_until(uint64_t deadline); /* timer_now_ns */

/* xorshift64*; state is the seed, any value but 0. */
uint64_t suite_random(uint64_t *state);

int die_command(int count, char **words); /* die.c */
extern const char die_kinds[];

#endif
