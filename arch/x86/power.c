/* SPDX-License-Identifier: MIT */
/* Turning the machine off, resetting it, and ending the emulator with a status.
 *
 * Any context, also a panic's; the first CPU to come here wins, since the machine ends.
 * Source: ACPI Specification 6.5, 4.8.3.2 (PM1 control) and 16.1 (sleeping states).
 */
#include "arch/x86/acpi_tables.h"
#include "arch/x86/apic.h"
#include "arch/x86/cpu.h"
#include "arch/x86/devices.h"
#include "arch/x86/io.h"
#include "arch/x86/timer.h"
#include "kernel/printf.h"

#define PM1_ACPI_ON (1u << 0) /* SCI_EN */
#define PM1_SLEEP_TYPE(type) ((type) << 10)
#define PM1_SLEEP_TYPE_MASK PM1_SLEEP_TYPE(7u)
#define PM1_SLEEP (1u << 13)

#define ACPI_ON_TRIES 300  /* of 10 ms: firmware may take its time */
#define EFFECT_US 1000000u /* until a port that was to end the machine is given up */

/* QEMU without ACPI tables: the PM1a control port of its `pc` and `q35`, and of old versions. */
#define QEMU_PM1A_CONTROL 0x604
#define QEMU_OLD_PM1A_CONTROL 0xb004
#define QEMU_DEBUG_EXIT 0x501

#define I8042_STATUS 0x64
#define I8042_COMMAND 0x64
#define I8042_INPUT_FULL 0x02
#define I8042_PULSE_RESET 0xfe
#define I8042_READS 100000
#define RESET_CONTROL 0xcf9
#define RESET_CONTROL_SYSTEM 0x02
#define RESET_CONTROL_GO 0x06

static _Noreturn void machine_halt(void)
{
    for (;;)
        __asm__ volatile("cli; hlt" ::: "memory");
}

void power_debug_exit(uint8_t code)
{
    io_out8(QEMU_DEBUG_EXIT, code);
}

/* --- off --- */

static bool acpi_switch_on(void)
{
    uint16_t port = (uint16_t)acpi_info.pm1a_control;
    if (io_in16(port) & PM1_ACPI_ON)
        return true;
    if (acpi_handover.smi_command_port == 0 || acpi_handover.enable_value == 0)
        return false;
    io_out8((uint16_t)acpi_handover.smi_command_port, acpi_handover.enable_value);
    for (int i = 0; i < ACPI_ON_TRIES; i++) {
        if (io_in16(port) & PM1_ACPI_ON)
            return true;
        timer_delay_us(10000);
    }
    return false;
}

static void pm1_write_sleep(uint32_t port, uint16_t type, uint16_t sleep)
{
    uint16_t control = io_in16((uint16_t)port) & (uint16_t) ~(PM1_SLEEP_TYPE_MASK | PM1_SLEEP);
    io_out16((uint16_t)port, (uint16_t)(control | PM1_SLEEP_TYPE(type) | sleep));
}

/* Returns when the machine is still on. */
static void acpi_enter_s5(void)
{
    if (!acpi_info.s5_valid || acpi_info.pm1a_control == 0)
        return;
    if (!acpi_switch_on())
        printk("power: the firmware does not switch to ACPI mode\n");
    for (uint16_t sleep = 0; sleep <= PM1_SLEEP; sleep = (uint16_t)(sleep + PM1_SLEEP)) {
        pm1_write_sleep(acpi_info.pm1a_control, acpi_info.s5_type_a, sleep);
        if (acpi_info.pm1b_control)
            pm1_write_sleep(acpi_info.pm1b_control, acpi_info.s5_type_b, sleep);
    }
    timer_delay_us(EFFECT_US);
}

void power_off(void)
{
    irq_disable();
    acpi_enter_s5();
    io_out16(QEMU_PM1A_CONTROL, PM1_SLEEP);
    io_out16(QEMU_OLD_PM1A_CONTROL, PM1_SLEEP);
    timer_delay_us(EFFECT_US);
    printk("The machine does not turn itself off: it has halted and can be switched off now.\n");
    machine_halt();
}

/* --- reset --- */

static void i8042_reset(void)
{
    for (int i = 0; i < I8042_READS && io_in8(I8042_STATUS) & I8042_INPUT_FULL; i++)
        cpu_pause();
    io_out8(I8042_COMMAND, I8042_PULSE_RESET);
}

static _Noreturn void triple_fault(void)
{
    static const struct {
        uint16_t limit;
        uint64_t base;
    } __attribute__((packed)) no_idt = {0, 0};
    __asm__ volatile("lidt %0; int3" ::"m"(no_idt));
    machine_halt();
}

void power_reset(void)
{
    irq_disable();
    if (acpi_info.reset_port) {
        io_out8((uint16_t)acpi_info.reset_port, acpi_info.reset_value);
        timer_delay_us(EFFECT_US / 10);
    }
    i8042_reset();
    timer_delay_us(EFFECT_US / 10);
    io_out8(RESET_CONTROL, RESET_CONTROL_SYSTEM);
    io_out8(RESET_CONTROL, RESET_CONTROL_GO);
    timer_delay_us(EFFECT_US / 10);
    triple_fault();
}
