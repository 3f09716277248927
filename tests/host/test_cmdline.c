/* SPDX-License-Identifier: MIT */
/* The kernel command line: words, quotes as GRUB and QEMU write them, numbers, damaged text. */
#include <stdlib.h>

#include "kernel/cmdline.h"
#include "tests/host/capture.h"
#include "tests/host/random.h"
#include "tests/host/tap.h"

static void expect_value(const char *line, const char *key, const char *expected)
{
    char value[64] = "untouched";

    cmdline_init(line);
    if (expected) {
        ok(cmdline_get(key, value, sizeof value), "%s: %s is there", line, key);
        is_string(value, expected, "%s: value of %s", line, key);
    } else {
        ok(!cmdline_get(key, value, sizeof value), "%s: no %s", line, key);
        is_string(value, "untouched", "%s: the buffer is left alone", line);
    }
}

static void test_words(void)
{
    expect_value("", "a", NULL);
    expect_value("   ", "a", NULL);
    expect_value("a=1", "a", "1");
    expect_value("  a=1\tb=2  ", "b", "2");
    expect_value("a", "a", "");
    expect_value("a=", "a", "");
    expect_value("aa=1", "a", NULL);
    expect_value("a=1", "aa", NULL);
    expect_value("b=a", "a", NULL);
    expect_value("a=b=c", "a", "b=c");
    expect_value("a=1 a=2", "a", "2");
    expect_value("a=1 a", "a", "");
    expect_value("a=1 b a=2 c", "a", "2");
    expect_value("=1 a=2", "", NULL);
}

static void test_quotes(void)
{
    expect_value("run=\"a; b\" c=1", "run", "a; b");
    expect_value("run=\"a; b\" c=1", "c", "1");
    expect_value("\"run=a; b\" c=1", "run", "a; b");
    expect_value("\"run=a; b\" c=1", "c", "1");
    expect_value("run=x\"a b\"y", "run", "xa by");
    expect_value("run=\"echo \\\"a b\\\"\"", "run", "echo \"a b\"");
    expect_value("run=a\\\\b", "run", "a\\b");
    expect_value("run=a\\b", "run", "a\\b");
    expect_value("run=it\\'s", "run", "it's");
    expect_value("run=\"not closed a=1", "run", "not closed a=1");
    expect_value("run=\"not closed a=1", "a", NULL);
    expect_value("run=\"\" a", "run", "");
    expect_value("x=\"a=1\"", "a", NULL);
    expect_value("a=\\", "a", "\\");
}

static void test_cut(void)
{
    char value[4];

    capture_reset();
    cmdline_init("key=abc long=abcdef");
    ok(cmdline_get("key", value, sizeof value) && !strcmp(value, "abc"), "a value that just fits");
    is_string(captured, "", "it is not reported");
    ok(cmdline_get("long", value, sizeof value) && !strcmp(value, "abc"), "a longer one is cut");
    ok(strstr(captured, "long") && strstr(captured, "from 6 to 3"), "and reported: %s", captured);
    ok(cmdline_has("long") && cmdline_has("key") && !cmdline_has("abc"), "cmdline_has");
}

static void test_numbers(void)
{
    capture_reset();
    cmdline_init("dec=12 hex=0x1f size=4K bad=12x empty= bare");
    is_u64(cmdline_number("dec", 7), 12, "decimal");
    is_u64(cmdline_number("hex", 7), 0x1f, "hexadecimal");
    is_u64(cmdline_number("size", 7), 4096, "with a suffix");
    is_u64(cmdline_number("none", 7), 7, "absent: the default");
    is_string(captured, "", "nothing was reported so far");
    is_u64(cmdline_number("bad", 7), 7, "no number: the default");
    ok(strstr(captured, "bad=12x") && strstr(captured, "7"), "reported: %s", captured);
    is_u64(cmdline_number("empty", 8), 8, "empty: the default");
    is_u64(cmdline_number("bare", 9), 9, "bare: the default");
}

/* Any text, copied to a block of just its size so that the sanitizer sees each byte too far. */
static void test_any_text(void)
{
    static const char alphabet[] = "ab= \"\\'\t;";
    uint64_t random = 0x5eed;
    char value[8];

    for (int round = 0; round < 20000; round++) {
        size_t length = random_below(&random, 24);
        char *text = malloc(length + 1);
        for (size_t i = 0; i < length; i++)
            text[i] = alphabet[random_below(&random, sizeof alphabet - 1)];
        text[length] = 0;
        cmdline_init(text);
        capture_reset();
        if (cmdline_get("a", value, sizeof value) && strlen(value) >= sizeof value)
            ok(false, "value of \"%s\" does not fit", text);
        cmdline_init("");
        free(text);
    }
    ok(true, "20000 lines of any text stay within their bounds");
}

int main(void)
{
    test_words();
    test_quotes();
    test_cut();
    test_numbers();
    test_any_text();
    return done();
}
