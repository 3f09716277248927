/* SPDX-License-Identifier: MIT */
/* A vCPU that branches, for tests of the last branch records of tools/qemu-pmu. */
#ifndef TESTS_HOST_LBR_MACHINE_H
#define TESTS_HOST_LBR_MACHINE_H

#include "tests/host/pmu_machine.h"
#include "tests/host/tap.h"
#include "tools/qemu-pmu/pmu_follow.h"

#define KERNEL 0xffffffff80000000ull
#define USER 0x401000ull
#define ARCH_ALL 0x7f0007 /* LBR_CTL: enabled, both rings, all kinds */

/* A machine of that form that records everything. */
static inline void start(struct machine *m, enum pmu_lbr_form form)
{
    machine_init(m, (struct pmu_config){.lbr = form});
    machine_write(m, form == PMU_LBR_ARCHITECTURAL ? MSR_ARCH_LBR_CTL : MSR_DEBUGCTL,
                  form == PMU_LBR_ARCHITECTURAL ? ARCH_ALL : DEBUGCTL_LBR);
}

static inline bool is_user(uint64_t address)
{
    return address < KERNEL;
}

static inline void arrive(struct machine *m, uint64_t at)
{
    pmu_arrive(&m->pmu, &m->words, (struct pmu_place){at, is_user(at)});
}

/* The branch instruction of 2 bytes at `from` starts, as the translated code notes it … */
static inline void begin(struct machine *m, enum pmu_lbr_kind kind, uint64_t from)
{
    m->words.branch = pmu_pack_branch(from, 2, kind);
}

/* … and leads to `to`. */
static inline void branch(struct machine *m, enum pmu_lbr_kind kind, uint64_t from, uint64_t to)
{
    begin(m, kind, from);
    arrive(m, to);
}

static inline void deliver(struct machine *m, uint64_t from, uint64_t to, bool debug)
{
    arrive(m, from);
    pmu_deliver(&m->pmu, &m->words, (struct pmu_place){from, is_user(from)},
                (struct pmu_place){to, is_user(to)}, debug);
}

/* As a guest reads the age-th newest. */
static inline struct pmu_lbr_record newest(struct machine *m, unsigned age)
{
    static const struct {
        uint32_t from, to;
    } blocks[PMU_LBR_FORMS] = {
        [PMU_LBR_CORE] = {MSR_CORE_LBR_FROM0, MSR_CORE_LBR_TO0},
        [PMU_LBR_SILVERMONT] = {MSR_CORE_LBR_FROM0, MSR_CORE_LBR_TO0},
        [PMU_LBR_IVY_BRIDGE] = {MSR_LBR_FROM0, MSR_LBR_TO0},
        [PMU_LBR_SKYLAKE] = {MSR_LBR_FROM0, MSR_LBR_TO0},
        [PMU_LBR_ARCHITECTURAL] = {MSR_ARCH_LBR_FROM0, MSR_ARCH_LBR_TO0},
    };
    enum pmu_lbr_form form = m->config.lbr;
    uint32_t index = age;

    if (form != PMU_LBR_ARCHITECTURAL)
        index = (uint32_t)(machine_read(m, MSR_LBR_TOS) - age) % m->pmu.lbr.depth;
    return (struct pmu_lbr_record){
        .from = machine_read(m, blocks[form].from + index),
        .to = machine_read(m, blocks[form].to + index),
    };
}

static inline void is_record(struct machine *m, unsigned age, uint64_t from, uint64_t to,
                             const char *what)
{
    struct pmu_lbr_record record = newest(m, age);

    is_u64(record.from, from, "%s: from", what);
    is_u64(record.to, to, "%s: to", what);
}

#endif
