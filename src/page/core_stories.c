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

static void put_panes(struct json *j, const struct profile *p)
{
    struct heapstory heap;
    struct lockstory locks;
    struct waitstream waits;
    struct err ignored;
    bool has_heap = heapstory_build(&heap, p, NULL, &ignored) == 0;
    bool has_locks = lockstory_build(&locks, p, &ignored) == 0;
    heapstory_done(&heap);
    lockstory_done(&locks);
    json_key(j, "panes");
    json_open(j, '{');
    json_put_bool(j, "heap", has_heap);
    json_put_bool(j, "locks", has_locks);
    json_put_bool(j, "scopes", scopetree_stream(p) >= 0);
    json_put_bool(j, "waits", waitstream_find(p, &waits));
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
    put_panes(j, p);
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
    if (report_build(&r, &v->selection, &(struct report_opts){.top = 15}, err) != 0) {
        report_done(&r);
        return -1;
    }
    printed_open(&out);
    report_print_json(out.out, &r);
    report_done(&r);
    printed_put(&out, j, "report");
    return 0;
}

int core_code(struct core *c, const struct question *q, struct json *j, struct err *err)
{
    struct core_view *v = core_view(c, q, err);
    struct printed out;
    if (!v || !q->function)
        return v ? err_set(err, EXIT_ERROR, "the code of which function?") : -1;
    printed_open(&out);
    int rc = page_code_print(out.out, c->code[q->file], &v->selection, q->function, err);
    if (rc == 0) {
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
    }
    scopetree_done(&tree);
    return rc;
}

int core_waits(struct core *c, const struct question *q, struct json *j, struct err *err)
{
    struct question waits = core_of_stream(q, stream_kind_event(STREAM_WAITS), NULL);
    struct core_view *v = core_view(c, &waits, err);
    struct waitstream streams;
    struct waitsum sum;
    struct selection states;
    struct selection_opts of_threads = {.threads = question_selection(q).threads,
                                        .processes = question_selection(q).processes};
    struct printed out;
    if (!v)
        return -1;
    if (!waitstream_find(v->selection.profile, &streams))
        return err_set(err, EXIT_ERROR, "there are no waits in this profile");
    if (selection_build(&states, v->selection.profile, (struct value_ref){streams.states, 0},
                        &of_threads, err) != 0)
        return -1;
    int rc = waitsum_build(&sum, &v->selection, &states, err);
    if (rc == 0) {
        printed_open(&out);
        waitsum_print_json(
            out.out, &(struct waitsum_view){&sum, core_subject(v->selection.profile), STORY_TOP});
        printed_put(&out, j, "waits");
    }
    waitsum_done(&sum);
    selection_done(&states);
    return rc;
}
