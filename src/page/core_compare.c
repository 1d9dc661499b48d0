/*
 * core_compare.c - two files, or two ranges of one: by function, line, place that allocates, or
 * scope, as `kelvin diff` does. Unlike ones are refused with the reason, unless forced.
 */
#include "analysis/diff.h"
#include "analysis/scopediff.h"
#include "model/heapstream.h"
#include "page/core_inner.h"
#include "view/diff.h"
#include "view/scopediff.h"

struct sides {
    const struct selection *runs[2];
    struct diff_opts opts;
    struct buf reasons; /* why they should not be compared */
};

static bool compares_by(const struct question *q, const char *by)
{
    return q->by && strcmp(q->by, by) == 0;
}

static int sides_select(struct sides *s, struct core *c, const struct question *q, struct err *err)
{
    struct question after = *q, before = *q;
    if (q->other_time) {
        after.time = q->other_time;
    } else {
        before.file = 0;
        after.file = 1;
    }
    struct core_view *a = core_view(c, &before, err);
    struct core_view *b = a ? core_view(c, &after, err) : NULL;
    if (!b)
        return -1;
    s->runs[0] = &a->selection;
    s->runs[1] = &b->selection;
    s->opts = (struct diff_opts){.runs = s->runs,
                                 .n_before = 1,
                                 .n_runs = 2,
                                 .min_share = 0.005,
                                 .same_arguments = q->same_arguments && !q->other_time};
    if (!q->other_time)
        diff_unlike(&s->opts, &s->reasons);
    return 0;
}

static void core_compare_functions(const struct sides *s, struct json *j)
{
    struct printed out;
    struct diff *d = diff_build(&s->opts);
    autobuf struct buf arguments = {0};
    diff_arguments(s->runs[0]->profile, s->runs[1]->profile, &arguments);
    struct diff_view view = {.runs = s->runs,
                             .unlike = buf_cstr((struct buf *)&s->reasons),
                             .arguments = buf_cstr(&arguments),
                             .top = STORY_TOP};
    printed_open(&out);
    diff_print_json(out.out, d, &view);
    json_put_str(j, "each", d->each);
    json_put_bool(j, "exact", d->exact);
    json_key(j, "unit");
    json_text(j, profile_str(s->runs[0]->profile, selection_value(s->runs[0])->unit));
    json_key(j, "value");
    json_text(j, profile_str(s->runs[0]->profile, selection_value(s->runs[0])->name));
    diff_free(d);
    printed_put(&out, j, "diff");
}

static int core_compare_scopes(const struct sides *s, struct json *j, struct err *err)
{
    struct printed out;
    struct scopediff d;
    struct scopediff_opts opts = {.runs = s->runs,
                                  .n_before = 1,
                                  .n_runs = 2,
                                  .top = STORY_TOP,
                                  .same_arguments = s->opts.same_arguments};
    int rc = scopediff_build(&d, &opts, err);
    if (rc == 0) {
        struct scopediff_view view = {.diff = &d,
                                      .before = core_subject(s->runs[0]->profile),
                                      .after = core_subject(s->runs[1]->profile),
                                      .unlike = buf_cstr((struct buf *)&s->reasons)};
        printed_open(&out);
        scopediff_print_json(out.out, &view);
        printed_put(&out, j, "scopes");
    }
    scopediff_done(&d);
    return rc;
}

/* Places are those of the heap: where another event is looked at, its first column that is there.
 */
static int find_heap_value(const struct core *c, const struct question *q, struct question *ret,
                           struct err *err)
{
    static const enum heap_column liked[] = {HEAP_ALLOCATED, HEAP_PEAK, HEAP_LEAKED};
    const struct profile *p = c->profile[q->other_time ? q->file : 0];
    struct value_ref value;
    *ret = *q;
    if (p && profile_pick_value(p, q->event, q->value, &value, err) == 0 &&
        heapstream_column_of(p, value) != HEAP_COLUMNS)
        return 0;
    for (size_t i = 0; p && i < sizeof liked / sizeof *liked; i++)
        if (heapstream_find(p, liked[i], &value)) {
            *ret = core_of_stream(q, profile_str(p, profile_stream(p, value.stream)->event).at,
                                  profile_str(p, profile_value(p, value)->name).at);
            return 0;
        }
    return err_set(err, EXIT_ERROR, "there is no heap in this profile");
}

int core_compare(struct core *c, const struct question *q, struct json *j, struct err *err)
{
    struct sides s = {.reasons = {0}};
    struct question of = *q;
    bool scopes = compares_by(q, "scope"), places = compares_by(q, "place");
    if (scopes)
        of = core_of_stream(q, stream_kind_event(STREAM_SCOPES), "self");
    int rc = places ? find_heap_value(c, q, &of, err) : 0;
    if (rc == 0)
        rc = sides_select(&s, c, &of, err);
    s.opts.by = places ? OVERLAY_PLACE : compares_by(q, "line") ? OVERLAY_LINE : OVERLAY_FUNCTION;
    if (rc == 0 && s.reasons.n && !q->force)
        json_put_str(j, "refused", buf_cstr(&s.reasons));
    else if (rc == 0 && scopes)
        rc = core_compare_scopes(&s, j, err);
    else if (rc == 0)
        core_compare_functions(&s, j);
    if (rc == 0 && !q->other_time) /* two ranges of one recording have the same */
        json_put_bool(j, "arguments_hidden",
                      diff_arguments_hidden(s.runs[0]->profile, s.runs[1]->profile));
    buf_done(&s.reasons);
    return rc;
}
