/* SPDX-License-Identifier: MIT */
/* 16550 serial port at COM1: polled output, input by interrupt.
 *
 * Output: serialised by the caller (the panic path comes without its lock; then at worst characters
 * mingle). Input: the interrupt handler of the boot CPU, or one thread that polls.
 * Source: National Semiconductor PC16550D datasheet.
 */
#include "arch/x86/devices.h"

#include "arch/x86/apic.h"
#include "arch/x86/cpu.h"
#include "arch/x86/io.h"
#include "arch/x86/timer.h"
#include "kernel/upcalls.h"

#define COM1 0x3f8
#define COM1_IRQ 4

enum uart_register {
    UART_DATA = COM1,
    UART_DIVISOR_LOW = COM1, /* while LINE_DIVISOR is set */
    UART_INTERRUPTS = COM1 + 1,
    UART_DIVISOR_HIGH = COM1 + 1,
    UART_FIFO = COM1 + 2,  /* written */
    UART_CAUSE = COM1 + 2, /* read */
    UART_LINE = COM1 + 3,
    UART_MODEM = COM1 + 4,
    UART_STATUS = COM1 + 5,
};

#define INTERRUPT_RECEIVED 0x01
#define FIFO_ON 0x07 /* and both emptied */
#define FIFO_TRIGGER_4 0x40
#define CAUSE_FIFO 0xc0
#define LINE_8N1 0x03
#define LINE_DIVISOR 0x80
#define MODEM_READY 0x03     /* DTR, RTS */
#define MODEM_INTERRUPT 0x08 /* OUT2 gates the interrupt line on PCs */
#define MODEM_LOOPBACK 0x10
#define STATUS_RECEIVED 0x01
#define STATUS_BREAK 0x10
#define STATUS_CAN_SEND 0x20
#define STATUS_ABSENT 0xff

#define DIVISOR_115200 1
#define FIFO_SIZE 16
#define PROBE_BYTE 0xae
#define PROBE_READS 10000u

/* A byte takes 87 µs; flow control or an emulator's slow reader may hold it up much longer. */
#define SEND_LIMIT_NS 5000000000ull
#define SEND_LIMIT_READS 20000000u /* before the clock runs; a read takes 100 ns at least */

static bool present;
static bool stalled;       /* waited in vain; set back when the port takes output again */
static uint32_t burst = 1; /* bytes to send once it can send */
static uint32_t room;      /* of that burst */

static bool loopback_works(void)
{
    io_out8(UART_MODEM, MODEM_LOOPBACK | MODEM_READY | MODEM_INTERRUPT);
    io_out8(UART_DATA, PROBE_BYTE);
    for (uint32_t i = 0; i < PROBE_READS; i++) {
        uint8_t status = io_in8(UART_STATUS);
        if (status == STATUS_ABSENT)
            return false;
        if (status & STATUS_RECEIVED)
            return io_in8(UART_DATA) == PROBE_BYTE;
    }
    return false;
}

bool serial_init(void)
{
    io_out8(UART_INTERRUPTS, 0);
    io_out8(UART_LINE, LINE_DIVISOR);
    io_out8(UART_DIVISOR_LOW, DIVISOR_115200);
    io_out8(UART_DIVISOR_HIGH, 0);
    io_out8(UART_LINE, LINE_8N1);
    io_out8(UART_FIFO, FIFO_ON | FIFO_TRIGGER_4);
    present = loopback_works();
    io_out8(UART_MODEM, MODEM_READY | MODEM_INTERRUPT);
    /* Older UARTs have no FIFO, or one that loses bytes (cause 0x80). */
    burst = (io_in8(UART_CAUSE) & CAUSE_FIFO) == CAUSE_FIFO ? FIFO_SIZE : 1;
    return present;
}

/* --- output --- */

static bool can_send(void)
{
    return io_in8(UART_STATUS) & STATUS_CAN_SEND;
}

static bool wait_can_send(void)
{
    uint64_t start = timer_now_ns();
    for (uint32_t reads = 0; !can_send(); reads++) {
        bool late =
            timer_tsc_khz() ? timer_now_ns() - start > SEND_LIMIT_NS : reads > SEND_LIMIT_READS;
        if (late)
            return false;
        cpu_pause();
    }
    return true;
}

/* Says so once a stall, on the screen only: this port is the reason. */
static void send_give_up(void)
{
    static const char message[] = "\nserial port: takes no output, text is dropped there\n";
    stalled = true;
    vga_write(message, sizeof(message) - 1);
}

static void send_byte(uint8_t byte)
{
    if (stalled && !can_send())
        return;
    if (room == 0 || stalled) {
        stalled = false;
        if (!wait_can_send()) {
            send_give_up();
            return;
        }
        room = burst;
    }
    io_out8(UART_DATA, byte);
    room--;
}

void serial_write(const char *text, size_t length)
{
    if (!present)
        return;
    room = 0; /* what is left in the FIFO from the last call is not known */
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\n')
            send_byte('\r');
        send_byte((uint8_t)text[i]);
    }
}

/* --- input --- */

void serial_enable_input(void)
{
    if (!present)
        return;
    serial_poll_input(); /* what waits already would raise no edge */
    if (ioapic_route_isa(COM1_IRQ, VECTOR_SERIAL))
        io_out8(UART_INTERRUPTS, INTERRUPT_RECEIVED);
}

/* Empties the FIFO, else the line stays up and there is no further edge. */
void serial_poll_input(void)
{
    while (present) {
        uint8_t status = io_in8(UART_STATUS);
        if (status == STATUS_ABSENT || !(status & STATUS_RECEIVED))
            return;
        uint8_t byte = io_in8(UART_DATA);
        if (!(status & STATUS_BREAK)) /* comes with a zero byte that nobody sent */
            upcall_console_input(byte);
    }
}
