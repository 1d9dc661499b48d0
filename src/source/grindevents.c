#include "source/grindevents.h"

void grindevents_done(struct grindevents *ev)
{
    vec_done(&ev->derived);
}

/* The next word of T, without blanks; empty at the end. */
static struct text cut_word(struct text *t)
{
    *t = text_trim(*t);
    size_t n = 0;
    while (n < t->n && t->at[n] != ' ' && t->at[n] != '\t')
        n++;
    struct text word = {t->at, n};
    *t = (struct text){t->at + n, t->n - n};
    return word;
}

static size_t grindevents_find(const struct grindevents *ev, struct str_id name)
{
    size_t i = 0;
    while (i < ev->n && ev->name[i].i != name.i)
        i++;
    return i;
}

static int grindevents_add_event(struct grindevents *ev, struct import *im, struct str_id name,
                                 struct err *err)
{
    const char *event = profile_str(im->profile, name).at;
    if (profile_add_value(im->profile, GRINDEVENTS_STREAM, event, UNIT_COUNT) < 0)
        return err_set(err, EXIT_INPUT, "line %llu: more than %d events",
                       (unsigned long long)im->in->lines, STREAM_MAX_TYPES);
    ev->name[ev->n++] = name;
    return 0;
}

int grindevents_set(struct grindevents *ev, struct import *im, struct text list, struct err *err)
{
    bool first = ev->n == 0;
    struct text word;
    ev->n_columns = 0;
    if (first)
        profile_add_stream(im->profile, "", OBTAINED_UNKNOWN);
    while ((word = cut_word(&list)).n) {
        struct str_id name = profile_add_str(im->profile, word);
        size_t event = grindevents_find(ev, name);
        if (event == ev->n && !first)
            return err_set(err, EXIT_INPUT,
                           "line %llu: this part counts '%.*s', which the first did not; split "
                           "the file into its parts",
                           (unsigned long long)im->in->lines, TEXT_ARG(word));
        if (event == ev->n && grindevents_add_event(ev, im, name, err) != 0)
            return -1;
        if (memchr(ev->column, (int)event, ev->n_columns))
            return err_set(err, EXIT_INPUT, "line %llu: the event '%.*s' is there twice",
                           (unsigned long long)im->in->lines, TEXT_ARG(word));
        ev->column[ev->n_columns++] = (uint8_t)event;
    }
    if (!ev->n_columns)
        return err_set(err, EXIT_INPUT, "line %llu: no event is named",
                       (unsigned long long)im->in->lines);
    return 0;
}

/* --- events that follow from others --- */

/* FACTOR times an event of the file or one that was derived before. */
static bool add_term(const struct grindevents *ev, struct grindevents_derived *d,
                     struct str_id name, int64_t factor)
{
    size_t event = grindevents_find(ev, name);
    if (event < ev->n)
        return !__builtin_add_overflow(d->factor[event], factor, &d->factor[event]);
    for (size_t i = 0; i < ev->derived.n; i++) {
        const struct grindevents_derived *o = &ev->derived.at[i];
        if (o->name.i != name.i)
            continue;
        for (size_t e = 0; e < ev->n; e++) {
            int64_t more;
            if (__builtin_mul_overflow(o->factor[e], factor, &more) ||
                __builtin_add_overflow(d->factor[e], more, &d->factor[e]))
                return false;
        }
        return true;
    }
    return false;
}

/* "10 Dr", "10*Dr" or "Dr" */
static bool parse_term(const struct grindevents *ev, struct import *im,
                       struct grindevents_derived *d, struct text t)
{
    uint64_t factor = 1;
    size_t n = 0;
    t = text_trim(t);
    while (n < t.n && t.at[n] >= '0' && t.at[n] <= '9')
        n++;
    if (n && (!text_u64((struct text){t.at, n}, 10, &factor) || factor > INT64_MAX))
        return false;
    t = text_trim((struct text){t.at + n, t.n - n});
    if (t.n && t.at[0] == '*')
        t = text_trim((struct text){t.at + 1, t.n - 1});
    return t.n && add_term(ev, d, profile_add_str(im->profile, t), (int64_t)factor);
}

int grindevents_derive(struct grindevents *ev, struct import *im, struct text t, struct err *err)
{
    struct text sum = text_cut(&t, ':'), name = text_trim(text_cut(&sum, '='));
    sum = text_trim(sum);
    if (!sum.n)
        return 0;
    struct grindevents_derived d = {.name = profile_add_str(im->profile, name)};
    bool good = name.n && ev->n + ev->derived.n < STREAM_MAX_TYPES;
    for (size_t i = 0; i < ev->derived.n; i++)
        if (ev->derived.at[i].name.i == d.name.i)
            return 0; /* as every part says it again */
    while (good && sum.n)
        good = parse_term(ev, im, &d, text_cut(&sum, '+'));
    if (!good)
        return import_skip_line(im, err, "the event '%.*s' cannot be derived", TEXT_ARG(name));
    *vec_push(&ev->derived) = d;
    return 0;
}

static bool derive(const struct rows *rows, const struct grindevents_derived *d, size_t n_events,
                   size_t row, int64_t *ret)
{
    *ret = 0;
    for (size_t e = 0; e < n_events; e++) {
        int64_t more;
        if (__builtin_mul_overflow(d->factor[e], rows->value[e][row], &more) ||
            __builtin_add_overflow(*ret, more, ret))
            return false;
    }
    return true;
}

static bool fill_derived(struct stream *s, const struct grindevents_derived *d, size_t n_events,
                         int type)
{
    for (size_t row = 0; row < s->rows.n; row++) {
        int64_t *value = &s->rows.value[type][row], *total = &s->types[type].total;
        if (!derive(&s->rows, d, n_events, row, value) ||
            __builtin_add_overflow(*total, *value, total))
            return false;
    }
    return true;
}

void grindevents_add_derived(struct grindevents *ev, struct import *im)
{
    struct profile *p = im->profile;
    struct stream *s = profile_stream(p, GRINDEVENTS_STREAM);
    for (size_t i = 0; i < ev->derived.n; i++) {
        const char *name = profile_str(p, ev->derived.at[i].name).at;
        int type = profile_add_value(p, GRINDEVENTS_STREAM, name, UNIT_COUNT);
        if (type < 0 || fill_derived(s, &ev->derived.at[i], ev->n, type))
            continue;
        if (s->rows.n)
            memset(s->rows.value[type], 0, s->rows.n * sizeof(int64_t));
        s->types[type].total = 0;
        import_note(im, "the sum of all '%.100s' does not fit 64 bits; it is left at 0", name);
    }
}

/* --- costs --- */

bool grindevents_costs(const struct grindevents *ev, struct text t, int64_t *ret)
{
    memset(ret, 0, ev->n * sizeof *ret);
    struct text word;
    for (size_t i = 0; (word = cut_word(&t)).n; i++) {
        uint64_t cost = 0;
        bool none = text_is(word, ".");
        if (i == ev->n_columns || (!none && !text_u64(word, 10, &cost)) || cost > INT64_MAX)
            return false;
        ret[ev->column[i]] = (int64_t)cost;
    }
    return true;
}

void grindevents_tell(struct grindevents *ev, struct text t, bool totals)
{
    int64_t told[STREAM_MAX_TYPES];
    if ((ev->by == TOLD_TOTALS && !totals) || !grindevents_costs(ev, t, told))
        return;
    memcpy(ev->told, told, ev->n * sizeof *told);
    ev->by = totals ? TOLD_TOTALS : TOLD_SUMMARY;
}

int grindevents_check(struct grindevents *ev, struct import *im, struct err *err)
{
    int rc = 0;
    for (size_t e = 0; e < ev->n && ev->by != TOLD_NOT && rc == 0; e++) {
        long long sum = ev->sum[e], told = ev->told[e];
        const char *name = profile_str(im->profile, ev->name[e]).at;
        if (sum == told)
            continue;
        if (sum < told && ev->by == TOLD_SUMMARY)
            meta_set_str(&im->profile->meta, META_CUT,
                         "its counts sum up to less than its summary");
        rc = import_skip_line(im, err, "the '%.40s' sum up to %lld, but the file says %lld", name,
                              sum, told);
        break;
    }
    memset(ev->sum, 0, sizeof ev->sum);
    ev->by = TOLD_NOT;
    return rc;
}
