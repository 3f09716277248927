/* SPDX-License-Identifier: GPL-2.0-or-later */
/* QEMU's symbols, and messages to its user.
 *
 * Debian's and other QEMUs with plugins export all their symbols. helper_info_NAME is an object
 * whose first member is the function that translated code calls.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/qemu-pmu/pmu_qemu_internal.h"
#include "tools/qemu-pmu/qemu_abi.h"

struct qemu_symbols qemu;
pmu_helper pmu_original[PMU_INSTRUCTIONS];

/* --- messages -------------------------------------------------------------------------------- */

static void print(const char *kind, const char *format, va_list arguments)
{
    char text[400];

    vsnprintf(text, sizeof(text), format, arguments);
    fprintf(stderr, "qemu-pmu: %s%s\n", kind, text);
}

void pmu_message(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    print("", format, arguments);
    va_end(arguments);
}

void pmu_fatal(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    print("error: ", format, arguments);
    va_end(arguments);
    exit(1);
}

/* --- symbols --------------------------------------------------------------------------------- */

bool pmu_symbol_find(const char *name, void *into)
{
    void *address = dlsym(RTLD_DEFAULT, name);

    memcpy(into, &address, sizeof(address));
    return address;
}

static const char *find_alternatives(void)
{
    if (!pmu_symbol_find("tb_flush", &qemu.tb_flush) &&
        !pmu_symbol_find("queue_tb_flush", &qemu.tb_flush))
        return "tb_flush or queue_tb_flush";
    if (pmu_symbol_find("cpu_physical_memory_rw", &qemu.cpu_physical_memory_rw))
        return NULL;
    if (pmu_symbol_find("physical_memory_read", &qemu.physical_memory_read) &&
        pmu_symbol_find("physical_memory_write", &qemu.physical_memory_write))
        return NULL;
    return "cpu_physical_memory_rw or physical_memory_read, physical_memory_write";
}

const char *pmu_qemu_find_symbols(void)
{
    void *current_cpu;
    const struct {
        const char *name;
        void *into;
    } needed[] = {
        {"current_cpu", &current_cpu},
        {"helper_info_rdmsr", &qemu.helper[PMU_RDMSR]},
        {"helper_info_wrmsr", &qemu.helper[PMU_WRMSR]},
        {"helper_info_cpuid", &qemu.helper[PMU_CPUID]},
        {"helper_info_rdpmc", &qemu.helper[PMU_RDPMC]},
        {"cpu_interrupt", &qemu.cpu_interrupt},
        {"cpu_reset_interrupt", &qemu.cpu_reset_interrupt},
        {"bql_lock_impl", &qemu.bql_lock_impl},
        {"bql_unlock", &qemu.bql_unlock},
        {"bql_locked", &qemu.bql_locked},
        {"raise_exception_err_ra", &qemu.raise_exception_err_ra},
        {"helper_single_step", &qemu.helper_single_step},
        {"helper_read_eflags", &qemu.helper_read_eflags},
        {"cpu_loop_exit_noexc", &qemu.cpu_loop_exit_noexc},
        {"cpu_loop_exit_restore", &qemu.cpu_loop_exit_restore},
        {"cpu_restore_state", &qemu.cpu_restore_state},
        {"cpu_memory_rw_debug", &qemu.cpu_memory_rw_debug},
        {"qemu_register_reset", &qemu.qemu_register_reset},
    };

    for (unsigned i = 0; i < ARRAY_LENGTH(needed); i++)
        if (!pmu_symbol_find(needed[i].name, needed[i].into))
            return needed[i].name;
    return find_alternatives();
}

/* What QMP's query-version answers begins with. */
struct version_info {
    struct {
        int64_t major, minor, micro;
    } * version;
};

int pmu_qemu_plugin_api(void)
{
    struct version_info *(*query)(void *error);

    if (pmu_symbol_find("qmp_query_version", &query) && query(NULL)->version->major >= 11)
        return QEMU_PLUGIN_API_USER_DATA;
    return QEMU_PLUGIN_API_OLDEST;
}

void pmu_qemu_replace(enum pmu_instruction instruction, pmu_helper helper)
{
    pmu_original[instruction] = qemu.helper[instruction]->function;
    qemu.helper[instruction]->function = helper;
}

pmu_helper pmu_qemu_original(enum pmu_instruction instruction)
{
    return pmu_original[instruction];
}

void pmu_qemu_on_reset(void (*callback)(void *))
{
    qemu.qemu_register_reset(callback, NULL);
}
