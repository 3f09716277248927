# SPDX-License-Identifier: GPL-2.0-or-later
# The QEMU plugin: included by the root Makefile. Gives QEMU_PMU, the file. Needs the host's
# compiler and nothing of QEMU's.

QEMU_PMU := build/tools/qemu-pmu.so
QEMU_PMU_SOURCES := $(addprefix tools/qemu-pmu/pmu_, \
    classify.c delivery.c events.c follow.c helpers.c instrument.c instrument_lbr.c interrupt.c \
    lbr.c lbr_trace.c model.c options.c oracle.c oracle_file.c oracle_thread.c plugin.c qemu.c \
    registers.c symbols.c) \
    $(addprefix arch/x86/insn, .c _classify.c _operand.c _use.c)
QEMU_PMU_OBJS := $(patsubst %.c,build/tools/obj/%.o,$(QEMU_PMU_SOURCES))
# -foptimize-sibling-calls: pmu_helpers.c relies on it.
QEMU_PMU_CFLAGS := -std=gnu17 -O2 -g -Wall -Wextra -Werror -fPIC -fvisibility=hidden \
    -foptimize-sibling-calls -I.

build/tools/obj/%.o: %.c tools/qemu-pmu/rules.mk
	@mkdir -p $(@D)
	@echo '  HOST  $<'
	$(Q)$(HOSTCC) $(QEMU_PMU_CFLAGS) -MD -MP -MF $(@:.o=.d) -c -o $@ $<

$(QEMU_PMU): $(QEMU_PMU_OBJS)
	@echo '  HOST  $@'
	$(Q)$(HOSTCC) -shared -o $@ $(QEMU_PMU_OBJS) -ldl -lpthread

.PHONY: qemu-pmu
qemu-pmu: $(QEMU_PMU)

-include $(QEMU_PMU_OBJS:.o=.d)
