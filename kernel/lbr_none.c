/* SPDX-License-Identifier: MIT */
/* In place of LBR in a kernel built with LBR=0: to compare with one that has it. */
#include "kernel/lbr.h"

#include "arch/x86/lbr.h"
#include "kernel/err.h"
#include "kernel/lbr_command.h"
#include "kernel/printf.h"

static const char none[] = "this kernel was built without LBR";

void lbr_register(void)
{
    lbr_command_register();
}

int lbr_turn_on(void)
{
    return ERR_NOT_FOUND;
}

void lbr_turn_off(void)
{
}

bool lbr_is_on(void)
{
    return false;
}

const char *lbr_refusal(void)
{
    return none;
}

void lbr_freeze(void)
{
}

void lbr_report(const struct trap_frame *frame, const char *program)
{
    (void)frame;
    (void)program;
    printk("no branch history: %s\n", none);
}

void lbr_print_info(void)
{
    printk("LBR: %s\n", none);
}

int lbr_print_dump(void)
{
    return ERR_NOT_FOUND;
}

int lbr_set_filter(uint32_t filter)
{
    (void)filter;
    return ERR_NOT_FOUND;
}
