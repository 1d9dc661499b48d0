#include "base/shortname.h"
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
static int match(const struct profile *p, const struct frame *f, struct text name,
                 const char *wanted)
{
    struct text want = text_of(wanted);
    const char *at = strrchr(wanted, '@');
    if (shortname_is(name, want))
        return 2;
    if (at && at != wanted && text_is(profile_module_name(p, f->mapping), at + 1)) {
        want.n = (size_t)(at - wanted);
        if (shortname_is(name, want))
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

static void add_candidate(candidates *c, const struct profile *p, const struct frame *f,
                          struct text name)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->at[i].name.at == name.at && same_file(p, c->at[i].mapping, f->mapping.i))
            return;
    if (c->n < 64)
        *vec_push(c) = (struct candidate){name, f->mapping.i};
}

/* An error's text has room for so many bytes of names, the last one of full width. */
enum { LISTED_BYTES = 90, NAME_WIDTH = 60 };

static int ambiguous(const struct annotate_job *job, const candidates *c, const char *what,
                     struct err *err)
{
    autobuf struct buf b = {0};
    size_t listed = 0;
    while (listed < c->n && listed < 6 && b.n < LISTED_BYTES) {
        const struct candidate *one = &c->at[listed];
        struct text module =
            profile_module_name(job->in.profile, (struct mapping_id){one->mapping});
        buf_str(&b, listed++ ? ", " : "");
        shortname_add(&b, one->name, NAME_WIDTH);
        buf_printf(&b, "@%.*s", TEXT_ARG(module));
    }
    if (c->n > listed)
        buf_printf(&b, " and %zu more", c->n - listed);
    return err_set(err, EXIT_ERROR, "'%s' %s %zu functions: %s. Name one of them", job->wanted,
                   what, c->n, buf_cstr(&b));
}

/* --- functions that are only seen inlined --- */

struct inlined_search {
    int how;          /* what match() must say */
    candidates names; /* functions that match... */
    candidates hosts; /* ...and what they are inlined into */
};

static void inlined_add(struct inlined_search *s, const struct annotate_job *job,
                        const struct frame *f)
{
    const struct profile *p = job->in.profile;
    const struct line *lines = profile_lines(p, f);
    for (size_t k = 1; k < f->n_lines; k++) {
        struct text name = profile_function_name(p, lines[k].function);
        if (match(p, f, name, job->wanted) != s->how)
            continue;
        add_candidate(&s->names, p, f, name);
        add_candidate(&s->hosts, p, f, annotate_name_of(p, f));
    }
}

/* 0 with the one function that it is inlined into, 1 if no inlined function matches. */
static int inlined_find(struct annotate_job *job, int how, struct candidate *ret, struct err *err)
{
    const struct profile *p = job->in.profile;
    struct inlined_search s = {.how = how};
    for (size_t i = 0; i < p->frames.n; i++)
        if (has_file(p, &p->frames.at[i]))
            inlined_add(&s, job, &p->frames.at[i]);
    int rc = !s.names.n      ? 1
             : s.names.n > 1 ? ambiguous(job, &s.names, "matches", err)
             : s.hosts.n > 1 ? ambiguous(job, &s.hosts, "is inlined into", err)
                             : 0;
    if (rc == 0) {
        *ret = s.hosts.at[0];
        job->inlined = s.names.at[0].name;
    }
    vec_done(&s.names);
    vec_done(&s.hosts);
    return rc;
}

/* The kind of code without a file that has just the wanted name; FRAME_USER where none has. */
static enum frame_kind kind_without_file(const struct annotate_job *job)
{
    const struct profile *p = job->in.profile;
    for (size_t i = 0; i < p->frames.n; i++) {
        const struct frame *f = &p->frames.at[i];
        bool elsewhere = f->kind == FRAME_KERNEL || f->kind == FRAME_JIT;
        if (elsewhere && match(p, f, annotate_name_of(p, f), job->wanted) == 2)
            return (enum frame_kind)f->kind;
    }
    return FRAME_USER;
}

static int not_found(const struct annotate_job *job, struct err *err)
{
    enum frame_kind kind = kind_without_file(job);
    const struct profile *p = job->in.profile;
    VEC(const char *) names = {0};
    size_t with_file = 0;
    for (size_t i = 0; i < p->frames.n; i++)
        with_file += has_file(p, &p->frames.at[i]);
    if (!with_file)
        return err_set(err, EXIT_INPUT,
                       "the profile has no addresses of code in files, only names: record with "
                       "'kelvin record', or convert from a format that keeps addresses");
    if (job->wanted[0] == '[' && !strstr(job->wanted, "+0x"))
        return err_set(err, EXIT_ERROR,
                       "'%s' stands for code of which no function is known, so none can be shown",
                       job->wanted);
    if (kind != FRAME_USER)
        return err_set(err, EXIT_INPUT, "'%s' is %s: annotate shows only what is in a file",
                       job->wanted,
                       kind == FRAME_KERNEL ? "a function of the kernel" : "code made at run time");
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
    struct candidate chosen = {0};
    for (size_t i = 0; i < p->frames.n; i++) {
        const struct frame *f = &p->frames.at[i];
        if (has_file(p, f))
            add_candidate(&found[match(p, f, annotate_name_of(p, f), job->wanted)], p, f,
                          annotate_name_of(p, f));
    }
    const candidates *c = found[2].n ? &found[2] : &found[1];
    int rc = found[2].n ? 1 : inlined_find(job, 2, &chosen, err);
    if (rc > 0 && !c->n)
        rc = inlined_find(job, 1, &chosen, err);
    if (rc > 0 && c->n == 1) {
        chosen = c->at[0];
        rc = 0;
    }
    if (rc > 0)
        rc = c->n ? ambiguous(job, c, "matches", err) : not_found(job, err);
    if (rc == 0) {
        job->function = chosen.name;
        job->mapping = p->mappings.at[chosen.mapping];
    }
    for (int i = 0; i < 3; i++)
        vec_done(&found[i]);
    return rc;
}
