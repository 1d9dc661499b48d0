#include "view/annotate.h"

#include "base/units.h"

static void put_share(FILE *out, int64_t part, int64_t whole)
{
    if (part && whole)
        fprintf(out, "%7.2f%% ", 100 * (double)part / (double)whole);
    else
        fputs("         ", out);
}

/* Tabs become blanks, other control characters question marks. */
static void put_text(FILE *out, struct text t, size_t most)
{
    for (size_t i = 0; i < t.n && i < most; i++) {
        unsigned char c = (unsigned char)t.at[i];
        if (c == '\t')
            fputs("    ", out);
        else
            putc(c < ' ' || c == 0x7f ? '?' : c, out);
    }
}

static void print_head(FILE *out, const struct annotate *a)
{
    char n[UNITS_MAX];
    fprintf(out, "%s (%s): ", a->function, a->module);
    fprintf(out, "%.2f %% of the profile is spent in it",
            a->total ? 100 * (double)a->listing->self / (double)a->total : 0);
    if (a->samples >= 0)
        fprintf(out, ", %s samples", units_count(n, (uint64_t)a->samples));
    fputs("\n", out);
    if (a->warning)
        fprintf(out, "warning: %s\n", a->warning);
    if (a->samples >= 0 && a->samples < 200)
        fputs("warning: few samples; the shares of single lines and instructions are rough\n", out);
    fputs("Shares are of the function's own time; 'i' marks code inlined from other functions.\n",
          out);
}

static void print_hottest(FILE *out, const struct annotate *a, uint32_t number)
{
    const struct listing_block *b = &a->listing->blocks.at[number];
    const struct listing_insn *first = &a->listing->insns.at[b->first];
    if (!b->self)
        return;
    fprintf(out, "Hottest: block %u at %llx, %.1f %% of the function in %zu instructions%s.\n",
            number + 1, (unsigned long long)first->pc,
            100 * (double)b->self / (double)a->listing->self, b->n, b->loop ? ", a loop" : "");
}

/* --- source --- */

static void print_row(FILE *out, const struct annotate *a, const struct annotate_file *f,
                      uint32_t number, const struct annotate_line *line)
{
    put_share(out, line ? line->self : 0, a->listing->self);
    fprintf(out, "%c %6u  ", line ? (line->inlined ? 'i' : '.') : ' ', number);
    if (number <= f->rows.n)
        put_text(out, f->rows.at[number - 1], 160);
    fputs("\n", out);
}

enum { CONTEXT = 3 }; /* lines shown around those that have code */

static void print_file(FILE *out, const struct annotate *a, const struct annotate_file *f)
{
    fputs("\n", out);
    put_text(out, f->path, f->path.n);
    fprintf(out, "%s%s\n", f->note ? ": " : "", f->note ? f->note : "");
    uint32_t next = 1; /* the first line not printed yet */
    for (size_t i = 0; i < f->lines.n; i++) {
        const struct annotate_line *l = &f->lines.at[i];
        uint32_t around = f->rows.n ? CONTEXT : 0;
        uint32_t from = l->line > around ? l->line - around : 1;
        if (from > next && i)
            fputs("               ...\n", out);
        for (uint32_t k = from > next ? from : next; k < l->line && f->rows.n; k++)
            print_row(out, a, f, k, NULL);
        print_row(out, a, f, l->line, l);
        next = l->line + 1;
    }
}

/* --- instructions --- */

static void print_insn(FILE *out, const struct annotate *a, struct asmtext *t,
                       const struct listing_insn *i)
{
    struct annotate_place at;
    put_share(out, i->self, a->listing->self);
    fprintf(out, "%8llx  %-44s %-10s", (unsigned long long)i->pc, asmtext_of(t, i),
            annotate_class(&i->x));
    if (annotate_place(a, i, &at)) {
        fprintf(out, " %c%6u  ", at.inlined ? 'i' : ' ', at.line);
        struct text source = text_trim(annotate_source(a, &at));
        if (at.inlined) {
            put_text(out, at.function, 60);
            fputs(": ", out);
        }
        put_text(out, source, 70);
    }
    fputs("\n", out);
}

static void print_block(FILE *out, const struct annotate *a, struct asmtext *t, uint32_t number)
{
    const struct listing_block *b = &a->listing->blocks.at[number];
    fprintf(out, "\nblock %u%s", number + 1, b->loop ? ", a loop" : "");
    if (b->self)
        fprintf(out, ", %.2f %%", 100 * (double)b->self / (double)a->listing->self);
    fputs("\n", out);
    for (size_t i = 0; i < b->n; i++)
        print_insn(out, a, t, &a->listing->insns.at[b->first + i]);
}

int annotate_print(FILE *out, const struct annotate *a)
{
    struct asmtext *t = asmtext_open();
    if (!t)
        return -1;
    autofree uint32_t *order = listing_order(a->listing);
    print_head(out, a);
    if (a->listing->blocks.n)
        print_hottest(out, a, order[0]);
    for (size_t i = 0; i < a->n_files; i++)
        print_file(out, a, &a->files[i]);
    for (size_t i = 0; i < a->listing->blocks.n; i++)
        print_block(out, a, t, order[i]);
    asmtext_close(t);
    return 0;
}
