/* program.c - JSON lines of benchmark programs; see program.h. */
#include "bench/program.h"
#include "base/jsonread.h"
#include "base/units.h"

#include <math.h>

/* One line, whatever kind it turns out to be. */
struct line {
    struct program_result result;
    char *equal, *race, *cliff, *interleave, *schedule, *error, *message;
    double cases, ratio, low, high, min_speedup; /* of proofs and races; NAN = not reported */
    double schedules, preemptions;               /* of interleavings; NAN = not reported */
    bool greeting, end, has_ok, ok;
};

static void line_done(struct line *l)
{
    free(l->result.name);
    free(l->result.parameter);
    free(l->equal);
    free(l->race);
    free(l->cliff);
    free(l->interleave);
    free(l->schedule);
    free(l->error);
    free(l->message);
}

static void take_text(struct jsonread *j, char **ret)
{
    struct text t = json_get_text(j);
    free(*ret);
    *ret = mem_strndup(t.n ? t.at : "", t.n);
}

static void take_member(struct line *l, struct jsonread *j, const char *key)
{
    static const struct {
        const char *key;
        size_t offset;
    } texts[] =
        {
            {"name", offsetof(struct line, result.name)},
            {"param", offsetof(struct line, result.parameter)},
            {"equal", offsetof(struct line, equal)},
            {"race", offsetof(struct line, race)},
            {"cliff", offsetof(struct line, cliff)},
            {"interleave", offsetof(struct line, interleave)},
            {"schedule", offsetof(struct line, schedule)},
            {"error", offsetof(struct line, error)},
            {"message", offsetof(struct line, message)},
        },
      numbers[] = {
          {"ns", offsetof(struct line, result.ns)},
          {"cpu_ns", offsetof(struct line, result.cpu_ns)},
          {"items", offsetof(struct line, result.items)},
          {"bytes", offsetof(struct line, result.bytes)},
          {"flops", offsetof(struct line, result.flops)},
          {"r2", offsetof(struct line, result.r2)},
          {"cpu_r2", offsetof(struct line, result.cpu_r2)},
          {"size", offsetof(struct line, result.size)},
          {"cases", offsetof(struct line, cases)},
          {"ratio", offsetof(struct line, ratio)},
          {"low", offsetof(struct line, low)},
          {"high", offsetof(struct line, high)},
          {"min_speedup", offsetof(struct line, min_speedup)},
          {"schedules", offsetof(struct line, schedules)},
          {"preemptions", offsetof(struct line, preemptions)},
      };
    enum json_token next = json_peek(j);
    for (size_t i = 0; next == JSON_STRING && i < sizeof texts / sizeof *texts; i++)
        if (strcmp(key, texts[i].key) == 0) {
            take_text(j, (char **)((char *)l + texts[i].offset));
            return;
        }
    for (size_t i = 0; next == JSON_NUMBER && i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(key, numbers[i].key) == 0) {
            *(double *)((char *)l + numbers[i].offset) = json_get_double(j);
            return;
        }
    if (strcmp(key, "ok") == 0 && (next == JSON_TRUE || next == JSON_FALSE)) {
        l->has_ok = true;
        l->ok = json_get_bool(j);
        return;
    }
    l->greeting |= strcmp(key, "kelvin_bench") == 0;
    l->end |= strcmp(key, "end") == 0;
    json_skip(j);
}

/* False for what is no JSON object. */
static bool program_read_line(struct line *l, struct text bytes)
{
    struct reader in;
    struct jsonread j;
    struct text key;
    struct err err;
    *l = (struct line){.result = {.ns = NAN, .cpu_ns = NAN, .size = NAN, .r2 = NAN, .cpu_r2 = NAN},
                       .cases = NAN,
                       .ratio = NAN,
                       .low = NAN,
                       .high = NAN,
                       .min_speedup = NAN,
                       .schedules = NAN,
                       .preemptions = NAN};
    reader_open_memory(&in, bytes.at, bytes.n);
    jsonread_init(&j, &in);
    json_enter(&j, JSON_OBJECT);
    while (json_member(&j, &key)) {
        autofree char *name = mem_strndup(key.n ? key.at : "", key.n);
        take_member(l, &j, name);
    }
    json_finish(&j);
    bool good = !json_failed(&j, &err);
    jsonread_done(&j);
    reader_close(&in);
    return good;
}

static bool known(const struct program_answer *a, const char *name)
{
    for (size_t i = 0; i < a->results.n; i++)
        if (strcmp(a->results.at[i].name, name) == 0)
            return true;
    return false;
}

static double above_zero(double v)
{
    return v > 0 && isfinite(v) ? v : 0;
}

/* Below 0 the rounds lie on no line at all: that is the worst there is, and known. */
static double share_or_unknown(double v)
{
    return v <= 1 && isfinite(v) ? fmax(v, 0) : NAN;
}

static void program_add_result(struct program_answer *a, struct line *l)
{
    struct program_result *r = &l->result;
    if (!r->name || !*r->name || !isfinite(r->ns) || a->results.n >= PROGRAM_BENCHMARKS_MAX ||
        known(a, r->name))
        return;
    r->is_empty = l->low <= 0;
    if (!(r->cpu_ns >= 0 && isfinite(r->cpu_ns)))
        r->cpu_ns = NAN;
    r->items = above_zero(r->items);
    r->bytes = above_zero(r->bytes);
    r->flops = above_zero(r->flops);
    r->r2 = share_or_unknown(r->r2);
    r->cpu_r2 = share_or_unknown(r->cpu_r2);
    if (!r->parameter)
        r->parameter = mem_strdup("");
    if (!(r->size > 0))
        r->size = NAN;
    *vec_push(&a->results) = *r;
    r->name = r->parameter = NULL;
}

/* "equivalence of 'x': MESSAGE" */
static void add_failure(struct program_answer *a, const struct line *l)
{
    if (l->error)
        *vec_push(&a->failures) = mem_strdup(l->error);
    else if (l->has_ok && !l->ok && l->interleave)
        *vec_push(&a->failures) = mem_printf(
            "interleaving '%s' %s%s%s", l->interleave, l->message ? l->message : "does not hold",
            l->schedule && *l->schedule ? "; to run it again: --schedule " : "",
            l->schedule ? l->schedule : "");
    else if (l->has_ok && !l->ok)
        *vec_push(&a->failures) =
            mem_printf("%s '%s' does not hold%s%s", l->race ? "race" : "equivalence",
                       l->race    ? l->race
                       : l->equal ? l->equal
                                  : "",
                       l->message ? ": " : "", l->message ? l->message : "");
}

/* "'dot' computes the same on 1,000,000 inputs" */
static void add_proof(struct program_answer *a, const struct line *l)
{
    char n[UNITS_MAX];
    if (l->cliff && l->message)
        *vec_push(&a->proofs) = mem_printf("'%s' has a %s", l->cliff, l->message);
    if (!l->has_ok || !l->ok)
        return;
    if (l->interleave && l->schedules >= 0 && l->schedules < 1e15 && l->preemptions >= 0)
        *vec_push(&a->proofs) =
            mem_printf("'%s' holds under %s schedules with at most %.0f preemptions", l->interleave,
                       units_count(n, (uint64_t)l->schedules), l->preemptions);
    else if (l->equal && l->cases >= 0 && l->cases < 1e15)
        *vec_push(&a->proofs) = mem_printf("'%s' computes the same on %s inputs", l->equal,
                                           units_count(n, (uint64_t)l->cases));
    else if (l->race && isfinite(l->ratio) && l->min_speedup > 0)
        *vec_push(&a->proofs) = mem_printf("'%s' is %.2f times as fast (%.2f to %.2f; at least %g)",
                                           l->race, l->ratio, l->low, l->high, l->min_speedup);
    else if (l->race && isfinite(l->ratio))
        *vec_push(&a->proofs) = mem_printf("'%s' is %.2f times as fast (%.2f to %.2f)", l->race,
                                           l->ratio, l->low, l->high);
}

void program_read(struct program_answer *a, struct text answer)
{
    *a = (struct program_answer){0};
    while (answer.n > 0) {
        struct text bytes = text_cut(&answer, '\n');
        struct line l;
        if (bytes.n > 0 && program_read_line(&l, bytes)) {
            a->greeted |= l.greeting;
            a->ended |= l.end;
            if (a->greeted && !l.error)
                program_add_result(a, &l);
            if (a->greeted && a->proofs.n < PROGRAM_BENCHMARKS_MAX)
                add_proof(a, &l);
            if (a->greeted && a->failures.n < PROGRAM_BENCHMARKS_MAX)
                add_failure(a, &l);
        }
        if (bytes.n > 0)
            line_done(&l);
    }
}

void program_answer_done(struct program_answer *a)
{
    for (size_t i = 0; i < a->results.n; i++) {
        free(a->results.at[i].name);
        free(a->results.at[i].parameter);
    }
    for (size_t i = 0; i < a->proofs.n; i++)
        free(a->proofs.at[i]);
    for (size_t i = 0; i < a->failures.n; i++)
        free(a->failures.at[i]);
    vec_done(&a->proofs);
    vec_done(&a->results);
    vec_done(&a->failures);
}
