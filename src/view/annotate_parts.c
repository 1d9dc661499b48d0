/* annotate_parts.c - the time of instructions summed by source line and by function inlined there.
 */
#include "view/annotate.h"

static size_t annotate_file_of(struct annotate *a, struct text path)
{
    for (size_t i = 0; i < a->n_files; i++)
        if (a->files[i].path.at == path.at)
            return i;
    a->files = mem_realloc(a->files, (a->n_files + 1) * sizeof *a->files);
    a->files[a->n_files] = (struct annotate_file){.path = path};
    return a->n_files++;
}

static struct annotate_part *part_of(struct annotate *a, const struct annotate_place *at)
{
    size_t file = annotate_file_of(a, at->file);
    for (size_t i = 0; i < a->n_parts; i++) {
        struct annotate_part *p = &a->parts[i];
        if (p->function.at == at->function.at && p->file == file && p->inlined == at->inlined)
            return p;
    }
    a->parts = mem_realloc(a->parts, (a->n_parts + 1) * sizeof *a->parts);
    struct annotate_part *p = &a->parts[a->n_parts++];
    *p = (struct annotate_part){at->function, at->inlined, file};
    return p;
}

static int by_line(const void *a, const void *b)
{
    const struct annotate_line *x = a, *y = b;
    return x->line < y->line ? -1 : x->line > y->line;
}

static void merge_lines(struct annotate_part *p)
{
    size_t n = 0;
    qsort(p->lines.at, p->lines.n, sizeof *p->lines.at, by_line);
    for (size_t i = 0; i < p->lines.n; i++) {
        struct annotate_line l = p->lines.at[i];
        p->self += l.self;
        if (n && p->lines.at[n - 1].line == l.line)
            p->lines.at[n - 1].self += l.self;
        else
            p->lines.at[n++] = l;
    }
    p->lines.n = n;
}

static int compare_parts(const void *a, const void *b)
{
    const struct annotate_part *x = a, *y = b;
    if (x->inlined != y->inlined)
        return x->inlined - y->inlined;
    if (x->self != y->self)
        return x->self > y->self ? -1 : 1;
    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    return strcmp(x->function.at, y->function.at);
}

/* --- totals of lines --- */

static struct annotate_line *annotate_line_of(struct annotate_part *part, uint32_t number)
{
    return bsearch(&(struct annotate_line){.line = number}, part->lines.at, part->lines.n,
                   sizeof *part->lines.at, by_line);
}

/* What one stack has counted for already. */
struct annotate_seen {
    VEC(const void *) at;
};

/* Whether WHAT is met for the first time. */
static bool annotate_see(struct annotate_seen *seen, const void *what)
{
    for (size_t i = 0; i < seen->at.n; i++)
        if (seen->at.at[i] == what)
            return false;
    *vec_push(&seen->at) = what;
    return true;
}

static void add_hit(struct annotate *a, const struct annotate_place *at, int64_t value,
                    struct annotate_seen *seen)
{
    struct annotate_part *part = part_of(a, at);
    struct annotate_line *line = annotate_line_of(part, at->line);
    if (annotate_see(seen, part))
        part->total += value;
    if (line && annotate_see(seen, line)) {
        line->total += value;
        a->hottest = line->total > a->hottest ? line->total : a->hottest;
    }
}

/*
 * A stack counts once for a line, and for a part, however many instructions of it are there. The
 * lines that call what is inlined count, too: what was inlined is a part of its own.
 */
static void add_hits(struct annotate *a, const struct hits *h, const struct hits_stack *stack)
{
    struct annotate_seen seen = {0};
    struct annotate_place at;
    for (size_t i = 0; i < stack->n; i++) {
        const struct listing_insn *insn = &a->listing->insns.at[h->insns.at[stack->first + i]];
        size_t levels = profile_frame(a->names, insn->frame)->n_lines;
        for (size_t k = 0; k < levels; k++)
            if (annotate_call_place(a, insn, k, &at))
                add_hit(a, &at, stack->value, &seen);
    }
    vec_done(&seen.at);
}

/* Without lines colours are relative to the hottest instruction. */
static void heat_by_instructions(struct annotate *a)
{
    for (size_t i = 0; i < a->listing->insns.n; i++) {
        const struct listing_insn *insn = &a->listing->insns.at[i];
        int64_t most = insn->self > insn->total ? insn->self : insn->total;
        a->hottest = most > a->hottest ? most : a->hottest;
    }
}

void annotate_parts_build(struct annotate *a, const struct hits *hits, annotate_read *read,
                          const void *ctx)
{
    struct annotate_place at;
    for (size_t i = 0; i < a->listing->insns.n; i++) {
        const struct listing_insn *n = &a->listing->insns.at[i];
        size_t levels = profile_frame(a->names, n->frame)->n_lines;
        for (size_t k = 0; k < levels; k++)
            if (annotate_call_place(a, n, k, &at))
                *vec_push(&part_of(a, &at)->lines) =
                    (struct annotate_line){at.line, k ? 0 : n->self, 0};
    }
    for (size_t i = 0; i < a->n_files; i++) {
        read(ctx, &a->files[i]);
        for (struct text rest = a->files[i].text; rest.n;)
            *vec_push(&a->files[i].rows) = text_cut(&rest, '\n');
    }
    for (size_t i = 0; i < a->n_parts; i++)
        merge_lines(&a->parts[i]);
    for (size_t i = 0; i < hits->stacks.n; i++)
        add_hits(a, hits, &hits->stacks.at[i]);
    if (!a->hottest)
        heat_by_instructions(a);
    if (a->n_parts)
        qsort(a->parts, a->n_parts, sizeof *a->parts, compare_parts);
}

static int seen_by_address(const void *a, const void *b)
{
    const struct listing_insn *x = a, *y = b;
    return x->pc < y->pc ? -1 : x->pc > y->pc;
}

void annotate_list_seen(struct listing *l, const struct profile *p, annotate_is_of *is_of,
                        const void *ctx)
{
    size_t n = 0;
    for (uint32_t i = 0; i < p->frames.n; i++)
        if (p->frames.at[i].pc && is_of(ctx, &p->frames.at[i]))
            *vec_push(&l->insns) = (struct listing_insn){
                .pc = p->frames.at[i].pc, .x.length = 1, .frame = {i}, .bytes = NULL};
    if (l->insns.n)
        qsort(l->insns.at, l->insns.n, sizeof *l->insns.at, seen_by_address);
    for (size_t i = 0; i < l->insns.n; i++)
        if (!n || l->insns.at[n - 1].pc != l->insns.at[i].pc)
            l->insns.at[n++] = l->insns.at[i];
    l->insns.n = n;
}

void annotate_parts_done(struct annotate *a)
{
    for (size_t i = 0; i < a->n_files; i++) {
        if (a->files[i].owned)
            free((char *)a->files[i].text.at);
        vec_done(&a->files[i].rows);
    }
    for (size_t i = 0; i < a->n_parts; i++)
        vec_done(&a->parts[i].lines);
    free(a->files);
    free(a->parts);
    for (size_t i = 0; a->texts && i < a->listing->insns.n; i++)
        free(a->texts[i]);
    free(a->texts);
}
