# SPDX-License-Identifier: MIT
# Host tests: included by the root Makefile, run from the root, writes under build/tests/host/ only.
#
# The kernel's own files, compiled with sanitizers, in ordinary programs that speak TAP.
# Gives HOST_TESTS (the programs) and the targets `check-host` (runs them all by prove) and
# `check-host-NAME` (runs one).
#
# A test is tests/host/test_NAME.c and one line at the end of this file, which lists the other files
# that it is made of.

HOST_TEST_BUILD := build/tests/host
HOST_TEST_CC := $(or $(HOSTCC),gcc)
HOST_TEST_SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all
HOST_TEST_CFLAGS := -std=gnu17 -O1 -g $(HOST_TEST_SANITIZE) -fno-omit-frame-pointer \
    -Wall -Wextra -Werror -I.
HOST_TEST_LIBS := -lpthread
HOST_TESTS :=

$(HOST_TEST_BUILD)/obj/%.o: %.c tests/host/rules.mk
	@mkdir -p $(@D)
	@echo '  HOST  $<'
	$(Q)$(HOST_TEST_CC) $(HOST_TEST_CFLAGS) -MD -MP -MF $(@:.o=.d) -c -o $@ $<

# host_test NAME, FILES: the program test_NAME of tests/host/test_NAME.c, C files, and objects
define host_test
HOST_TESTS += $(HOST_TEST_BUILD)/test_$(1)
HOST_TEST_OBJS_$(1) := $$(patsubst %.c,$(HOST_TEST_BUILD)/obj/%.o,tests/host/test_$(1).c $(2))
$(HOST_TEST_BUILD)/test_$(1): $$(HOST_TEST_OBJS_$(1))
	@echo '  HOST  $$@'
	$$(Q)$$(HOST_TEST_CC) $$(HOST_TEST_CFLAGS) -o $$@ $$(HOST_TEST_OBJS_$(1)) $$(HOST_TEST_LIBS)
.PHONY: check-host-$(1)
check-host-$(1): $(HOST_TEST_BUILD)/test_$(1)
	$$<
-include $$(patsubst %.o,%.d,$$(HOST_TEST_OBJS_$(1)))
endef

# The kernel's memcpy and its like under names of their own, beside libc's.
HOST_TEST_STRING := $(HOST_TEST_BUILD)/obj/freestanding_string.o
HOST_TEST_STRING_NAMES := memcpy memmove memset memcmp memchr strlen strnlen strcmp strncmp strchr \
    strstr string_copy string_to_u64
$(HOST_TEST_STRING): kernel/string.c tests/host/rules.mk
	@mkdir -p $(@D)
	@echo '  HOST  $< (freestanding)'
	$(Q)$(HOST_TEST_CC) $(HOST_TEST_CFLAGS) -O2 -ffreestanding \
	    $(foreach name,$(HOST_TEST_STRING_NAMES),-D$(name)=kernel_$(name)) \
	    -MD -MP -MF $(@:.o=.d) -c -o $@ $<
-include $(HOST_TEST_STRING:.o=.d)

.PHONY: check-host
check-host: # the list is complete only after the last line of this file
	@$(MAKE) host-tests
	@prove $(if $(V),-v) $(HOST_TESTS)

INSN_FILES := $(addprefix arch/x86/insn,.c _operand.c _classify.c _use.c)
LOG_MAKER_FILES := tests/host/log_maker.c tests/host/log_maker_threads.c
LOG_FILES := replay/log_file.c replay/log_codec.c kernel/hash.c
STORE_FILES := replay/store.c replay/store_check.c replay/store_mount.c kernel/hash.c \
    kernel/format.c kernel/err.c kernel/string.c

# --- the tests ------------------------------------------------------------------------------------

$(eval $(call host_test,insn,$(INSN_FILES)))
$(eval $(call host_test,insn_use,$(INSN_FILES)))
$(eval $(call host_test,insn_objdump,$(INSN_FILES)))
$(eval $(call host_test,insn_probe,$(INSN_FILES) arch/x86/insn_probe.c arch/x86/insn_run.c))
$(eval $(call host_test,insn_probe_text,$(INSN_FILES) arch/x86/insn_probe.c arch/x86/insn_run.c))
$(eval $(call host_test,hash,kernel/hash.c))
$(eval $(call host_test,elf,kernel/elf.c))
$(eval $(call host_test,ustar,kernel/ustar.c))
$(eval $(call host_test,format,kernel/format.c kernel/err.c))
$(eval $(call host_test,string,kernel/string.c $(HOST_TEST_STRING)))
$(eval $(call host_test,keys,kernel/keys.c))
$(eval $(call host_test,lineedit,kernel/lineedit.c kernel/keys.c kernel/format.c kernel/string.c))
$(eval $(call host_test,cmdline,kernel/cmdline.c kernel/string.c))
$(eval $(call host_test,command,kernel/command.c kernel/string.c kernel/err.c kernel/format.c \
    tests/host/host_panic.c))
$(eval $(call host_test,symbols,kernel/symbols.c kernel/format.c))
$(eval $(call host_test,boot_info,boot/boot_regions.c kernel/string.c))
$(eval $(call host_test,log,$(LOG_FILES)))
$(eval $(call host_test,log_layout,$(LOG_FILES) $(LOG_MAKER_FILES) replay/point.c kernel/format.c))
$(eval $(call host_test,stream,replay/stream.c replay/log_codec.c))
$(eval $(call host_test,elf_symbols,kernel/elf_symbols.c))
$(eval $(call host_test,event_text,replay/event_text.c replay/log_codec.c replay/point.c \
    arch/x86/vectors.c kernel/format.c))
$(eval $(call host_test,crew,replay/crew.c))
$(eval $(call host_test,point,replay/point.c replay/log_codec.c kernel/format.c))
$(eval $(call host_test,space,mm/space.c mm/page_index.c tests/host/host_panic.c))
$(eval $(call host_test,space_pages,mm/space.c mm/space_pages.c mm/page_index.c \
    tests/host/host_panic.c))
PMU_FILES := $(addprefix tools/qemu-pmu/pmu_,model.c registers.c events.c lbr.c follow.c)
$(eval $(call host_test,pmu_model,$(PMU_FILES)))
$(eval $(call host_test,pmu_registers,$(INSN_FILES) $(PMU_FILES) \
    $(addprefix tools/qemu-pmu/pmu_,classify.c options.c)))
$(eval $(call host_test,lbr_model,$(PMU_FILES)))
$(eval $(call host_test,lbr_registers,$(INSN_FILES) $(PMU_FILES) tools/qemu-pmu/pmu_classify.c))
$(eval $(call host_test,oracle_thread,$(INSN_FILES) \
    $(addprefix tools/qemu-pmu/pmu_,classify.c oracle_thread.c)))
$(eval $(call host_test,lbr_stub,arch/x86/lbr_stub.c $(INSN_FILES)))
$(eval $(call host_test,lbr_models,arch/x86/lbr_models.c arch/x86/lbr_records.c))
$(eval $(call host_test,text_code,arch/x86/text_code.c $(INSN_FILES) tests/host/host_panic.c))
$(eval $(call host_test,log_file,$(LOG_FILES) $(LOG_MAKER_FILES)))
$(eval $(call host_test,log_check,replay/log_check.c $(LOG_FILES) $(LOG_MAKER_FILES)))
$(eval $(call host_test,log_rules,$(LOG_FILES) $(LOG_MAKER_FILES)))
$(eval $(call host_test,fuzz_corpus,$(LOG_FILES) tests/fuzz/fuzz_log.c $(LOG_MAKER_FILES) \
    $(addprefix tools/crewlog/,log.c tool.c file.c) replay/event_text.c replay/point.c \
    replay/log_check.c kernel/format.c kernel/names.c arch/x86/vectors.c))
$(eval $(call host_test,send,kernel/send_text.c kernel/hash.c kernel/format.c))
$(HOST_TEST_BUILD)/test_send: build/tools/receive # which the test runs
$(eval $(call host_test,flight_ring,kernel/flight_ring.c))
$(eval $(call host_test,ctf,kernel/ctf.c kernel/flight_ring.c kernel/format.c))
$(eval $(call host_test,store,$(STORE_FILES)))
$(eval $(call host_test,store_damage,$(STORE_FILES)))
$(eval $(call host_test,store_crash,$(STORE_FILES)))
$(eval $(call host_test,virtio_blk,arch/x86/virtqueue.c tests/host/host_panic.c))
$(eval $(call host_test,virtio_pci,))

# --- files that no kernel recorded ----------------------------------------------------------------

MAKE_LOG_FILES := tests/tools/make_log.c $(LOG_MAKER_FILES) $(LOG_FILES)
build/tests/make_log: $(MAKE_LOG_FILES) $(wildcard replay/log_*.h tests/host/log_maker*.h)
	@mkdir -p $(@D)
	@echo '  HOST  $@'
	$(Q)$(HOST_TEST_CC) $(HOST_TEST_CFLAGS) -O2 -o $@ $(MAKE_LOG_FILES)

# crewlog with sanitizers, for what is damaged on purpose.
CHECKED_CREWLOG_OBJS := $(CREWLOG_OBJS:build/tools/crewlog-obj/%=$(HOST_TEST_BUILD)/obj/%)
build/tests/crewlog: $(CHECKED_CREWLOG_OBJS)
	@echo '  HOST  $@'
	$(Q)$(HOST_TEST_CC) $(HOST_TEST_CFLAGS) -o $@ $^
-include $(CHECKED_CREWLOG_OBJS:.o=.d)
