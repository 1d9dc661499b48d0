/* annotate_select.c - what of a function is shown: where time was spent, and a little around it. */
#include "analysis/insight.h"
#include "analysis/quality.h"
#include "base/units.h"
#include "stats/stats.h"
#include "view/annotate.h"

enum { CONTEXT = 3 }; /* lines shown before those that have code, and after the last */

bool annotate_has_inlined(const struct annotate *a)
{
    for (size_t i = 0; i < a->n_parts; i++)
        if (a->parts[i].inlined)
            return true;
    return false;
}

void annotate_words(const struct annotate *a, struct buf *b)
{
    char n[UNITS_MAX];
    double of = a->total ? 100 / (double)a->total : 0;
    buf_printf(b, "Self %.2f%%, total %.2f%% of the profile%s", of * (double)a->listing->self,
               of * (double)a->whole,
               annotate_has_inlined(a) ? ", inlined functions included" : "");
    if (a->samples >= 0)
        buf_printf(b, "; %s sample%s", units_count(n, (uint64_t)a->samples),
                   a->samples == 1 ? "" : "s");
    buf_str(b, ".\n");
    if (a->warning)
        buf_printf(b, "Warning: %s.\n", a->warning);
    if (a->samples >= 0 && a->samples < QUALITY_FEW_SAMPLES)
        buf_str(b,
                "Warning: few samples; the shares of single lines and instructions are rough.\n");
    if (a->selected)
        buf_printf(b, "Selected: %s.\n", a->selected);
    if (a->hides && annotate_has_inlined(a))
        buf_str(b, "Hidden functions that are inlined here are shown anyway: their instructions "
                   "are part of this function.\n");
    buf_printf(b, "Percentages are of this function's total %s%s. ", a->noun,
               a->samples > 0 && !a->exact
                   ? "; \xc2\xb1 is the half-width of a 95% interval for independent samples, "
                     "(low-high) are both ends of a lopsided one"
                   : "");
    buf_str(b, "Samples skid: a slow instruction's cost often lands on the next one.\n");
}

void annotate_share(struct buf *b, const struct annotate *a, int64_t part)
{
    double share = a->whole > 0 ? (double)part / (double)a->whole : 0;
    if (!part)
        return;
    bool sampled = a->samples > 0 && !a->exact;
    struct interval i = {share, share};
    if (sampled)
        i = stats_wilson(share, (double)a->samples, STATS_Z95);
    int digits = sampled && i.high - i.low < 0.001 ? 2 : 1; /* as the report has them */
    buf_printf(b, "%.*f%%", digits, 100 * share);
    if (!sampled)
        return;
    buf_str(b, " ");
    insight_interval(b, share, i, digits);
}

double annotate_heat(const struct annotate *a, int64_t self, int64_t total)
{
    int64_t most = self > total ? self : total;
    double heat = a->hottest > 0 ? (double)most / (double)a->hottest : 0;
    return heat > 1 ? 1 : heat;
}

void annotate_target(struct buf *b, const struct annotate *a, const struct listing_insn *i)
{
    bool jumps = i->x.flow == X86_BRANCH || i->x.flow == X86_JUMP;
    size_t at = jumps ? listing_find(a->listing, i->pc + (uint64_t)i->x.target) : SIZE_MAX;
    const struct frame *f = profile_frame(a->names, i->target);
    const struct line *lines = profile_lines(a->names, f);
    if (at != SIZE_MAX)
        buf_printf(b, "block %u", a->listing->insns.at[at].block + 1);
    else if (i->target.i && lines)
        buf_printf(b, "%.*s", TEXT_ARG(profile_function_name(a->names, lines[0].function)));
}

uint32_t *annotate_order(const struct annotate *a)
{
    uint32_t *order = listing_order(a->listing);
    for (uint32_t i = 0; a->by_address && i < a->listing->blocks.n; i++)
        order[i] = i;
    return order;
}

bool annotate_shows(const struct annotate *a, int64_t total)
{
    return total || a->all || !a->whole;
}

struct text annotate_row(const struct annotate *a, size_t file, uint32_t number)
{
    const struct annotate_file *f = &a->files[file];
    return number && number <= f->rows.n ? f->rows.at[number - 1] : (struct text){"", 0};
}

struct text annotate_source(const struct annotate *a, const struct annotate_place *at)
{
    for (size_t i = 0; i < a->n_files; i++)
        if (a->files[i].path.at == at->file.at)
            return annotate_row(a, i, at->line);
    return (struct text){"", 0};
}

struct annotate_range annotate_around(const struct annotate *a, const struct annotate_part *part,
                                      size_t i, uint32_t shown_to)
{
    uint32_t line = part->lines.at[i].line, most = (uint32_t)a->files[part->file].rows.n;
    if (!annotate_shows(a, part->lines.at[i].total))
        return (struct annotate_range){1, 0};
    struct annotate_range r = {line > CONTEXT ? line - CONTEXT : 1, line};
    if (!most) /* the file is not here: numbers alone need no company */
        r.from = line;
    if (r.from <= shown_to)
        r.from = shown_to + 1;
    return r;
}

/* --- the hottest lines --- */

static bool is_hotter(const struct annotate_spot *x, const struct annotate_spot *y)
{
    return x->line->total != y->line->total ? x->line->total > y->line->total
                                            : x->line->self > y->line->self;
}

/* RET has N spots, hottest first, and room for MOST. */
static size_t annotate_select_insert(struct annotate_spot *ret, size_t n, size_t most,
                                     struct annotate_spot new)
{
    if (n == most && !is_hotter(&new, &ret[n - 1]))
        return n;
    size_t at = n < most ? n++ : n - 1;
    for (; at && is_hotter(&new, &ret[at - 1]); at--)
        ret[at] = ret[at - 1];
    ret[at] = new;
    return n;
}

size_t annotate_hottest(const struct annotate *a, size_t n, struct annotate_spot *ret)
{
    size_t found = 0;
    for (size_t p = 0; p < a->n_parts; p++)
        for (size_t i = 0; i < a->parts[p].lines.n; i++)
            if (a->parts[p].lines.at[i].total)
                found = annotate_select_insert(
                    ret, found, n, (struct annotate_spot){&a->parts[p], &a->parts[p].lines.at[i]});
    return found;
}

bool annotate_left_out(const struct annotate *a, struct buf *b)
{
    char n[UNITS_MAX];
    size_t blocks = 0, insns = 0;
    for (size_t i = 0; i < a->listing->blocks.n; i++) {
        const struct listing_block *block = &a->listing->blocks.at[i];
        bool shown = annotate_shows(a, block->most);
        blocks += !shown;
        insns += shown ? 0 : block->n;
    }
    if (!blocks)
        return false;
    buf_printf(b, "%s block%s with ", units_count(n, blocks), blocks == 1 ? "" : "s");
    buf_printf(b, "%s instruction%s, never seen running, left out.", units_count(n, insns),
               insns == 1 ? "" : "s");
    return true;
}
