/* SPDX-License-Identifier: MIT */
/* Checks of the test programs. Any thread may call them. */
#ifndef USER_LIB_CHECK_H
#define USER_LIB_CHECK_H

#include <stdbool.h>

/* program is the name that all lines begin with. Call it first. */
void check_begin(const char *program);

/* Counts and prints a failure unless got is expected. */
void check_equal(const char *what, long got, long expected);

/* Same, where two answers are right. */
void check_either(const char *what, long got, long first, long second);

void check_true(const char *what, bool holds);

/* Prints "NAME: ok" or "NAME: n of m checks failed"; returns main()'s result. */
int check_end(void);

#endif
