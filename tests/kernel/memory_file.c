/* SPDX-License-Identifier: MIT */
/* Recordings as files in memory. */
#include "tests/kernel/memory_file.h"

#include "kernel/err.h"
#include "kernel/string.h"

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

static bool memory_read(void *context, uint64_t offset, void *out, uint32_t length)
{
    memcpy(out, (const uint8_t *)context + offset, length);
    return true;
}

static const char *memory_load(const struct stream_backing *backing, uint64_t offset,
                               struct stream_block *block)
{
    uint64_t left = backing->size - offset;
    uint32_t size = left < sizeof(*block) ? (uint32_t)left : (uint32_t)sizeof(*block);
    memcpy(block, (const uint8_t *)backing->start + offset, size);
    return recording_check_block(block, size, backing->file_id);
}

int memory_file_read(const uint8_t *bytes, uint64_t size, struct recording **out,
                     char reason[RECORDING_REASON_MAX])
{
    struct log_source source = {.read = memory_read, .context = (void *)bytes, .size = size};
    struct stream_backing backing = {
        .load = memory_load, .start = (uint64_t)bytes, .size = size, .file_id = 77};
    return recording_read(&source, &backing, out, reason);
}
