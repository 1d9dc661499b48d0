/*
 * producer.h - what a program was compiled with, as far as its file tells.
 */
#pragma once

/*
 * The compiler and its flags from the debug information of the first unit that is no assembly, else
 * the compiler's name from the section .comment, else NULL. Free it.
 */
char *producer_read(const char *path);
