/*
 * completion.h - what shells need to complete kelvin's commands, options and choices, from the same
 * tables as help.
 */
#pragma once
#include "cmd/command.h"

#include <stdio.h>

void completion_bash(FILE *out);
void completion_zsh(FILE *out);  /* a file _kelvin in $fpath; can be sourced too */
void completion_fish(FILE *out); /* a file kelvin.fish in completions/ */
