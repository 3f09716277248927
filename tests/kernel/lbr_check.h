/* SPDX-License-Identifier: MIT */
/* Whether a branch record can be true: the code at FROM, the place TO, against the images. */
#ifndef TESTS_KERNEL_LBR_CHECK_H
#define TESTS_KERNEL_LBR_CHECK_H

#include "arch/x86/lbr.h"

/* The program whose code user addresses are in; it stays in the archive. False: no such program. */
bool lbr_check_program(const char *name);

/* NULL, or what is wrong with it. Any context. */
const char *lbr_check_record(const struct lbr_record *record);

#endif
