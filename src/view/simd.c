#include "view/simd.h"

#include "base/json.h"
#include "base/units.h"
#include "base/utf8.h"

#include <math.h>

static double simd_view_part(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static double simd_view_share(double part, double whole)
{
    return 100 * simd_view_part(part, whole);
}

static double simd_packed_part(const struct simd_mix *m)
{
    return simd_view_part((double)m->packed_math, (double)(m->packed_math + m->scalar_math));
}

static const char *const kind_keys[] = {"integer", "scalar_fp", "packed_fp", "packed_int",
                                        "vector_moves"};

/* Part of the profile in functions whose code is a VERDICT of one ISA; -1: of any. */
struct simd_weight {
    enum simd_verdict verdict;
    int isa;
    int64_t self;
};

enum { SIMD_WEIGHTS = SIMD_VERDICTS * X86_ISAS };

static int64_t self_in(const struct simd_view *v, enum simd_verdict verdict, int isa)
{
    int64_t sum = 0;
    for (size_t i = 0; i < v->n; i++) {
        const struct simd_mix *m = &v->rows[i].hot;
        if (simd_verdict_of(m) == verdict && (isa < 0 || simd_isa_of(m) == isa))
            sum += v->rows[i].self;
    }
    return sum;
}

/* The kinds of code that the profile has, most packed first; integer code is not told apart. */
static size_t simd_weigh(const struct simd_view *v, struct simd_weight ret[SIMD_WEIGHTS])
{
    size_t n = 0;
    for (int w = SIMD_VERDICTS - 1; w >= 0; w--)
        for (int k = w == SIMD_INTEGER ? 0 : X86_ISAS - 1; k >= 0; k--) {
            int isa = w == SIMD_INTEGER ? -1 : k;
            int64_t self = self_in(v, (enum simd_verdict)w, isa);
            if (self)
                ret[n++] = (struct simd_weight){(enum simd_verdict)w, isa, self};
        }
    return n;
}

/* Functions that are listed. */
static size_t simd_shown(const struct simd_view *v)
{
    return v->n < v->top ? v->n : v->top;
}

/* --- text --- */

/* The sets that have a column of their own. */
static int first_column(const struct simd_view *v)
{
    return v->all.machine == SIMD_A64 ? (int)A64_FP : (int)X86_SSE;
}

static void print_features(FILE *out, const struct simd_view *v)
{
    if (v->all.machine == SIMD_A64) {
        fprintf(out, "features  in this code: %s\n",
                v->all.isa[A64_SVE] ? "sve" : "none beyond NEON");
        return;
    }
    fputs("features  in this code:", out);
    for (int f = 0; f < X86_FEATURES; f++)
        if (v->all.needs >> f & 1)
            fprintf(out, " %s%s", x86_feature_name((enum x86_feature)f),
                    v->host_known && !(v->host_has >> f & 1) ? "(!)" : "");
    fputs(v->all.needs ? "\n" : " none beyond SSE2\n", out);
    if (!v->host_known)
        return;
    if (v->all.needs & ~v->host_has)
        fputs("          (!) this host does not have it: either that code is chosen at run time, "
              "or it fails here\n",
              out);
    uint32_t unused = v->host_has & ~v->all.needs;
    fputs("          on this host, but not in this code:", out);
    for (int f = 0; f < X86_FEATURES; f++)
        if (unused >> f & 1)
            fprintf(out, " %s", x86_feature_name((enum x86_feature)f));
    fputs(unused ? "\n" : " none\n", out);
}

static void print_embedded(FILE *out, const struct simd_mix *m)
{
    char n[UNITS_MAX];
    if (m->bad)
        fprintf(out, "          %s bytes are data embedded in code\n", units_count(n, m->bad));
}

static void print_totals(FILE *out, const struct simd_view *v)
{
    char n[UNITS_MAX];
    const struct simd_mix *m = &v->all;
    fprintf(out, "code      %s instructions in ", units_count(n, m->n));
    fprintf(out, "%s function%s:", units_count(n, v->n), v->n == 1 ? "" : "s");
    const char *comma = "";
    for (int i = 0; simd_isa_name(m->machine, i); i++)
        if (m->isa[i]) {
            fprintf(out, "%s %s %.1f%%", comma, simd_isa_name(m->machine, i),
                    simd_view_share((double)m->isa[i], (double)m->n));
            comma = ",";
        }
    if (m->machine == SIMD_X86 && m->needs & 1u << X86_HAS_FMA)
        fputs(" (FMA counts as AVX2)", out);
    fputs("\nfloating  ", out);
    if (m->kind[X86_SCALAR_FP] + m->kind[X86_PACKED_FP] == 0) {
        fputs("no instructions\n", out);
        print_embedded(out, m);
        return;
    }
    bool x86 = m->machine == SIMD_X86;
    fprintf(out, "%s scalar%s and ", units_count(n, m->kind[X86_SCALAR_FP]),
            x86 ? " (ss, sd, x87)" : "");
    fprintf(out, "%s packed%s; ", units_count(n, m->kind[X86_PACKED_FP]), x86 ? " (ps, pd)" : "");
    if (m->packed_math + m->scalar_math)
        fprintf(out, "of those that compute %.1f%% packed\n", 100 * simd_packed_part(m));
    else
        fputs("none of them computes\n", out);
    print_embedded(out, m);
}

static void print_weights(FILE *out, const struct simd_view *v)
{
    static const char *const words[] = {"integer code", "scalar floating point",
                                        "packed floating point", "packed integers",
                                        "moves of vectors"};
    char n[UNITS_MAX];
    fprintf(out, "\nhot %s%s%s\n", quantity_is_time(v->quantity) ? "time" : "code",
            v->selected ? ", selected: " : "", v->selected ? v->selected : "");
    struct simd_weight weights[SIMD_WEIGHTS];
    size_t n_weights = simd_weigh(v, weights);
    for (size_t i = 0; i < n_weights; i++) {
        const struct simd_weight *w = &weights[i];
        fprintf(out, "  %6.2f%%  in %s%s%s\n", simd_view_share((double)w->self, (double)v->total),
                words[w->verdict], w->isa >= 0 ? ", " : "",
                w->isa >= 0 ? simd_isa_name(v->all.machine, w->isa) : "");
    }
    if (v->elsewhere)
        fprintf(
            out,
            "  %6.2f%%  in code that cannot be read here: the kernel, JITs, files that are gone\n",
            simd_view_share((double)v->elsewhere, (double)v->total));
    if (v->samples >= 0 && v->samples < 200)
        fprintf(out, "  only %s sample%s: these shares are rough\n",
                units_count(n, (uint64_t)v->samples), v->samples == 1 ? "" : "s");
}

static void print_row(FILE *out, const struct simd_view *v, const struct simd_row *r)
{
    char what[32];
    const struct simd_mix *m = &r->mix;
    if (v->has_profile)
        fprintf(out, "%7.2f%%", simd_view_share((double)r->self, (double)v->total));
    fprintf(out, " %7llu", (unsigned long long)m->n);
    for (int i = first_column(v); simd_isa_name(m->machine, i); i++)
        fprintf(out, " %6llu", (unsigned long long)m->isa[i]);
    if (m->scalar_math + m->packed_math)
        fprintf(out, " %6.0f%%", 100 * simd_packed_part(m));
    else
        fputs("       -", out);
    fprintf(out, "  %-22s ", simd_describe(&r->hot, what));
    utf8_print(out, r->name);
    fputs("\n", out);
}

static void print_rows(FILE *out, const struct simd_view *v)
{
    char n[UNITS_MAX];
    size_t shown = simd_shown(v);
    fprintf(out, "\n%s %7s", v->has_profile ? "    self" : "", "instr");
    for (int i = first_column(v); simd_isa_name(v->all.machine, i); i++)
        fprintf(out, " %6s", simd_isa_name(v->all.machine, i));
    fprintf(out, " %7s  %-22s function\n", "packed", "kind");
    for (size_t i = 0; i < shown; i++)
        print_row(out, v, &v->rows[i]);
    if (shown < v->n)
        fprintf(out, "and %s more\n", units_count(n, v->n - shown));
    fputs("Numbers are instructions of the whole function. Packed: how much of its floating-point "
          "arithmetic is in vectors; - where there is none.\n",
          out);
    if (v->has_profile && v->all.machine == SIMD_X86)
        fputs("Kind and hot time are judged by a function's hot blocks, those with a tenth of its "
              "samples or more, each weighted by its samples. Where hot blocks have less than half "
              "of the samples, all blocks that ran count.\n",
              out);
}

/* Vectors save time and instructions, not page faults. */
static bool is_hot_candidate(const struct simd_view *v, const struct simd_row *r)
{
    if (v->quantity == QUANTITY_MEMORY || v->quantity == QUANTITY_EVENTS)
        return false;
    return simd_is_candidate(&r->hot) && (!v->has_profile || r->self * 100 >= v->total);
}

static void print_candidates(FILE *out, const struct simd_view *v)
{
    size_t n = 0;
    for (size_t i = 0; i < v->n; i++)
        n += v->has_profile && is_hot_candidate(v, &v->rows[i]);
    if (!n)
        return;
    fputs("\nscalar hot loops: they compute one number at a time and might be vectorised\n", out);
    for (size_t i = 0; i < v->n; i++) {
        if (!is_hot_candidate(v, &v->rows[i]))
            continue;
        fprintf(out, "%7.2f%%  ", simd_view_share((double)v->rows[i].self, (double)v->total));
        utf8_print(out, v->rows[i].name);
        fputs(" (", out);
        utf8_print(out, v->rows[i].module);
        fputs(")\n", out);
    }
}

void simd_print(FILE *out, const struct simd_view *v)
{
    utf8_print(out, v->subject);
    putc('\n', out);
    print_features(out, v);
    print_totals(out, v);
    if (v->has_profile)
        print_weights(out, v);
    print_rows(out, v);
    print_candidates(out, v);
}

/* --- JSON --- */

static void simd_put_isa(struct json *j, const struct simd_mix *m)
{
    json_key(j, "isa");
    json_open(j, '{');
    for (int i = 0; simd_isa_name(m->machine, i); i++)
        json_put_uint(j, simd_isa_name(m->machine, i), m->isa[i]);
    json_close(j, '}');
    json_key(j, "isa_share");
    json_open(j, '{');
    for (int i = 0; simd_isa_name(m->machine, i); i++)
        json_put_number(j, simd_isa_name(m->machine, i),
                        simd_view_part((double)m->isa[i], (double)m->n));
    json_close(j, '}');
}

static void simd_put_mix(struct json *j, const struct simd_mix *m)
{
    json_put_uint(j, "instructions", m->n);
    json_put_uint(j, "not_code_bytes", m->bad);
    simd_put_isa(j, m);
    json_key(j, "kind");
    json_open(j, '{');
    for (int i = 0; i < X86_KINDS; i++)
        json_put_uint(j, kind_keys[i], m->kind[i]);
    json_close(j, '}');
    json_key(j, "fp_math");
    json_open(j, '{');
    json_put_uint(j, "scalar", m->scalar_math);
    json_put_uint(j, "packed", m->packed_math);
    json_put_number(j, "packed_share", m->scalar_math + m->packed_math ? simd_packed_part(m) : NAN);
    json_close(j, '}');
    json_key(j, "width");
    json_open(j, '{');
    json_put_uint(j, "128", m->width[0]);
    json_put_uint(j, "256", m->width[1]);
    json_put_uint(j, "512", m->width[2]);
    json_close(j, '}');
}

/* Where the profile's values are, by kind of code. */
static void simd_put_weights(struct json *j, const struct simd_view *v)
{
    struct simd_weight weights[SIMD_WEIGHTS];
    size_t n = simd_weigh(v, weights);
    json_put_number(j, "samples", v->samples >= 0 ? (double)v->samples : NAN);
    json_key(j, "hot");
    json_open(j, '[');
    for (size_t i = 0; i < n; i++) {
        const struct simd_weight *w = &weights[i];
        json_open(j, '{');
        json_put_str(j, "kind", kind_keys[w->verdict]);
        json_put_str(j, "isa", w->isa >= 0 ? simd_isa_name(v->all.machine, w->isa) : NULL);
        json_put_number(j, "share", simd_view_part((double)w->self, (double)v->total));
        json_close(j, '}');
    }
    json_close(j, ']');
    json_put_number(j, "not_readable_share",
                    simd_view_part((double)v->elsewhere, (double)v->total));
}

static void json_features(struct json *j, const char *key, uint32_t bits)
{
    json_key(j, key);
    json_open(j, '[');
    for (int f = 0; f < X86_FEATURES; f++)
        if (bits >> f & 1)
            json_str(j, x86_feature_name((enum x86_feature)f));
    json_close(j, ']');
}

static void json_row(struct json *j, const struct simd_view *v, const struct simd_row *r)
{
    char what[32];
    json_open(j, '{');
    json_put_str(j, "name", r->name);
    json_put_str(j, "module", r->module);
    if (v->has_profile)
        json_put_number(j, "self_share", simd_view_part((double)r->self, (double)v->total));
    json_put_str(j, "is", simd_describe(&r->hot, what));
    json_put_bool(j, "loops", r->mix.loops);
    json_put_bool(j, "candidate", is_hot_candidate(v, r));
    simd_put_mix(j, &r->mix);
    json_close(j, '}');
}

void simd_print_json(FILE *out, const struct simd_view *v)
{
    struct json j = {.out = out};
    json_open(&j, '{');
    json_put_str(&j, "subject", v->subject);
    json_features(&j, "features_used", v->all.needs);
    json_features(&j, "features_of_host", v->host_has);
    simd_put_mix(&j, &v->all);
    if (v->has_profile)
        simd_put_weights(&j, v);
    json_put_uint(&j, "n_functions", v->n);
    json_put_uint(&j, "n_not_listed", v->n - simd_shown(v));
    json_key(&j, "functions");
    json_open(&j, '[');
    for (size_t i = 0; i < simd_shown(v); i++)
        json_row(&j, v, &v->rows[i]);
    json_close(&j, ']');
    json_close(&j, '}');
    putc('\n', out);
}
