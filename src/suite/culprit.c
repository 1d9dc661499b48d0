/* culprit.c - the function behind a regression; see culprit.h. */
#include "suite/culprit.h"

#include "base/units.h"
#include "model/quantity.h"

/* Where NAME is in P, relative to the project: forges know files by their place in the repository.
 * False where it is not there, or not known. Free *RET_FILE. */
static bool find_place(const struct profile *p, struct text name, char **ret_file,
                       uint32_t *ret_line)
{
    const char *root = getenv("GITHUB_WORKSPACE");
    autofree char *here = root ? mem_strdup(root) : getcwd(NULL, 0);
    size_t n = here ? strlen(here) : 0;
    for (size_t i = 1; i < p->functions.n && n; i++) {
        const struct function *f = &p->functions.at[i];
        struct text file = profile_str(p, f->file);
        if (!text_is(name, profile_str(p, f->name).at) || !text_starts(file, here) ||
            file.n <= n + 1 || file.at[n] != '/')
            continue;
        *ret_file = mem_strndup(file.at + n + 1, file.n - n - 1);
        *ret_line = f->line;
        return true;
    }
    return false;
}

static void locate_culprit(struct suite_result *w, struct text name)
{
    const struct profile *p = w->recordings.n ? w->recordings.at[0].profile : w->cache;
    free(w->culprit_file);
    w->culprit_file = NULL;
    find_place(p, name, &w->culprit_file, &w->culprit_line);
}

/* --- who in the program called for it --- */

/* Neither a library nor the kernel nor code without a file. */
static bool is_of_program(const struct profile *p, const struct frame *f)
{
    struct text path = profile_str(p, p->mappings.at[f->mapping.i].path);
    return f->mapping.i && path.n && path.at[0] == '/' && !memmem(path.at, path.n, ".so", 3);
}

/* The innermost function of F; 0 = none is known. */
static uint32_t innermost_of(const struct profile *p, const struct frame *f)
{
    return f->n_lines ? profile_lines(p, f)[f->n_lines - 1].function.i : 0;
}

/* The first function of the program above a stack that ends in NAME; 0 = NAME is the program's own,
 * or nothing is known. */
static uint32_t caller_on_stack(const struct profile *p, struct stack_id stack, struct text name)
{
    const struct frame *f = profile_frame(p, p->stacks.nodes.at[stack.i].frame);
    uint32_t id = innermost_of(p, f);
    if (!stack.i || !id || !text_is(name, profile_str(p, p->functions.at[id].name).at))
        return 0;
    if (is_of_program(p, f))
        return 0;
    while ((stack = p->stacks.nodes.at[stack.i].parent).i) {
        f = profile_frame(p, p->stacks.nodes.at[stack.i].frame);
        if (is_of_program(p, f))
            return innermost_of(p, f);
    }
    return 0;
}

/* Of the recorded stacks that end in NAME: the function of the program that most of them have. */
static struct text caller_in_recording(const struct suite_result *w, struct text name)
{
    if (!w->recordings.n)
        return (struct text){0};
    const struct selection *s = &w->recordings.at[0].selection;
    const struct profile *p = s->profile;
    autofree int64_t *sums = mem_calloc(p->functions.n + 1, sizeof *sums);
    uint32_t most = 0;
    for (size_t i = 0; i < s->n_rows; i++) {
        size_t row = selection_row(s, i);
        uint32_t caller = caller_on_stack(p, s->stream->rows.stack[row], name);
        sums[caller] += caller ? selection_values(s)[row] : 0;
        most = sums[caller] > sums[most] ? caller : most;
    }
    return most ? profile_str(p, p->functions.at[most].name) : (struct text){0};
}

/* NAME, whose place is in w->culprit_file where it is the project's own; else who called it. */
static void add_caller(struct suite_result *w, struct text name)
{
    if (w->culprit_file)
        return;
    struct text caller = caller_in_recording(w, name);
    if (!caller.n)
        return;
    char *with = mem_printf("%s; most called from %.*s", w->culprit, TEXT_ARG(caller));
    free(w->culprit);
    w->culprit = with;
    locate_culprit(w, caller);
}

void culprit_by_time(struct suite_result *w)
{
    const struct diff *d = w->diff;
    const struct diff_entry *worst = diff_most_grown(d);
    if (!worst)
        return;
    struct text name = diff_name(d, worst);
    w->culprit = mem_printf("%.*s: %.1f%% of the time before, %.1f%% now%s", TEXT_ARG(name),
                            100 * worst->self.before, 100 * worst->self.after,
                            worst->self.proven && w->before_beside ? "" : " (not proven)");
    locate_culprit(w, name);
    add_caller(w, name);
}

/* --- by count --- */

/* What each name of F has of its own, by the name's id. Free it. */
static int64_t *self_by_name(const struct flat *f)
{
    int64_t *sums = mem_calloc(f->names.strings.n + 1, sizeof *sums);
    for (size_t i = 0; i < f->rows.n; i++)
        sums[f->rows.at[i].name] += f->rows.at[i].self;
    return sums;
}

/* "+12.0% instructions", and as numbers where a percentage says nothing. */
static void say_grown(struct buf *b, int64_t before, int64_t now)
{
    char from[UNITS_MAX], to[UNITS_MAX];
    if (before > 0 && now / 10 < before)
        buf_printf(b, "%+.1f%% instructions", 100 * (double)(now - before) / (double)before);
    else
        buf_printf(b, "%s -> %s instructions", units_scaled(from, (double)before, SCALED_COUNT),
                   units_scaled(to, (double)now, SCALED_COUNT));
}

/* The row that grew most; of the project's own files only, where OWN says so. */
struct grown {
    uint32_t row;
    int64_t before, by;
};

static bool is_own_file(const struct suite_result *w, struct text name)
{
    autofree char *file = NULL;
    uint32_t line;
    return find_place(w->cache, name, &file, &line);
}

static struct grown find_grown(const struct suite_result *w, const struct flat *before,
                               const int64_t *sums, bool own)
{
    const struct flat *now = w->misses_report.functions;
    struct grown most = {0};
    for (uint32_t i = 0; i < now->rows.n; i++) {
        uint32_t id = intern_find(&before->names, flat_name(now, i));
        int64_t old = id == IDMAP_NONE ? 0 : sums[id], by = now->rows.at[i].self - old;
        /* a thousandth: less is start-up and luck */
        if (by > most.by && by * 1000 > now->whole && (!own || is_own_file(w, flat_name(now, i))))
            most = (struct grown){i, old, by};
    }
    return most;
}

/* Counts have no callers: of a library's function a recording knows them, else the project's own
 * function that grew most stands beside it. */
static void add_own_grown(struct suite_result *w, const struct flat *before, const int64_t *sums)
{
    const struct flat *now = w->misses_report.functions;
    struct grown own = find_grown(w, before, sums, true);
    autobuf struct buf b = {0};
    if (!own.by)
        return;
    struct text name = flat_name(now, own.row);
    buf_printf(&b, "%s; in the project's own code %.*s: ", w->culprit, TEXT_ARG(name));
    say_grown(&b, own.before, own.before + own.by);
    free(w->culprit);
    w->culprit = mem_strdup(buf_cstr(&b));
    locate_culprit(w, name);
}

void culprit_by_count(struct suite_result *w)
{
    struct value_ref value;
    if (!w->has_cache_report || !w->before_cache ||
        !simulated_pick(w->before_cache, SIMULATED_INSTRUCTIONS, &value))
        return;
    const struct flat *now = w->misses_report.functions;
    struct selection then_all = selection_all(w->before_cache, value);
    struct flat *before = flat_build(&then_all, FLAT_FUNCTION);
    autofree int64_t *sums = self_by_name(before);
    struct grown most = find_grown(w, before, sums, false);
    if (most.by) {
        struct text name = flat_name(now, most.row);
        autobuf struct buf b = {0};
        buf_printf(&b, "%.*s: ", TEXT_ARG(name));
        say_grown(&b, most.before, most.before + most.by);
        buf_printf(&b, ", %.1f%% of all",
                   100 * (double)now->rows.at[most.row].self / (double)now->whole);
        free(w->culprit);
        w->culprit = mem_strdup(buf_cstr(&b));
        locate_culprit(w, name);
        add_caller(w, name);
        if (!w->culprit_file)
            add_own_grown(w, before, sums);
    }
    flat_free(before);
}
