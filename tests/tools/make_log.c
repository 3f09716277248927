/* SPDX-License-Identifier: MIT */
/* Writes a recording's file that no kernel recorded (tests/host/log_maker.h).
 *
 *   make_log [NAME=value…] FILE    seed= threads= pages= events= pads=0|1 bytes= (cut there)
 *                                  text= size= (of the program's code) program=
 *                                  end=complete|stopped|cut
 *                                  damage= (a seed: some bytes are changed, checksums stay right)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/host/log_maker.h"
#include "tests/host/random.h"

#define DAMAGED_PLACES 3

static int usage(const char *word)
{
    fprintf(stderr,
            "make_log: what is '%s'? seed= threads= pages= events= pads= bytes= text= size="
            " program= end=complete|stopped|cut damage=, then a file\n",
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

/* What the file is besides its recipe. */
struct options {
    uint64_t bytes, damage;
};

static bool set(struct log_recipe *recipe, struct options *options, const char *name,
                const char *value)
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
        options->bytes = number;
    else if (!strcmp(name, "damage"))
        options->damage = number;
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

static void damage(struct made_log *log, uint64_t seed)
{
    for (unsigned i = 0; i < DAMAGED_PLACES; i++) {
        size_t chunk = log->chunks[random_below(&seed, log->chunk_count)];
        size_t place = chunk + sizeof(struct log_chunk) + random_below(&seed, 400);
        log->bytes[place < log->size ? place : log->size - 1] ^=
            (uint8_t)(1 + random_below(&seed, 255));
        log_chunk_reseal(log->bytes + chunk, log->size - chunk);
    }
}

int main(int count, char **words)
{
    struct log_recipe recipe = {
        .seed = 1, .threads = 4, .pages = 32, .events = 1000, .end = LOG_VERDICT_COMPLETE};
    struct options options = {.bytes = UINT64_MAX};
    struct made_log log;

    for (int i = 1; i < count - 1; i++) {
        char *value = strchr(words[i], '=');
        if (!value)
            return usage(words[i]);
        *value++ = 0;
        if (!set(&recipe, &options, words[i], value))
            return usage(words[i]);
    }
    if (count < 2 || strchr(words[count - 1], '='))
        return usage("no file");
    log_make(&recipe, &log);
    if (options.damage)
        damage(&log, options.damage);
    FILE *file = fopen(words[count - 1], "wb");
    size_t size = options.bytes < log.size ? options.bytes : log.size;
    if (!file || fwrite(log.bytes, 1, size, file) != size || fclose(file) != 0) {
        perror(words[count - 1]);
        return 1;
    }
    made_log_free(&log);
    return 0;
}
