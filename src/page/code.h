/*
 * code.h - source and instructions that came with a page, as cmd/view_code.h packs them.
 *
 *     {"functions": [{"function": "parse", "path": "/usr/bin/app", "build_id": "1f..",
 *                     "code": [[4198400, "554889e5.."], ..],
 *                     "insns": ["push rbp", null, ["parse", "/src/parse.c", 12], ..]}, ..],
 *      "files": [{"path": "/src/parse.c", "note": null, "text": ".."}, ..]}
 *
 * Of each instruction: its text, the function it leads to or null, and name, file and line of its
 * functions, outermost first, or null where they are those of the instruction before.
 */
#pragma once
#include "base/err.h"
#include "view/annotate.h"

struct page_code;

/* Free it with page_code_free(). NULL and ERR if it is not valid. */
struct page_code *page_code_read(struct text json, struct err *err);
void page_code_free(struct page_code *c); /* NULL is fine */

/* Whether the code of FUNCTION, of the stacks of P, came along. C may be NULL: then none did. */
bool page_code_has(const struct page_code *c, const struct profile *p, const char *function);

/* A function with the heat of what S selects, as JSON. Fails where its code did not come along. */
int page_code_print(FILE *out, const struct page_code *c, const struct selection *s,
                    const char *function, struct err *err);
