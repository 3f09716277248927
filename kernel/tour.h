/* SPDX-License-Identifier: MIT */
/* The tour: what `make run` shows without RUN. */
#ifndef KERNEL_TOUR_H
#define KERNEL_TOUR_H

#include <stdbool.h>

void tour_register_command(void); /* `tour` in the shell */

#endif
