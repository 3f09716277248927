/* SPDX-License-Identifier: MIT */
/* The fuzzer's corpus read again, without a fuzzer; and mutations of it, the same in each run. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/fuzz/fuzz_log.h"
#include "tests/host/random.h"
#include "tests/host/tap.h"

#define CORPUS "tests/fuzz/corpus"
#define MOST_BYTES (64 << 10)
#define MUTATIONS 300 /* of each file, one on top of the other up to CHAIN */
#define CHAIN 10

static uint64_t seed = 4711;
static unsigned by_verdict[LOG_VERDICT_BAD + 1];

/* In the fuzzer's place: some bytes, now and then another length. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most)
{
    if (random_below(&seed, 4) == 0) {
        size_t length = random_below(&seed, most + 1);
        if (length > size)
            memset(data + size, (int)random_below(&seed, 256), length - size);
        size = length;
    }
    for (uint64_t changes = random_below(&seed, 4) + 1; changes && size; changes--)
        data[random_below(&seed, size)] ^= (uint8_t)(1 << random_below(&seed, 8));
    return size;
}

static size_t read_file(const char *name, uint8_t *bytes)
{
    char path[512];

    snprintf(path, sizeof path, CORPUS "/%s", name);
    FILE *file = fopen(path, "rb");
    if (!file)
        return 0;
    size_t size = fread(bytes, 1, MOST_BYTES, file);
    fclose(file);
    return size;
}

static void mutate(const uint8_t *original, size_t original_size)
{
    static uint8_t bytes[MOST_BYTES];
    size_t size = 0;

    for (unsigned i = 0; i < MUTATIONS; i++) {
        if (i % CHAIN == 0) {
            memcpy(bytes, original, original_size);
            size = original_size;
        }
        size = LLVMFuzzerCustomMutator(bytes, size, sizeof bytes, (unsigned)random_u64(&seed));
        uint8_t *copy = malloc(size ? size : 1);
        memcpy(copy, bytes, size);
        by_verdict[fuzz_read(copy, size)]++;
        free(copy);
    }
}

int main(void)
{
    static uint8_t bytes[MOST_BYTES];
    struct dirent **names;
    unsigned files = 0, whole = 0;
    int count = scandir(CORPUS, &names, NULL, alphasort);

    for (int i = 0; i < count; i++) {
        size_t size = names[i]->d_name[0] == '.' ? 0 : read_file(names[i]->d_name, bytes);
        if (size) {
            LLVMFuzzerTestOneInput(bytes, size);
            whole += fuzz_read(bytes, size) <= LOG_VERDICT_STOPPED;
            mutate(bytes, size);
            files++;
        }
        free(names[i]);
    }
    if (count >= 0)
        free(names);
    ok(files > 10, "%u files of the corpus are read", files);
    ok(whole > 2, "%u of them are whole recordings", whole);
    for (int verdict = LOG_VERDICT_COMPLETE; verdict <= LOG_VERDICT_BAD; verdict++)
        ok(by_verdict[verdict] > 0, "%u of their mutations are read as %s", by_verdict[verdict],
           log_verdict_name(verdict));
    return done();
}
