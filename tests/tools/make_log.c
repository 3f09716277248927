/* SPDX-License-Identifier: MIT */
/* Writes a recording's file that no kernel recorded (tests/host/log_maker.h).
 *
 *   make_log [NAME=value…] FILE    seed= threads= pages= events= pads=0|1 bytes= (cut there)
 *                                  text= size= (of the program's code) program=
 *                                  end=complete|stopped|cut
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/host/log_maker.h"

static int usage(const char *word)
{
    fprintf(stderr,
            "make_log: what is '%s'? seed= threads= pages= events= pads= bytes= text= size="
            " program= end=complete|stopped|cut, then a file\n",
            word);
    return 2;
}

static bool set_end(struct log_recipe *recipe, const char *word)
{
    for (int end = LOG_VERDICT_COMPLETE; end <= LOG_VERDICT_CUT; end++) {
        if (strcmp(word, log_verdict_name(end)) != 0)
            continue;
        recipe->end = end;
        return true;
    }
    return false;
}

static bool set(struct log_recipe *recipe, uint64_t *bytes, const char *name, const char *value)
{
    uint64_t number = strtoull(value, NULL, 0);

    if (!strcmp(name, "seed"))
        recipe->seed = number;
    else if (!strcmp(name, "threads") && number - 1 < LOG_MAX_SLOTS)
        recipe->threads = (uint32_t)number;
    else if (!strcmp(name, "pages") && number - 1 < MADE_MAX_PAGES)
        recipe->pages = (uint32_t)number;
    else if (!strcmp(name, "events"))
        recipe->events = number;
    else if (!strcmp(name, "pads"))
        recipe->pads = number;
    else if (!strcmp(name, "bytes"))
        *bytes = number;
    else if (!strcmp(name, "text"))
        recipe->text = number;
    else if (!strcmp(name, "size"))
        recipe->size = number;
    else if (!strcmp(name, "program"))
        recipe->program = value;
    else
        return !strcmp(name, "end") && set_end(recipe, value);
    return true;
}

int main(int count, char **words)
{
    struct log_recipe recipe = {
        .seed = 1, .threads = 4, .pages = 32, .events = 1000, .end = LOG_VERDICT_COMPLETE};
    uint64_t bytes = UINT64_MAX;
    struct made_log log;

    for (int i = 1; i < count - 1; i++) {
        char *value = strchr(words[i], '=');
        if (!value)
            return usage(words[i]);
        *value++ = 0;
        if (!set(&recipe, &bytes, words[i], value))
            return usage(words[i]);
    }
    if (count < 2 || strchr(words[count - 1], '='))
        return usage("no file");
    log_make(&recipe, &log);
    FILE *file = fopen(words[count - 1], "wb");
    size_t size = bytes < log.size ? bytes : log.size;
    if (!file || fwrite(log.bytes, 1, size, file) != size || fclose(file) != 0) {
        perror(words[count - 1]);
        return 1;
    }
    made_log_free(&log);
    return 0;
}
