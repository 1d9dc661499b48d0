/*
 * folded.c - collapsed stacks, one per line: "main;parse;read_token 42".
 *
 * Root first, frames separated by ';', the count after the last space or tab. Names may hold
 * spaces. Two counts at the end are before and after, two columns of one stream. The number's
 * meaning is not in the file: it may be samples or a weight, so it is called "counts" and has no
 * unit.
 */
#include "source/import.h"
#include "source/sources.h"

/* Frames a stack may have. */
enum { FOLDED_MAX_DEPTH = 100000 };

struct folded {
    struct import *im;
    uint64_t lines, senseless;           /* those that are not empty; of those not like a stack */
    uint64_t misfits;                    /* the same, or with a wrong count, or one too many */
    bool has_separator;                  /* some line has a ';' */
    int stream, before_type, after_type; /* -1 until seen; plain files use after_type only */
    VEC(uint32_t) frame_of_name;         /* string id -> frame id + 1 */
    VEC(struct frame_id) frames;         /* of the current line */
};

/* The last word of LINE, cut off with the blanks before it. */
static struct text cut_last_word(struct text *line)
{
    size_t n = line->n;
    while (n && line->at[n - 1] != ' ' && line->at[n - 1] != '\t')
        n--;
    struct text word = {line->at + n, line->n - n};
    while (n && (line->at[n - 1] == ' ' || line->at[n - 1] == '\t'))
        n--;
    line->n = n;
    return word;
}

/* Whether there is a count at all, which may be wrong in some way. */
static bool ends_in_number(struct text line)
{
    struct text last = cut_last_word(&line);
    if (text_starts(last, "-"))
        last = (struct text){last.at + 1, last.n - 1};
    return last.n && last.at[0] >= '0' && last.at[0] <= '9';
}

/* "app.exe,main, 10", "a; b; 10": the last column of a table, which no frame's name ends before. */
static bool ends_in_column(struct text t)
{
    return text_ends(t, ",") || (text_ends(t, ";") && memmem(t.at, t.n, "; ", 2));
}

/*
 * Whether the text before the count may be a stack. Columns of a table are not, nor is JSON: a lone
 * function's name has no two blanks in a row.
 */
static bool may_be_stack(struct text t)
{
    if (text_starts(t, "{\"") || ends_in_column(t))
        return false;
    bool blank = true;
    for (size_t i = 0; i < t.n && !memchr(t.at, ';', t.n); i++) {
        bool is_blank = t.at[i] == ' ' || t.at[i] == '\t';
        if (t.at[i] == '\t' || (blank && is_blank))
            return false;
        blank = is_blank;
    }
    return true;
}

struct folded_line {
    struct text stack;
    int n_counts;
    int64_t count[2]; /* before, after; or only [1] */
    int decimals[2];
};

/* NULL, or why the line makes no sense. */
static const char *parse_line(struct text line, struct folded_line *ret)
{
    struct text rest = line;
    struct text last = cut_last_word(&rest);
    *ret = (struct folded_line){.n_counts = 1};
    if (last.n && last.at[0] == '-')
        return "the count is negative";
    if (!text_decimal(last, &ret->count[1], &ret->decimals[1]))
        return "no number that fits at the end of the line";
    ret->stack = rest;
    struct text first = cut_last_word(&rest);
    if (rest.n && text_decimal(first, &ret->count[0], &ret->decimals[0])) {
        ret->n_counts = 2;
        ret->stack = rest;
    }
    return ret->stack.n ? NULL : "a count without a stack";
}

/* The kind that FlameGraph's suffixes say: "_[k]" kernel, "_[j]" JIT, "_[i]" inlined. */
static enum frame_kind folded_kind_of(struct text name)
{
    if (name.n < 4 || name.at[name.n - 1] != ']' || memcmp(name.at + name.n - 4, "_[", 2) != 0)
        return FRAME_USER;
    switch (name.at[name.n - 2]) {
    case 'k':
        return FRAME_KERNEL;
    case 'j':
        return FRAME_JIT;
    case 'i':
        return FRAME_INLINED;
    case 'w':
        return FRAME_WAKER;
    }
    return FRAME_USER;
}

static struct frame_id folded_frame_of(struct folded *f, struct text name)
{
    struct profile *p = f->im->profile;
    uint32_t id = profile_add_str(p, name).i;
    while (f->frame_of_name.n <= id)
        *vec_push(&f->frame_of_name) = 0;
    uint32_t *slot = &f->frame_of_name.at[id];
    if (!*slot)
        *slot = profile_add_named_frame(p, name, folded_kind_of(name)).i + 1;
    return (struct frame_id){*slot - 1};
}

/* False for a stack that is too deep. */
static bool folded_stack_of(struct folded *f, struct text stack, struct stack_id *ret)
{
    f->frames.n = 0;
    while (stack.n && f->frames.n < FOLDED_MAX_DEPTH)
        *vec_push(&f->frames) = folded_frame_of(f, text_cut(&stack, ';'));
    if (stack.n)
        return false;
    *ret = stacks_intern(&f->im->profile->stacks, f->frames.at, f->frames.n);
    return true;
}

static void make_types(struct folded *f, int n_counts)
{
    struct profile *p = f->im->profile;
    if (f->stream >= 0)
        return;
    f->stream = profile_add_stream(p, "", OBTAINED_UNKNOWN);
    if (n_counts == 2)
        f->before_type = profile_add_value(p, f->stream, "before", "");
    f->after_type = profile_add_value(p, f->stream, n_counts == 2 ? "after" : "counts", "");
    p->default_value = (struct value_ref){f->stream, f->after_type};
}

static int folded_add_line(struct folded *f, const struct folded_line *line, struct stack_id stack,
                           struct err *err)
{
    struct profile *p = f->im->profile;
    int64_t values[2];
    int types[2] = {f->before_type, f->after_type};
    for (int i = 2 - line->n_counts; i < 2; i++) {
        struct value_ref ref = {f->stream, types[i]};
        if (profile_scale_value(p, ref, line->count[i], line->decimals[i], &values[types[i]],
                                err) != 0)
            return -1;
    }
    struct row row = {.stack = stack, .values = values};
    return profile_add_row(p, f->stream, &row, err);
}

static int folded_line(struct folded *f, struct text text, struct err *err)
{
    struct folded_line line;
    struct stack_id stack;
    const char *why = parse_line(text, &line);
    bool senseless = why ? !ends_in_number(text) : !may_be_stack(line.stack);
    f->lines++;
    f->senseless += senseless;
    f->misfits += why || senseless;
    f->has_separator |= !why && memchr(line.stack.at, ';', line.stack.n);
    if (why)
        return import_skip_line(f->im, err, "%s: '%.*s'", why, text.n < 60 ? (int)text.n : 60,
                                text.at);
    if (f->after_type >= 0 && (line.n_counts == 2) != (f->before_type >= 0)) {
        f->misfits += !senseless;
        return import_skip_line(f->im, err, "%s",
                                line.n_counts == 2 ? "two counts in a file with one per line"
                                                   : "one count in a file with two per line");
    }
    make_types(f, line.n_counts);
    struct err inner;
    if (line.count[0] == 0 && line.count[1] == 0)
        return import_skip_line(f->im, err, "the count is zero");
    if (!folded_stack_of(f, line.stack, &stack))
        return import_skip_line(f->im, err, "a stack of more than %d frames", FOLDED_MAX_DEPTH);
    if (folded_add_line(f, &line, stack, &inner) != 0)
        return err_set(err, inner.code, "line %llu: %s", (unsigned long long)f->im->in->lines,
                       inner.text);
    return 0;
}

/*
 * A few broken lines are flaws. Where most lines are, the file is something else; where no line has
 * two frames, a quarter of them is enough.
 */
static int check_is_folded(const struct folded *f, struct err *err)
{
    uint64_t wrong = f->has_separator ? f->senseless : f->misfits;
    if (wrong <= f->lines / (f->has_separator ? 2 : 4))
        return 0;
    return err_set(err, EXIT_INPUT,
                   "not folded stacks: %llu of %llu lines are not a stack and a count%s%s",
                   (unsigned long long)wrong, (unsigned long long)f->lines,
                   f->im->first_skip[0] ? "; the first: " : "", f->im->first_skip);
}

static int folded_read(struct import *im, struct err *err)
{
    struct folded f = {.im = im, .stream = -1, .before_type = -1, .after_type = -1};
    struct text line;
    int rc = 0;
    while (rc == 0 && reader_line(im->in, &line)) {
        if (line.n && line.at[line.n - 1] == '\r')
            line.n--;
        while (line.n && (line.at[line.n - 1] == ' ' || line.at[line.n - 1] == '\t'))
            line.n--;
        if (line.n == 0 || line.at[0] == '#')
            continue;
        rc = folded_line(&f, line, err);
    }
    if (rc == 0)
        rc = check_is_folded(&f, err);
    vec_done(&f.frame_of_name);
    vec_done(&f.frames);
    return rc;
}

/* Any text whose first lines mostly end in a number may be folded stacks: a low, last guess. */
static int folded_probe(struct text head, bool whole)
{
    struct text all = head;
    int good = 0, bad = 0, with_separator = 0;
    while (head.n && good + bad < 50) {
        bool complete = whole || memchr(head.at, '\n', head.n);
        struct text line = text_trim(text_cut(&head, '\n'));
        struct folded_line parsed;
        if (line.n == 0 || line.at[0] == '#' || !complete)
            continue;
        if (memchr(line.at, '\0', line.n))
            return 0;
        if (parse_line(line, &parsed) || !may_be_stack(parsed.stack))
            bad++;
        else
            good++;
        with_separator += memchr(line.at, ';', line.n) != NULL;
    }
    if (good == 0 && bad == 0) /* one line longer than the head */
        return memchr(all.at, ';', all.n) && !memchr(all.at, '\0', all.n) && may_be_stack(all) ? 5
                                                                                               : 0;
    if (good >= bad)
        return with_separator ? 30 : 10;
    return with_separator == good + bad ? 5 : 0; /* stacks, but hardly a number: say which line */
}

const struct source source_folded = {
    .name = "folded",
    .title = "folded stacks",
    .probe = folded_probe,
    .read = folded_read,
};
