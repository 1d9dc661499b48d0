/* Failures for people, and as code that makes them happen again. */
#include "equal.h"

#include <ctype.h>
#include <math.h>
#include <signal.h>

void print_count(struct buf *to, uint64_t n)
{
    if (n >= 1000) {
        print_count(to, n / 1000);
        buf_printf(to, ",%03u", (unsigned)(n % 1000));
    } else {
        buf_printf(to, "%u", (unsigned)n);
    }
}

/* --- numbers as C has them --- */

static void print_float(struct buf *to, float v)
{
    const char *point = NULL;
    char s[40];
    snprintf(s, sizeof s, "%.6g", (double)v);
    if (strtof(s, NULL) != v)
        snprintf(s, sizeof s, "%.9g", (double)v);
    point = strpbrk(s, ".e");
    buf_printf(to, "%s%sf", s, point ? "" : ".0");
}

static void print_double(struct buf *to, double v)
{
    char s[40];
    snprintf(s, sizeof s, "%.15g", v);
    if (strtod(s, NULL) != v)
        snprintf(s, sizeof s, "%.17g", v);
    buf_printf(to, "%s%s", s, strpbrk(s, ".e") ? "" : ".0");
}

static void print_nan(struct buf *to, enum kelvin_type type, uint64_t bits)
{
    if (bits == (type == KELVIN_F32_ ? 0x7fc00000u : 0x7ff8000000000000u))
        buf_str(to, type == KELVIN_F32_ ? "NAN" : "(double)NAN");
    else if (type == KELVIN_F32_)
        buf_printf(to, "kelvin_bits_f32(0x%08xu)", (unsigned)bits);
    else
        buf_printf(to, "kelvin_bits_f64(0x%016llxu)", (unsigned long long)bits);
}

/* The smallest integer has no literal of its own. */
static void print_integer(struct buf *to, enum kelvin_type type, uint64_t bits)
{
    if (!type_is_signed(type))
        buf_printf(to, "%llu%s", (unsigned long long)bits, bits > INT64_MAX ? "u" : "");
    else if ((int64_t)bits == INT64_MIN)
        buf_str(to, "INT64_MIN");
    else
        buf_printf(to, "%lld", (long long)bits);
}

void print_bits(struct buf *to, enum kelvin_type type, uint64_t bits)
{
    double v = bits_number(type, bits);
    if (!type_is_float(type))
        print_integer(to, type, bits);
    else if (isnan(v))
        print_nan(to, type, bits);
    else if (isinf(v))
        buf_printf(to, "%sINFINITY", v < 0 ? "-" : "");
    else if (type == KELVIN_F32_)
        print_float(to, (float)v);
    else
        print_double(to, v);
}

/* --- what went wrong --- */

static const char *side_name(const struct failure *f)
{
    return f->side == SIDE_REFERENCE ? "the reference" : "the candidate";
}

static void print_signal(struct buf *to, const struct failure *f)
{
    switch (f->fault.signal) {
    case GUARD_HANG:
        buf_str(to, "does not return");
        break;
    case SIGILL:
        buf_str(to, "has an instruction that this processor does not know");
        break;
    case SIGFPE:
        buf_str(to, "divides by zero");
        break;
    case SIGABRT:
        buf_str(to, "aborts");
        break;
    default:
        if (f->fault.has_address)
            buf_printf(to, "touches memory far from any array, at %#llx",
                       (unsigned long long)f->fault.address);
        else
            buf_str(to, "touches a wild address, or uses an aligned vector access on an array that "
                        "is not aligned");
    }
}

/* "reads out of bounds: x[5], 0 bytes past the end of x, which has 5 elements" */
static void print_stray(struct buf *to, const struct kelvin_case *c, const struct failure *f)
{
    const struct draw *d = &c->tape.draws[f->index];
    const char *verb = f->way == WAY_SCRIBBLE || f->fault.access == ACCESS_WRITE ? "writes"
                       : f->fault.access == ACCESS_READ                          ? "reads"
                                                                                 : "touches";
    bool before = f->offset_bytes < 0;
    buf_printf(
        to, "%s out of bounds: %s[%lld], %lld bytes %s %s, which has %zu element%s", verb, d->name,
        (long long)f->element, (long long)(before ? -f->offset_bytes : f->offset_bytes),
        before ? "before the start of" : "past the end of", d->name, d->n, d->n == 1 ? "" : "s");
}

static void print_place(struct buf *to, const struct kelvin_case *c, const struct failure *f)
{
    if (f->is_array)
        buf_printf(to, "%s[%lld]", c->tape.draws[f->index].name, (long long)f->element);
    else
        buf_str(to, c->outcome[0].results[f->index].name);
}

static enum kelvin_type type_of(const struct kelvin_case *c, const struct failure *f)
{
    return f->is_array ? c->tape.draws[f->index].type : c->outcome[0].results[f->index].type;
}

static void print_pair(struct buf *to, const struct kelvin_case *c, const struct failure *f,
                       const char *between)
{
    print_place(to, c, f);
    buf_str(to, " is ");
    print_bits(to, type_of(c, f), f->bits[1]);
    buf_str(to, between);
    print_bits(to, type_of(c, f), f->bits[0]);
}

static void print_mode(struct buf *to, const struct failure *f)
{
    buf_str(to, "leaves the floating-point mode changed");
#if defined __x86_64__
    static const struct {
        uint32_t bits;
        const char *words;
    } parts[] = {{0x8000, "flush to zero"},
                 {0x40, "subnormals are zero"},
                 {0x6000, "rounding"},
                 {0x1f80, "traps"}};
    const char *between = ": ";
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if ((f->bits[0] ^ f->bits[1]) & parts[i].bits) {
            buf_printf(to, "%s%s", between, parts[i].words);
            between = ", ";
        }
    if (f->bits[0] != f->bits[1])
        buf_printf(to, " (MXCSR is %#llx, after the reference %#llx)",
                   (unsigned long long)f->bits[1], (unsigned long long)f->bits[0]);
#else
    (void)f;
#endif
}

void failure_print(struct buf *to, const struct kelvin_case *c, const struct failure *f)
{
    buf_printf(to, "%s ", side_name(f));
    switch (f->way) {
    case WAY_DIFFERS:
        buf_str(to, "differs: ");
        print_pair(to, c, f, ", the reference has ");
        break;
    case WAY_REPORTS:
        buf_str(to, "reports other results than the reference");
        break;
    case WAY_FAULT:
    case WAY_SCRIBBLE:
        if (f->index < EQUAL_DRAWS)
            print_stray(to, c, f);
        else
            print_signal(to, f);
        break;
    case WAY_INPUT:
        buf_str(to, "changes its input: ");
        print_pair(to, c, f, " afterwards, it was ");
        break;
    case WAY_WRITES:
        buf_str(to, "writes to its input ");
        print_place(to, c, f);
        buf_str(to, ", and puts the old value back");
        break;
    case WAY_LEAK:
        buf_printf(to, "leaks: %zu bytes of each call are never freed", f->leaked_bytes);
        break;
    case WAY_MODE:
        print_mode(to, f);
        break;
    default:
        buf_str(to, f->text);
    }
    if (f->is_flaky)
        buf_str(to, "; but not every time: what it computes depends on more than its inputs");
}

/* --- code --- */

static const char *const type_names[] = {"int8_t",   "uint8_t", "int16_t",  "uint16_t", "int32_t",
                                         "uint32_t", "int64_t", "uint64_t", "float",    "double"};
static const char *const suffixes[] = {"i8",  "u8",  "i16", "u16", "i32",
                                       "u32", "i64", "u64", "f32", "f64"};

/* Ten numbers a line. */
static void print_values(struct buf *to, const struct kelvin_case *c, const struct draw *d)
{
    for (size_t i = 0; i < d->n; i++) {
        buf_str(to, i == 0 ? "" : i % 10 == 0 ? ",\n        " : ", ");
        print_bits(to, d->type, element_bits(d->type, c->tape.bytes.at + d->at, i));
    }
}

static void print_given(struct buf *to, const struct kelvin_case *c, size_t i)
{
    const struct draw *d = &c->tape.draws[i];
    const char *suffix = suffixes[d->type];
    if (d->role == ROLE_LENGTH) {
        buf_printf(to, "    kelvin_given_length(c, \"%s\", ", d->name);
        print_values(to, c, d);
        buf_str(to, ");\n");
    } else if (d->role == ROLE_OUT || !d->n) {
        buf_printf(to, "    kelvin_given_%s(c, \"%s\", NULL, 0, %d);\n", suffix, d->name, d->place);
    } else {
        buf_printf(to, "    const %s values_%zu[] = {", type_names[d->type], i);
        print_values(to, c, d);
        buf_printf(to, "};\n    kelvin_given_%s(c, \"%s\", values_%zu, %zu, %d);\n", suffix,
                   d->name, i, d->n, d->place);
    }
}

void case_print_code(struct buf *to, const struct kelvin_case *c, const char *name)
{
    buf_printf(to, "KELVIN_REPRODUCE(%s)\n{\n", name);
    for (size_t i = 0; i < c->tape.n; i++)
        print_given(to, c, i);
    buf_str(to, "}\n");
}
