/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses the plugin's options. Pure. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/qemu-pmu/pmu_options.h"

#define ARRAY_LENGTH(array) (sizeof(array) / sizeof((array)[0]))

#define DEFAULT_RANDOM_SKID 100
#define DEFAULT_ORACLE_STEP 1000
#define LONGEST_SKID 1000000000ull

static const char *const event_tables[] = {
    [PMU_EVENTS_SKYLAKE] = "skylake",
    [PMU_EVENTS_ICELAKE] = "icelake",
    [PMU_EVENTS_SILVERMONT] = "silvermont",
};

static const char *const broken_names[] = {
#define BROKEN(name, option) [PMU_BROKEN_##name] = option,
    PMU_BROKEN_TABLE(BROKEN)
#undef BROKEN
};

static const char *const lbr_forms[] = {
#define FORM(name, option) [PMU_LBR_##name] = option,
    PMU_LBR_FORM_TABLE(FORM)
#undef FORM
};

static bool parse_number(const char *text, unsigned long long least, unsigned long long most,
                         unsigned long long *number)
{
    char *end;

    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *number = strtoull(text, &end, 0);
    return !errno && !*end && *number >= least && *number <= most;
}

static bool parse_name(const char *text, const char *const names[], unsigned count, unsigned *index)
{
    for (*index = 0; *index < count; ++*index)
        if (!strcmp(text, names[*index]))
            return true;
    return false;
}

/* Each returns NULL, or what the value should have been. */

static const char *set_version(struct pmu_options *options, const char *value)
{
    unsigned long long number;

    if (!parse_number(value, 2, 4, &number))
        return "2, 3 or 4";
    options->config.version = (unsigned)number;
    return NULL;
}

static const char *set_events(struct pmu_options *options, const char *value)
{
    unsigned index;

    if (!parse_name(value, event_tables, ARRAY_LENGTH(event_tables), &index))
        return "skylake, icelake or silvermont";
    options->config.events = index;
    return NULL;
}

static const char *set_skid(struct pmu_options *options, const char *value)
{
    static const char random[] = "random", random_up_to[] = "random:";
    unsigned long long number = DEFAULT_RANDOM_SKID;
    bool is_random = true, parsed = true;

    if (!strncmp(value, random_up_to, sizeof(random_up_to) - 1)) {
        parsed = parse_number(value + sizeof(random_up_to) - 1, 0, LONGEST_SKID, &number);
    } else if (strcmp(value, random)) {
        is_random = false;
        parsed = parse_number(value, 0, LONGEST_SKID, &number);
    }
    if (!parsed)
        return "a number of events up to 1000000000, random or random:NUMBER";
    options->config.skid = number;
    options->config.random_skid = is_random;
    return NULL;
}

static const char *set_seed(struct pmu_options *options, const char *value)
{
    unsigned long long number;

    if (!parse_number(value, 0, ~0ull, &number))
        return "a number";
    options->config.seed = number;
    return NULL;
}

static const char *set_broken(struct pmu_options *options, const char *value)
{
    unsigned index;

    if (!parse_name(value, broken_names, ARRAY_LENGTH(broken_names), &index))
        return "not, zero, stuck, overcount, undercount, nonmi, lostnmi, nostatus or anymode";
    options->config.broken = index;
    return NULL;
}

static const char *set_lbr(struct pmu_options *options, const char *value)
{
    unsigned index;

    if (!parse_name(value, lbr_forms, ARRAY_LENGTH(lbr_forms), &index))
        return "none, 4, 8, 16, 32 or arch";
    options->config.lbr = index;
    return NULL;
}

static const char *set_verbose(struct pmu_options *options, const char *value)
{
    if (strcmp(value, "on") && strcmp(value, "off"))
        return "on or off";
    options->verbose = !strcmp(value, "on");
    return NULL;
}

static const char *set_oracle(struct pmu_options *options, const char *value)
{
    if (!*value)
        return "a file";
    options->oracle = value;
    return NULL;
}

static const char *set_lbr_trace(struct pmu_options *options, const char *value)
{
    if (!*value)
        return "a file";
    options->lbr_trace = value;
    return NULL;
}

static const char *set_oracle_step(struct pmu_options *options, const char *value)
{
    unsigned long long number;

    if (!parse_number(value, 1, LONGEST_SKID, &number))
        return "a number of instructions from 1 to 1000000000";
    options->oracle_step = number;
    return NULL;
}

static const struct {
    const char *name;
    const char *(*set)(struct pmu_options *options, const char *value);
} known[] = {
    {"version", set_version},     {"events", set_events},           {"skid", set_skid},
    {"seed", set_seed},           {"broken", set_broken},           {"verbose", set_verbose},
    {"oracle", set_oracle},       {"oracle-step", set_oracle_step}, {"lbr", set_lbr},
    {"lbr-trace", set_lbr_trace},
};

static bool parse_option(struct pmu_options *options, const char *argument, char *error,
                         size_t error_size)
{
    size_t length = strcspn(argument, "=");
    const char *wanted;

    for (unsigned i = 0; i < ARRAY_LENGTH(known); i++) {
        if (strlen(known[i].name) != length || strncmp(argument, known[i].name, length))
            continue;
        wanted = known[i].set(options, argument[length] ? argument + length + 1 : "");
        if (wanted)
            snprintf(error, error_size, "option '%s': the value must be %s", argument, wanted);
        return !wanted;
    }
    snprintf(error, error_size,
             "unknown option '%s' (known: version, events, skid, seed, broken, lbr, verbose, "
             "oracle, oracle-step, lbr-trace)",
             argument);
    return false;
}

bool pmu_parse_options(struct pmu_options *options, int count, char *const arguments[], char *error,
                       size_t error_size)
{
    *options = (struct pmu_options){
        .config = {.version = 4, .lbr = PMU_LBR_SKYLAKE},
        .oracle_step = DEFAULT_ORACLE_STEP,
    };
    for (int i = 0; i < count; i++)
        if (!parse_option(options, arguments[i], error, error_size))
            return false;
    if (options->config.lbr == PMU_LBR_ARCHITECTURAL && options->config.version < 4) {
        snprintf(error, error_size, "lbr=arch needs version=4");
        return false;
    }
    return true;
}
