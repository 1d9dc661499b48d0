/* A proof from the first case to the verdict, as a kind of entry. */
#include "equal.h"
#include "base/clock.h"

enum {
    CASES = 1000000,
    CASES_QUICK = 100000,
    TIME_BOX = 6,   /* times as long as a benchmark may take: 30 s by default */
    HANG_S = 5,     /* CPU time after which a call does not return */
    LOOKS = 1000,   /* cases in which wrong results are tried */
    CALL_LOOKS = 64 /* cases in which the candidate must be called at least once */
};

struct proof {
    struct session *s;
    const struct job *job;
    struct kelvin_case *c;
    uint64_t wanted, done;     /* cases */
    uint64_t begin_ns, box_ns; /* box 0 = no limit */
    bool is_called;
    size_t pinned; /* cases from KELVIN_REPRODUCE */
    struct failure failure;
};

/* Constructors add to it before main; nothing changes it afterwards. */
static struct kelvin_reproduce *reproduces;

PUBLIC void kelvin_add_reproduce(struct kelvin_reproduce *r)
{
    r->next = reproduces;
    reproduces = r;
}

/* Races add the length to the name: "/n=65536". */
int equal_name_width(const struct session *s)
{
    return s->name_width + 8;
}

/* --- refusals --- */

static int equal_refuse(struct err *err, const char *why, const char *what)
{
    return err_set(err, EXIT_ERROR, "refused: %s%s", why, what);
}

static int check_slot(const struct slot *s, struct err *err)
{
    if (!s->name)
        return 0;
    if (!s->seen)
        return err_set(err, EXIT_ERROR,
                       "refused: the output array '%s' was empty in all cases: let its length vary",
                       s->name);
    if (s->tried && !s->noticed)
        return err_set(err, EXIT_ERROR,
                       "refused: a candidate whose '%s' is wrong by 1%% (whole numbers: by one) "
                       "would pass in all cases: the tolerance is too loose",
                       s->name);
    return 0;
}

/* Would anything have failed, had the candidate been wrong? */
static int check_worth(const struct proof *p, struct err *err)
{
    bool seen = false, varies = false;
    for (size_t i = 0; i < EQUAL_SLOTS; i++) {
        const struct slot *s = &p->c->slots[i];
        if (check_slot(s, err) < 0)
            return -1;
        seen |= s->seen;
        varies |= s->varies;
    }
    if (!p->c->asked_for_side)
        return equal_refuse(err, "the body does not use KELVIN_SIDE", "");
    if (!seen)
        return equal_refuse(err, "no results: report them with kelvin_result_*() or kelvin_out_*()",
                            "");
    if (!varies)
        return equal_refuse(err, "the outputs are the same for all inputs: ",
                            "what is compared does not depend on what is computed");
    if (!p->is_called)
        return equal_refuse(err, "the body never calls the function that KELVIN_SIDE gives: ",
                            "the candidate was not tested");
    return 0;
}

/* --- cases --- */

/* A call of the candidate must be noticed: give the body a function that cannot be called. */
static void look_for_call(struct proof *p)
{
    struct failure f;
    p->c->trap = true;
    bool returned = case_run(p->c, SOURCE_REPLAY, SIDE_CANDIDATE, &f);
    p->c->trap = false;
    p->is_called |= !returned && f.way == WAY_FAULT && f.fault.address == guard_trap();
}

static bool try_case(struct proof *p, uint64_t number)
{
    struct kelvin_case *c = p->c;
    c->number = number;
    c->dice = dice_seed(c->seed, number);
    uint64_t step = p->wanted / LOOKS ? p->wanted / LOOKS : 1;
    bool looks = number < LOOKS || number % step == 0;
    c->closely = looks;
    if (!case_judge(c, SOURCE_FRESH, &p->failure))
        return false;
    case_observe(c);
    if (looks) {
        case_mutate(c);
        case_disturb(c);
    }
    if (!p->is_called && number < CALL_LOOKS)
        look_for_call(p);
    return true;
}

static bool is_time_over(const struct proof *p)
{
    return p->box_ns && p->done % 256 == 0 && clock_monotonic_ns() - p->begin_ns > p->box_ns;
}

static bool try_all(struct proof *p)
{
    for (p->done = 0; p->done < p->wanted && !is_time_over(p); p->done++)
        if (!try_case(p, p->done))
            return false;
    return true;
}

/* Cases that failed once, from KELVIN_REPRODUCE. */
static bool try_pinned(struct proof *p)
{
    struct kelvin_case *c = p->c;
    void (*body)(struct kelvin_case * c) = c->body;
    struct tape given = {0};
    bool agree = true;
    c->closely = true;
    for (const struct kelvin_reproduce *r = reproduces; r && agree; r = r->next) {
        if (r->body != body)
            continue;
        p->pinned++;
        c->body = r->give;
        agree = case_run(c, SOURCE_GIVEN, SIDE_REFERENCE, &p->failure);
        c->body = body;
        tape_copy(&given, &c->tape);
        c->given = &given;
        agree = agree && case_judge(c, SOURCE_TAPE, &p->failure);
    }
    c->given = NULL;
    tape_done(&given);
    return agree;
}

/* --- the report --- */

/* "bit for bit", or the loosest of all tolerances. */
static void print_tolerance(struct buf *to, const struct kelvin_case *c)
{
    static const char *const words[] = {"bit for bit", "absolute", "relative", "ULP"};
    struct tolerance t = {0};
    for (size_t i = 0; i < EQUAL_SLOTS; i++)
        if (c->slots[i].tolerance.limit > t.limit)
            t = c->slots[i].tolerance;
    if (t.how == KELVIN_EXACT)
        buf_str(to, words[0]);
    else
        buf_printf(to, "within %.3g %s", t.limit, words[t.how]);
}

static void print_coverage(struct buf *to, const struct proof *p)
{
    const struct coverage *v = &p->c->coverage;
    if (v->lengths_seen)
        buf_printf(to, ", %zu of %zu lengths", v->lengths_seen, v->longest + 1);
    if (v->alignments)
        buf_printf(to, ", %d alignments", __builtin_popcountll(v->alignments));
    if (p->pinned)
        buf_printf(to, ", %zu reproduced", p->pinned);
}

static void print_slots(struct buf *to, const struct kelvin_case *c)
{
    const char *between = "";
    for (size_t i = 0; i < EQUAL_SLOTS; i++) {
        const struct slot *s = &c->slots[i];
        if (!s->seen)
            continue;
        buf_printf(to, "%s%s ", between, s->name);
        if (!s->varies)
            buf_str(to, "never varies");
        else
            buf_printf(to, "%zu of %zu", s->noticed, s->tried);
        between = ", ";
    }
}

/* Inputs whose last element never mattered: "'x', 'y'"; empty = none. */
static void print_unused(struct buf *to, const struct kelvin_case *c)
{
    for (size_t i = 0; i < EQUAL_DRAWS; i++)
        if (c->coverage.inputs[i] && !c->coverage.matters[i])
            buf_printf(to, "%s'%s'", to->n ? ", " : "", c->coverage.inputs[i]);
}

static void say_agreement(const struct proof *p)
{
    autobuf struct buf line = {0}, slots = {0}, unused = {0};
    print_count(&line, p->done);
    if (p->done < p->wanted) {
        buf_str(&line, " of ");
        print_count(&line, p->wanted);
    }
    buf_str(&line, " cases agree ");
    print_tolerance(&line, p->c);
    print_coverage(&line, p);
    print_slots(&slots, p->c);
    print_unused(&unused, p->c);
    session_say(p->s, "equal %-*s  %s; seed %llu, %.1f s\n", equal_name_width(p->s), p->job->name,
                buf_cstr(&line), (unsigned long long)p->c->seed,
                (double)(clock_monotonic_ns() - p->begin_ns) / 1e9);
    session_say(p->s, "      %-*s  planted small errors caught: %s\n", equal_name_width(p->s), "",
                buf_cstr(&slots));
    if (unused.n)
        session_say(p->s, "      %-*s  note: no result depended on the last element of %s\n",
                    equal_name_width(p->s), "", buf_cstr(&unused));
}

static void record_agreement(const struct proof *p, struct json *j)
{
    json_key(j, "cases");
    json_uint(j, p->done);
    json_key(j, "wanted");
    json_uint(j, p->wanted);
    json_key(j, "seed");
    json_uint(j, p->c->seed);
}

static void equal_record(const struct proof *p, const char *failure, const char *code)
{
    struct json *j = session_record(p->s);
    if (!j)
        return;
    json_key(j, "equal");
    json_str(j, p->job->name);
    json_key(j, "ok");
    json_bool(j, !failure);
    record_agreement(p, j);
    if (failure) {
        json_key(j, "message");
        json_str(j, failure);
        json_key(j, "code");
        json_str(j, code);
    }
    session_record_end(p->s);
}

static void say_failure(const struct proof *p, bool is_pinned)
{
    autobuf struct buf what = {0}, code = {0}, where = {0};
    failure_print(&what, p->c, &p->failure);
    case_print_code(&code, p->c, p->job->name);
    buf_str(&where, is_pinned ? "a case of KELVIN_REPRODUCE" : "case ");
    if (!is_pinned)
        print_count(&where, p->done + 1);
    equal_record(p, buf_cstr(&what), buf_cstr(&code));
    session_say(p->s, "equal %-*s  FAILED at %s, seed %llu: %s\n", equal_name_width(p->s),
                p->job->name, buf_cstr(&where), (unsigned long long)p->c->seed, buf_cstr(&what));
    session_say(p->s,
                "\n/* %s: %s.\n"
                " * Put this below KELVIN_EQUAL(%s): it is then tried first in every run. */\n%s\n",
                p->job->name, buf_cstr(&what), p->job->name, buf_cstr(&code));
    session_fails(p->s, EXIT_FAILS);
}

/* --- running --- */

static int equal_give_up(const struct proof *p, struct err *err)
{
    return err_set(err, EXIT_ERROR, "refused: %s", p->failure.text);
}

/* What only a closer look shows needs one in every try. */
static void prove_shrink(struct proof *p)
{
    p->c->closely = p->failure.way == WAY_WRITES || p->failure.way == WAY_LEAK;
    case_shrink(p->c, &p->failure);
}

static int prove(struct proof *p, struct err *err)
{
    bool is_pinned = !try_pinned(p);
    if (is_pinned || !try_all(p)) {
        if (p->failure.way == WAY_MISUSE)
            return equal_give_up(p, err);
        /* To wait again and again for what does not return would take hours. */
        if (!is_pinned && p->failure.fault.signal != GUARD_HANG)
            prove_shrink(p);
        say_failure(p, is_pinned);
        return 0;
    }
    if (check_worth(p, err) < 0)
        return -1;
    say_agreement(p);
    equal_record(p, NULL, NULL);
    p->c->closely = false;
    return race_run(p->s, p->c, p->job->name, err);
}

/* CPU seconds of one call: early enough to name what hangs, before the whole job counts as hanging.
 */
static int hang_limit_s(const struct options *o)
{
    return o->limit_s > 0 && o->limit_s < 16 * HANG_S ? (int)(o->limit_s / 16) + 1 : HANG_S;
}

static int equal_run_job(struct session *s, const struct job *job, struct err *err)
{
    const struct kelvin_equal *e = (const struct kelvin_equal *)job->entry;
    const struct options *o = s->opts;
    struct proof p = {.s = s, .job = job, .begin_ns = clock_monotonic_ns()};
    p.wanted = o->inputs > 0 ? (uint64_t)o->inputs : o->quick ? CASES_QUICK : CASES;
    if (!(o->inputs > 0))
        p.box_ns = (uint64_t)(TIME_BOX * o->time_s * 1e9);
    if (guard_open(hang_limit_s(o)) < 0)
        return err_set(err, EXIT_ERROR, "cannot set the handlers that catch stray accesses");
    p.c = case_new(e->body, o->seed > 0 ? (uint64_t)o->seed : 1);
    int status = prove(&p, err);
    case_free(p.c);
    guard_close();
    return status;
}

static const struct kind kind_equal = {.word = "proof", .run = equal_run_job};

PUBLIC void kelvin_add_equal(struct kelvin_equal *e)
{
    registry_add(&e->entry, &kind_equal);
}
