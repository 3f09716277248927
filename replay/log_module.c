/* SPDX-License-Identifier: MIT */
/* Recordings from the boot loader's modules: in memory, below 4 GiB, never changed. */
#include "replay/log_module.h"

#include "arch/x86/layout.h"
#include "boot/boot_info.h"
#include "kernel/err.h"
#include "kernel/string.h"

#define FIRST_MODULE 1 /* 0 is the program archive */

static bool is_recording(const void *data, uint64_t size)
{
    struct log_chunk chunk;
    if (size < sizeof(chunk) + sizeof(struct log_header))
        return false;
    memcpy(&chunk, data, sizeof(chunk));
    return chunk.magic == LOG_CHUNK_MAGIC &&
           memcmp((const uint8_t *)data + sizeof(chunk), LOG_FILE_MAGIC,
                  sizeof(LOG_FILE_MAGIC) - 1) == 0;
}

/* The first word, without directories. */
static const char *name_of(const char *cmdline, char *out, size_t size)
{
    const char *begin = cmdline;
    size_t length = 0;
    for (const char *at = cmdline; *at && *at != ' '; at++)
        if (*at == '/')
            begin = at + 1;
    while (begin[length] && begin[length] != ' ' && length + 1 < size)
        length++;
    memcpy(out, begin, length);
    out[length] = 0;
    return out;
}

bool log_module_get(unsigned n, struct log_module *out)
{
    static char names[BOOT_MAX_MODULES][RECORDING_NAME_MAX];
    for (uint32_t i = FIRST_MODULE; i < boot_info.module_count; i++) {
        const struct boot_module *module = &boot_info.modules[i];
        *out = (struct log_module){.data = PHYS_TO_VIRT(module->start),
                                   .size = module->end - module->start};
        if (module->end <= module->start || !is_recording(out->data, out->size))
            continue;
        out->name = name_of(module->cmdline, names[i], sizeof(names[i]));
        if (n-- == 0)
            return true;
    }
    return false;
}

static bool read_module(void *context, uint64_t offset, void *out, uint32_t length)
{
    memcpy(out, (const uint8_t *)context + offset, length);
    return true;
}

/* In any context. */
static const char *load_block(const struct stream_backing *backing, uint64_t offset,
                              struct stream_block *block)
{
    uint64_t left = backing->size - offset;
    uint32_t size = left < sizeof(*block) ? (uint32_t)left : (uint32_t)sizeof(*block);
    memcpy(block, (const uint8_t *)backing->start + offset, size);
    return recording_check_block(block, size, backing->file_id);
}

int log_module_read(const struct log_module *module, struct recording **out,
                    char reason[RECORDING_REASON_MAX])
{
    struct log_source source = {
        .read = read_module, .context = (void *)module->data, .size = module->size};
    struct stream_backing backing = {
        .load = load_block, .start = (uint64_t)module->data, .size = module->size};
    memcpy(&backing.file_id, (const uint8_t *)module->data + offsetof(struct log_chunk, file_id),
           sizeof(backing.file_id));
    int error = recording_read(&source, &backing, out, reason);
    if (!error)
        string_copy((*out)->file, module->name, sizeof((*out)->file));
    return error;
}

int log_module_load(const char *name, struct recording **out, char reason[RECORDING_REASON_MAX])
{
    struct log_module module;
    *out = NULL;
    for (unsigned n = 0; log_module_get(n, &module); n++)
        if (!name || strcmp(name, module.name) == 0)
            return log_module_read(&module, out, reason);
    return ERR_NOT_FOUND;
}
