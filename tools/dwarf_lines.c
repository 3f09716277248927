/* SPDX-License-Identifier: MIT */
/* Reads .debug_line: headers, and the programs that make rows. Source: DWARF 5, section 6.2, and
 * the same of versions 2 to 4. */
#include "tools/dwarf_lines.h"

#include <string.h>

#define MAX_FORMATS 16

/* --- bytes of a section --- */

struct reader {
    const char *path;
    const uint8_t *at, *end;
};

static uint64_t read_number(struct reader *reader, unsigned bytes)
{
    uint64_t value = 0;
    if ((size_t)(reader->end - reader->at) < bytes)
        fail(reader->path, "line information ends too early");
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)reader->at[i] << (8 * i);
    reader->at += bytes;
    return value;
}

static uint64_t read_leb(struct reader *reader, bool is_signed)
{
    uint64_t value = 0, byte;
    unsigned shift = 0;
    do {
        byte = read_number(reader, 1);
        value |= shift < 64 ? (byte & 0x7f) << shift : 0;
        shift += 7;
    } while (byte & 0x80);
    if (is_signed && shift < 64 && byte & 0x40)
        value |= UINT64_MAX << shift;
    return value;
}

static const char *read_string(struct reader *reader)
{
    const char *text = (const char *)reader->at;
    while (read_number(reader, 1) != 0)
        continue;
    return text;
}

/* --- one unit: its header --- */

struct strings {
    struct reader line, general; /* .debug_line_str, .debug_str */
};

struct unit {
    struct reader code; /* the line program */
    unsigned version, min_length, line_range, opcode_base;
    int line_base;
    uint8_t operands[256];
    const char *directories[LINES_MAX_FILES];
    uint32_t files[LINES_MAX_FILES]; /* by the program's numbers: ours */
    uint32_t directory_count, unit_files;
};

static void add_file(struct unit *unit, const char *name, uint64_t directory)
{
    if (unit->unit_files == LINES_MAX_FILES)
        fail(unit->code.path, "too many files in a unit");
    unit->files[unit->unit_files++] = lines_add_file(
        unit->code.path, directory < unit->directory_count ? unit->directories[directory] : NULL,
        name);
}

static void add_directory(struct unit *unit, const char *name)
{
    if (unit->directory_count == LINES_MAX_FILES)
        fail(unit->code.path, "too many directories in a unit");
    unit->directories[unit->directory_count++] = name;
}

/* Versions 2 to 4: directory 0 is the compiler's own, files count from 1. */
static void read_old_tables(struct unit *unit, struct reader *header)
{
    const char *name;
    add_directory(unit, ".");
    while (*(name = read_string(header)))
        add_directory(unit, name);
    unit->files[unit->unit_files++] = 0;
    while (*(name = read_string(header))) {
        uint64_t directory = read_leb(header, false);
        read_leb(header, false); /* time */
        read_leb(header, false); /* length */
        add_file(unit, name, directory);
    }
}

enum { FORM_DATA2 = 5, FORM_DATA4, FORM_DATA8, FORM_STRING, FORM_BLOCK, FORM_DATA1 = 0xb };
enum { FORM_STRP = 0xe, FORM_UDATA, FORM_DATA16 = 0x1e, FORM_LINE_STRP };
enum { CONTENT_PATH = 1, CONTENT_DIRECTORY };

static const char *string_at(const struct reader *section, uint64_t offset)
{
    struct reader reader = *section;
    if (offset >= (uint64_t)(reader.end - reader.at))
        fail(reader.path, "a name in the line information lies outside of its section");
    reader.at += offset;
    return read_string(&reader);
}

/* A field of an entry: its text or its number. */
static const char *read_field(struct reader *header, const struct strings *strings, uint64_t form,
                              uint64_t *number)
{
    *number = 0;
    switch (form) {
    case FORM_STRING:
        return read_string(header);
    case FORM_LINE_STRP:
        return string_at(&strings->line, read_number(header, 4));
    case FORM_STRP:
        return string_at(&strings->general, read_number(header, 4));
    case FORM_UDATA:
        *number = read_leb(header, false);
        return NULL;
    case FORM_DATA1:
        *number = read_number(header, 1);
        return NULL;
    case FORM_DATA2:
        *number = read_number(header, 2);
        return NULL;
    case FORM_DATA4:
        *number = read_number(header, 4);
        return NULL;
    case FORM_DATA8:
        *number = read_number(header, 8);
        return NULL;
    case FORM_DATA16:
        read_number(header, 8);
        read_number(header, 8);
        return NULL;
    case FORM_BLOCK:
        for (uint64_t left = read_leb(header, false); left > 0; left--)
            read_number(header, 1);
        return NULL;
    }
    fail(header->path, "an unknown form in the line information");
}

static void read_table(struct unit *unit, struct reader *header, const struct strings *strings,
                       bool is_files)
{
    uint64_t formats[MAX_FORMATS][2], number, directory = 0;
    unsigned count = (unsigned)read_number(header, 1);
    if (count > MAX_FORMATS)
        fail(header->path, "too many fields in the line information");
    for (unsigned i = 0; i < count; i++) {
        formats[i][0] = read_leb(header, false);
        formats[i][1] = read_leb(header, false);
    }
    for (uint64_t left = read_leb(header, false); left > 0; left--) {
        const char *path = "";
        for (unsigned i = 0; i < count; i++) {
            const char *text = read_field(header, strings, formats[i][1], &number);
            if (formats[i][0] == CONTENT_PATH && text)
                path = text;
            if (formats[i][0] == CONTENT_DIRECTORY)
                directory = number;
        }
        if (is_files)
            add_file(unit, path, directory);
        else
            add_directory(unit, path);
    }
}

/* Leaves *section behind the unit. */
static void read_header(struct unit *unit, struct reader *section, const struct strings *strings)
{
    uint64_t length = read_number(section, 4);
    struct reader header = {section->path, section->at, section->at + length};
    if (length >= 0xfffffff0 || length > (uint64_t)(section->end - section->at))
        fail(section->path, "a unit of line information is too long");
    memset(unit, 0, sizeof *unit);
    section->at += length;
    unit->code = header;
    unit->version = (unsigned)read_number(&header, 2);
    if (unit->version < 2 || unit->version > 5)
        fail(header.path, "line information of an unknown version");
    if (unit->version == 5)
        read_number(&header, 2); /* sizes of addresses and selectors */
    uint64_t rest = read_number(&header, 4);
    if (rest > (uint64_t)(header.end - header.at))
        fail(header.path, "a header of line information is too long");
    unit->code.at = header.at + rest;
    unit->min_length = (unsigned)read_number(&header, 1);
    if (unit->version >= 4)
        read_number(&header, 1); /* operations in an instruction: 1 */
    read_number(&header, 1);     /* whether rows are statements */
    unit->line_base = (int8_t)read_number(&header, 1);
    unit->line_range = (unsigned)read_number(&header, 1);
    unit->opcode_base = (unsigned)read_number(&header, 1);
    for (unsigned i = 1; i < unit->opcode_base; i++)
        unit->operands[i] = (uint8_t)read_number(&header, 1);
    if (unit->line_range == 0)
        fail(header.path, "line information with a line range of 0");
    if (unit->version < 5) {
        read_old_tables(unit, &header);
        return;
    }
    read_table(unit, &header, strings, false);
    read_table(unit, &header, strings, true);
}

/* --- one unit: its program --- */

struct state {
    uint64_t address, file, line;
};

static void emit_row(const struct unit *unit, const struct state *state)
{
    lines_add_row(state->address, state->file < unit->unit_files ? unit->files[state->file] : 0,
                  state->line);
}

enum { EXTENDED_END = 1, EXTENDED_ADDRESS };
enum {
    OPCODE_COPY = 1,
    OPCODE_ADVANCE_PC,
    OPCODE_ADVANCE_LINE,
    OPCODE_FILE,
    OPCODE_CONST_PC = 8,
    OPCODE_FIXED_PC
};

static const struct state initial = {.file = 1, .line = 1};

static void run_extended(struct unit *unit, struct state *state)
{
    uint64_t length = read_leb(&unit->code, false);
    struct reader operand = unit->code;
    if (length == 0 || length > (uint64_t)(unit->code.end - unit->code.at))
        fail(unit->code.path, "a bad instruction in the line information");
    unit->code.at += length;
    uint64_t opcode = read_number(&operand, 1);
    if (opcode == EXTENDED_ADDRESS)
        state->address = read_number(&operand, (unsigned)(length - 1 > 8 ? 8 : length - 1));
    if (opcode == EXTENDED_END) {
        lines_add_row(state->address, 0, 0);
        *state = initial;
    }
}

static void run_standard(struct unit *unit, struct state *state, unsigned opcode)
{
    struct reader *code = &unit->code;
    switch (opcode) {
    case OPCODE_COPY:
        emit_row(unit, state);
        return;
    case OPCODE_ADVANCE_PC:
        state->address += read_leb(code, false) * unit->min_length;
        return;
    case OPCODE_ADVANCE_LINE:
        state->line += read_leb(code, true);
        return;
    case OPCODE_FILE:
        state->file = read_leb(code, false);
        return;
    case OPCODE_CONST_PC:
        state->address += (255 - unit->opcode_base) / unit->line_range * unit->min_length;
        return;
    case OPCODE_FIXED_PC:
        state->address += read_number(code, 2);
        return;
    }
    for (unsigned i = 0; i < unit->operands[opcode]; i++)
        read_leb(code, false);
}

static void run_unit(struct unit *unit)
{
    struct state state = initial;
    while (unit->code.at < unit->code.end) {
        unsigned opcode = (unsigned)read_number(&unit->code, 1);
        if (opcode == 0) {
            run_extended(unit, &state);
        } else if (opcode < unit->opcode_base) {
            run_standard(unit, &state, opcode);
        } else {
            unsigned adjusted = opcode - unit->opcode_base;
            state.address += adjusted / unit->line_range * unit->min_length;
            state.line += (uint64_t)(int64_t)(unit->line_base + (int)(adjusted % unit->line_range));
            emit_row(unit, &state);
        }
    }
}

static struct reader open_section(const struct image *image, const char *name)
{
    size_t size;
    const uint8_t *bytes = image_section(image, name, &size);
    return (struct reader){image->path, bytes, bytes ? bytes + size : bytes};
}

void dwarf_lines_read(const struct image *image)
{
    static struct unit unit;
    struct strings strings = {.line = open_section(image, ".debug_line_str"),
                              .general = open_section(image, ".debug_str")};
    struct reader section = open_section(image, ".debug_line");
    if (!section.at)
        fail(image->path, "no line information");
    while (section.at < section.end) {
        read_header(&unit, &section, &strings);
        run_unit(&unit);
    }
}
