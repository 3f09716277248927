/* SPDX-License-Identifier: MIT */
/* The boot order, as one list; then the script of the command line, the tour, or the shell. */
#include "arch/x86/apic.h"
#include "arch/x86/arch.h"
#include "arch/x86/devices.h"
#include "arch/x86/paging.h"
#include "arch/x86/smp.h"
#include "boot/boot_info.h"
#include "kernel/cmdline.h"
#include "kernel/command.h"
#include "kernel/commands.h"
#include "kernel/console.h"
#include "kernel/disk.h"
#include "kernel/flight.h"
#include "kernel/marker.h"
#include "kernel/lbr.h"
#include "kernel/panic.h"
#include "kernel/pmu_calibration.h"
#include "kernel/pmu_owner.h"
#include "kernel/pmu_sweep.h"
#include "kernel/printf.h"
#include "kernel/probe.h"
#include "kernel/profiler.h"
#include "kernel/programs.h"
#include "kernel/thread.h"
#include "kernel/watchdog.h"
#include "mm/frames.h"
#include "replay/replay.h"

#define BOOT_MAP_LIMIT (4ull << 30) /* what boot/entry.asm maps */

_Noreturn void kernel_main(uint32_t magic, uint64_t info_address);
void tests_register(void); /* tests/kernel, linked in by TESTS=1 */

static void start_devices(void)
{
    serial_enable_input();
    keyboard_init();
}

static void print_machine(void)
{
    struct frames_stats stats;
    frames_get_stats(&stats);
    printk("Skeleton Crew: %u CPU%s, %llu MiB, %s, TSC %llu.%03llu MHz by %s, %s\n", cpu_count,
           cpu_count == 1 ? "" : "s", (unsigned long long)(stats.total >> 8),
           apic_is_x2apic() ? "x2APIC" : "xAPIC", (unsigned long long)timer_tsc_khz() / 1000,
           (unsigned long long)timer_tsc_khz() % 1000, timer_reference_name(), timer_event_name());
}

/* The first thread: everything that a person asked for on the command line. */
static void run_session(void *argument)
{
    static char script[BOOT_CMDLINE_MAX];
    (void)argument;
    print_machine();
    marker_start(); /* patches text for the first time */
    replay_mount_disk();
    pmu_calibrate(false); /* before anything else runs in ring 3 */
    watchdog_start_by_default();
    if (cmdline_get("run", script, sizeof(script)))
        command_run_line(script);
    else if (cmdline_has("tour"))
        command_run_line("tour");
    if (cmdline_has("poweroff-at-end"))
        command_run_line("poweroff");
    shell_run();
}

_Noreturn void kernel_main(uint32_t magic, uint64_t info_address)
{
    console_init();                       /* from here on a panic can be read */
    arch_early_init();                    /* features, control registers, GDT, IDT, TSS */
    boot_info_parse(magic, info_address); /* memory map, modules, command line */
    if (boot_info.error)
        panic("boot information: %s", boot_info.error);
    cmdline_init(boot_info.cmdline);
    frames_init(&boot_info, BOOT_MAP_LIMIT);
    paging_init(boot_info.ram_end); /* final kernel address space, W^X */
    frames_add_rest(&boot_info, BOOT_MAP_LIMIT);
    arch_late_init(); /* IST stacks with guard pages */
    if (!acpi_init(boot_info.rsdp_length ? boot_info.rsdp : NULL))
        printk("ACPI: no usable tables; one CPU assumed\n");
    apic_init();
    apic_setup_cpu();
    timer_init(); /* calibrates */
    timer_setup_cpu();
    pmu_owner_init(); /* counters off, NMI handlers */
    sched_init();     /* this code becomes the idle thread of CPU 0 */
    marker_init();    /* their table */
    probe_init();     /* what hits of markers and probed instructions run */
    smp_start_all();  /* the other CPUs run their idle loops */
    flight_init();    /* a ring for each */
    disk_init();      /* a virtio-blk device, if there is one */
    shell_register_commands();
    commands_register();
    pmu_commands_register();
    profiler_register();
    watchdog_register();
    lbr_register();
    pmu_sweep_register_command();
    replay_init(); /* the recorder registers itself */
#ifdef TESTS
    tests_register();
#endif
    programs_init(boot_info.module_count ? boot_info.modules[0].start : 0,
                  boot_info.module_count ? boot_info.modules[0].end : 0);
    start_devices();
    struct thread *session = thread_create_kernel("session", run_session, NULL);
    if (!session)
        panic("out of memory for the first thread");
    thread_start(session);
    sched_idle_loop();
}
