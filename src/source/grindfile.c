#include "source/grindfile.h"
#include "base/buf.h"
#include "source/callpaths.h"
#include "source/grindevents.h"

enum name_kind { NAME_MODULE, NAME_FILE, NAME_FUNCTION };

/* "(72) work": from now on "(72)" is work. */
struct short_name {
    uint64_t number;
    enum name_kind kind;
    struct str_id name;
};

/* Where the lines being read belong to. */
struct here {
    struct str_id module, file, function_file, function;
};

struct grindfile {
    struct import *im;
    struct grindevents events;
    struct callgraph graph;
    VEC(struct short_name) names;
    struct idmap name_map;
    struct here here, callee;
    bool has_callee_module, has_callee_file, has_callee, has_function;
    bool has_address, has_line;
    uint64_t address, line; /* of the line before */
    enum { COST_SELF, COST_CALL, COST_JUMP } next;
    uint64_t pid;
    bool has_pid, many_pids;
};

/* --- names --- */

static struct short_name *find_name(struct grindfile *f, enum name_kind kind, uint64_t number)
{
    uint32_t hash = hash_pair(hash_pair((uint32_t)number, (uint32_t)(number >> 32)), kind);
    for_each_match (&f->name_map, hash, id) {
        struct short_name *s = &f->names.at[id];
        if (s->number == number && s->kind == kind)
            return s;
    }
    idmap_add(&f->name_map, hash, (uint32_t)f->names.n);
    struct short_name *s = vec_push(&f->names);
    *s = (struct short_name){number, kind, {0}};
    return s;
}

/* "???" is valgrind's word for what it does not know. */
static struct str_id grindfile_add_name(struct grindfile *f, struct text t)
{
    return profile_add_str(f->im->profile, text_is(t, "???") ? (struct text){"", 0} : t);
}

/* "(72) work", "(72)" or "work". A function may be called "(below main)". */
static struct str_id grindfile_name_of(struct grindfile *f, enum name_kind kind, struct text t)
{
    t = text_trim(t);
    struct text rest = t, number = text_cut(&rest, ')');
    uint64_t n;
    if (number.n < 2 || number.at[0] != '(' || number.n == t.n ||
        !text_u64((struct text){number.at + 1, number.n - 1}, 10, &n))
        return grindfile_add_name(f, t);
    struct short_name *s = find_name(f, kind, n);
    rest = text_trim(rest);
    if (rest.n)
        s->name = grindfile_add_name(f, rest);
    return s->name;
}

static uint32_t grindfile_function_of(struct grindfile *f, const struct here *h)
{
    struct callgraph_function key = {h->module, h->function_file, h->function};
    return callgraph_function(&f->graph, &key);
}

/* --- lines with costs --- */

static bool parse_number(struct text t, uint64_t *ret)
{
    bool hex = text_starts(t, "0x");
    if (hex)
        t.at += 2, t.n -= 2;
    return text_u64(t, hex ? 16 : 10, ret);
}

/* "0x10c0", "+4", "-4" or "*" */
static bool parse_position(struct text *t, uint64_t *at)
{
    struct text word = text_cut(t, ' '), digits = {word.at + 1, word.n ? word.n - 1 : 0};
    uint64_t n;
    *t = text_trim(*t);
    if (text_is(word, "*"))
        return true;
    bool plus = text_starts(word, "+"), minus = text_starts(word, "-");
    if (!parse_number(plus || minus ? digits : word, &n))
        return false;
    *at = plus ? *at + n : minus ? *at - n : n;
    return true;
}

static struct callgraph_place grindfile_place_of(struct grindfile *f)
{
    bool lines = f->im->opts.addresses, known = f->has_line && f->line <= UINT32_MAX;
    return (struct callgraph_place){
        .function = grindfile_function_of(f, &f->here),
        .file = lines ? f->here.file : f->here.function_file,
        .line = lines && known ? (uint32_t)f->line : 0,
    };
}

static int grindfile_add_self(struct grindfile *f, const int64_t *costs, struct err *err)
{
    struct callgraph_place at = grindfile_place_of(f);
    for (size_t e = 0; e < f->events.n; e++)
        if (__builtin_add_overflow(f->events.sum[e], costs[e], &f->events.sum[e]))
            return err_set(err, EXIT_INPUT, "the sum of all costs does not fit 64 bits");
    return callgraph_add_cell(&f->graph, &at, costs, err);
}

/* What is not said of a callee is as with its caller. */
static int add_call(struct grindfile *f, const int64_t *costs, struct err *err)
{
    struct here to = f->callee;
    if (!f->has_callee)
        return import_skip_line(f->im, err, "a call of a function that is not named");
    if (!f->has_callee_module)
        to.module = f->here.module;
    if (!f->has_callee_file)
        to.function_file = f->here.file;
    struct callgraph_arc arc = {grindfile_place_of(f), grindfile_function_of(f, &to)};
    f->has_callee = f->has_callee_module = f->has_callee_file = false;
    return callgraph_add_arc(&f->graph, &arc, costs, err);
}

static int cost_line(struct grindfile *f, struct text line, struct err *err)
{
    int64_t costs[STREAM_MAX_TYPES];
    struct text t = text_trim(line);
    int next = f->next;
    if (!f->events.n_columns)
        return err_set(err, EXIT_INPUT, "line %llu: costs before the line 'events:'",
                       (unsigned long long)f->im->in->lines);
    f->next = COST_SELF;
    if ((f->has_address && !parse_position(&t, &f->address)) ||
        (f->has_line && !parse_position(&t, &f->line)) || !grindevents_costs(&f->events, t, costs))
        return import_skip_line(f->im, err, "no costs in '%.*s'", line.n < 60 ? (int)line.n : 60,
                                line.at);
    if (next == COST_JUMP)
        return 0;
    if (!f->has_function)
        return import_skip_line(f->im, err, "costs of a function that is not named");
    return next == COST_CALL ? add_call(f, costs, err) : grindfile_add_self(f, costs, err);
}

/* --- "fn=" and the like --- */

static void set_file(struct grindfile *f, struct text t)
{
    f->here.file = grindfile_name_of(f, NAME_FILE, t);
    f->here.function_file = f->here.file;
}

static void set_inlined_file(struct grindfile *f, struct text t)
{
    f->here.file = grindfile_name_of(f, NAME_FILE, t);
}

static void set_module(struct grindfile *f, struct text t)
{
    f->here.module = grindfile_name_of(f, NAME_MODULE, t);
}

static void set_function(struct grindfile *f, struct text t)
{
    f->here.function = grindfile_name_of(f, NAME_FUNCTION, t);
    f->here.function_file = f->here.file;
    f->has_function = true;
}

static void set_callee_file(struct grindfile *f, struct text t)
{
    f->callee.function_file = grindfile_name_of(f, NAME_FILE, t);
    f->has_callee_file = true;
}

static void set_callee_module(struct grindfile *f, struct text t)
{
    f->callee.module = grindfile_name_of(f, NAME_MODULE, t);
    f->has_callee_module = true;
}

static void set_callee(struct grindfile *f, struct text t)
{
    f->callee.function = grindfile_name_of(f, NAME_FUNCTION, t);
    f->has_callee = true;
}

static void start_call(struct grindfile *f, struct text t)
{
    (void)t;
    f->next = COST_CALL;
}

static void start_jump(struct grindfile *f, struct text t)
{
    (void)t;
    f->next = COST_JUMP;
}

/* Jumps are left out, but names are given short forms there too. */
static void jump_file(struct grindfile *f, struct text t)
{
    grindfile_name_of(f, NAME_FILE, t);
}

static void jump_function(struct grindfile *f, struct text t)
{
    grindfile_name_of(f, NAME_FUNCTION, t);
}

static const struct {
    const char *key;
    void (*set)(struct grindfile *f, struct text t);
} settings[] = {
    {"fn=", set_function},     {"fl=", set_file},         {"fi=", set_inlined_file},
    {"fe=", set_inlined_file}, {"ob=", set_module},       {"cfn=", set_callee},
    {"cfi=", set_callee_file}, {"cfl=", set_callee_file}, {"cob=", set_callee_module},
    {"calls=", start_call},    {"jump=", start_jump},     {"jcnd=", start_jump},
    {"jfi=", jump_file},       {"jfn=", jump_function},
};

/* --- the header --- */

static int version_line(struct grindfile *f, struct text t, struct err *err)
{
    uint64_t version;
    struct text major = text_cut(&t, '.');
    if (text_u64(major, 10, &version) && version > 1)
        return err_set(err, EXIT_INPUT, "version %llu of the format is not known; 1 is",
                       (unsigned long long)version);
    (void)f;
    return 0;
}

static int creator_line(struct grindfile *f, struct text t, struct err *err)
{
    (void)err;
    meta_set(&f->im->profile->meta, META_TOOL, t);
    return 0;
}

static int command_line(struct grindfile *f, struct text t, struct err *err)
{
    (void)err;
    meta_set(&f->im->profile->meta, META_COMMAND, t);
    return 0;
}

static int pid_line(struct grindfile *f, struct text t, struct err *err)
{
    uint64_t pid;
    (void)err;
    if (!text_u64(t, 10, &pid) || pid > INT32_MAX)
        return 0;
    f->many_pids |= f->has_pid && f->pid != pid;
    f->has_pid = true;
    f->pid = pid;
    return 0;
}

/* "D1 cache: 32768 B, 64 B, 8-way associative": the simulated machine belongs to the figures. */
static int description_line(struct grindfile *f, struct text t, struct err *err)
{
    static const char *const kept[] = {"I1 cache", "D1 cache", "LL cache"};
    (void)err;
    struct text rest = t, key = text_cut(&rest, ':');
    rest = text_trim(rest);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (rest.n && text_is(key, kept[i]))
            meta_set(&f->im->profile->meta, kept[i], rest);
    return 0;
}

static int positions_line(struct grindfile *f, struct text t, struct err *err)
{
    (void)err;
    f->has_address = f->has_line = false;
    while (t.n) {
        struct text word = text_cut(&t, ' ');
        f->has_address |= text_is(word, "instr") || text_is(word, "addr");
        f->has_line |= text_is(word, "line");
    }
    return 0;
}

static int events_line(struct grindfile *f, struct text t, struct err *err)
{
    if (f->events.n_columns && grindevents_check(&f->events, f->im, err) != 0)
        return -1;
    int rc = grindevents_set(&f->events, f->im, t, err);
    f->graph.n_events = f->events.n;
    return rc;
}

static int event_line(struct grindfile *f, struct text t, struct err *err)
{
    return f->events.n ? grindevents_derive(&f->events, f->im, t, err) : 0;
}

static int summary_line(struct grindfile *f, struct text t, struct err *err)
{
    (void)err;
    grindevents_tell(&f->events, t, false);
    return 0;
}

static int totals_line(struct grindfile *f, struct text t, struct err *err)
{
    (void)err;
    grindevents_tell(&f->events, t, true);
    return 0;
}

static int no_line(struct grindfile *f, struct text t, struct err *err)
{
    (void)f;
    (void)t;
    (void)err;
    return 0;
}

static const struct {
    const char *key;
    int (*read)(struct grindfile *f, struct text t, struct err *err);
} headers[] = {
    {"version:", version_line},  {"creator:", creator_line},
    {"cmd:", command_line},      {"pid:", pid_line},
    {"thread:", no_line},        {"part:", no_line},
    {"desc:", description_line}, {"event:", event_line},
    {"events:", events_line},    {"positions:", positions_line},
    {"summary:", summary_line},  {"totals:", totals_line},
};

/* --- lines --- */

static struct text after(struct text t, const char *key)
{
    size_t n = strlen(key);
    return text_trim((struct text){t.at + n, t.n - n});
}

static int other_line(struct grindfile *f, struct text line, struct err *err)
{
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (text_starts(line, settings[i].key)) {
            settings[i].set(f, after(line, settings[i].key));
            return 0;
        }
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        if (text_starts(line, headers[i].key))
            return headers[i].read(f, after(line, headers[i].key), err);
    return import_skip_line(f->im, err, "no word known to this format in '%.*s'",
                            line.n < 60 ? (int)line.n : 60, line.at);
}

static int grindfile_read_line(struct grindfile *f, struct text line, struct err *err)
{
    struct text t = text_trim(line);
    if (!t.n || t.at[0] == '#')
        return 0;
    bool costs = (t.at[0] >= '0' && t.at[0] <= '9') || strchr("+-*", t.at[0]);
    return costs ? cost_line(f, t, err) : other_line(f, t, err);
}

/* --- all of it --- */

/* Others write this format too, with times or samples; only a simulator is called one. */
static void label_costs(struct grindfile *f)
{
    struct meta *m = &f->im->profile->meta;
    const char *creator = meta_find(m, META_TOOL);
    bool simulated = false;
    for (size_t e = 0; e < f->events.n; e++)
        simulated |=
            event_obtained(profile_str(f->im->profile, f->events.name[e])) == BY_SIMULATION;
    if (simulated && (!creator || strncmp(creator, "callgrind", 9) == 0))
        profile_stream(f->im->profile, GRINDEVENTS_STREAM)->obtained = BY_SIMULATION;
    if (f->graph.arcs.n)
        meta_set_str(m, META_COMMENT,
                     "call paths are estimated from a call graph: the costs of lines and calls are "
                     "the file's, whole paths are in proportion");
}

static struct thread_id grindfile_thread_of(struct grindfile *f)
{
    struct thread_key t = {.pid = (int32_t)f->pid, .tid = THREAD_NO_ID};
    if (!f->has_pid || f->many_pids)
        return (struct thread_id){0};
    return profile_add_thread(f->im->profile, &t);
}

/* The first event that anything was counted of: most of an xtree of leaks are zero. */
static int first_counted(const struct profile *p)
{
    const struct stream *s = profile_stream(p, GRINDEVENTS_STREAM);
    for (int i = 0; i < s->n_types; i++)
        if (s->types[i].total)
            return i;
    return 0;
}

static int grindfile_finish(struct grindfile *f, struct err *err)
{
    bool cut = false;
    if (!f->events.n)
        return err_set(err, EXIT_INPUT, "there is no line 'events:'");
    if (grindevents_check(&f->events, f->im, err) != 0)
        return -1;
    const struct import_opts *o = &f->im->opts;
    struct callpaths_opts opts = {GRINDEVENTS_STREAM, grindfile_thread_of(f),
                                  o->addresses || o->bare_addresses};
    if (callpaths_emit(&f->graph, f->im->profile, &opts, &cut, err) != 0)
        return -1;
    grindevents_add_derived(&f->events, f->im);
    f->im->profile->default_value =
        (struct value_ref){GRINDEVENTS_STREAM, first_counted(f->im->profile)};
    if (cut)
        import_note(f->im,
                    "the call graph has more paths than are kept: small ones lost their inner "
                    "callers, so totals of functions are a little low; what each function "
                    "itself cost is exact");
    label_costs(f);
    return 0;
}

int grindfile_read(struct import *im, struct err *err)
{
    struct grindfile f = {.im = im, .has_line = true};
    struct text line;
    int rc = 0;
    while (rc == 0 && reader_line(im->in, &line))
        rc = grindfile_read_line(&f, line, err);
    if (rc == 0)
        rc = grindfile_finish(&f, err);
    grindevents_done(&f.events);
    callgraph_done(&f.graph);
    vec_done(&f.names);
    idmap_done(&f.name_map);
    return rc;
}
