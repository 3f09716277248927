/* SPDX-License-Identifier: MIT */
/* crewlog extract: takes a recording out of the image of a disk. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/crewlog/image.h"
#include "tools/crewlog/log.h"

/* A file of that name must not be there, so that nothing is lost by a slip. */
static void write_file(const char *name, const uint8_t *bytes, uint64_t size)
{
    int file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0)
        die("%s: %s", name, strerror(errno));
    for (uint64_t done = 0; done < size;) {
        ssize_t written = write(file, bytes + done, size - done);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            int error = errno;
            unlink(name);
            die("%s: %s", name, strerror(error));
        }
        done += (uint64_t)written;
    }
    if (close(file) != 0)
        die("%s: %s", name, strerror(errno));
}

/* What is good of it: its bytes up to the last whole chunk. */
static enum status extract(const struct image *image, const char *name, const char *output)
{
    static struct log log;
    const uint8_t *bytes;
    uint64_t size;
    char text[256];
    if (!image_find(image, name, &bytes, &size))
        die("%s has no recording `%s`", image->name, name);
    log_open_part(&log, name, bytes, size);
    write_file(output, bytes, log.reader.offset);
    printf("%s: %" PRIu64 " bytes of %s: %s\n", output, log.reader.offset, name,
           log_verdict_text(&log, text, sizeof(text)));
    return log_complete(&log) ? STATUS_FINE : STATUS_INCOMPLETE;
}

enum status command_extract(char **argv)
{
    static struct image image;
    struct options options;
    uint64_t size;
    options_parse(&options, argv, "o", 1, 2);
    const uint8_t *bytes = file_map(options.files[0], &size);
    if (!image_recognize(bytes, size))
        die("%s is not a disk of recordings", options.files[0]);
    image_open(&image, options.files[0], bytes, size);
    if (options.file_count == 1) {
        image_list(&image);
        return STATUS_FINE;
    }
    if (!options.output)
        die("extract: where to? -o FILE");
    enum status status = extract(&image, options.files[1], options.output);
    file_unmap(bytes, size);
    return status;
}
