/* SPDX-License-Identifier: MIT */
/* crewlog export: which format. */
#include "tools/crewlog/export.h"

enum status command_export(char **argv)
{
    static struct log log;
    struct options options;
    options_parse(&options, argv, "chrome core thread o", 1, 1);
    if (options.chrome == options.core)
        die("export needs one of --chrome and --core");
    if (options.core && !options.output)
        die("export --core needs -o FILE");
    if (options.chrome && options.thread != NO_THREAD)
        die("export --chrome has no option `--thread`: it has all threads");
    log_open(&log, options.files[0]);
    if (options.core) {
        export_core(&log, options.thread == NO_THREAD ? 0 : options.thread, options.output);
    } else {
        output_open(options.output);
        export_chrome(&log);
    }
    enum status status = log_status(&log);
    log_close(&log);
    return status;
}
