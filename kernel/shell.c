/* SPDX-License-Identifier: MIT */
/* The interactive shell and the commands that need nothing but the kernel's lowest layer.
 *
 * Context: shell_run() on its own thread, the only reader of console input.
 */
#include "kernel/command.h"

#include "arch/x86/devices.h"
#include "arch/x86/timer.h"
#include "kernel/cmdline.h"
#include "kernel/console.h"
#include "kernel/err.h"
#include "kernel/lineedit.h"
#include "kernel/printf.h"
#include "kernel/shell_panic.h"
#include "kernel/string.h"
#include "kernel/symbols.h"

#define EXIT_CODE_OK 0x10     /* QEMU's exit status 33 */
#define EXIT_CODE_FAILED 0x11 /* 35 */

static const char prompt[] = "crew> ";
static struct lineedit editor; /* the shell's thread */

/* What one input byte draws goes out as one text, so that no other thread's gets in between. */
static char batch[2048];
static size_t batch_length;

/* --- commands --- */

static size_t command_width(const struct command *command)
{
    const char *arguments = command->arguments ? command->arguments : "";
    return strlen(command->name) + 1 + strlen(arguments);
}

/* Names wider than the column have their help on a line of its own. */
#define HELP_COLUMN 26

static void print_help(const struct command *command)
{
    const char *arguments = command->arguments ? command->arguments : "";

    printk("  %s %s", command->name, arguments);
    if (command_width(command) < HELP_COLUMN)
        printk("%*s%s\n", (int)(HELP_COLUMN - command_width(command)), "", command->help);
    else
        printk("\n  %*s%s\n", HELP_COLUMN, "", command->help);
}

static int help_command(int count, char **words)
{
    const struct command *command = NULL;

    if (count > 2)
        return ERR_USAGE;
    if (count == 2 && !(command = command_find(words[1]))) {
        printk("help: there is no command \"%s\"\n", words[1]);
        return ERR_USAGE;
    }
    if (command) {
        printk("usage: %s %s\n  %s\n", command->name, command->arguments ? command->arguments : "",
               command->help);
        return 0;
    }
    while ((command = command_next(command)) != NULL)
        print_help(command);
    return 0;
}

static int echo_command(int count, char **words)
{
    char text[COMMAND_LINE_MAX];
    size_t used = 0;

    for (int i = 1; i < count && used < sizeof text; i++)
        used +=
            (size_t)format_text(text + used, sizeof text - used, i > 1 ? " %s" : "%s", words[i]);
    printk("%s\n", count > 1 ? text : "");
    return 0;
}

static int history_command(int count, char **words)
{
    const char *line;
    size_t number;

    (void)words;
    if (count > 1)
        return ERR_USAGE;
    for (size_t i = 0; (line = lineedit_history(&editor, i, &number)) != NULL; i++)
        printk("%4zu  %s\n", number, line);
    return 0;
}

static int clear_command(int count, char **words)
{
    static const char sequence[] = "\033[2J\033[H";

    (void)words;
    if (count > 1)
        return ERR_USAGE;
    console_write(sequence, sizeof sequence - 1);
    return 0;
}

static int cmdline_command(int count, char **words)
{
    (void)words;
    if (count > 1)
        return ERR_USAGE;
    printk("%s\n", cmdline_text());
    return 0;
}

static int uptime_command(int count, char **words)
{
    uint64_t ms = timer_now_ns() / 1000000;

    (void)words;
    if (count > 1)
        return ERR_USAGE;
    printk("up %lu.%03lu s\n", ms / 1000, ms % 1000);
    return 0;
}

static int symbols_command(int count, char **words)
{
    unsigned long long number;
    uint64_t address, offset;
    const char *name;

    if (count != 2)
        return ERR_USAGE;
    if (string_to_u64(words[1], &number) && symbol_find(number, &name, &offset))
        printk("0x%llx is %s+0x%lx\n", number, name, offset);
    else if (symbol_address(words[1], &address))
        printk("%s is at 0x%lx\n", words[1], address);
    else {
        printk("symbols: \"%s\" is neither an address within the kernel nor one of its symbols\n",
               words[1]);
        return ERR_USAGE;
    }
    return 0;
}

static int poweroff_command(int count, char **words)
{
    bool failed = command_failures() != 0;

    (void)words;
    if (count > 1)
        return ERR_USAGE;
    console_end_line();
    printk("@end status=%s\n", failed ? "failed" : "ok");
    power_debug_exit(failed ? EXIT_CODE_FAILED : EXIT_CODE_OK);
    power_off();
}

static int reboot_command(int count, char **words)
{
    (void)words;
    if (count > 1)
        return ERR_USAGE;
    printk("restarting\n");
    power_reset();
}

/* For scripts: a command that must fail succeeds, and does not count as a failure. */
static int try_command(int count, char **words)
{
    const struct command *command = count > 1 ? command_find(words[1]) : NULL;

    if (!command)
        return ERR_USAGE;
    int result = command->function(count - 1, words + 1);
    printk("try: %s: %s\n", words[1], result ? err_text(result) : "succeeded");
    return result ? 0 : ERR_FAILED;
}

static struct command shell_commands[] = {
    {"clear", "", "clear the screen", clear_command, NULL},
    {"cmdline", "", "show the kernel command line", cmdline_command, NULL},
    {"crash", "KIND", SHELL_CRASH_HELP, shell_crash_command, NULL},
    {"echo", "[WORDS]", "print the words", echo_command, NULL},
    {"help", "[COMMAND]", "list the commands, or explain one", help_command, NULL},
    {"history", "", "list the lines entered before", history_command, NULL},
    {"panic", "[KIND | TEXT]", SHELL_PANIC_HELP, shell_panic_command, NULL},
    {"poweroff", "", "end the run: \"@end status=ok\" if no command failed", poweroff_command,
     NULL},
    {"reboot", "", "restart the machine", reboot_command, NULL},
    {"symbols", "ADDRESS | NAME", "find a kernel symbol", symbols_command, NULL},
    {"try", "COMMAND", "run a command that must fail", try_command, NULL},
    {"uptime", "", "time since boot", uptime_command, NULL},
};

void shell_register_commands(void)
{
    for (size_t i = 0; i < sizeof shell_commands / sizeof shell_commands[0]; i++)
        command_register(&shell_commands[i]);
}

/* --- the interactive part --- */

static void batch_flush(void)
{
    console_write(batch, batch_length);
    batch_length = 0;
}

static void batch_write(void *unused, const char *text, size_t length)
{
    (void)unused;
    if (length > sizeof batch - batch_length)
        batch_flush();
    if (length > sizeof batch) {
        console_write(text, length);
        return;
    }
    memcpy(batch + batch_length, text, length);
    batch_length += length;
}

/* A command's name can follow: at the start of a line, after `;`, and after "help". */
static bool command_fits(const char *line, size_t word_start)
{
    size_t end = word_start;

    while (end > 0 && line[end - 1] == ' ')
        end--;
    if (end == 0 || line[end - 1] == ';')
        return true;
    bool help = end >= 4 && end < word_start && strncmp(line + end - 4, "help", 4) == 0;
    return help && (end == 4 || line[end - 5] == ' ' || line[end - 5] == ';');
}

static const char *command_candidate(void *unused, const char *line, size_t word_start,
                                     unsigned index)
{
    const struct command *command = command_next(NULL);

    (void)unused;
    if (!command_fits(line, word_start))
        return NULL;
    while (command && index-- > 0)
        command = command_next(command);
    return command ? command->name : NULL;
}

static void report_dropped(void)
{
    uint32_t dropped = console_take_dropped();

    if (dropped > 0)
        printk("console: %u bytes of input were lost: they came faster than they were read\n",
               dropped);
}

/* A line, finished, in editor.line. */
static void read_line(void)
{
    bool finished = false;
    uint8_t byte;

    console_end_line();
    lineedit_start(&editor, prompt);
    batch_flush();
    while (!finished) {
        if (!console_take_input(&byte)) {
            console_wait_input();
            continue;
        }
        report_dropped();
        if (!console_line_is_open())
            lineedit_redraw(&editor);
        finished = lineedit_feed(&editor, byte);
        batch_flush();
    }
}

_Noreturn void shell_run(void)
{
    static const struct lineedit_hooks hooks = {
        .write = batch_write,
        .candidate = command_candidate,
    };

    lineedit_init(&editor, &hooks);
    for (;;) {
        read_line();
        command_run_line(editor.line);
    }
}
