#include "base/buf.h"
#include "cmd/annotate.h"

/* A function of one file that the name may mean. */
struct candidate {
    struct text name;
    uint32_t mapping;
};

bool annotate_is_mapping(const struct annotate_job *job, struct mapping_id id)
{
    const struct mapping *m = &job->in.profile->mappings.at[id.i];
    return m->path.i == job->mapping.path.i && m->build_id.i == job->mapping.build_id.i;
}

static struct text annotate_name_of(const struct profile *p, const struct frame *f)
{
    return f->n_lines ? profile_function_name(p, profile_lines(p, f)->function) : (struct text){0};
}

bool annotate_is_frame(const struct annotate_job *job, const struct frame *f)
{
    return f->pc && annotate_is_mapping(job, f->mapping) &&
           annotate_name_of(job->in.profile, f).at == job->function.at;
}

static bool has_file(const struct profile *p, const struct frame *f)
{
    struct text path = profile_str(p, p->mappings.at[f->mapping.i].path);
    return f->pc && f->kind != FRAME_KERNEL && f->kind != FRAME_JIT && path.n && path.at[0] == '/';
}

/* 2 exactly, 1 in part, 0 not at all. WANTED may end in "@module". */
static int match(const struct profile *p, const struct frame *f, const char *wanted)
{
    struct text name = annotate_name_of(p, f), want = text_of(wanted);
    const char *at = strrchr(wanted, '@');
    if (text_is(name, wanted))
        return 2;
    if (at && at != wanted && text_is(profile_module_name(p, f->mapping), at + 1)) {
        want.n = (size_t)(at - wanted);
        if (name.n == want.n && memcmp(name.at, want.at, name.n) == 0)
            return 2;
    }
    return want.n && name.n && memmem(name.at, name.n, want.at, want.n) ? 1 : 0;
}

static bool same_file(const struct profile *p, uint32_t a, uint32_t b)
{
    const struct mapping *x = &p->mappings.at[a], *y = &p->mappings.at[b];
    return x->path.i == y->path.i && x->build_id.i == y->build_id.i;
}

typedef VEC(struct candidate) candidates;

static void add_candidate(candidates *c, const struct profile *p, const struct frame *f)
{
    struct text name = annotate_name_of(p, f);
    for (size_t i = 0; i < c->n; i++)
        if (c->at[i].name.at == name.at && same_file(p, c->at[i].mapping, f->mapping.i))
            return;
    if (c->n < 64)
        *vec_push(c) = (struct candidate){name, f->mapping.i};
}

static int ambiguous(const struct annotate_job *job, const candidates *c, struct err *err)
{
    autobuf struct buf b = {0};
    for (size_t i = 0; i < c->n && i < 6; i++) {
        struct text module =
            profile_module_name(job->in.profile, (struct mapping_id){c->at[i].mapping});
        buf_printf(&b, "%s%.*s@%.*s", i ? ", " : "",
                   (int)(c->at[i].name.n < 60 ? c->at[i].name.n : 60), c->at[i].name.at,
                   TEXT_ARG(module));
    }
    return err_set(err, EXIT_ERROR, "'%s' may be any of %zu: %s%s", job->wanted, c->n, buf_cstr(&b),
                   c->n > 6 ? ", ..." : "");
}

/* The function that the wanted one is inlined into, if it is nowhere else. */
static struct text inlined_into(const struct annotate_job *job)
{
    const struct profile *p = job->in.profile;
    for (size_t i = 0; i < p->frames.n; i++) {
        const struct line *lines = profile_lines(p, &p->frames.at[i]);
        for (size_t k = 1; k < p->frames.at[i].n_lines; k++)
            if (text_is(profile_function_name(p, lines[k].function), job->wanted))
                return annotate_name_of(p, &p->frames.at[i]);
    }
    return (struct text){0};
}

static int not_found(const struct annotate_job *job, struct err *err)
{
    const struct profile *p = job->in.profile;
    VEC(const char *) names = {0};
    size_t with_file = 0;
    for (size_t i = 0; i < p->frames.n; i++)
        with_file += has_file(p, &p->frames.at[i]);
    if (!with_file)
        return err_set(err, EXIT_INPUT,
                       "the profile has no addresses of code in files, only names: record with "
                       "'kelvin record', or convert from a format that keeps addresses");
    struct text outer = inlined_into(job);
    if (outer.n)
        return err_set(err, EXIT_ERROR, "'%s' is inlined wherever it ran: annotate '%.*s'",
                       job->wanted, TEXT_ARG(outer));
    for (size_t i = 1; i < p->functions.n; i++)
        *vec_push(&names) = profile_str(p, p->functions.at[i].name).at;
    *vec_push(&names) = NULL;
    const char *near = opt_nearest(job->wanted, names.at);
    int rc = near ? err_set(err, EXIT_ERROR, "no function '%s' in the profile; did you mean '%s'?",
                            job->wanted, near)
                  : err_set(err, EXIT_ERROR, "no function '%s' in the profile", job->wanted);
    vec_done(&names);
    return rc;
}

int annotate_find(struct annotate_job *job, struct err *err)
{
    const struct profile *p = job->in.profile;
    candidates found[3] = {0};
    for (size_t i = 0; i < p->frames.n; i++)
        if (has_file(p, &p->frames.at[i]))
            add_candidate(&found[match(p, &p->frames.at[i], job->wanted)], p, &p->frames.at[i]);
    const candidates *c = found[2].n ? &found[2] : &found[1];
    int rc = c->n == 1 ? 0 : c->n ? ambiguous(job, c, err) : not_found(job, err);
    if (rc == 0) {
        job->function = c->at[0].name;
        job->mapping = p->mappings.at[c->at[0].mapping];
    }
    for (int i = 0; i < 3; i++)
        vec_done(&found[i]);
    return rc;
}
