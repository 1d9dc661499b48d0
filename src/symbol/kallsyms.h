/*
 * kallsyms.h - names of the running kernel's functions, and its modules'.
 *
 *     ffffffff81000000 T _stext
 *     ffffffffc0a01230 t ext4_readdir	[ext4]
 *
 * Without rights the kernel shows every address as 0; then nothing is named.
 */
#pragma once
#include "symbol/lookup.h"

/* Name addresses of the kernel from a list, as read from a file. -1 if it hides addresses. */
int kallsyms_name(struct lookup *l, struct text list);

/* The code of a function that is of a kind. */
struct kallsyms_range {
    uint64_t start, end;
    int kind;
};

typedef VEC(struct kallsyms_range) kallsyms_ranges;

/*
 * The functions of the list at PATH for which KIND_OF is not 0, by address. None where there is no
 * list or it hides addresses. Free with vec_done().
 */
void kallsyms_find(kallsyms_ranges *ret, const char *path, int (*kind_of)(struct text name));

/* Where a list says that _text is; 0 if it does not, or hides addresses. */
uint64_t kallsyms_text(struct text list);

/* The running kernel's build-id in hex; "" where it is not shown. */
void kallsyms_build_id(char *ret, size_t size_bytes);
