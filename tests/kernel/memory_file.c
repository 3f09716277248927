/* SPDX-License-Identifier: MIT */
/* Recordings as files in memory. */
#include "tests/kernel/memory_file.h"

#include "kernel/err.h"
#include "kernel/string.h"
#include "replay/log_module.h"
#include "replay/replay_commands.h"
#include "tests/kernel/suite.h"

struct memory_sink {
    struct recording_sink sink;
    uint8_t *bytes;
};

static int memory_write(struct recording_sink *sink, const void *bytes, uint32_t length)
{
    if (sink->offset + length > MEMORY_FILE_MAX)
        return ERR_LOG_FULL;
    memcpy(((struct memory_sink *)sink)->bytes + sink->offset, bytes, length);
    return 0;
}

int memory_file_write(struct recording *recording, uint8_t *bytes, uint64_t *size)
{
    struct memory_sink out = {.sink = {.write = memory_write, .file_id = 77}, .bytes = bytes};
    int error = recording_write(recording, &out.sink);
    *size = out.sink.offset;
    return error;
}

bool memory_file_record(int count, char **words, uint8_t *bytes, uint64_t *size)
{
    struct recording *recording;
    if (!ok(record_program(count, words, &recording) == 0, "%s is recorded", words[0]))
        return false;
    int error = memory_file_write(recording, bytes, size);
    is_equal(recording_file_bytes(recording), *size, "the size of its file is known before");
    recording_delete(recording->number);
    return is_equal(error, 0, "it is written");
}

int memory_file_read(const uint8_t *bytes, uint64_t size, struct recording **out,
                     char reason[RECORDING_REASON_MAX])
{
    const struct log_module module = {.name = "", .data = bytes, .size = size};
    return log_module_read(&module, out, reason);
}
