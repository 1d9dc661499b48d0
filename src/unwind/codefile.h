/*
 * codefile.h - what the code of one file says about its addresses, for code without unwind rules.
 *
 * The file stays open, because it may be deleted before a walk first needs its bytes. Answers are
 * kept: reading a rule from code takes some 20 us. Addresses are the file's (vaddr).
 */
#pragma once
#include "unwind/table.h"

struct codefile;

/* T must outlive it. FD is duplicated. NULL where that fails. */
struct codefile *codefile_new(int fd, const struct unwind_table *t);
void codefile_free(struct codefile *c); /* NULL is fine */

enum code_before { BEFORE_OTHER, BEFORE_CALL, BEFORE_SYSCALL };

/* What ends right before VADDR: before a return address there must be a call. */
enum code_before codefile_before(struct codefile *c, uint64_t vaddr);

/* The rules for the instruction at VADDR, EPILOGUE_ROWS of them. Good until the next call. */
const struct unwind_row *codefile_rows(struct codefile *c, uint64_t vaddr);

/* Whether the rule for VADDR is CFA_SIGNAL: x86-64's __restore_rt. */
bool codefile_is_trampoline(struct codefile *c, uint64_t vaddr);
