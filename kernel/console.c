/* SPDX-License-Identifier: MIT */
/* The console: every text goes to serial port and screen, whole, in one order.
 *
 * Nothing is buffered and nothing dropped: a writer waits until the devices have taken its text,
 * so what was written before a crash is there. `line_writer` is who left a line without its end;
 * the next one to write, if another, ends it first. A writer is a thread, since that may move to
 * another CPU within a line; before there are threads it is a CPU.
 *
 * Locks: O = output_lock (LOCK_CONSOLE), I = input_lock (LOCK_INPUT), both with interrupts off.
 * Context: any but NMI; the CPU that panics writes without O, NMI or not.
 */
#include "kernel/console.h"

#include "arch/x86/cpu.h"
#include "arch/x86/devices.h"
#include "kernel/spinlock.h"
#include "kernel/upcalls.h"
#include "kernel/waitqueue.h"

#define UNIT_MAX 1024   /* bytes written without letting go of O: 90 ms at 115200 baud */
#define INPUT_RING 1024 /* a power of two: the indices run freely */

_Static_assert((INPUT_RING & (INPUT_RING - 1)) == 0, "the ring's indices wrap at 2^32");

static struct spinlock output_lock = SPINLOCK_INIT(LOCK_CONSOLE, "console");
static const void *line_writer;  /* O: NULL: the cursor is at the start of a line */
static uint32_t panic_cpu_plus1; /* set once; 0: no panic */

static struct spinlock input_lock = SPINLOCK_INIT(LOCK_INPUT, "console input");
static uint8_t input_ring[INPUT_RING];  /* I */
static uint32_t input_put, input_taken; /* I: their difference is what the ring holds */
static uint32_t input_dropped;          /* I */
static struct wait_queue input_waiters = WAIT_QUEUE_INIT(input_waiters, "console input waiters");

void console_init(void)
{
    serial_init();
    vga_init();
}

static const void *this_writer(void)
{
    const void *thread = current_thread();
    return thread ? thread : this_cpu();
}

static bool this_cpu_panics(void)
{
    return __atomic_load_n(&panic_cpu_plus1, __ATOMIC_RELAXED) == this_cpu()->index + 1;
}

static void write_devices(const char *text, size_t length)
{
    serial_write(text, length);
    vga_write(text, length);
}

/* O held, or the CPU that panics. */
static void write_as(const void *writer, const char *text, size_t length)
{
    if (line_writer && line_writer != writer)
        write_devices("\n", 1);
    write_devices(text, length);
    line_writer = text[length - 1] == '\n' ? NULL : writer;
}

/* How much of a text goes out as one: all of it, or whole lines, or what fits. */
static size_t unit_length(const char *text, size_t length)
{
    if (length <= UNIT_MAX)
        return length;
    for (size_t end = UNIT_MAX; end > 0; end--)
        if (text[end - 1] == '\n')
            return end;
    return UNIT_MAX;
}

static void write_unit(const char *text, size_t length)
{
    if (this_cpu_panics()) {
        write_as(this_writer(), text, length);
        return;
    }
    bool enabled = spin_lock_irq(&output_lock);
    write_as(this_writer(), text, length);
    spin_unlock_irq(&output_lock, enabled);
}

void console_write(const char *text, size_t length)
{
    while (length > 0) {
        size_t unit = unit_length(text, length);
        write_unit(text, unit);
        text += unit;
        length -= unit;
    }
}

bool console_line_is_open(void)
{
    bool enabled = spin_lock_irq(&output_lock);
    bool mine = line_writer == this_writer();
    spin_unlock_irq(&output_lock, enabled);
    return mine;
}

/* O held, or the CPU that panics. */
static void end_line(void)
{
    if (line_writer)
        write_devices("\n", 1);
    line_writer = NULL;
}

void console_end_line(void)
{
    bool enabled = spin_lock_irq(&output_lock);
    end_line();
    spin_unlock_irq(&output_lock, enabled);
}

void console_enter_panic(void)
{
    __atomic_store_n(&panic_cpu_plus1, this_cpu()->index + 1, __ATOMIC_RELAXED);
    end_line();
}

void upcall_console_input(uint8_t byte)
{
    bool enabled = spin_lock_irq(&input_lock);
    if (input_put - input_taken < INPUT_RING)
        input_ring[input_put++ % INPUT_RING] = byte;
    else
        input_dropped++;
    spin_unlock_irq(&input_lock, enabled);
    wait_queue_wake_all(&input_waiters);
}

bool console_take_input(uint8_t *byte)
{
    bool enabled = spin_lock_irq(&input_lock);
    bool some = input_put != input_taken;
    if (some)
        *byte = input_ring[input_taken++ % INPUT_RING];
    spin_unlock_irq(&input_lock, enabled);
    return some;
}

uint32_t console_take_dropped(void)
{
    bool enabled = spin_lock_irq(&input_lock);
    uint32_t dropped = input_dropped;
    input_dropped = 0;
    spin_unlock_irq(&input_lock, enabled);
    return dropped;
}

/* Without I: the wait queue may ask with its own lock held, and one reader's view is enough. */
static bool input_waits(void *unused)
{
    (void)unused;
    return __atomic_load_n(&input_put, __ATOMIC_ACQUIRE) !=
           __atomic_load_n(&input_taken, __ATOMIC_RELAXED);
}

void console_wait_input(void)
{
    wait_queue_sleep_until(&input_waiters, input_waits, NULL, "console input");
}
