/* culprit.c - the function behind a regression; see culprit.h. */
#include "suite/culprit.h"

#include "model/quantity.h"

/* Forges know files by their place in the repository. */
static void locate_culprit(struct suite_result *w, struct text name)
{
    const struct profile *p = w->recordings.n ? w->recordings.at[0].profile : w->cache;
    const char *root = getenv("GITHUB_WORKSPACE");
    autofree char *here = root ? mem_strdup(root) : getcwd(NULL, 0);
    size_t n = here ? strlen(here) : 0;
    for (size_t i = 1; i < p->functions.n && !w->culprit_file; i++) {
        const struct function *f = &p->functions.at[i];
        struct text file = profile_str(p, f->file);
        if (!text_is(name, profile_str(p, f->name).at) || !n || !text_starts(file, here) ||
            file.n <= n + 1 || file.at[n] != '/')
            continue;
        w->culprit_file = mem_strndup(file.at + n + 1, file.n - n - 1);
        w->culprit_line = f->line;
    }
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
}

/* What each name of F has of its own, by the name's id. Free it. */
static int64_t *self_by_name(const struct flat *f)
{
    int64_t *sums = mem_calloc(f->names.strings.n + 1, sizeof *sums);
    for (size_t i = 0; i < f->rows.n; i++)
        sums[f->rows.at[i].name] += f->rows.at[i].self;
    return sums;
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
    int64_t most = 0, then = 0;
    uint32_t worst = 0;
    for (uint32_t i = 0; i < now->rows.n; i++) {
        uint32_t id = intern_find(&before->names, flat_name(now, i));
        int64_t old = id == IDMAP_NONE ? 0 : sums[id];
        if (now->rows.at[i].self - old > most) {
            most = now->rows.at[i].self - old;
            worst = i;
            then = old;
        }
    }
    if (most * 1000 > now->whole) { /* a thousandth: less is start-up and luck */
        struct text name = flat_name(now, worst);
        free(w->culprit);
        w->culprit = mem_printf("%.*s: %+.1f%% instructions, %.1f%% of all", TEXT_ARG(name),
                                then ? 100 * (double)most / (double)then : 100.0,
                                100 * (double)now->rows.at[worst].self / (double)now->whole);
        locate_culprit(w, name);
    }
    flat_free(before);
}
