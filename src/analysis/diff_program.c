/*
 * diff_program.c - whether two profiles are of different programs, or of one program that was asked
 * to do different work.
 *
 * A program that was built anew, or has another name, keeps most of its functions' names.
 */
#include "analysis/diff.h"
#include "base/words.h"
#include "model/meta_program.h"

static bool command_words(const struct profile *p, struct words *w)
{
    const char *command = meta_find(&p->meta, META_COMMAND);
    struct err ignored = {0};
    return command && words_split(w, text_of(command), WORDS_BLANKS, &ignored) == 0 && w->at.n;
}

static bool texts_are_same(struct text a, struct text b)
{
    return a.n == b.n && memcmp(a.at, b.at, a.n) == 0;
}

/* --- programs --- */

/* Every program has one of these. */
static bool is_in_all(struct text name)
{
    static const char *const names[] = {"main", "_start", "_init", "_fini", NULL};
    return text_is_one_of(name, names);
}

/* The functions on stacks that the file NAME has, as far as they have names. */
static void add_own_functions(struct intern *in, const struct profile *p, struct text name)
{
    for (size_t i = 0; i < p->frames.n; i++) {
        const struct frame *f = profile_frame(p, (struct frame_id){(uint32_t)i});
        if (!f->n_lines || !texts_are_same(profile_module_name(p, f->mapping), name))
            continue;
        struct text function = profile_function_name(p, profile_lines(p, f)->function);
        if (function.n && !profile_name_is_place(function) && !is_in_all(function))
            intern_add(in, function);
    }
}

static bool builds_are_same(const struct profile *x, struct text a, const struct profile *y,
                            struct text b)
{
    for (uint32_t i = 0; i < x->mappings.n; i++)
        for (uint32_t k = 0; k < y->mappings.n; k++) {
            struct text m = profile_str(x, x->mappings.at[i].build_id),
                        n = profile_str(y, y->mappings.at[k].build_id);
            if (m.n && texts_are_same(m, n) &&
                texts_are_same(profile_module_name(x, (struct mapping_id){i}), a) &&
                texts_are_same(profile_module_name(y, (struct mapping_id){k}), b))
                return true;
        }
    return false;
}

/* "app" of "app-new" and "app.old". */
static struct text stem_of(struct text name)
{
    return (struct text){name.at, strcspn(name.at, "-_.0123456789")};
}

static size_t count_strings(const struct intern *in)
{
    return in->strings.n - 1; /* [0] = "" */
}

/* Less than a third of the shorter list is in both. */
static bool functions_are_others(const struct intern *mine, const struct intern *theirs)
{
    size_t n = 0, few = count_strings(mine) < count_strings(theirs) ? count_strings(mine)
                                                                    : count_strings(theirs);
    for (uint32_t i = 1; i < mine->strings.n; i++)
        n += intern_find(theirs, intern_get(mine, i)) != IDMAP_NONE;
    return n * 3 < few;
}

/* Where functions have no names, the names of the files have to do. */
static bool programs_differ(const struct profile *x, struct text a, const struct profile *y,
                            struct text b)
{
    struct intern mine, theirs;
    if (texts_are_same(a, b) || builds_are_same(x, a, y, b))
        return false;
    intern_init(&mine);
    intern_init(&theirs);
    add_own_functions(&mine, x, a);
    add_own_functions(&theirs, y, b);
    bool named = count_strings(&mine) && count_strings(&theirs),
         others =
             named ? functions_are_others(&mine, &theirs) : !texts_are_same(stem_of(a), stem_of(b));
    intern_done(&mine);
    intern_done(&theirs);
    return others;
}

void diff_programs(const struct profile *x, const struct profile *y, struct buf *b)
{
    autobuf struct buf mine = {0}, theirs = {0};
    if (meta_program(&x->meta, &mine) && meta_program(&y->meta, &theirs) &&
        programs_differ(x, text_of(buf_cstr(&mine)), y, text_of(buf_cstr(&theirs))))
        buf_printf(b, "the program differs: '%s' and '%s'\n", buf_cstr(&mine), buf_cstr(&theirs));
}

/* --- arguments --- */

/* The words between those that both sides have, with the option they belong to: "-O 2". */
static void add_between(struct buf *b, const struct words *w, size_t from, size_t to)
{
    enum { SHOWN = 60 };
    autobuf struct buf line = {0};
    if (from > 1 && w->at.at[from - 1][0] == '-')
        from--;
    words_join(&line, w->at.at + from, to > from ? to - from : 0);
    if (line.n > SHOWN)
        buf_printf(b, "'%.*s..'", SHOWN - 2, buf_cstr(&line));
    else
        buf_printf(b, line.n ? "'%s'" : "none", buf_cstr(&line));
}

static void add_arguments(struct buf *b, const struct words *x, const struct words *y)
{
    size_t n = x->at.n, m = y->at.n, from = 1;
    while (from < n && from < m && strcmp(x->at.at[from], y->at.at[from]) == 0)
        from++;
    while (n > from && m > from && strcmp(x->at.at[n - 1], y->at.at[m - 1]) == 0) {
        n--;
        m--;
    }
    if (n <= from && m <= from)
        return;
    buf_str(b, "the arguments differ: ");
    add_between(b, x, from, n);
    buf_str(b, " before, ");
    add_between(b, y, from, m);
    buf_str(b, " after");
}

/* "(2 arguments not shown)" of a line that ends so: how many is all that a page knows of them. */
static const char *hidden_part(const char *line)
{
    const char *part = strrchr(line, '(');
    return part ? part : "";
}

static bool hides_arguments(const struct profile *p)
{
    const char *command = meta_find(&p->meta, META_COMMAND);
    return command && words_hidden(command);
}

bool diff_arguments_hidden(const struct profile *x, const struct profile *y)
{
    return hides_arguments(x) || hides_arguments(y);
}

void diff_arguments(const struct profile *x, const struct profile *y, struct buf *b)
{
    struct words before = {0}, after = {0};
    const char *mine = meta_find(&x->meta, META_COMMAND),
               *theirs = meta_find(&y->meta, META_COMMAND);
    bool x_hidden = hides_arguments(x), y_hidden = hides_arguments(y);
    if (x_hidden && y_hidden && strcmp(hidden_part(mine), hidden_part(theirs)) != 0)
        buf_str(b, "the arguments differ");
    else if (!x_hidden && !y_hidden && command_words(x, &before) && command_words(y, &after))
        add_arguments(b, &before, &after);
    words_done(&before);
    words_done(&after);
}
