/*
 * project.h - which source files may be shown around.
 *
 * Debug information may name any file, and pages and recordings are made to be given to others:
 * only files below the project of the program or of the current folder, or below a folder that
 * was asked for, are included. Hidden files are not: .env, .git and the like are not source.
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

/* Whether the file at REAL, a path without links, may be included. */
bool project_has(const struct project *p, const char *real);
