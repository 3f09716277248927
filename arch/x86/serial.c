/* SPDX-License-Identifier: MIT */
/* 16550 serial ports: COM1 is the console's, polled output, input by interrupt; COM2, where there
 * is one, takes what is sent to the outside (kernel/send.h), so that the console stays readable.
 *
 * Output: serialised by the caller, port by port (the panic path comes without the console's lock;
 * then at worst characters mingle). Input: the interrupt handler of the boot CPU, or one thread
 * that polls. Source: National Semiconductor PC16550D datasheet.
 */
#include "arch/x86/devices.h"

#include "arch/x86/apic.h"
#include "arch/x86/cpu.h"
#include "arch/x86/io.h"
#include "arch/x86/timer.h"
#include "kernel/upcalls.h"

#define COM1_IRQ 4

enum uart_register { /* from the port's base */
                     UART_DATA = 0,
                     UART_DIVISOR_LOW = 0, /* while LINE_DIVISOR is set */
                     UART_INTERRUPTS = 1,
                     UART_DIVISOR_HIGH = 1,
                     UART_FIFO = 2,  /* written */
                     UART_CAUSE = 2, /* read */
                     UART_LINE = 3,
                     UART_MODEM = 4,
                     UART_STATUS = 5,
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

struct uart {
    uint16_t base;
    const char *gives_up; /* what the screen says then */
    bool present;
    bool stalled;   /* waited in vain; set back when the port takes output again */
    uint32_t burst; /* bytes to send once it can send */
    uint32_t room;  /* of that burst */
};
static struct uart com1 = {
    .base = 0x3f8,
    .gives_up = "\nserial port: takes no output, text is dropped there\n",
};
static struct uart com2 = {
    .base = 0x2f8,
    .gives_up = "\nsecond serial port: takes no output, what is sent is dropped there\n",
};

static uint8_t uart_read(const struct uart *uart, enum uart_register index)
{
    return io_in8(uart->base + index);
}

static void uart_write(const struct uart *uart, enum uart_register index, uint8_t value)
{
    io_out8(uart->base + index, value);
}

static bool loopback_works(const struct uart *uart)
{
    uart_write(uart, UART_MODEM, MODEM_LOOPBACK | MODEM_READY | MODEM_INTERRUPT);
    uart_write(uart, UART_DATA, PROBE_BYTE);
    for (uint32_t i = 0; i < PROBE_READS; i++) {
        uint8_t status = uart_read(uart, UART_STATUS);
        if (status == STATUS_ABSENT)
            return false;
        if (status & STATUS_RECEIVED)
            return uart_read(uart, UART_DATA) == PROBE_BYTE;
    }
    return false;
}

static void uart_init(struct uart *uart)
{
    uart_write(uart, UART_INTERRUPTS, 0);
    uart_write(uart, UART_LINE, LINE_DIVISOR);
    uart_write(uart, UART_DIVISOR_LOW, DIVISOR_115200);
    uart_write(uart, UART_DIVISOR_HIGH, 0);
    uart_write(uart, UART_LINE, LINE_8N1);
    uart_write(uart, UART_FIFO, FIFO_ON | FIFO_TRIGGER_4);
    uart->present = loopback_works(uart);
    uart_write(uart, UART_MODEM, MODEM_READY | MODEM_INTERRUPT);
    /* Older UARTs have no FIFO, or one that loses bytes (cause 0x80). */
    bool fifo = (uart_read(uart, UART_CAUSE) & CAUSE_FIFO) == CAUSE_FIFO;
    uart->burst = fifo ? FIFO_SIZE : 1;
}

bool serial_init(void)
{
    uart_init(&com1);
    uart_init(&com2);
    return com1.present;
}

/* --- output --- */

static bool can_send(const struct uart *uart)
{
    return uart_read(uart, UART_STATUS) & STATUS_CAN_SEND;
}

static bool wait_can_send(const struct uart *uart)
{
    uint64_t start = timer_now_ns();
    for (uint32_t reads = 0; !can_send(uart); reads++) {
        bool late =
            timer_tsc_khz() ? timer_now_ns() - start > SEND_LIMIT_NS : reads > SEND_LIMIT_READS;
        if (late)
            return false;
        cpu_pause();
    }
    return true;
}

/* Says so once a stall, on the screen only: the console's port may be the reason. */
static void send_give_up(struct uart *uart)
{
    size_t length = 0;
    while (uart->gives_up[length])
        length++;
    uart->stalled = true;
    vga_write(uart->gives_up, length);
}

static void send_byte(struct uart *uart, uint8_t byte)
{
    if (uart->stalled && !can_send(uart))
        return;
    if (uart->room == 0 || uart->stalled) {
        uart->stalled = false;
        if (!wait_can_send(uart)) {
            send_give_up(uart);
            return;
        }
        uart->room = uart->burst;
    }
    uart_write(uart, UART_DATA, byte);
    uart->room--;
}

static void send_text(struct uart *uart, const char *text, size_t length)
{
    if (!uart->present)
        return;
    uart->room = 0; /* what is left in the FIFO from the last call is not known */
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\n')
            send_byte(uart, '\r');
        send_byte(uart, (uint8_t)text[i]);
    }
}

void serial_write(const char *text, size_t length)
{
    send_text(&com1, text, length);
}

bool serial_export_present(void)
{
    return com2.present;
}

bool serial_export_write(const char *text, size_t length)
{
    send_text(&com2, text, length);
    return com2.present && !com2.stalled;
}

/* --- input --- */

void serial_enable_input(void)
{
    if (!com1.present)
        return;
    serial_poll_input(); /* what waits already would raise no edge */
    if (ioapic_route_isa(COM1_IRQ, VECTOR_SERIAL))
        uart_write(&com1, UART_INTERRUPTS, INTERRUPT_RECEIVED);
}

/* Empties the FIFO, else the line stays up and there is no further edge. */
void serial_poll_input(void)
{
    while (com1.present) {
        uint8_t status = uart_read(&com1, UART_STATUS);
        if (status == STATUS_ABSENT || !(status & STATUS_RECEIVED))
            return;
        uint8_t byte = uart_read(&com1, UART_DATA);
        if (!(status & STATUS_BREAK)) /* comes with a zero byte that nobody sent */
            upcall_console_input(byte);
    }
}
