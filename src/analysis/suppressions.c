#include "analysis/suppressions.h"

#include <stdlib.h>

void suppressions_done(struct suppressions *s)
{
    vec_done(&s->all);
    vec_done(&s->lines);
    arena_done(&s->arena);
}

/* --- patterns --- */

/* Whether all of T is PATTERN, in which * is anything and, in Valgrind's, ? any one byte. */
static bool suppression_glob(struct text pattern, struct text t, bool question)
{
    size_t i = 0, k = 0, star = SIZE_MAX, mark = 0;
    while (k < t.n) {
        if (i < pattern.n && pattern.at[i] == '*') {
            star = i++;
            mark = k;
        } else if (i < pattern.n &&
                   (pattern.at[i] == t.at[k] || (question && pattern.at[i] == '?'))) {
            i++;
            k++;
        } else if (star != SIZE_MAX) {
            i = star + 1;
            k = ++mark;
        } else
            return false;
    }
    while (i < pattern.n && pattern.at[i] == '*')
        i++;
    return i == pattern.n;
}

/* One function of a frame, or a frame without a name. */
struct suppression_spot {
    const struct function *function; /* NULL = not known */
    struct mapping_id mapping;
};

static bool function_matches(const struct suppression_line *l, const struct profile *p,
                             const struct suppression_spot *spot)
{
    const struct function *f = spot->function;
    return f && (suppression_glob(l->pattern, profile_str(p, f->name), true) ||
                 (f->system_name.i &&
                  suppression_glob(l->pattern, profile_str(p, f->system_name), true)));
}

static bool module_matches(const struct suppression_line *l, const struct profile *p,
                           const struct suppression_spot *spot, bool question)
{
    struct text path = profile_str(p, p->mappings.at[spot->mapping.i].path);
    return path.n && suppression_glob(l->pattern, path, question);
}

static bool anything_matches(const struct suppression_line *l, const struct profile *p,
                             const struct suppression_spot *spot)
{
    const struct function *f = spot->function;
    return module_matches(l, p, spot, false) ||
           (f && (suppression_glob(l->pattern, profile_str(p, f->name), false) ||
                  suppression_glob(l->pattern, profile_str(p, f->file), false)));
}

static bool line_matches(const struct suppression_line *l, const struct profile *p,
                         const struct suppression_spot *spot)
{
    switch (l->kind) {
    case SUPPRESS_FUNCTION:
        return function_matches(l, p, spot);
    case SUPPRESS_MODULE:
        return module_matches(l, p, spot, true);
    case SUPPRESS_ANYWHERE:
        return anything_matches(l, p, spot);
    case SUPPRESS_ANY_FRAMES:
        break;
    }
    return true;
}

/* --- stacks --- */

typedef VEC(struct suppression_spot) spot_list;

/* Innermost first. */
static void list_spots(const struct profile *p, struct stack_id stack, spot_list *ret)
{
    for (; stack.i; stack = p->stacks.nodes.at[stack.i].parent) {
        const struct frame *f = profile_frame(p, p->stacks.nodes.at[stack.i].frame);
        const struct line *lines = profile_lines(p, f);
        for (size_t n = f->n_lines; n-- > 0;)
            *vec_push(ret) =
                (struct suppression_spot){&p->functions.at[lines[n].function.i], f->mapping};
        if (!f->n_lines)
            *vec_push(ret) = (struct suppression_spot){NULL, f->mapping};
    }
}

/* Whether the innermost frames are LINES; a pattern with "...", so as a glob is matched. */
static bool frames_match(const struct suppression_line *lines, size_t n, const struct profile *p,
                         const spot_list *spots)
{
    size_t i = 0, k = 0, star = SIZE_MAX, mark = 0;
    while (i < n) {
        if (lines[i].kind == SUPPRESS_ANY_FRAMES) {
            star = i++;
            mark = k;
        } else if (k < spots->n && line_matches(&lines[i], p, &spots->at[k])) {
            i++;
            k++;
        } else if (star != SIZE_MAX && mark < spots->n) {
            i = star + 1;
            k = ++mark;
        } else
            return false;
    }
    return true;
}

static bool is_allocator_line(const struct suppression_line *l)
{
    static const char *const names[] = {"malloc",         "calloc",   "realloc", "reallocarray",
                                        "posix_memalign", "memalign", "valloc",  "aligned_alloc"};
    for (size_t i = 0; l->kind == SUPPRESS_FUNCTION && i < sizeof names / sizeof *names; i++)
        if (suppression_glob(l->pattern, text_of(names[i]), true))
            return true;
    return false;
}

static bool suppression_matches(const struct suppressions *s, const struct suppression *one,
                                const struct profile *p, const spot_list *spots)
{
    const struct suppression_line *lines = &s->lines.at[one->first];
    if (lines[0].kind == SUPPRESS_ANYWHERE) {
        for (size_t i = 0; i < spots->n; i++)
            if (line_matches(&lines[0], p, &spots->at[i]))
                return true;
        return false;
    }
    return frames_match(lines, one->n, p, spots) || (one->n > 1 && is_allocator_line(&lines[0]) &&
                                                     frames_match(lines + 1, one->n - 1, p, spots));
}

bool suppressions_match(const struct suppressions *s, const struct profile *p,
                        struct stack_id stack)
{
    spot_list spots = {0};
    bool found = false;
    list_spots(p, stack, &spots);
    for (size_t i = 0; i < s->all.n && !found; i++)
        found = suppression_matches(s, &s->all.at[i], p, &spots);
    vec_done(&spots);
    return found;
}

/* --- files --- */

struct suppressions_parser {
    struct suppressions *s;
    struct suppression block;
    int in_block; /* 0 = outside; else the number of the line in it */
    bool leak;
    unsigned line;
};

static bool cut_suppression_word(struct text *t, const char *word)
{
    size_t n = strlen(word);
    if (!text_starts(*t, word))
        return false;
    *t = text_trim((struct text){t->at + n, t->n - n});
    return true;
}

static void add_suppression_line(struct suppressions *s, enum suppression_kind kind,
                                 struct text pattern)
{
    *vec_push(&s->lines) = (struct suppression_line){kind, arena_text(&s->arena, pattern)};
}

/* "leak:PATTERN", open at both ends unless it says otherwise. */
static void add_leak_pattern(struct suppressions *s, struct text t)
{
    bool start = text_starts(t, "^"), end = t.n > start && text_ends(t, "$");
    t = (struct text){t.at + start, t.n - start - end};
    autofree char *pattern = mem_printf("%s%.*s%s", start ? "" : "*", TEXT_ARG(t), end ? "" : "*");
    *vec_push(&s->all) = (struct suppression){s->lines.n, 1};
    add_suppression_line(s, SUPPRESS_ANYWHERE, text_of(pattern));
}

static int frame_line(struct suppressions_parser *f, struct text t, struct err *err)
{
    struct suppressions *s = f->s;
    if (cut_suppression_word(&t, "fun:"))
        add_suppression_line(s, SUPPRESS_FUNCTION, t);
    else if (cut_suppression_word(&t, "obj:"))
        add_suppression_line(s, SUPPRESS_MODULE, t);
    else if (text_is(t, "..."))
        add_suppression_line(s, SUPPRESS_ANY_FRAMES, t);
    else if (!text_starts(t, "match-leak-kinds:"))
        return err_set(err, EXIT_INPUT, "line %u: '%.*s' is no frame; there are fun:, obj: and ...",
                       f->line, TEXT_ARG(t));
    return 0;
}

static int end_block(struct suppressions_parser *f, struct err *err)
{
    struct suppressions *s = f->s;
    f->in_block = 0;
    f->block.n = s->lines.n - f->block.first;
    if (f->leak && !f->block.n)
        return err_set(err, EXIT_INPUT, "line %u: the block has no frames", f->line);
    if (f->leak)
        *vec_push(&s->all) = f->block;
    return 0;
}

static int block_line(struct suppressions_parser *f, struct text t, struct err *err)
{
    if (text_is(t, "}"))
        return end_block(f, err);
    f->in_block++;
    if (f->in_block == 2) /* its name */
        return 0;
    if (f->in_block == 3) {
        f->leak = text_ends(t, ":Leak");
        return 0;
    }
    return f->leak ? frame_line(f, t, err) : 0;
}

static int suppressions_line(struct suppressions_parser *f, struct text t, struct err *err)
{
    if (!t.n || t.at[0] == '#')
        return 0;
    if (f->in_block)
        return block_line(f, t, err);
    if (text_is(t, "{")) {
        f->in_block = 1;
        f->leak = false;
        f->block.first = f->s->lines.n;
        return 0;
    }
    if (cut_suppression_word(&t, "leak:") && t.n) {
        add_leak_pattern(f->s, t);
        return 0;
    }
    return err_set(
        err, EXIT_INPUT,
        "line %u: neither 'leak:PATTERN' (LeakSanitizer) nor a block in braces (Valgrind)",
        f->line);
}

int suppressions_parse(struct suppressions *s, struct text file, struct err *err)
{
    struct suppressions_parser f = {.s = s};
    while (file.n) {
        f.line++;
        if (suppressions_line(&f, text_trim(text_cut(&file, '\n')), err) != 0)
            return -1;
    }
    return f.in_block ? err_set(err, EXIT_INPUT, "the last block has no '}'") : 0;
}

static const char reserves[] = "{\nexceptions\nMemcheck:Leak\nobj:*/libstdc++.so*\nobj:*/ld-*\n}\n"
                               "{\nexceptions, linked statically\nMemcheck:Leak\n...\n"
                               "fun:_GLOBAL__sub_I__ZN9__gnu_cxx9__freeresEv\n}\n"
                               "{\nstreams\nMemcheck:Leak\nfun:_IO_file_doallocate\n}\n"
                               "{\nwide streams\nMemcheck:Leak\nfun:_IO_wfile_doallocate\n}\n"
                               "{\nkelvin.h\nMemcheck:Leak\n...\nfun:kelvin_load_\n}\n";

void suppressions_add_reserves(struct suppressions *s)
{
    struct err none;
    suppressions_parse(s, text_of(reserves), &none);
}
