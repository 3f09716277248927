# SPDX-License-Identifier: MIT
# Skeleton Crew. `make help` lists the targets. Everything is written below build/.
#
#   CC=clang     another compiler           DEBUG=1      poisoned memory, lock ranks, -Og
#   O=dir        another output directory   V=1          show the commands
#   TESTS=1      adds the suites of tests/kernel to the kernel
#   LBR=0        leaves out branch history at exceptions, to compare with
#   MARKERS=0    compiles no marker into the kernel (with another O, to compare)

O := build
CC := gcc
NASM := nasm
LD := ld
OBJCOPY := objcopy
OBJDUMP := objdump
HOSTCC := gcc
DEBUG :=
TESTS :=
LBR := 1
MARKERS :=
Q := $(if $(V),,@)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:
MAKEFLAGS += --no-builtin-rules --no-print-directory

# --- flags ----------------------------------------------------------------------------------------

# -mgeneral-regs-only and -mno-red-zone: interrupts come at any instruction, and the vector
# registers are the user's. -fno-strict-aliasing: page frames change their type.
CFLAGS := -std=c17 -ffreestanding -Wall -Wextra -Werror -O2 -g \
    -mcmodel=kernel -mno-red-zone -mgeneral-regs-only \
    -fno-pic -fno-pie -fno-stack-protector -fno-omit-frame-pointer -fno-strict-aliasing \
    -fno-asynchronous-unwind-tables -fcf-protection=none \
    -ffile-prefix-map=$(CURDIR)=. -I. $(if $(DEBUG),-Og -DDEBUG=1) \
    $(if $(TESTS),-DTESTS=1) $(if $(filter 0,$(MARKERS)),-DMARKERS=0)
NASMDEBUG := -g -F dwarf
NASMFLAGS := -f elf64 -w+error -I./ -Ibuild/gen/ $(if $(DEBUG),-dDEBUG=1)
LDFLAGS := -m elf_x86_64 -nostdlib -static -z max-page-size=4096 -z noexecstack --build-id=none \
    --fatal-warnings -T linker.ld
HOSTCFLAGS := -std=c17 -O1 -g -Wall -Wextra -Werror -I.

# --- the kernel's files ---------------------------------------------------------------------------

BOOT_OBJS := $(addprefix boot/, \
    boot_info.o boot_regions.o entry.o multiboot.o trampoline.o)
ARCH_OBJS := $(addprefix arch/x86/, \
    insn_probe.o insn_run.o probe_entry.o text_probe.o text_probe_change.o \
    acpi.o acpi_aml.o acpi_tables.o apic.o arch.o clock_reference.o context.o cpu.o \
    cpu_features.o crash_victim.o entry.o fpu.o gdt.o idt.o insn.o insn_classify.o \
    insn_operand.o insn_use.o ioapic.o keyboard.o marker_entry.o marker_site.o paging.o pci.o \
    pmu.o pmu_loops.o pmu_models.o power.o serial.o smp.o text_code.o text_patch.o timer.o trap.o \
    vectors.o vga.o virtio_blk.o virtio_pci.o virtqueue.o witness.o \
    $(if $(filter 1,$(LBR)),lbr.o lbr_models.o lbr_records.o lbr_registers.o lbr_stub.o))
KERNEL_OBJS := $(addprefix kernel/, \
    probe.o probe_commands.o probe_dynamic.o probe_types.o \
    ctf.o flight.o flight_command.o flight_export.o flight_ring.o flight_text.o \
    breakpoint.o marker.o marker_bench.o marker_commands.o marker_footprint.o marker_loops.o \
    cmdline.o command.o commands.o console.o disk.o elf.o elf_symbols.o emulate.o err.o format.o \
    futex.o hash.o ipi_call.o keys.o lbr_bench.o lbr_command.o \
    $(if $(filter 1,$(LBR)),lbr.o,lbr_none.o) lineedit.o main.o names.o nmi.o object.o \
    panic.o pmu_calibration.o pmu_commands.o pmu_loops.o pmu_owner.o pmu_sampling.o pmu_sweep.o \
    printk.o process.o profiler.o profiler_report.o profiler_tally.o programs.o recorder.o \
    report.o sched.o send.o send_text.o shell.o shell_panic.o sleep.o spinlock.o string.o \
    symbols.o syscall.o syscall_memory.o syscall_misc.o syscall_thread.o thread.o traps.o \
    ustar.o wait.o waitqueue.o watchdog.o)
MM_OBJS := $(addprefix mm/, \
    frames.o heap.o page_index.o space.o space_pages.o tlb.o user_memory.o)
REPLAY_OBJS := $(addprefix replay/, \
    bench_command.o checkpoint.o crew.o edit_command.o end_state.o event_text.o hooks.o \
    log_codec.o log_commands.o log_disk.o log_file.o log_module.o point.o record.o record_fault.o \
    record_header.o record_hold.o record_log.o record_session.o recording.o recording_read.o \
    recording_write.o \
    replay.o replay_commands.o replay_divergence.o replay_events.o replay_run.o replay_thread.o \
    session.o spool.o store.o store_check.o store_disk.o store_mount.o stream.o tick_pmc.o \
    tick_select.o tick_step.o tick_tf.o tour.o)
TEST_OBJS := $(addprefix tests/kernel/, \
    suite_flight.o \
    probe_targets.o probe_targets_run.o suite_probe_load.o suite_probes.o \
    branches.o die.o lbr_check.o marker_places.o marker_storm.o suite.o suite_branches.o \
    suite_calls.o suite_console.o suite_disk.o suite_frames.o suite_heap.o suite_lbr.o \
    suite_locks.o suite_marker.o suite_paging.o suite_processes.o suite_recorder.o \
    suite_recording_file.o suite_recording_damage.o memory_file.o suite_threads.o \
    suite_user_memory.o suite_waiting.o)
OBJS := $(addprefix $(O)/obj/, $(BOOT_OBJS) $(ARCH_OBJS) $(KERNEL_OBJS) $(MM_OBJS) \
    $(REPLAY_OBJS) $(if $(TESTS),$(TEST_OBJS)))

KERNEL := $(O)/kernel.elf
KERNEL32 := $(O)/kernel32.elf
KERNEL_EXTRAS := $(O)/kernel.lst $(O)/kernel.sym
PROGRAMS := build/user/programs.tar
GENERATED := build/gen/asm_offsets.inc build/gen/vectors.inc

# --- what people call -----------------------------------------------------------------------------
# Missing packages are installed before anything is built, hence the second make.

.PHONY: help run bench oracle test iso debug lint format clean kernel programs image tools
.PHONY: host-tests FORCE

help:
	@echo 'make run       build, boot in QEMU, show the tour; then a shell when this is a terminal'
	@echo '               RUN="cpus; mem; poweroff"  run these shell commands instead of the tour'
	@echo '               CPUS=2 MEM=256M MACHINE=q35|pc CPU=max ACCEL=kvm|pmu|step QEMU=path'
	@echo '               APPEND="words for the kernel" TIMEOUT=seconds DISK=image DISK_SIZE=1G'
	@echo 'make test      lint, host tests, both compilers, model, kernel and replay suites'
	@echo 'make oracle    PROG="racey 4 200" N=20: recorded, replayed, every instruction compared'
	@echo 'make bench     measures recording and replay: build/bench.csv, .svg, .txt (docs/bench.md)'
	@echo '               BENCH=quick|full ONLY=regex ROUNDS=5 VCPUS="1 2 4"'
	@echo 'make iso       $(O)/skeleton-crew.iso: boots on a PC by GRUB (RUN, APPEND as above)'
	@echo 'make debug     boots, stopped at the first instruction, with gdb attached'
	@echo 'make lint      formatting, static analysis, layers'
	@echo 'make format    lets clang-format rewrite the sources'
	@echo 'make clean     removes build/'
	@echo 'CC=clang and DEBUG=1 work with all of them. The first three install what they need on'
	@echo 'Debian 12 and 13 (tools/install-packages.sh).'

# The environment is how run-qemu.sh gets its settings: no quoting in between.
export DISK_SIZE DISK_DEVICE DISK_READONLY
export RUN CPUS MEM MACHINE CPU ACCEL PMU TCG QEMU APPEND TIMEOUT EXPORT LOGS
export PROG N STEP SOURCE

# Not for the other targets: each run of a test or a measurement says which disk it wants.
run: export DISK ?= build/recordings.img
run:
	@tools/install-packages.sh run
	@$(MAKE) image
	@./run-qemu.sh

oracle:
	@tools/install-packages.sh run
	@$(MAKE) image build/tools/oracle/compare
	@tools/oracle/oracle.sh

debug:
	@tools/install-packages.sh debug
	@$(MAKE) image
	@tools/debug.sh

iso:
	@tools/install-packages.sh iso
	@$(MAKE) image
	@tools/make-iso.sh $(O)/skeleton-crew.iso

test:
	@tools/install-packages.sh test
	-@$(MAKE) -k host-tests
	@tests/run-tests.sh $(HOST_TESTS)

bench:
	@tools/install-packages.sh run
	@$(MAKE) image build/tools/bench/stamp
	@KERNEL=$(KERNEL32) tools/bench/bench.sh

lint:
	@tools/install-packages.sh lint
	@tools/lint/lint.sh

format:
	@tools/install-packages.sh format
	@git ls-files -z --cached --others --exclude-standard '*.c' '*.h' | xargs -0 clang-format -i

clean:
	rm -rf build

# --- the kernel -----------------------------------------------------------------------------------

kernel: $(KERNEL) $(KERNEL32) $(KERNEL_EXTRAS)
programs: $(PROGRAMS)
image: kernel programs qemu-pmu tools
tools: build/tools/crewlog build/tools/receive

# Holds compiler and flags, and changes only when they do: a change rebuilds what they made.
$(O)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(CC) $(CFLAGS)' '$(NASM) $(NASMFLAGS) $(NASMDEBUG)' \
	    '$(LD) $(LDFLAGS)' '$(OBJS)' >$@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

$(O)/obj/%.o: %.c $(O)/flags | $(GENERATED)
	@mkdir -p $(@D)
	@echo '  CC    $<'
	$(Q)$(CC) $(CFLAGS) -MD -MP -MF $(@:.o=.d) -c -o $@ $<

$(O)/obj/%.o: %.asm $(O)/flags | $(GENERATED)
	@mkdir -p $(@D)
	@echo '  NASM  $<'
	$(Q)$(NASM) $(NASMFLAGS) $(NASMDEBUG) -MD $(@:.o=.d) -MT $@ -MP -o $@ $<

# NASM's line table for two code sections in one file is one that gdb complains about.
$(O)/obj/boot/entry.o: private NASMDEBUG :=

# The tables of symbols and lines are part of the image that they describe: the first link gives the
# names and lines, the second the addresses (the tables have their final size there), the third the
# kernel. They are last in the image, so no code moves; --same proves that the third link moved
# nothing at all.
$(O)/kernel.pass1: $(OBJS) linker.ld $(O)/flags
	@echo '  LD    $@'
	$(Q)$(LD) $(LDFLAGS) -o $@ $(OBJS)

$(O)/kernel.pass2: $(O)/obj/klines.o $(O)/obj/ksyms1.o
	@echo '  LD    $@'
	$(Q)$(LD) $(LDFLAGS) -o $@ $(OBJS) $^

$(KERNEL): $(O)/obj/klines.o $(O)/obj/ksyms2.o
	@echo '  LD    $@'
	$(Q)$(LD) $(LDFLAGS) -Map=$(O)/kernel.map -o $@ $(OBJS) $^
	$(Q)build/tools/ksyms --same $(O)/kernel.pass2 $@

$(O)/obj/ksyms%.o: $(O)/kernel.pass% build/tools/ksyms tools/table.asm
	$(Q)build/tools/ksyms $< $(@:.o=.bin)
	$(Q)$(NASM) -f elf64 -dTABLE_SECTION=.ksyms -dTABLE_FILE='"$(@:.o=.bin)"' -o $@ \
	    tools/table.asm

$(O)/obj/klines.o: $(O)/kernel.pass1 build/tools/klines tools/table.asm
	$(Q)build/tools/klines $< $(@:.o=.bin)
	$(Q)$(NASM) -f elf64 -dTABLE_SECTION=.klines -dTABLE_FILE='"$(@:.o=.bin)"' -o $@ \
	    tools/table.asm

# QEMU's multiboot loader refuses 64-bit ELF files.
$(KERNEL32): $(KERNEL)
	$(Q)$(OBJCOPY) -O elf32-i386 --strip-debug $< $@

$(O)/kernel.lst: $(KERNEL)
	$(Q)$(OBJDUMP) -d -M intel $< >$@

$(O)/kernel.sym: $(KERNEL)
	$(Q)nm -n $< >$@

# --- host tools -----------------------------------------------------------------------------------

build/tools/%: tools/%.c
	@mkdir -p $(@D)
	@echo '  HOST  $<'
	$(Q)$(HOSTCC) $(HOSTCFLAGS) -MD -MP -MF $@.d -o $@ $<

build/tools/ksyms: $(addprefix tools/, ksyms.c elf_image.c elf_image.h)
build/tools/klines: $(addprefix tools/, \
    klines.c dwarf_lines.c dwarf_lines.h elf_image.c elf_image.h)
build/tools/ksyms build/tools/klines:
	@mkdir -p $(@D)
	@echo '  HOST  $@'
	$(Q)$(HOSTCC) $(HOSTCFLAGS) -o $@ $(filter %.c,$^)

build/tools/oracle/compare: $(addprefix tools/oracle/, compare.c read.c read.h format.h)
	@mkdir -p $(@D)
	@echo '  HOST  $@'
	$(Q)$(HOSTCC) $(HOSTCFLAGS) -o $@ $(filter %.c,$^)

# crewlog: its own files, and the kernel's that know the format of recordings.
CREWLOG_OBJS := $(addprefix build/tools/crewlog-obj/, \
    $(addprefix tools/crewlog/, diff.o diff_report.o dump.o export.o export_chrome.o \
    export_core.o extract.o file.o history.o image.o info.o json.o lines.o log.o main.o owners.o \
    program.o stats.o stats_json.o stats_print.o stats_rows.o table.o timeline.o timeline_page.o \
    tool.o verify.o) \
    $(addprefix replay/, event_text.o log_check.o log_codec.o log_file.o point.o store.o \
    store_check.o store_mount.o) \
    $(addprefix kernel/, err.o format.o hash.o names.o string.o) arch/x86/vectors.o)

build/tools/crewlog-obj/%.o: %.c
	@mkdir -p $(@D)
	@echo '  HOST  $<'
	$(Q)$(HOSTCC) $(HOSTCFLAGS) -O2 -D_GNU_SOURCE -MD -MP -MF $(@:.o=.d) -c -o $@ $<

build/tools/crewlog-obj/tools/crewlog/timeline_page.o: $(wildcard tools/crewlog/timeline/*)

build/tools/crewlog: $(CREWLOG_OBJS)
	@echo '  HOST  $@'
	$(Q)$(HOSTCC) $(HOSTCFLAGS) -o $@ $^

build/gen/asm_offsets.inc: build/tools/gen_asm
	@mkdir -p $(@D)
	$(Q)$< offsets $@

build/gen/vectors.inc: build/tools/gen_asm
	@mkdir -p $(@D)
	$(Q)$< vectors $@

# --- user programs, tests -------------------------------------------------------------------------

include user/rules.mk
include tests/host/rules.mk
include tools/qemu-pmu/rules.mk

host-tests: $(HOST_TESTS) tools build/tests/make_log build/tests/crewlog

-include $(OBJS:.o=.d) $(CREWLOG_OBJS:.o=.d) $(wildcard build/tools/*.d)
