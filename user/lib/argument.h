/* SPDX-License-Identifier: MIT */
/* Numbers on a program's command line. */
#ifndef USER_LIB_ARGUMENT_H
#define USER_LIB_ARGUMENT_H

/* What argv[index] means and what it may be; fallback holds when it is not there. */
struct argument {
    int index;
    const char *meaning;
    unsigned long fallback;
    unsigned long low;
    unsigned long high;
};

/* Anything else than a number in range ends the process with a message and status 2. */
unsigned long argument_number(int argc, char **argv, const struct argument *argument);

/* How a program calls itself: argv[0] without directories. */
const char *argument_program(int argc, char **argv);

#endif
