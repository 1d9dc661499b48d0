#include "source/perfdata_streams.h"
#include "model/meta_words.h"

void perfdata_streams_done(struct perfdata_streams *ss)
{
    vec_done(&ss->totals);
    idmap_done(&ss->total_map);
}

/* --- making them --- */

int perfdata_stream_of(struct perfdata_streams *ss, struct perfdata_event *e)
{
    struct profile *p = ss->im->profile;
    if (e->stream >= 0)
        return e->stream;
    autofree char *name = perfdata_event_name(e);
    e->stream = profile_add_stream(p, name, perfdata_event_obtained(e));
    if (e->stream < 0)
        return -1;
    profile_add_value(p, e->stream, VALUE_SAMPLES, UNIT_COUNT);
    profile_add_value(p, e->stream, name, dimension_unit(perfdata_event_dimension(e)));
    return e->stream;
}

/* --- counters that are read --- */

static struct perfdata_total *find_total(struct perfdata_streams *ss, uint64_t id, uint32_t tid)
{
    uint32_t hash = hash_pair(hash_pair((uint32_t)id, (uint32_t)(id >> 32)), tid);
    for_each_match (&ss->total_map, hash, i) {
        if (ss->totals.at[i].id == id && ss->totals.at[i].tid == tid)
            return &ss->totals.at[i];
    }
    idmap_add(&ss->total_map, hash, (uint32_t)ss->totals.n);
    struct perfdata_total *t = vec_push(&ss->totals);
    *t = (struct perfdata_total){.id = id, .tid = tid};
    return t;
}

uint64_t perfdata_streams_step(struct perfdata_streams *ss, uint64_t id, uint32_t tid,
                               uint64_t value)
{
    struct perfdata_total *t = find_total(ss, id, tid);
    uint64_t before = t->value;
    t->value = value;
    return value > before ? value - before : 0;
}

/* --- the end --- */

/* What the event is called; of a hybrid CPU's the name without the kind of core. */
static char *final_name(const struct perfdata_event *e, bool *ret_hybrid)
{
    char *name = perfdata_event_name(e), all_cores[EVENT_NAME_MAX];
    *ret_hybrid = event_of_all_cores(text_of(name), all_cores);
    if (!*ret_hybrid)
        return name;
    free(name);
    return mem_strdup(all_cores);
}

/* Since Linux 5.13 the upper half of config says on which kind of core an event counts. */
static bool is_same_on_other_cores(const struct perf_event_attr *a, const struct perf_event_attr *b)
{
    bool general = a->type == PERF_TYPE_HARDWARE || a->type == PERF_TYPE_HW_CACHE;
    return general && a->type == b->type && (uint32_t)a->config == (uint32_t)b->config &&
           a->config >> 32 && b->config >> 32 && a->config != b->config &&
           a->exclude_user == b->exclude_user && a->exclude_kernel == b->exclude_kernel;
}

/* An event before E of the same name on other cores, with a stream of its own; or NULL. */
static struct perfdata_event *find_hybrid(struct perfdata_streams *ss,
                                          const struct perfdata_event *e)
{
    bool hybrid, other;
    autofree char *name = final_name(e, &hybrid);
    for (struct perfdata_event *o = ss->events->list.at; e->stream >= 0 && o < e; o++) {
        autofree char *other_name = final_name(o, &other);
        bool same = (hybrid && other && strcmp(name, other_name) == 0) ||
                    is_same_on_other_cores(&o->attr, &e->attr);
        if (same && o->stream >= 0 && o->stream != e->stream)
            return o;
    }
    return NULL;
}

/* Which kind of core a row was counted on stays known as its label. */
static void label_hybrids(struct perfdata_streams *ss)
{
    for (size_t i = 0; i < ss->events->list.n; i++) {
        const struct perfdata_event *e = &ss->events->list.at[i];
        struct text core = perfdata_event_core(e);
        if (core.n && e->stream >= 0)
            profile_label_rows(ss->im->profile, e->stream, CORE_KEY, core);
    }
}

static int join_hybrids(struct perfdata_streams *ss, struct err *err)
{
    label_hybrids(ss);
    for (size_t i = 0; i < ss->events->list.n; i++) {
        struct perfdata_event *e = &ss->events->list.at[i], *first = find_hybrid(ss, e);
        if (!first)
            continue;
        int gone = e->stream;
        if (profile_join_streams(ss->im->profile, first->stream, gone, err) != 0)
            return -1;
        e->stream = first->stream;
        for (size_t k = 0; k < ss->events->list.n; k++)
            ss->events->list.at[k].stream -= ss->events->list.at[k].stream > gone;
    }
    return 0;
}

/* The file's order, whichever event had the first sample. */
static void sort_streams(struct perfdata_streams *ss)
{
    struct profile *p = ss->im->profile;
    struct stream *sorted[PROFILE_MAX_STREAMS];
    int new_place[PROFILE_MAX_STREAMS], n = 0;
    memset(new_place, -1, sizeof new_place);
    for (size_t i = 0; i < ss->events->list.n; i++) {
        struct perfdata_event *e = &ss->events->list.at[i];
        if (e->stream < 0)
            continue;
        int *place = &new_place[e->stream];
        if (*place < 0) {
            *place = n;
            sorted[n++] = p->streams.at[e->stream];
        }
        e->stream = *place;
    }
    memcpy(p->streams.at, sorted, (size_t)n * sizeof *sorted);
}

static void perfdata_streams_set_name(struct perfdata_streams *ss, const struct perfdata_event *e)
{
    struct profile *p = ss->im->profile;
    struct stream *s = profile_stream(p, e->stream);
    bool hybrid;
    autofree char *name = final_name(e, &hybrid);
    struct text bare = event_bare_name(text_of(name));
    s->event = profile_add_str(p, text_of(name));
    s->types[PERFDATA_WEIGHT].name = profile_add_str(p, bare.n ? bare : text_of(name));
    s->obtained = perfdata_event_obtained(e);
    if (e->attr.freq && e->attr.sample_freq)
        s->rate_hz = (double)e->attr.sample_freq;
}

static void set_ends(struct profile *p, const struct perfdata_event *e)
{
    if (!e->unwound)
        return;
    profile_stream(p, e->stream)->unfinished_known = true;
    profile_stream(p, e->stream)->guessed = e->ends[UNWIND_GUESSED];
    for (int i = 0; i < UNWIND_ENDS; i++)
        if (e->ends[i] && !unwind_end_is_bottom((enum unwind_end)i))
            profile_set_unfinished(p, e->stream, unwind_end_name((enum unwind_end)i), e->ends[i]);
}

/* Losses of an event without a sample go to the one that is shown first. */
static void set_losses(struct perfdata_streams *ss)
{
    struct profile *p = ss->im->profile;
    for (size_t i = 0; i < p->streams.n; i++)
        p->streams.at[i]->lost_known = true;
    for (size_t i = 0; i < ss->events->list.n; i++) {
        const struct perfdata_event *e = &ss->events->list.at[i];
        struct stream *s = p->streams.at[e->stream < 0 ? 0 : e->stream];
        s->lost += e->lost;
        s->throttled += e->throttled;
    }
}

/* An event that shares a stream adds its counts to those of the first. */
static void share_ends(struct perfdata_streams *ss)
{
    struct perfdata_event *list = ss->events->list.at;
    for (size_t i = 0; i < ss->events->list.n; i++)
        for (size_t k = 0; k < i && list[i].stream >= 0; k++) {
            if (list[k].stream != list[i].stream)
                continue;
            list[k].unwound += list[i].unwound;
            for (int end = 0; end < UNWIND_ENDS; end++)
                list[k].ends[end] += list[i].ends[end];
            list[i].unwound = 0;
            break;
        }
}

/* How much of the time counters counted: less where the kernel let them take turns. */
static void set_running(struct perfdata_streams *ss)
{
    autobuf struct buf b = {0};
    for (size_t i = 0; i < ss->events->list.n; i++) {
        const struct perfdata_event *e = &ss->events->list.at[i];
        autofree char *name = perfdata_event_name(e);
        meta_words_running(&b, name, e->enabled_ns, e->running_ns);
    }
    if (b.n)
        meta_set(&ss->im->profile->meta, META_RUNNING, buf_text(&b));
}

int perfdata_streams_finish(struct perfdata_streams *ss, struct err *err)
{
    struct profile *p = ss->im->profile;
    if (p->streams.n == 0)
        return 0;
    if (join_hybrids(ss, err) != 0)
        return -1;
    sort_streams(ss);
    share_ends(ss);
    for (size_t i = ss->events->list.n; i-- > 0;) { /* of two that share one the first counts */
        const struct perfdata_event *e = &ss->events->list.at[i];
        if (e->stream >= 0) {
            perfdata_streams_set_name(ss, e);
            set_ends(p, e);
        }
    }
    set_losses(ss);
    set_running(ss);
    p->default_value = (struct value_ref){0, PERFDATA_WEIGHT};
    return 0;
}
