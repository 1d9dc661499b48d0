#include "source/pprof_header.h"

#include "base/buf.h"

void pprof_header_done(struct pprof_header *h)
{
    vec_done(&h->types);
    vec_done(&h->comments);
}

/* --- our own files --- */

static bool cut_prefix(struct text *t, const char *prefix)
{
    if (!text_starts(*t, prefix))
        return false;
    t->at += strlen(prefix);
    t->n -= strlen(prefix);
    return true;
}

static void find_marker(struct pprof_header *h)
{
    for (size_t i = 0; i < h->comments.n; i++)
        h->ours |= text_is(pprof_text(h->tables, h->comments.at[i]), "kelvin-export=1");
}

/* "N-decimals=2": a property of type N that pprof has no field for. */
static void type_comment(struct profile *p, struct text comment)
{
    uint64_t i, v;
    if (!text_u64(text_cut(&comment, '-'), 10, &i) || i >= (uint64_t)p->n_types)
        return;
    struct text key = text_cut(&comment, '=');
    bool number = text_u64(comment, 10, &v);
    if (text_is(key, "event"))
        p->types[i].event = profile_add_str(p, comment);
    else if (text_is(key, "decimals") && number && v <= 9)
        p->types[i].decimals = (int)v;
    else if (text_is(key, "count") && number && v < (uint64_t)p->n_types)
        p->types[i].count_type = (int)v;
}

/* Take "EVENT/" off the name and "/1000" off the unit, which the exporter put there. */
static void strip_type(struct profile *p, struct sample_type *t)
{
    struct text name = profile_str(p, t->name), unit = profile_str(p, t->unit);
    struct text event = profile_str(p, t->event);
    if (event.n && text_starts(name, event.at) && cut_prefix(&name, event.at) &&
        cut_prefix(&name, "/"))
        t->name = profile_add_str(p, name);
    size_t suffix = (size_t)t->decimals + 2;
    if (t->decimals && unit.n >= suffix && unit.at[unit.n - suffix] == '/')
        t->unit = profile_add_str(p, (struct text){unit.at, unit.n - suffix});
}

static void read_our_comments(struct pprof_header *h)
{
    enum { META_MAX = 1000 }; /* far more than we write: the list is searched from end to end */
    struct profile *p = h->tables->im->profile;
    for (size_t i = 0; i < h->comments.n; i++) {
        struct text t = pprof_text(h->tables, h->comments.at[i]);
        uint64_t v;
        if (cut_prefix(&t, "kelvin:")) {
            struct text key = text_cut(&t, '=');
            autofree char *copy = mem_strndup(key.at, key.n);
            if (key.n && p->meta.entries.n < META_MAX)
                meta_set(&p->meta, copy, t);
        } else if (cut_prefix(&t, "kelvin-type-")) {
            type_comment(p, t);
        } else if (cut_prefix(&t, "kelvin-default=") && text_u64(t, 10, &v) &&
                   v < (uint64_t)p->n_types) {
            p->default_type = (int)v;
        }
    }
    for (int i = 0; i < p->n_types; i++)
        strip_type(p, &p->types[i]);
}

/* --- types and metadata of all other files --- */

static int find_type(const struct profile *p, const char *name)
{
    for (int i = 0; i < p->n_types; i++)
        if (text_is(profile_str(p, p->types[i].name), name))
            return i;
    return -1;
}

/* The type that counts what TYPE weighs: objects for space, contentions for delay, else samples. */
static int find_count_of(const struct profile *p, int type)
{
    struct text name = profile_str(p, p->types[type].name);
    int count = -1;
    if (text_ends(name, "_space") || text_ends(name, "_bytes")) {
        autofree char *objects = mem_printf("%.*s_objects", (int)name.n - 6, name.at);
        count = find_type(p, objects);
    } else if (text_is(name, "delay")) {
        count = find_type(p, "contentions");
    }
    if (count < 0)
        count = find_type(p, "samples");
    bool counts = count >= 0 && text_is(profile_str(p, p->types[count].unit), "count");
    return counts && count != type ? count : -1;
}

static void guess_types(struct pprof_header *h)
{
    struct profile *p = h->tables->im->profile;
    for (int i = 0; i < p->n_types; i++)
        if (!text_ends(profile_str(p, p->types[i].name), "_objects"))
            p->types[i].count_type = find_count_of(p, i);
    struct text wanted = pprof_text(h->tables, h->number[14]);
    p->default_type = wanted.n ? find_type(p, wanted.at) : -1;
    if (p->default_type < 0)
        p->default_type = p->n_types - 1;
}

static void set_text(struct pprof_header *h, const char *key, uint64_t string)
{
    struct text t = pprof_text(h->tables, string);
    if (t.n)
        meta_set(&h->tables->im->profile->meta, key, t);
}

static void set_number(struct pprof_header *h, const char *key, uint64_t v)
{
    if (v && v <= INT64_MAX)
        meta_set_u64(&h->tables->im->profile->meta, key, v);
}

static void set_comments(struct pprof_header *h)
{
    autobuf struct buf all = {0};
    for (size_t i = 0; i < h->comments.n && all.n < 4096; i++) {
        struct text t = pprof_text(h->tables, h->comments.at[i]);
        if (t.n && all.n)
            buf_str(&all, "; ");
        buf_add(&all, t.at, t.n);
    }
    if (all.n)
        meta_set(&h->tables->im->profile->meta, META_COMMENT, buf_text(&all));
}

static void set_meta(struct pprof_header *h)
{
    struct meta *m = &h->tables->im->profile->meta;
    uint64_t period = h->number[12];
    struct text unit = pprof_text(h->tables, h->period_type.unit);
    set_number(h, META_TIME_NS, h->number[9]);
    set_number(h, META_DURATION_NS, h->number[10]);
    set_number(h, "period", period);
    set_text(h, "period_type", h->period_type.name);
    set_text(h, "period_unit", h->period_type.unit);
    if (text_is(unit, "nanoseconds") && period && 1000000000 % period == 0)
        meta_set_u64(m, META_RATE_HZ, 1000000000 / period);
    set_text(h, "drop_frames", h->number[7]);
    set_text(h, "keep_frames", h->number[8]);
    set_text(h, "doc_url", h->number[15]);
    set_comments(h);
}

/* "cpu" is from a timer signal when the Go runtime itself took it; then no frame is the kernel's.
 */
void pprof_header_set_kind(struct pprof_header *h)
{
    struct profile *p = h->tables->im->profile;
    bool is_go = intern_find(&p->strings, text_of("runtime.goexit")) != IDMAP_NONE ||
                 intern_find(&p->strings, text_of("runtime.main")) != IDMAP_NONE;
    bool is_cpu = find_type(p, "cpu") >= 0 && find_type(p, "samples") >= 0 &&
                  text_is(pprof_text(h->tables, h->period_type.name), "cpu");
    for (size_t i = 0; i < p->frames.n; i++)
        is_go &= p->frames.at[i].kind != FRAME_KERNEL;
    if (is_go && is_cpu)
        meta_set_str(&p->meta, META_KIND, META_KIND_TIMER);
}

int pprof_header_apply(struct pprof_header *h, struct err *err)
{
    struct profile *p = h->tables->im->profile;
    if (h->tables->strings.n == 0)
        return err_set(err, EXIT_INPUT, "no string table: the file is cut off or not pprof");
    if (h->types.n == 0)
        return err_set(err, EXIT_INPUT, "no sample type: nothing says what the values mean");
    for (size_t i = 0; i < h->types.n && i < PROFILE_MAX_TYPES; i++)
        profile_add_type(p, "", pprof_text(h->tables, h->types.at[i].name).at,
                         pprof_text(h->tables, h->types.at[i].unit).at);
    if (h->types.n > PROFILE_MAX_TYPES)
        import_note(h->tables->im, "the file has %zu sample types; the first %d were read",
                    h->types.n, PROFILE_MAX_TYPES);
    find_marker(h);
    if (h->ours) {
        read_our_comments(h);
    } else {
        guess_types(h);
        set_meta(h);
    }
    return 0;
}
