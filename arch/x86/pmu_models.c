/* SPDX-License-Identifier: MIT */
/* The table of microarchitectures: which event counts retired conditional branches, how late the
 * overflow interrupt may come, what to mind.
 *
 * Families and models: Intel SDM vol. 4, table 2-1; AMD revision guides. Events: Intel SDM vol. 3,
 * "Pre-defined Architectural Performance Events", perfmon event lists; AMD PPR, PMCx0D1.
 */
#include <stddef.h>

#include "arch/x86/cpu.h"
#include "arch/x86/pmu.h"
#include "kernel/string.h"

/* Event select in bits 7:0, unit mask in bits 15:8. Architectural ones: instructions C0/00, core
 * cycles 3C/00, branches C4/00. */
#define INTEL_SELECT(conditional)                                                                  \
    {                                                                                              \
        [PMU_EVENT_CONDITIONAL] = (conditional), [PMU_EVENT_BRANCHES] = 0x00c4,                    \
        [PMU_EVENT_INSTRUCTIONS] = 0x00c0, [PMU_EVENT_CYCLES] = 0x003c                             \
    }
#define AMD_SELECT(conditional)                                                                    \
    {                                                                                              \
        [PMU_EVENT_CONDITIONAL] = (conditional), [PMU_EVENT_BRANCHES] = 0x00c2,                    \
        [PMU_EVENT_INSTRUCTIONS] = 0x00c0, [PMU_EVENT_CYCLES] = 0x0076                             \
    }

static const struct pmu_model nehalem = {"Nehalem to Comet Lake", INTEL_SELECT(0x01c4), 100, NULL};
static const struct pmu_model ice_lake = {"Ice, Tiger, Rocket Lake", INTEL_SELECT(0x11c4), 100,
                                          NULL};
static const struct pmu_model alder_lake = {"Alder Lake P-core and later, Sapphire Rapids",
                                            INTEL_SELECT(0x11c4), 125, NULL};
static const struct pmu_model lunar_lake = {"Lunar Lake, Arrow Lake P-core",
                                            INTEL_SELECT(0x10000000011c4), 125, NULL};
static const struct pmu_model silvermont = {"Silvermont to Skymont", INTEL_SELECT(0x7ec4), 100,
                                            NULL};
static const struct pmu_model zen = {
    "Zen", AMD_SELECT(0x00d1), 10000,
    "speculative LOCK overcounts unless MSR C001_1020 bit 54 is set"};
static const struct pmu_model intel_unknown = {"unknown Intel, architectural events only",
                                               INTEL_SELECT(0), 125, NULL};
static const struct pmu_model amd_unknown = {"unknown AMD", AMD_SELECT(0), 10000, NULL};
/* What tools/qemu-pmu gives CPUs that QEMU names no real model for: the events of Nehalem. */
static const struct pmu_model emulated = {"emulated by QEMU", INTEL_SELECT(0x01c4), 100, NULL};

static const struct {
    const struct pmu_model *model;
    uint8_t models[24]; /* of family 6; 0 ends the list */
} intel_family_6[] = {
    {&nehalem, {0x1a, 0x1e, 0x1f, 0x2e, 0x25, 0x2c, 0x2f, 0x2a, 0x2d, 0x3a, 0x3e, 0x3c,
                0x3f, 0x45, 0x46, 0x3d, 0x47, 0x4f, 0x56, 0x4e, 0x5e, 0x8e, 0x9e}},
    {&nehalem, {0x55, 0x66, 0xa5, 0xa6}},
    {&ice_lake, {0x7d, 0x7e, 0x6a, 0x6c, 0x8c, 0x8d, 0xa7}},
    {&alder_lake, {0x97, 0x9a, 0xb7, 0xba, 0xbf, 0xaa, 0xac, 0x8f, 0xcf, 0xad, 0xae}},
    {&lunar_lake, {0xbd, 0xc5, 0xc6}},
    {&silvermont,
     {0x37, 0x4a, 0x4c, 0x4d, 0x5a, 0x5d, 0x5c, 0x5f, 0x7a, 0x86, 0x96, 0x9c, 0xbe, 0xaf, 0xb6,
      0xdd}},
};

static const struct pmu_model *find_intel(void)
{
    if (cpu_features.family != 6)
        return &intel_unknown;
    for (unsigned i = 0; i < sizeof(intel_family_6) / sizeof(intel_family_6[0]); i++)
        for (const uint8_t *model = intel_family_6[i].models; *model; model++)
            if (*model == cpu_features.model)
                return intel_family_6[i].model;
    return &intel_unknown;
}

const struct pmu_model *pmu_model_find(void)
{
    if (strstr(cpu_features.brand, "QEMU TCG"))
        return &emulated;
    if (pmu_capabilities.kind == PMU_INTEL)
        return find_intel();
    if (pmu_capabilities.kind == PMU_AMD && cpu_features.family >= 0x17)
        return &zen;
    return &amd_unknown;
}
