/* SPDX-License-Identifier: MIT */
/* Shell command `lbr`. */
#ifndef KERNEL_LBR_COMMAND_H
#define KERNEL_LBR_COMMAND_H

void lbr_command_register(void);

#endif
