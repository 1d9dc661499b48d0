/* selection_rows.c - rows by time, thread, process and attributes. */
#include "analysis/grouping.h"
#include "analysis/selection_inner.h"
#include "base/block.h"
#include "base/units.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

/* --- time --- */

struct span {
    uint64_t first_ns, last_ns;
};

/* Of all streams: a moment means the same in each. */
static bool span_of_profile(const struct profile *p, struct span *ret)
{
    *ret = (struct span){UINT64_MAX, 0};
    for (size_t i = 0; i < p->streams.n; i++) {
        const struct rows *r = &p->streams.at[i]->rows;
        for (size_t k = 0; r->time_ns && k < r->n; k++) {
            uint64_t end = r->time_ns[k] + (r->duration_ns ? r->duration_ns[k] : 0);
            ret->first_ns = r->time_ns[k] < ret->first_ns ? r->time_ns[k] : ret->first_ns;
            ret->last_ns = end > ret->last_ns ? end : ret->last_ns;
        }
    }
    return ret->first_ns <= ret->last_ns;
}

/* --- by the clock --- */

static bool is_at_end(const char *s)
{
    return *s == '\0' || strcmp(s, "Z") == 0;
}

/* Seconds since midnight of "14:30", "14:30:05" or "14:30:05.25", perhaps with a Z. */
static bool parse_clock(const char *word, double *ret_s)
{
    unsigned hour, minute;
    int n = 0;
    double s = 0;
    if (sscanf(word, "%2u:%2u%n", &hour, &minute, &n) != 2 || hour > 24 || minute > 59)
        return false;
    word += n;
    if (*word == ':') {
        char *end;
        s = strtod(word + 1, &end);
        if (end == word + 1 || !(s >= 0 && s < 61))
            return false;
        word = end;
    }
    *ret_s = 3600.0 * hour + 60.0 * minute + s;
    return is_at_end(word);
}

static time_t midnight_of(struct tm day, bool utc)
{
    day.tm_hour = day.tm_min = day.tm_sec = 0;
    day.tm_isdst = -1;
    return utc ? timegm(&day) : mktime(&day);
}

/* How far MOMENT is from the span FROM..TO: 0 inside. */
static double distance_from(double moment, double from, double to)
{
    return moment < from ? from - moment : moment > to ? moment - to : 0;
}

/*
 * A moment of the clock, local unless there is a Z, in nanoseconds since the first row: with a date
 * ("2026-11-17T14:30"), or of the day on which it is in the recording or nearest to it.
 */
static bool parse_wall(const struct profile *p, const struct span *span, const char *word,
                       double *ret_ns)
{
    struct tm day = {0};
    int n = 0;
    double of_day_s, best_s = 0;
    bool utc = text_ends(text_of(word), "Z");
    double first_s = (double)p->clock.wall_ns / 1e9 +
                     ((double)span->first_ns - (double)p->clock.monotonic_ns) / 1e9;
    double last_s = first_s + (double)(span->last_ns - span->first_ns) / 1e9;
    if (!p->clock.wall_ns)
        return false;
    if (sscanf(word, "%4d-%2d-%2d%n", &day.tm_year, &day.tm_mon, &day.tm_mday, &n) == 3) {
        if ((word[n] != 'T' && word[n] != ' ') || !parse_clock(word + n + 1, &of_day_s))
            return false;
        day.tm_year -= 1900;
        day.tm_mon -= 1;
        *ret_ns = ((double)midnight_of(day, utc) + of_day_s - first_s) * 1e9;
        return true;
    }
    if (!parse_clock(word, &of_day_s))
        return false;
    for (int shift = -1; shift <= 1; shift++) {
        time_t about = (time_t)first_s + 86400 * shift;
        if (utc)
            gmtime_r(&about, &day);
        else
            localtime_r(&about, &day);
        double moment_s = (double)midnight_of(day, utc) + of_day_s;
        if (shift == -1 ||
            distance_from(moment_s, first_s, last_s) < distance_from(best_s, first_s, last_s))
            best_s = moment_s;
    }
    *ret_ns = (best_s - first_s) * 1e9;
    return true;
}

/* One end of a range, in nanoseconds since the start; empty is FALLBACK. */
static bool parse_moment(const struct profile *p, const struct span *span, struct text t,
                         double fallback, double *ret)
{
    char word[64], *end;
    double span_ns = (double)(span->last_ns - span->first_ns), value;
    t = text_trim(t);
    *ret = fallback;
    if (!t.n)
        return true;
    if (t.n >= sizeof word)
        return false;
    memcpy(word, t.at, t.n);
    word[t.n] = '\0';
    if (units_parse_time(word, &value)) {
        *ret = value * 1e9;
        return true;
    }
    value = strtod(word, &end);
    *ret = value * span_ns / 100;
    if (end != word && strcmp(end, "%") == 0)
        return isfinite(value) && value >= 0;
    return parse_wall(p, span, word, ret);
}

static int parse_range(struct selection_job *job, const struct span *span, double *ret_from,
                       double *ret_to)
{
    const char *asked = job->opts->time, *dots = strstr(asked, "..");
    if (!dots ||
        !parse_moment(job->p, span, (struct text){asked, (size_t)(dots - asked)}, 0, ret_from) ||
        !parse_moment(job->p, span, text_of(dots + 2), INFINITY, ret_to))
        return err_set(job->err, EXIT_ERROR,
                       "'%s' is not a time range: write FROM..TO, such as 1.5..3, 200ms.., "
                       "10%%..20%%%s",
                       asked, job->p->clock.wall_ns ? " or 14:30..14:45" : "");
    if (*ret_from > *ret_to)
        return err_set(job->err, EXIT_ERROR, "the time range %s ends before it begins", asked);
    return 0;
}

/* What is asked for of the end, besides. */
static int parse_last(struct selection_job *job, const struct span *span, double *from)
{
    double s, span_ns = (double)(span->last_ns - span->first_ns);
    if (!units_parse_time(job->opts->last, &s) || !(s > 0))
        return err_set(job->err, EXIT_ERROR, "'%s' is not a time: write 30s, 10m or 2h",
                       job->opts->last);
    *from = fmax(*from, span_ns - s * 1e9);
    return 0;
}

/* Say what there is: "0..17.4 s", where it was asked so by the clock, too. */
static int nothing_in_range(struct selection_job *job, const struct span *span)
{
    const char *asked = job->opts->time ? job->opts->time : job->opts->last;
    const struct profile *p = job->p;
    char length[UNITS_MAX], from[24] = "", to[24] = "";
    bool clock = p->clock.wall_ns && strchr(asked, ':');
    if (clock) {
        int64_t shift = (int64_t)p->clock.wall_ns - (int64_t)p->clock.monotonic_ns;
        const char *style = strchr(asked, '-') ? "%Y-%m-%dT%H:%M:%S" : "%H:%M:%S";
        time_t s[] = {((int64_t)span->first_ns + shift) / 1000000000,
                      ((int64_t)span->last_ns + shift) / 1000000000};
        struct tm day;
        bool utc = strchr(asked, 'Z');
        strftime(from, sizeof from, style, utc ? gmtime_r(&s[0], &day) : localtime_r(&s[0], &day));
        strftime(to, sizeof to, style, utc ? gmtime_r(&s[1], &day) : localtime_r(&s[1], &day));
    }
    return err_set(job->err, EXIT_ERROR,
                   "nothing was recorded in the time range %s; the recording spans 0..%s%s%s%s%s%s",
                   asked, units_scaled(length, (double)(span->last_ns - span->first_ns), SCALED_NS),
                   clock ? ", by the clock " : "", from, clock ? ".." : "", to,
                   clock && strchr(asked, 'Z') ? " UTC" : "");
}

int selection_moments(const struct profile *p, const char *time, struct selection_moments *ret,
                      struct err *err)
{
    struct selection_opts opts = {.time = time};
    struct selection_job job = {.p = p, .opts = &opts, .err = err};
    struct span span;
    double from, to;
    if (!span_of_profile(p, &span))
        return err_set(err, EXIT_INPUT,
                       "a range of time cannot be selected: the input has no times");
    if (parse_range(&job, &span, &from, &to) != 0)
        return -1;
    double length_ns = (double)(span.last_ns - span.first_ns);
    if (from > length_ns)
        return nothing_in_range(&job, &span);
    ret->from_ns = span.first_ns + (uint64_t)from;
    ret->to_ns = to < length_ns ? span.first_ns + (uint64_t)to : span.last_ns;
    return 0;
}

/* What has a duration counts where any part of it is inside. */
struct range {
    uint64_t zero_ns, from_ns, to_ns; /* the last two since the first */
};

/* A row is at whole nanoseconds. */
static uint64_t range_whole(double ns)
{
    return ns <= 0 ? 0 : ns < 0x1p63 ? (uint64_t)ns : UINT64_MAX;
}

/* Returns how many rows are inside. */
BLOCK_CALL static size_t drop_outside(const struct rows *r, struct range range, uint8_t *out,
                                      size_t first, size_t last)
{
    size_t n = 0;
    for (size_t i = first; i < last; i++) {
        uint64_t start = r->time_ns[i] - range.zero_ns;
        uint64_t end = start + (r->duration_ns ? r->duration_ns[i] : 0);
        bool in = end >= range.from_ns && start <= range.to_ns;
        out[i] |= !in;
        n += in;
    }
    return n;
}

int selection_by_time(struct selection_job *job)
{
    const struct rows *r = &job->stream->rows;
    struct span span;
    double from = 0, to = INFINITY;
    if (!job->opts->time && !job->opts->last)
        return 0;
    if (!r->time_ns || !span_of_profile(job->p, &span))
        return err_set(job->err, EXIT_INPUT,
                       "a range of time cannot be selected: the input has no times");
    if (job->opts->time && parse_range(job, &span, &from, &to) != 0)
        return -1;
    if (job->opts->last && parse_last(job, &span, &from) != 0)
        return -1;
    struct range range = {span.first_ns, range_whole(ceil(from)), range_whole(floor(to))};
    job->moments.from_ns = span.first_ns + range.from_ns;
    if (range.to_ns < UINT64_MAX - span.first_ns)
        job->moments.to_ns = span.first_ns + range.to_ns;
    size_t n = 0;
    for_each_block(first, last, r->n) n += drop_outside(r, range, job->out, first, last);
    if (job->opts->time)
        selection_add_words(job, "time", (const char *const[]){job->opts->time, NULL});
    if (job->opts->last)
        selection_add_words(job, "the last", (const char *const[]){job->opts->last, NULL});
    if (n)
        return 0;
    return nothing_in_range(job, &span);
}

/* --- threads and processes --- */

/* One thing that is asked for: a number or a pattern. */
struct wish {
    bool is_number;
    uint64_t number;
    struct pattern re;
};

static int wish_init(struct selection_job *job, const char *word, struct wish *w)
{
    w->is_number = text_u64(text_of(word), 10, &w->number);
    return w->is_number ? 0 : pattern_init(&w->re, word, false, job->err);
}

static bool wish_fits(const struct wish *w, int32_t id, const char *name)
{
    if (w->is_number)
        return id >= 0 && (uint64_t)id == w->number;
    return *name && pattern_fits(&w->re, name);
}

static void wish_done(struct wish *w)
{
    if (!w->is_number)
        pattern_done(&w->re);
}

static void drop_threads(struct selection_job *job, const uint8_t *keep)
{
    for (size_t i = 0; i < job->stream->rows.n; i++)
        job->out[i] |= !keep[job->stream->rows.thread[i].i];
}

/* Mark the threads that WORD means. Returns how many, or -1. */
typedef int mark_fn(struct selection_job *job, const struct wish *w, uint8_t *keep);

static int mark_by_thread(struct selection_job *job, const struct wish *w, uint8_t *keep)
{
    const struct profile *p = job->p;
    int n = 0;
    for (size_t i = 0; i < p->threads.n; i++) {
        const struct thread *t = &p->threads.at[i];
        if (!wish_fits(w, t->tid, profile_str(p, t->name).at))
            continue;
        keep[i] = 1;
        n++;
    }
    return n;
}

/* By process: the name of its first thread. */
static struct str_id *first_names(const struct profile *p)
{
    struct str_id *first = mem_calloc(p->processes.n + 1, sizeof *first);
    for (size_t i = p->threads.n; i-- > 0;)
        if (p->threads.at[i].name.i)
            first[p->threads.at[i].process.i] = p->threads.at[i].name;
    return first;
}

static int mark_by_process(struct selection_job *job, const struct wish *w, uint8_t *keep)
{
    const struct profile *p = job->p;
    autofree struct str_id *first = first_names(p);
    autofree uint8_t *hit = mem_calloc(p->processes.n + 1, 1);
    int n = 0;
    for (size_t i = 0; i < p->processes.n; i++) {
        const struct process *process = &p->processes.at[i];
        hit[i] = wish_fits(w, process->pid, profile_str(p, process->executable).at) ||
                 wish_fits(w, process->pid, profile_str(p, first[i]).at);
        n += hit[i];
    }
    for (size_t i = 0; i < p->threads.n; i++)
        keep[i] |= hit[p->threads.at[i].process.i];
    return n;
}

static int no_thread(struct selection_job *job, const char *what, const char *word, bool processes)
{
    const struct profile *p = job->p;
    selection_names names = {0};
    for (size_t i = 0; i < p->threads.n; i++)
        selection_add_name(&names, profile_str(p, p->threads.at[i].name).at);
    for (size_t i = 0; processes && i < p->processes.n; i++)
        selection_add_name(&names, profile_str(p, p->processes.at[i].executable).at);
    int rc = selection_none(job, what, word, &names);
    vec_done(&names);
    return rc;
}

static int select_threads(struct selection_job *job, const char *what, const char *const *list,
                          mark_fn *mark)
{
    if (!list || !list[0])
        return 0;
    autofree uint8_t *keep = mem_calloc(job->p->threads.n + 1, 1);
    for (size_t i = 0; list[i]; i++) {
        struct wish w;
        if (wish_init(job, list[i], &w) != 0)
            return -1;
        int n = mark(job, &w, keep);
        wish_done(&w);
        if (!n)
            return no_thread(job, what, list[i], mark == mark_by_process);
    }
    drop_threads(job, keep);
    selection_add_words(job, what, list);
    return 0;
}

int selection_by_thread(struct selection_job *job)
{
    return select_threads(job, "thread", job->opts->threads, mark_by_thread);
}

int selection_by_process(struct selection_job *job)
{
    return select_threads(job, "process", job->opts->processes, mark_by_process);
}

/* --- attributes --- */

/* "key=value" or "key=~pattern", and the sets of attributes that have it. */
struct condition {
    struct text key;
    const char *value;
    bool is_pattern;
    struct pattern re;
};

static int condition_init(struct selection_job *job, const char *word, struct condition *c)
{
    const char *equals = strchr(word, '=');
    if (!equals || equals == word)
        return err_set(job->err, EXIT_ERROR,
                       "'%s' is not a condition: write KEY=VALUE or KEY=~PATTERN", word);
    *c = (struct condition){.key = {word, (size_t)(equals - word)}, .value = equals + 1};
    c->is_pattern = equals[1] == '~';
    return c->is_pattern ? pattern_init(&c->re, ++c->value, false, job->err) : 0;
}

static bool text_fits(const struct condition *c, const char *text)
{
    if (c->is_pattern)
        return pattern_fits(&c->re, text);
    return strcmp(text, c->value) == 0;
}

static bool attr_fits(const struct profile *p, const struct condition *c, const struct attr *a)
{
    char number[32];
    const char *text = profile_str(p, a->text).at;
    if (a->is_number) {
        snprintf(number, sizeof number, "%lld", (long long)a->number);
        text = number;
    }
    return text_fits(c, text);
}

/* By set: 1 where the pair added last under the key fits, as that is what attrs_find() gives. */
static uint8_t *sets_with(const struct profile *p, const struct condition *c)
{
    uint8_t *has = mem_calloc(p->attrs.nodes.n, 1);
    for (size_t i = 1; i < p->attrs.nodes.n; i++) {
        const struct attr_node *n = &p->attrs.nodes.at[i];
        struct text key = profile_str(p, n->attr.key);
        bool same = key.n == c->key.n && memcmp(key.at, c->key.at, key.n) == 0;
        has[i] = same ? attr_fits(p, c, &n->attr) : has[n->parent.i];
    }
    return has;
}

static bool row_has(const struct selection_job *job, size_t row, const uint8_t *has)
{
    const struct rows *r = &job->stream->rows;
    const struct thread *t = &job->p->threads.at[r->thread[row].i];
    return (r->attrs && has[r->attrs[row].i]) || has[job->p->processes.at[t->process.i].attrs.i];
}

static bool any_set_of(const struct profile *p, const uint8_t *has)
{
    for (size_t i = 1; i < p->attrs.nodes.n; i++)
        if (has[i])
            return true;
    return false;
}

/* The values of the key, or where it is not there the keys; HAS is by set, for other streams. */
static int no_attr(struct selection_job *job, const struct condition *c, const uint8_t *has)
{
    const struct profile *p = job->p;
    selection_names keys = {0}, values = {0};
    bool is_number = false;
    for (size_t i = 1; i < p->attrs.nodes.n; i++) {
        const struct attr *a = &p->attrs.nodes.at[i].attr;
        struct text key = profile_str(p, a->key);
        bool same = key.n == c->key.n && memcmp(key.at, c->key.at, key.n) == 0;
        selection_add_name(&keys, key.at);
        is_number |= same && a->is_number;
        if (same && !a->is_number)
            selection_add_name(&values, profile_str(p, a->text).at);
    }
    autofree char *key = mem_strndup(c->key.at, c->key.n);
    int rc =
        any_set_of(p, has)
            ? err_set(job->err, EXIT_ERROR,
                      "nothing of event '%.*s' has %s '%s', but other events of the profile do",
                      TEXT_ARG(profile_str(p, job->stream->event)), key, c->value)
        : values.n ? selection_none(job, key, c->value, &values)
        : is_number
            ? err_set(job->err, EXIT_ERROR, "no number under '%s' matches '%s'", key, c->value)
            : selection_none(job, "attribute", key, &keys);
    vec_done(&keys);
    vec_done(&values);
    return rc;
}

static int select_by_label(struct selection_job *job, const struct condition *c)
{
    autofree uint8_t *has = sets_with(job->p, c);
    size_t n = 0;
    for (size_t i = 0; i < job->stream->rows.n; i++) {
        bool in = row_has(job, i, has);
        job->out[i] |= !in;
        n += in;
    }
    return n ? 0 : no_attr(job, c, has);
}

/* --- what every row has: process, thread, state --- */

static bool has_key(const struct profile *p, const char *key)
{
    for (size_t i = 1; i < p->attrs.nodes.n; i++)
        if (text_is(profile_str(p, p->attrs.nodes.at[i].attr.key), key))
            return true;
    return false;
}

static int select_by_group(struct selection_job *job, const struct condition *c, const char *key)
{
    struct grouping g;
    size_t n = 0;
    if (grouping_build(&g, job->p, job->value, key, job->err) != 0)
        return -1;
    autofree bool *fits = mem_calloc(g.names.strings.n + 1, sizeof *fits);
    for (uint32_t i = 1; i < g.names.strings.n; i++)
        fits[i] = text_fits(c, intern_get(&g.names, i).at);
    for (size_t i = 0; i < job->stream->rows.n; i++) {
        job->out[i] |= !fits[g.of_row[i]];
        n += fits[g.of_row[i]];
    }
    selection_names names = {0};
    for (uint32_t i = 1; !n && i < g.names.strings.n; i++)
        selection_add_name(&names, intern_get(&g.names, i).at);
    int rc = n ? 0 : selection_none(job, key, c->value, &names);
    vec_done(&names);
    grouping_done(&g);
    return rc;
}

static int select_by_condition(struct selection_job *job, const char *word)
{
    struct condition c;
    if (condition_init(job, word, &c) != 0)
        return -1;
    autofree char *key = mem_strndup(c.key.at, c.key.n);
    int rc = grouping_is_known(key) && !has_key(job->p, key) ? select_by_group(job, &c, key)
                                                             : select_by_label(job, &c);
    if (c.is_pattern)
        pattern_done(&c.re);
    return rc;
}

/* Every condition must hold. */
int selection_by_attrs(struct selection_job *job)
{
    const char *const *list = job->opts->where;
    for (size_t i = 0; list && list[i]; i++) {
        const char *one[] = {list[i], NULL};
        if (select_by_condition(job, list[i]) != 0)
            return -1;
        selection_add_words(job, "where", one);
    }
    return 0;
}
