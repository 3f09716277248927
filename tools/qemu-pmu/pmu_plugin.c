/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A PMU for QEMU without KVM: the plugin's entry. README.md says what it is.
 *
 * Order: qemu_plugin_install, at each vCPU's start vcpu_started, then whatever the guest does.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/qemu-pmu/pmu_plugin.h"
#include "tools/qemu-pmu/pmu_qemu.h"

QEMU_EXPORT int qemu_plugin_version = QEMU_PLUGIN_API_OLDEST;
QEMU_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
                                    char **argv);

struct machine machine;

/* QEMU looks at qemu_plugin_version after this. */
__attribute__((constructor)) static void choose_api(void)
{
    qemu_plugin_version = pmu_qemu_plugin_api();
}

/* --- callbacks ------------------------------------------------------------------------------- */

static void reset_vcpu(unsigned index)
{
    struct vcpu_words *words = machine_words(index);

    pmu_reset(&machine.vcpu[index].pmu, &machine.options.config, index);
    pmu_settle(&machine.vcpu[index].pmu, &words->pmu);
    words->nmi_expected = words->watched = words->pmu.following = 0;
}

/* RESET, of all vCPUs. INIT does not touch a PMU. */
static void machine_reset(void *unused)
{
    (void)unused;
    for (unsigned i = 0; i < machine.vcpus; i++)
        if (machine.vcpu[i].pmu.config) /* it has started */
            reset_vcpu(i);
}

static void vcpu_started(unsigned index)
{
    if (index >= machine.vcpus)
        pmu_fatal("vCPU %u, but QEMU had said there were %u", index, machine.vcpus);
    pmu_qemu_adopt_vcpu(index);
    reset_vcpu(index);
}

static void at_exit(void)
{
    oracle_close();
    lbr_trace_close();
    if (!machine.options.verbose)
        return;
    for (unsigned i = 0; i < machine.vcpus; i++) {
        const struct vcpu *vcpu = &machine.vcpu[i];

        pmu_message("vCPU %u: %" PRIu64 " overflows, %" PRIu64 " interrupts, %" PRIu64
                    " overlooked by QEMU and repeated; settled %" PRIu64 " times",
                    i, vcpu->pmu.overflows, vcpu->pmu.interrupts, vcpu->nmis_late,
                    vcpu->pmu.settled);
    }
}

/* Up to version 6 callbacks get the plugin's id first. */

static void on_vcpu_init_id(qemu_plugin_id_t id, unsigned index)
{
    (void)id;
    vcpu_started(index);
}

static void translated(struct qemu_plugin_tb *tb)
{
    instrument_block(tb);
    oracle_block(tb);
}

static void on_translation_id(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    translated(tb);
}

static void on_vcpu_init(unsigned index, void *unused)
{
    (void)unused;
    vcpu_started(index);
}

static void on_translation(struct qemu_plugin_tb *tb, void *unused)
{
    (void)unused;
    translated(tb);
}

/* Of these no argument is used, whichever they are. */

static void on_flush(void)
{
    instrument_flushed();
}

static void on_exit_of_qemu(void)
{
    at_exit();
}

/* --- entry ----------------------------------------------------------------------------------- */

static bool is_supported(const qemu_info_t *info)
{
    const char *missing;

    if (strcmp(info->target_name, "x86_64") || !info->system_emulation) {
        pmu_message("error: only qemu-system-x86_64 is supported, this is %s%s", info->target_name,
                    info->system_emulation ? "" : " for user programs");
        return false;
    }
    if (info->version.cur < QEMU_PLUGIN_API_OLDEST) {
        pmu_message("error: this QEMU's plugin interface is version %d, version %d (QEMU 9.2) "
                    "is needed",
                    info->version.cur, QEMU_PLUGIN_API_OLDEST);
        return false;
    }
    missing = pmu_qemu_find_symbols();
    if (missing)
        pmu_message("error: this QEMU does not export %s", missing);
    return !missing;
}

static void register_callbacks(qemu_plugin_id_t id)
{
    bool user_data = qemu_plugin_version >= QEMU_PLUGIN_API_USER_DATA;

    qemu_plugin_register_vcpu_init_cb(
        id, user_data ? (void *)on_vcpu_init : (void *)on_vcpu_init_id, NULL);
    qemu_plugin_register_vcpu_tb_trans_cb(
        id, user_data ? (void *)on_translation : (void *)on_translation_id, NULL);
    qemu_plugin_register_flush_cb(id, (void *)on_flush, NULL);
    qemu_plugin_register_atexit_cb(id, (void *)on_exit_of_qemu, NULL);
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    char error[300];

    if (!is_supported(info))
        return 1;
    if (!pmu_parse_options(&machine.options, argc, argv, error, sizeof(error))) {
        pmu_message("error: %s", error);
        return 1;
    }
    machine.vcpus = (unsigned)info->system.max_vcpus;
    machine.vcpu = calloc(machine.vcpus, sizeof(*machine.vcpu));
    machine.words = qemu_plugin_scoreboard_new(sizeof(struct vcpu_words));
    if (!machine.vcpu || !machine.words) {
        pmu_message("error: no memory for %u vCPUs", machine.vcpus);
        return 1;
    }
    if (!oracle_open() || !lbr_trace_open())
        return 1;
    helpers_install();
    register_callbacks(id);
    pmu_qemu_on_reset(machine_reset);
    return 0;
}
