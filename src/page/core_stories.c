/*
 * core_stories.c - answers that commands of the terminal give too, printed by their own code: a
 * member that holds what the command writes with --format json.
 */
#include "analysis/heapstory.h"
#include "analysis/lockstory.h"
#include "analysis/scopetree.h"
#include "analysis/waitsum.h"
#include "page/core_inner.h"
#include "view/caption.h"
#include "view/heapstory.h"
#include "view/info.h"
#include "view/lockstory.h"
#include "view/report.h"
#include "view/scopetree.h"
#include "view/waitsum.h"

#include <math.h>

void printed_open(struct printed *p)
{
    *p = (struct printed){0};
    p->out = open_memstream(&p->at, &p->n);
}

void printed_put(struct printed *p, struct json *j, const char *key)
{
    fclose(p->out);
    while (p->n && p->at[p->n - 1] == '\n')
        p->n--;
    json_key(j, key);
    json_raw(j, (struct text){p->at, p->n});
    free(p->at);
}

const char *core_subject(const struct profile *p)
{
    const char *source = meta_find(&p->meta, META_SOURCE);
    return source ? source : "the recording";
}

static const struct profile *profile_of(struct core *c, const struct question *q, struct err *err)
{
    if (!c->profile[q->file])
        err_set(err, EXIT_ERROR, "file %lld is not loaded", (long long)q->file);
    return c->profile[q->file];
}

/* --- what is here --- */

/* Asked once for each file: to know whether there is a story, it is built. */
static struct core_panes core_panes_of(struct core *c, int64_t file)
{
    struct core_panes *known = &c->panes[file];
    struct heapstory heap;
    struct lockstory locks;
    struct err ignored;
    if (known->known)
        return *known;
    known->heap = heapstory_build(&heap, c->profile[file], NULL, &ignored) == 0;
    known->locks = lockstory_build(&locks, c->profile[file], &ignored) == 0;
    known->known = true;
    heapstory_done(&heap);
    lockstory_done(&locks);
    return *known;
}

static void put_panes(struct json *j, struct core *c, int64_t file)
{
    const struct profile *p = c->profile[file];
    struct core_panes has = core_panes_of(c, file);
    struct waitstream waits;
    json_key(j, "panes");
    json_open(j, '{');
    json_put_bool(j, "heap", has.heap);
    json_put_bool(j, "locks", has.locks);
    json_put_bool(j, "scopes", scopetree_stream(p) >= 0);
    json_put_bool(j, "waits", waitstream_find(p, &waits));
    json_put_bool(j, "events", core_has_events(p));
    json_close(j, '}');
}

static void put_buf(struct json *j, const char *key, struct buf *b)
{
    json_put_str(j, key, buf_cstr(b));
    b->n = 0;
}

int core_about(struct core *c, const struct question *q, struct json *j, struct err *err)
{
    struct core_view *v = core_view(c, q, err);
    struct printed info;
    if (!v)
        return -1;
    const struct selection *s = &v->selection;
    const struct profile *p = s->profile;
    autobuf struct buf b = {0};
    printed_open(&info);
    info_print_json(info.out, s);
    printed_put(&info, j, "info");
    caption_build(&b, s);
    put_buf(j, "caption", &b);
    caption_warnings(&b, s);
    put_buf(j, "warnings", &b);
    json_put_str(j, "subject", core_subject(p));
    json_put_str(j, "selected", s->words);
    json_key(j, "event");
    json_text(j, profile_str(p, s->stream->event));
    json_key(j, "value");
    json_text(j, profile_str(p, selection_value(s)->name));
    json_key(j, "unit");
    json_text(j, profile_str(p, selection_value(s)->unit));
    json_put_str(j, "noun", quantity_noun(selection_quantity(s)));
    json_put_uint(j, "decimals", (uint64_t)selection_value(s)->decimals);
    json_key(j, "whole");
    json_int(j, s->total);
    json_key(j, "samples");
    if (s->count_type >= 0)
        json_int(j, s->n_samples);
    else
        json_null(j);
    json_put_number(j, "time_ns", report_time_of(s));
    json_put_bool(j, "timed", stream_has_time(s->stream));
    put_panes(j, c, q->file);
    return 0;
}

/* --- reports --- */

int core_report(struct core *c, const struct question *q, struct json *j, struct err *err)
{
    struct core_view *v = core_view(c, q, err);
    struct printed out;
    struct report r;
    if (!v)
        return -1;
    struct report_opts o = {
        .top = 15, .functions = core_flat(v, FLAT_FUNCTION), .outline = q->brief};
    if (report_build(&r, &v->selection, &o, err) != 0) {
        report_done(&r);
        return -1;
    }
    printed_open(&out);
    report_print_json(out.out, &r);
    report_done(&r);
    printed_put(&out, j, "report");
    return 0;
}

/* Of the functions whose code came along the one with the most time of its own; or NULL. */
static const char *hottest_with_code(struct core_view *v, const struct page_code *code)
{
    enum { LOOKED_AT = 200 };
    uint32_t rows[LOOKED_AT];
    const struct flat *f = core_flat(v, FLAT_FUNCTION);
    size_t n = flat_top(f, FLAT_SELF, LOOKED_AT, rows);
    for (size_t i = 0; i < n; i++)
        if (page_code_has(code, v->selection.profile, flat_name(f, rows[i]).at))
            return flat_name(f, rows[i]).at;
    return NULL;
}

/* Of FUNCTION; without one, of the hottest that there is code of. */
int core_code(struct core *c, const struct question *q, struct json *j, struct err *err)
{
    struct core_view *v = core_view(c, q, err);
    struct printed out;
    const char *name = v && !q->function ? hottest_with_code(v, c->code[q->file]) : q->function;
    if (!v || !name)
        return v ? err_set(err, EXIT_ERROR,
                           "no code of a function that ran in what is selected is in this page")
                 : -1;
    printed_open(&out);
    int rc = page_code_print(out.out, c->code[q->file], &v->selection, name, err);
    if (rc == 0) {
        json_put_str(j, "function", name);
        printed_put(&out, j, "code");
    } else {
        fclose(out.out);
        free(out.at);
    }
    return rc;
}

int core_heap(struct core *c, const struct question *q, struct json *j, struct err *err)
{
    const struct profile *p = profile_of(c, q, err);
    struct heapstory story;
    struct printed out;
    if (!p)
        return -1;
    int rc = heapstory_build(&story, p, NULL, err);
    if (rc == 0 && q->time)
        rc = heapstory_between(&story, q->time, err);
    if (rc == 0) {
        printed_open(&out);
        heapstory_print_json(out.out, &(struct heapstory_view){&story, core_subject(p), STORY_TOP});
        printed_put(&out, j, "heap");
    }
    heapstory_done(&story);
    return rc;
}

int core_locks(struct core *c, const struct question *q, struct json *j, struct err *err)
{
    const struct profile *p = profile_of(c, q, err);
    struct lockstory story;
    struct printed out;
    if (!p)
        return -1;
    int rc = lockstory_build(&story, p, err);
    if (rc == 0) {
        printed_open(&out);
        lockstory_print_json(out.out, &(struct lockstory_view){&story, core_subject(p), STORY_TOP});
        printed_put(&out, j, "locks");
    }
    lockstory_done(&story);
    return rc;
}

struct question core_of_stream(const struct question *q, const char *event, const char *value)
{
    struct question other = *q;
    other.event = event;
    other.value = value;
    other.merge_recursion = false;
    other.list[QUESTION_FOCUS][0] = other.list[QUESTION_IGNORE][0] = NULL;
    other.list[QUESTION_HIDE][0] = other.list[QUESTION_SCOPES][0] = NULL;
    other.list[QUESTION_COLLAPSE_MODULES][0] = other.list[QUESTION_COLLAPSE_RECURSION][0] = NULL;
    other.subtree = NULL;
    return other;
}

/* How often which latency occurred, of each scope by name, on one logarithmic axis for all. */
static void put_latencies(struct json *j, const struct scopetree *tree)
{
    enum { BARS = 44 };
    double low = HUGE_VAL, high = 1;
    for (size_t i = 0; i < tree->flat.n; i++) {
        low = fmin(low, fmax(1, (double)tree->flat.at[i].sum.min_ns));
        high = fmax(high, (double)tree->flat.at[i].sum.max_ns);
    }
    json_put_number(j, "latency_low_ns", low);
    json_put_number(j, "latency_high_ns", high);
    json_key(j, "latencies");
    json_open(j, '[');
    for (size_t i = 0; i < tree->flat.n && i < STORY_TOP; i++) {
        const struct scope_sum *sum = &tree->flat.at[i].sum;
        uint64_t before = 0;
        json_open(j, '[');
        for (int k = 1; k <= BARS; k++) {
            double to = low * exp(log(high / low) * k / BARS);
            uint64_t upto = k == BARS ? sum->calls : histogram_count_to(&sum->times, (uint64_t)to);
            json_uint(j, upto - before);
            before = upto;
        }
        json_close(j, ']');
    }
    json_close(j, ']');
}

int core_scopes(struct core *c, const struct question *q, struct json *j, struct err *err)
{
    struct question spans = core_of_stream(q, stream_kind_event(STREAM_SCOPES), "self");
    struct core_view *v = core_view(c, &spans, err);
    struct scopetree tree;
    struct printed out;
    if (!v)
        return -1;
    int rc = scopetree_build(&tree, &v->selection, NULL, err);
    if (rc == 0) {
        printed_open(&out);
        scopetree_print_json(out.out,
                             &(struct scopetree_view){&tree, core_subject(v->selection.profile),
                                                      NULL, STORY_TOP, NULL});
        printed_put(&out, j, "scopes");
        put_latencies(j, &tree);
    }
    scopetree_done(&tree);
    return rc;
}

int core_waits(struct core *c, const struct question *q, struct json *j, struct err *err)
{
    struct question waits = *q; /* with its filters by function: a wait has a stack */
    waits.event = stream_kind_event(STREAM_WAITS);
    waits.value = NULL;
    struct core_view *v = core_view(c, &waits, err);
    struct waitstream streams;
    struct waitsum sum;
    struct selection states;
    struct selection_opts asked = question_selection(q);
    struct selection_opts of_threads = {.time = asked.time,
                                        .last = asked.last,
                                        .threads = asked.threads,
                                        .processes = asked.processes,
                                        .where = asked.where};
    bool has_states = !asked.scopes && !asked.focus && !asked.ignore && !asked.subtree;
    struct printed out;
    if (!v)
        return -1;
    if (!waitstream_find(v->selection.profile, &streams))
        return err_set(err, EXIT_ERROR, "there are no waits in this profile");
    has_states =
        has_states && selection_build(&states, v->selection.profile,
                                      (struct value_ref){streams.states, 0}, &of_threads, err) == 0;
    int rc = waitsum_build(&sum, &v->selection, has_states ? &states : NULL, err);
    if (rc == 0) {
        printed_open(&out);
        waitsum_print_json(
            out.out, &(struct waitsum_view){&sum, core_subject(v->selection.profile), STORY_TOP});
        printed_put(&out, j, "waits");
    }
    waitsum_done(&sum);
    if (has_states)
        selection_done(&states);
    return rc;
}
