/* SPDX-License-Identifier: MIT */
/* Shell commands of the recorder. */
#include "replay/replay_commands.h"

#include "kernel/command.h"
#include "kernel/commands.h"
#include "kernel/err.h"
#include "kernel/printf.h"
#include "kernel/process.h"
#include "kernel/programs.h"
#include "kernel/string.h"
#include "replay/log_commands.h"
#include "replay/record.h"
#include "replay/replay_session.h"

#define MAX_REPLAYS 1000000

void record_print_line(const struct recording *recording)
{
    char text[33];
    if (recording->header.warnings[0])
        printk("%s: warning: its code may use %s, which cannot be trapped on every CPU\n",
               recording->header.program, recording->header.warnings);
    printk("@record prog=%s log=%u source=%s threads=%u cpus=%u ticks=%llu events=%llu bytes=%llu "
           "hash=%s ns=%llu%s%s%s%s%s\n",
           recording->header.program, recording->number, recording->header.source, recording->slots,
           recording->header.cpus, (unsigned long long)recording_ticks(recording),
           (unsigned long long)recording_events(recording),
           (unsigned long long)recording_bytes(recording), hash_text(text, recording->end.hash),
           (unsigned long long)recording->elapsed_ns, recording->file[0] ? " file=" : "",
           recording->file, recording_complete(recording) ? "" : " incomplete=\"",
           recording->incomplete, recording_complete(recording) ? "" : "\"");
}

/* Starts the process recorded from its first instruction, waits for its end. */
static int record_process(struct process *process, struct recording **out)
{
    struct session *session;
    const struct recording *before = recording_find(0);
    int error = record_begin(process, &session);
    if (error) {
        process_drop_thread(process, process_main_thread(process));
        return error;
    }
    process_start(process);
    process_wait(process);
    if (process->session) /* this one, or one that the program began after stopping this one */
        return record_finish(process->session, out);
    struct recording *last = recording_find(0);
    *out = last != before ? last : NULL; /* it may be that nothing could be kept */
    return process->recording_lost ? ERR_LOG_FULL : 0;
}

int record_program(int count, char **words, struct recording **recording)
{
    int error;
    *recording = NULL;
    struct process *process = process_create(count, words, &error);
    if (!process)
        return error;
    error = record_process(process, recording);
    if (*recording)
        record_print_line(*recording);
    /* That the program fails is part of what was recorded, not a failure of recording it. */
    program_end_status(process);
    process_destroy(process);
    return error;
}

static int command_record(int count, char **words)
{
    struct recording *recording;
    if (count < 2)
        return ERR_USAGE;
    return record_program(count - 1, words + 1, &recording);
}

/* replay | replay N | replay FILE | replay LOG N: a single number means how often, as one replays
 * the last log mostly. */
static int command_replay(int count, char **words)
{
    unsigned long long times = 1;
    bool named = count == 3 || (count == 2 && !string_to_u64(words[1], &times));
    const char *times_word = count == 3 ? words[2] : count == 2 && !named ? words[1] : NULL;
    if (count > 3 ||
        (times_word && (!string_to_u64(times_word, &times) || times == 0 || times > MAX_REPLAYS)))
        return ERR_USAGE;
    struct recording *recording = find_log(named ? words[1] : NULL);
    if (!recording)
        return ERR_NOT_FOUND;
    int result = 0;
    for (uint32_t n = 1; n <= times; n++) {
        int error = replay_run(recording, n);
        if (error)
            result = error;
    }
    return result;
}

static int command_recorder(int count, char **words)
{
    if (count == 1) {
        printk("recorder: %s\n", recorder_current() ? "on" : "off");
        return 0;
    }
    if (count == 2 && strcmp(words[1], "on") == 0)
        return recorder_register(&replay_recorder);
    if (count == 2 && strcmp(words[1], "off") == 0)
        return recorder_unregister();
    return ERR_USAGE;
}

static struct command table[] = {
    {.name = "record",
     .arguments = "PROG [ARGS]",
     .help = "run a program and record it",
     .function = command_record},
    {.name = "replay",
     .arguments = "[[LOG] N]",
     .help = "replay the last or LOG (number or file), N times",
     .function = command_replay},
    {.name = "recorder",
     .arguments = "[on|off]",
     .help = "register or unregister the recorder",
     .function = command_recorder},
};

void replay_commands_register(void)
{
    for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        command_register(&table[i]);
    log_commands_register();
    bench_register_command();
    edit_register_command();
    tick_source_register_command();
    tour_register_command();
}
