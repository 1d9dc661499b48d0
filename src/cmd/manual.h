/*
 * manual.h - help and man pages from the command and option tables.
 */
#pragma once
#include "cmd/command.h"

#include <stdio.h>

void manual_overview(FILE *out);                         /* what `kelvin help` prints */
void manual_command(FILE *out, const struct command *c); /* what `kelvin CMD --help` prints */
void manual_formats(FILE *out);
void manual_suite(FILE *out); /* the keys of kelvin.conf */ /* what `kelvin help formats` prints */

void manual_man_overview(FILE *out); /* kelvin(1) in roff */
void manual_man_command(FILE *out, const struct command *c);
