/* firefox_samples.c - the samples of a Firefox Profiler file as streams and rows. */
#include "source/firefox_inner.h"
#include "source/gecko.h"
#include "source/streamfacts.h"

static enum weight_kind firefox_weight_kind_of(const struct firefox *f, const struct fx_thread *t)
{
    struct text type = profile_str(f->im->profile, t->weight_type);
    if (text_is(type, "tracing-ms"))
        return WEIGHT_TIME;
    return dimension_of_unit(type) == DIM_BYTES ? WEIGHT_BYTES : WEIGHT_SAMPLES;
}

static bool has_cpu(const struct fx_thread *t)
{
    for (size_t i = 0; i < t->cpu.n && i < t->stack.n; i++)
        if (t->cpu.at[i] && t->stack.at[i] != FIREFOX_NONE)
            return true;
    return false;
}

static int add_column(struct firefox *f, int stream, const struct str_id own[3], const char *name,
                      const char *unit)
{
    struct profile *p = f->im->profile;
    if (own[1].i)
        return profile_add_value(p, stream, profile_str(p, own[1]).at, profile_str(p, own[2]).at);
    return profile_add_value(p, stream, name, unit);
}

static bool counts_cycles(const struct firefox *f)
{
    return text_is(profile_str(f->im->profile, f->cpu_unit), "variable CPU cycles");
}

/* Rows are counted too where they weigh something else; our own files have what they had. */
static void firefox_add_stream(struct firefox *f, enum weight_kind kind)
{
    static const char *const names[WEIGHT_KINDS] = {VALUE_SAMPLES, "wall", "bytes"};
    static const enum dimension dimensions[WEIGHT_KINDS] = {DIM_COUNT, DIM_TIME, DIM_BYTES};
    struct profile *p = f->im->profile;
    struct weighed *w = &f->streams[kind];
    bool own = f->weight[1].i != 0, cycles = counts_cycles(f);
    w->samples = w->weight = w->cpu = -1;
    w->stream = profile_add_stream(p, profile_str(p, f->weight[0]).at,
                                   kind == WEIGHT_TIME && !own ? BY_TRACE : OBTAINED_UNKNOWN);
    if (kind != WEIGHT_SAMPLES && !own)
        w->samples = profile_add_value(p, w->stream, VALUE_SAMPLES, UNIT_COUNT);
    w->weight = add_column(f, w->stream, f->weight, names[kind], dimension_unit(dimensions[kind]));
    if (w->has_cpu)
        w->cpu = add_column(f, w->stream, f->cpu, cycles ? "cycles" : "cpu",
                            cycles ? UNIT_COUNT : UNIT_TIME);
    if (f->interval_ms > 0 && f->interval_ms <= 1000 && !f->own_meta)
        profile_stream(p, w->stream)->rate_hz = 1000 / f->interval_ms;
    for (size_t i = 0; i < f->facts.n; i++)
        streamfacts_set(p, w->stream, profile_str(p, f->facts.at[i].key),
                        profile_str(p, f->facts.at[i].value));
}

/* The streams that some thread needs. */
static void add_streams(struct firefox *f)
{
    struct profile *p = f->im->profile;
    for (size_t i = 0; i < f->threads.n; i++) {
        struct weighed *w = &f->streams[firefox_weight_kind_of(f, &f->threads.at[i])];
        w->used = true;
        w->has_cpu |= has_cpu(&f->threads.at[i]);
    }
    for (int kind = 0; kind < WEIGHT_KINDS; kind++)
        if (f->streams[kind].used)
            firefox_add_stream(f, (enum weight_kind)kind);
    if (!f->threads.n)
        return;
    const struct weighed *first = &f->streams[firefox_weight_kind_of(f, &f->threads.at[0])];
    bool own = f->weight[1].i != 0;
    if (!own || f->show_first == 0)
        p->default_value = (struct value_ref){first->stream, first->weight};
    else if (f->show_first == 1 && first->cpu >= 0)
        p->default_value = (struct value_ref){first->stream, first->cpu};
}

/* A weight is in millionths, which are the nanoseconds of a millisecond. */
static int set_weight(struct firefox *f, enum weight_kind kind, int64_t millionths, int64_t *values,
                      struct err *err)
{
    int decimals = 6;
    struct value_ref column = {f->streams[kind].stream, f->streams[kind].weight};
    if (kind == WEIGHT_TIME) {
        values[column.type] = millionths;
        return 0;
    }
    for (; decimals && millionths % 10 == 0; decimals--)
        millionths /= 10;
    return profile_scale_value(f->im->profile, column, millionths, decimals, &values[column.type],
                               err);
}

static int fill_values(struct firefox *f, const struct fx_thread *t, size_t row, int64_t *values,
                       struct err *err)
{
    enum weight_kind kind = firefox_weight_kind_of(f, t);
    const struct weighed *w = &f->streams[kind];
    int64_t weight = row < t->weight.n ? t->weight.at[row] : 1000000;
    int64_t scale = text_is(profile_str(f->im->profile, f->cpu_unit), "\xc2\xb5s") ? 1000 : 1;
    if (weight < 0)
        return import_skip_byte(f->im, reader_offset(f->im->in), err,
                                "sample %zu has a weight that is negative or does not fit", row);
    if (w->samples >= 0)
        values[w->samples] = 1;
    if (w->cpu >= 0 && row < t->cpu.n &&
        __builtin_mul_overflow(t->cpu.at[row], scale, &values[w->cpu]))
        return err_set(err, EXIT_INPUT, "the CPU time of sample %zu does not fit 64 bits", row);
    return set_weight(f, kind, weight, values, err);
}

static int firefox_add_sample(struct firefox *f, const struct fx_thread *t, struct row *to,
                              size_t row, struct err *err)
{
    enum { COLUMNS = 3 };
    const struct firefox_tables *tables = t->own.stacks.n ? &t->own : &t->of->shared;
    struct profile *p = f->im->profile;
    int64_t values[COLUMNS] = {0};
    if (t->stack.at[row] == FIREFOX_NONE) {
        f->idle++;
        return 0;
    }
    const char *why = firefox_tables_stack(tables, t->stack.at[row], &to->stack);
    if (why)
        return import_skip_byte(f->im, reader_offset(f->im->in), err, "sample %zu of thread %s: %s",
                                row, profile_str(p, t->name).at, why);
    if (fill_values(f, t, row, values, err) != 0)
        return -1;
    bool any = values[0] || values[1] || values[2];
    struct row whole = *to;
    whole.values = values;
    return any ? profile_add_row(p, f->streams[firefox_weight_kind_of(f, t)].stream, &whole, err)
               : 0;
}

/* The time of a row, after NOW, the one before; an impossible one is taken as no step. */
static int64_t firefox_time_of(const struct fx_thread *t, size_t row, int64_t now)
{
    int64_t v = t->time_ns.at[row];
    if (t->deltas && __builtin_add_overflow(now, v == INT64_MIN ? 0 : v, &v))
        return now;
    return v == INT64_MIN ? now : v;
}

static uint64_t since_start_ns(double ms)
{
    int64_t ns = firefox_millionths(ms);
    return ns > 0 ? (uint64_t)ns : 0;
}

/* A time of a child process, whose clock starts SINCE_NS after that of the profile. */
static uint64_t since_first_ns(int64_t now, int64_t since_ns)
{
    int64_t ns;
    return !__builtin_add_overflow(now, since_ns, &ns) && ns > 0 ? (uint64_t)ns : 0;
}

/* Ours says when it started recording, not when the process started. */
static void set_process_times(struct firefox *f, const struct fx_thread *t, struct thread_id thread)
{
    struct profile *p = f->im->profile;
    struct process_id id = p->threads.at[thread.i].process;
    if (!id.i || f->own_meta)
        return;
    p->processes.at[id.i].start_ns = since_start_ns(t->start_ms);
    p->processes.at[id.i].end_ns = since_start_ns(t->end_ms);
}

static int add_thread(struct firefox *f, struct fx_thread *t, struct err *err)
{
    struct thread_key thread = {t->name.i || f->own_meta ? t->name : t->process, t->pid, t->tid};
    struct row to = {.thread = profile_add_thread(f->im->profile, &thread)};
    set_process_times(f, t, to.thread);
    int64_t now = 0, since_ns = firefox_millionths(t->of->start_ms - f->processes.at[0]->start_ms);
    for (size_t row = 0; row < t->stack.n; row++) {
        to.has_time = row < t->time_ns.n && !f->untimed;
        now = row < t->time_ns.n ? firefox_time_of(t, row, now) : now;
        to.time_ns = since_first_ns(now, since_ns);
        if (firefox_add_sample(f, t, &to, row, err) != 0)
            return -1;
    }
    return 0;
}

int firefox_build(struct firefox *f, struct err *err)
{
    firefox_set_meta(f);
    add_streams(f);
    for (size_t i = 0; i < f->processes.n; i++) {
        struct fx_process *of = f->processes.at[i];
        firefox_tables_resolve(&of->shared, f->im, &of->shared, &of->kinds);
    }
    for (size_t i = 0; i < f->threads.n; i++) {
        struct fx_thread *t = &f->threads.at[i];
        gecko_process(&t->own, f->im, &t->of->shared);
        firefox_tables_resolve(&t->own, f->im, &t->of->shared, &t->of->kinds);
        if (add_thread(f, t, err) != 0)
            return -1;
    }
    if (f->idle)
        import_note(f->im, "left out as idle, having no stack: %llu sample%s",
                    (unsigned long long)f->idle, f->idle == 1 ? "" : "s");
    if (f->in_text)
        import_note(f->im, "left out, as this old format stores them as text: %llu child process%s",
                    (unsigned long long)f->in_text, f->in_text == 1 ? "" : "es");
    return 0;
}
