/* selection_stacks.c - stacks that are changed on the way: collapsed modules and recursion,
 * subtrees. */
#include "analysis/label.h"
#include "analysis/restack.h"
#include "analysis/selection_inner.h"

static bool has_any(const char *const *list)
{
    return list && list[0];
}

/* Let S and the rest of the job see what R makes of the profile. */
static void selection_take(struct selection_job *job, struct selection *s, struct restack *r)
{
    s->restacks[s->restacks[0] ? 1 : 0] = r;
    s->profile = job->p = restack_profile(r);
    s->stream = job->stream = profile_stream(s->profile, s->value.stream);
}

/* --- modules --- */

/* What a module is called in lists. */
static struct text module_of(const struct profile *p, uint32_t mapping)
{
    return mapping ? profile_module_name(p, (struct mapping_id){mapping}) : text_of("[kernel]");
}

static size_t mark_modules(const struct profile *p, const struct pattern *re, uint32_t *marks)
{
    size_t n = 0;
    for (uint32_t i = 0; i < p->mappings.n; i++) {
        struct text name = module_of(p, i);
        if (!name.n || !pattern_fits(re, name.at))
            continue;
        uint32_t first = i;
        for (uint32_t k = 0; k < i && first == i; k++)
            if (p->mappings.at[k].path.i == p->mappings.at[i].path.i && k)
                first = k;
        marks[i] = first + 1;
        n++;
    }
    return n;
}

static int match_modules(struct selection_job *job, uint32_t *marks)
{
    for (const char *const *at = job->opts->collapse_modules; *at; at++) {
        struct pattern re;
        selection_names names = {0};
        if (pattern_init(&re, *at, false, job->err) != 0)
            return -1;
        size_t n = mark_modules(job->p, &re, marks);
        pattern_done(&re);
        for (uint32_t i = 1; !n && i < job->p->mappings.n; i++)
            selection_add_name(&names, module_of(job->p, i).at);
        int rc = n ? 0 : selection_none(job, "module", *at, &names);
        vec_done(&names);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* --- recursion --- */

static int match_recursion(struct selection_job *job, const struct labels *l, uint8_t *marks)
{
    for (const char *const *at = job->opts->collapse_recursion; *at; at++) {
        struct pattern re;
        size_t n = 0;
        selection_names names = {0};
        if (pattern_init(&re, *at, false, job->err) != 0)
            return -1;
        for (uint32_t i = 0; i < l->at.n; i++) {
            bool is = pattern_fits(&re, labels_text(l, i).at);
            marks[i] |= is;
            n += is;
            if (!is)
                *vec_push(&names) = labels_text(l, i).at;
        }
        pattern_done(&re);
        int rc = n ? 0 : selection_none(job, "function", *at, &names);
        vec_done(&names);
        if (rc != 0)
            return rc;
    }
    return 0;
}

int selection_collapse(struct selection_job *job, struct selection *s)
{
    const struct selection_opts *o = job->opts;
    bool modules = has_any(o->collapse_modules), recursion = has_any(o->collapse_recursion);
    struct labels l;
    if (!modules && !recursion)
        return 0;
    labels_build(&l, job->p, &(struct label_opts){.merge_kinds = true});
    autofree uint32_t *of_mapping = mem_calloc(job->p->mappings.n + 1, sizeof *of_mapping);
    autofree uint8_t *of_label = mem_calloc(l.at.n + 1, 1);
    int rc = modules ? match_modules(job, of_mapping) : 0;
    if (rc == 0 && recursion)
        rc = match_recursion(job, &l, of_label);
    if (rc == 0)
        selection_take(job, s,
                       restack_collapse(job->p, s->value.stream, &l, modules ? of_mapping : NULL,
                                        recursion ? of_label : NULL));
    labels_done(&l);
    selection_add_words(job, "collapsed", o->collapse_modules);
    selection_add_words(job, "recursion collapsed of", o->collapse_recursion);
    return rc;
}

/* --- subtrees --- */

/* "a;b\;c" taken apart at the semicolons that no backslash precedes; the texts are in ARENA. */
typedef VEC(struct text) path_parts;

static void split_path(const char *path, struct arena *arena, path_parts *ret)
{
    autobuf struct buf b = {0};
    for (const char *c = path;; c++) {
        if (*c == '\0' || *c == ';') {
            *vec_push(ret) = arena_text(arena, buf_text(&b));
            b.n = 0;
            if (!*c)
                return;
        } else {
            c += *c == '\\' && c[1];
            buf_byte(&b, (uint8_t)*c);
        }
    }
}

int selection_descend(struct selection_job *job, struct selection *s)
{
    const char *path = job->opts->subtree;
    struct arena arena = {0};
    path_parts parts = {0};
    if (!path)
        return 0;
    split_path(path, &arena, &parts);
    struct restack *r = restack_subtree(s, &(struct restack_path){parts.at, parts.n}, job->out);
    vec_done(&parts);
    arena_done(&arena);
    if (!r)
        return err_set(job->err, EXIT_ERROR,
                       "no stack begins with '%s': name the functions from main or the thread's "
                       "first function on, with ';' between them; 'kelvin fold' lists the stacks",
                       path);
    selection_take(job, s, r);
    selection_add_words(job, "below", (const char *const[]){path, NULL});
    return 0;
}
