/*
 * project.h - which source files may be shown around.
 *
 * Debug information may name any file, and pages and recordings are made to be given to others:
 * only what lies below the project of the program or of the current folder, or was asked for, goes
 * along. Nothing hidden does: .env, .git and their like are no source.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct project {
    const char *binary; /* a program that ran; not a library: that may be of another project */
    const char *const *folders;
    size_t n_folders; /* what was asked for */
};

enum { PROJECT_PROGRAMS = 16 }; /* of a recording: those that are asked about */

/* Whether the file at REAL, a path without links, may go along. */
bool project_has(const struct project *p, const char *real);
