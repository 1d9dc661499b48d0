/*
 * sysfile.h - the small text files in which a kernel and a distribution describe themselves.
 *
 * Every call takes the folder that stands for "/": "" is this machine, another is a test's tree.
 * A file that is missing or may not be read gives false, never an error.
 */
#pragma once
#include "base/text.h"

/* The first line of PATH, trimmed and cut to N bytes with its NUL. */
bool sysfile_line(const char *root, const char *path, char *ret, size_t n);

/* The first word of PATH as a decimal number, which may be negative. */
bool sysfile_long(const char *root, const char *path, long *ret);

/*
 * The value of the first line "KEY SEP value", without blanks and quotes around it:
 * sysfile_field("", "/proc/cpuinfo", "model name", ':', ...).
 */
bool sysfile_field(const char *root, const char *path, const char *key, char sep, char *ret,
                   size_t n);

/* Whether PATH is there at all. */
bool sysfile_exists(const char *root, const char *path);

/* Whether a line of PATH has WORD in it. */
bool sysfile_mentions(const char *root, const char *path, const char *word);
