/* SPDX-License-Identifier: MIT */
/* Messages to a machine that watches us.
 *
 * MSR_WITNESS_RUNNING stands for itself; the others are about what this CPU has named before in
 * MSR_WITNESS_SUBJECT, so interrupts stay off in between.
 */
#include "arch/x86/witness.h"

#include "arch/x86/cpu.h"
#include "arch/x86/msr.h"
#include "kernel/string.h"

#define CPUID_WITNESS 0x40000100u

bool witness_present;
static uint32_t last_run; /* atomic */

/* On a CPU of its own the leaf gives another one's data; never this signature. */
void witness_detect(void)
{
    uint32_t out[4];
    char signature[12];

    if (!cpu_features.hypervisor)
        return;
    cpu_cpuid(CPUID_WITNESS, 0, out);
    memcpy(signature, &out[1], 4);
    memcpy(signature + 4, &out[3], 4);
    memcpy(signature + 8, &out[2], 4);
    witness_present =
        out[0] == CPUID_WITNESS && memcmp(signature, "SkelCrewOrcl", sizeof(signature)) == 0;
}

void witness_write_running(uint32_t run, uint32_t slot)
{
    msr_write(MSR_WITNESS_RUNNING, (uint64_t)run << 32 | (slot + 1));
}

void witness_write_nobody(void)
{
    msr_write(MSR_WITNESS_RUNNING, 0);
}

static void tell(uint32_t run, uint32_t slot, uint32_t msr, uint64_t value)
{
    bool enabled = irq_save();

    msr_write(MSR_WITNESS_SUBJECT, (uint64_t)run << 32 | slot);
    msr_write(msr, value);
    irq_restore(enabled);
}

uint32_t witness_begin(uint32_t replayed)
{
    if (!witness_present)
        return 0;
    uint32_t run = __atomic_add_fetch(&last_run, 1, __ATOMIC_RELAXED);
    tell(run, 0, MSR_WITNESS_BEGIN, replayed);
    return run;
}

void witness_end(uint32_t run, bool given_up)
{
    if (witness_present)
        tell(run, 0, MSR_WITNESS_END, given_up);
}

void witness_emulated(uint32_t run, uint32_t slot, uint64_t rip)
{
    if (witness_present)
        tell(run, slot, MSR_WITNESS_EMULATED, rip);
}

void witness_ended(uint32_t run, uint32_t slot, uint64_t rip)
{
    if (witness_present)
        tell(run, slot, MSR_WITNESS_ENDED, rip);
}
