/*
 * words.h - a line taken apart into words as a shell would, and words put together to a line that
 * a shell takes apart again: blanks separate, quotes and backslashes keep together. Nothing is
 * expanded.
 */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "base/vec.h"

struct words {
    VEC(char *) at; /* each NUL-terminated; at.at[at.n] is NULL, ready for execv() */
};

/*
 * Take LINE apart; every byte of SEPARATORS ends a word outside quotes. Fails on a quote
 * without its end. Free with words_done() either way.
 */
int words_split(struct words *w, struct text line, const char *separators, struct err *err);
void words_done(struct words *w);

/* How many bytes of LINE its first word is, at the very beginning, with its quotes; RET is the word
 * without them, to be freed. 0 and NULL where there is none. */
size_t words_first(const char *line, char **ret);

/* Append a copy of WORD. */
void words_add(struct words *w, struct text word);

/* Append WORD to LINE, in quotes where a shell would not take it as it is. */
void words_quote(struct buf *line, const char *word);

/* Append N words to LINE, a blank between any two. */
void words_join(struct buf *line, char *const *words, size_t n);

/*
 * Append LINE as it may be shown to everybody: the program, and how many arguments there are. They
 * may hold passwords.
 */
void words_hide(struct buf *b, const char *line);

/* Whether words_hide() left arguments out of it: what they were is not known. */
bool words_hidden(const char *line);

/*
 * The part of LINE, outside quotes, that a shell would act on: "|", "&&", ";", "<", ">", "*", "$",
 * "~/", or NULL. Taken apart as above these are plain characters.
 */
const char *words_shell_sign(const char *line);

#define WORDS_BLANKS " \t\r\n"
#define WORDS_LIST " \t\r\n,"
