# SPDX-License-Identifier: MIT
# User programs: included by the root Makefile, run from the root, writes under build/user/ only.
#
# Gives USER_PROGRAMS (build/user/NAME), USER_ARCHIVE (all of them in a tar) and the target `user`.
# A program NAME is user/demo/NAME.c or user/test/NAME.c, linked with the runtime user/lib.

ifeq ($(origin CC),default)
CC := gcc
endif
CC ?= gcc
NASM ?= nasm
LD ?= ld
AR ?= ar

USER_BUILD := build/user
USER_OBJECTS := $(USER_BUILD)/obj

USER_LIB := argument barrier check condition format hash memory mutex print rendezvous string \
    strtoul team thread
USER_LIB_ASM := thread_clone
USER_DEMOS := counter crash dekker falseshare middle mutex pingpong private producer-consumer \
    racey rep sort straddle tsc
USER_TESTS := faults fpu hostile mapper protector spin stopper syscalls tf threads yield

USER_DEMO_PROGRAMS := $(addprefix $(USER_BUILD)/,$(USER_DEMOS))
USER_TEST_PROGRAMS := $(addprefix $(USER_BUILD)/,$(USER_TESTS))
USER_PROGRAMS := $(USER_DEMO_PROGRAMS) $(USER_TEST_PROGRAMS)
USER_ARCHIVE := $(USER_BUILD)/programs.tar
USER_RUNTIME := $(USER_OBJECTS)/lib/crt0.o $(USER_OBJECTS)/lib/libuser.a

USER_CFLAGS := -std=c17 -ffreestanding -Wall -Wextra -Werror -O2 -g -fno-pic -fno-pie \
    -fno-stack-protector -fcf-protection=none -fno-asynchronous-unwind-tables \
    -ffunction-sections -fdata-sections -ffile-prefix-map=$(CURDIR)=. -I.
USER_NASMFLAGS := -f elf64 -g -F dwarf -w+error
USER_LDFLAGS := -nostdlib -static -z max-page-size=4096 -z noexecstack --gc-sections \
    --build-id=none --fatal-warnings -T user/user.ld

.PHONY: user USER_FORCE
user: $(USER_PROGRAMS) $(USER_ARCHIVE)

# Helpers in assembly of single programs.
$(USER_BUILD)/faults: $(USER_OBJECTS)/test/faults_raise.o
$(USER_BUILD)/fpu: $(USER_OBJECTS)/test/fpu_registers.o
$(USER_BUILD)/syscalls: $(USER_OBJECTS)/test/syscalls_memory.o \
    $(USER_OBJECTS)/test/syscalls_registers.o
$(USER_BUILD)/tf: $(USER_OBJECTS)/test/tf_probes.o

# Holds compilers and flags, and changes only when they do: a change rebuilds what they made.
$(USER_BUILD)/flags: USER_FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(CC) $(USER_CFLAGS)' '$(NASM) $(USER_NASMFLAGS)' '$(LD) $(USER_LDFLAGS)' \
	    >$@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

define USER_LINK
@mkdir -p $(@D)
@echo '  LD    $@'
$(Q)$(LD) $(USER_LDFLAGS) -Map=$@.map -o $@ $(filter %.o,$^) $(filter %.a,$^)
endef

$(USER_DEMO_PROGRAMS): $(USER_BUILD)/%: $(USER_OBJECTS)/demo/%.o $(USER_RUNTIME) user/user.ld
	$(USER_LINK)

$(USER_TEST_PROGRAMS): $(USER_BUILD)/%: $(USER_OBJECTS)/test/%.o $(USER_RUNTIME) user/user.ld
	$(USER_LINK)

$(USER_OBJECTS)/lib/libuser.a: \
    $(USER_LIB:%=$(USER_OBJECTS)/lib/%.o) $(USER_LIB_ASM:%=$(USER_OBJECTS)/lib/%.o)
	@echo '  AR    $@'
	@rm -f $@
	$(Q)$(AR) rcsD $@ $^

$(USER_OBJECTS)/%.o: user/%.c $(USER_BUILD)/flags
	@mkdir -p $(@D)
	@echo '  CC    $<'
	$(Q)$(CC) $(USER_CFLAGS) -MMD -MP -MF $(@:.o=.d) -c -o $@ $<

$(USER_OBJECTS)/%.o: user/%.asm $(USER_BUILD)/flags
	@mkdir -p $(@D)
	@echo '  NASM  $<'
	$(Q)$(NASM) $(USER_NASMFLAGS) -MD $(@:.o=.d) -MT $@ -MP -o $@ $<

# ustar, in one fixed order and without times or owners: the same programs make the same file.
$(USER_ARCHIVE): $(USER_PROGRAMS)
	@echo '  TAR   $@'
	$(Q)tar --format=ustar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 --mode=0755 \
	    -C $(USER_BUILD) -cf $@ $(sort $(USER_DEMOS) $(USER_TESTS))

-include $(wildcard $(USER_OBJECTS)/*/*.d)
