/* SPDX-License-Identifier: MIT */
/* JSON on standard output: one object a line, valid whatever bytes come in. */
#ifndef TOOLS_CREWLOG_JSON_H
#define TOOLS_CREWLOG_JSON_H

#include <stdint.h>

#include "replay/log_format.h"

/* Members begin with these; the first of an object has no comma in front. */
void json_open(void);             /* { */
void json_close(void);            /* } and the end of the line */
void json_list(const char *name); /* "name":[ */
void json_list_item(void);        /* what comes next is an object { of that list */
void json_list_item_end(void);
void json_list_number(uint64_t number); /* an item that is a number */
void json_list_end(void);

/* A text, up to a 0 or size, in quotes; nothing in it can end a <script>. */
void json_quote(const char *text, uint64_t size);

/* Bytes from 0x80 on are written as the character of that number (Latin-1), so that each byte of a
 * text can be had back. */
void json_text(const char *name, const char *text, uint64_t size); /* up to a 0, or size */
void json_string(const char *name, const char *text);
void json_number(const char *name, uint64_t number); /* all digits, also beyond 2^53 */
void json_hex(const char *name, uint64_t number);    /* "0x1f" */
void json_bytes(const char *name, const void *bytes, uint64_t size); /* "00ff…" */
void json_words(const char *name, const char *words, uint64_t size, uint64_t count);
void json_bool(const char *name, int value);

/* All members of a structure of log_format.h, under their names. */
void json_header(const struct log_header *header);
void json_vma(const struct log_vma *vma);
void json_thread(const struct log_thread *thread);
void json_page(const struct log_page *page);
void json_begin(const struct log_begin *begin);
void json_block(const struct log_block *block);
void json_end(const struct log_end *end);
void json_end_thread(const struct log_end_thread *thread);

#endif
