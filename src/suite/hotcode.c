#include "suite/hotcode.h"

#include "analysis/heat.h"
#include "code/code.h"
#include "code/intloop.h"
#include "code/listing.h"
#include "symbol/producer.h"

static void add_note(struct hotcode *h, const struct err *err)
{
    *vec_push(&h->notes) = mem_strdup(err->text);
}

static struct code *open_code(struct hotcode *h, const char *path, struct text build_id,
                              struct err *err)
{
    struct code *c = mem_new(struct code);
    if (code_open(c, path, build_id, err) != 0) {
        code_close(c);
        free(c);
        return NULL;
    }
    *vec_push(&h->codes) = c;
    if (c->machine == EM_X86_64 || c->machine == EM_AARCH64)
        return c;
    err_set(err, EXIT_INPUT, "'%s' is neither x86-64 nor AArch64 code, which is all that is known",
            path);
    return NULL;
}

static enum simd_machine machine_of(const struct code *c)
{
    return c->machine == EM_AARCH64 ? SIMD_A64 : SIMD_X86;
}

static struct simd_row *hotcode_add_row(struct hotcode *h, struct code *c,
                                        const struct code_function *f)
{
    struct simd_row row = {code_name(c, f), c->module, .start = f->start};
    row.size_bytes = f->size_bytes;
    row.mix.machine = machine_of(c);
    simd_count(&row.mix, code_bytes(c, f));
    simd_add(&h->all, &row.mix);
    row.hot = row.mix;
    struct simd_row *ret = vec_push(&h->rows);
    *ret = row;
    return ret;
}

/* --- a binary --- */

static uint64_t vector_weight(const struct simd_mix *m)
{
    return m->n - m->isa[X86_BASE];
}

static int by_vectors(const void *a, const void *b)
{
    const struct simd_row *x = a, *y = b;
    uint64_t m = vector_weight(&x->mix), n = vector_weight(&y->mix);
    if (m != n)
        return m > n ? -1 : 1;
    int order = x->name == y->name ? 0 : strcmp(x->name, y->name);
    return order ? order : x->start < y->start ? -1 : x->start > y->start;
}

/* Code between functions is one row for the whole file, as it has one name in reports, too. */
static struct simd_row *hotcode_add_unknown(struct hotcode *h, const struct simd_mix *mix,
                                            const char *name, const char *module)
{
    struct simd_row *ret = vec_push(&h->rows);
    *ret = (struct simd_row){name, module, .mix = *mix, .hot = *mix};
    simd_add(&h->all, mix);
    return ret;
}

static void add_gaps(struct hotcode *h, struct code *c)
{
    struct simd_mix mix = {.machine = machine_of(c)};
    struct code_function gap;
    for (size_t i = 0; i < c->sections.n; i++)
        if (code_find_gap(c, c->sections.at[i].start, &gap))
            simd_count(&mix, code_bytes(c, &gap));
    for (size_t i = 0; i < c->functions.n; i++) {
        uint64_t end = c->functions.at[i].start + c->functions.at[i].size_bytes;
        if (code_find_gap(c, end, &gap) && gap.start == end)
            simd_count(&mix, code_bytes(c, &gap));
    }
    if (mix.n)
        hotcode_add_unknown(h, &mix, c->gap_name, c->module);
}

int hotcode_read_binary(struct hotcode *h, const char *path, struct err *err)
{
    *h = (struct hotcode){0};
    struct code *c = open_code(h, path, (struct text){0}, err);
    if (!c)
        return -1;
    for (size_t i = 0; i < c->functions.n; i++)
        hotcode_add_row(h, c, &c->functions.at[i]);
    if (h->rows.n)
        add_gaps(h, c);
    if (!h->rows.n)
        return err_set(err, EXIT_INPUT, "'%s' has no functions: neither symbols nor unwind rules",
                       path);
    qsort(h->rows.at, h->rows.n, sizeof *h->rows.at, by_vectors);
    return 0;
}

/* --- a profile --- */

struct job {
    struct hotcode *h;
    const struct profile *p;
    const struct hotcode_opts *opts;
};

static int by_self(const void *a, const void *b)
{
    const struct simd_row *x = a, *y = b;
    if (x->self != y->self)
        return x->self > y->self ? -1 : 1;
    return strcmp(x->name, y->name);
}

static bool is_file_path(struct text path)
{
    return path.n && path.at[0] == '/' && !memchr(path.at, 0, path.n);
}

static struct code *code_of_mapping(const struct job *j, struct mapping_id id)
{
    struct err err;
    const struct mapping *m = &j->p->mappings.at[id.i];
    struct text path = profile_str(j->p, m->path), build_id = profile_str(j->p, m->build_id);
    if (!is_file_path(path))
        return NULL;
    autofree char *found = j->opts->find ? j->opts->find(j->opts->where, path.at, build_id) : NULL;
    struct code *c = open_code(j->h, found ? found : path.at,
                               j->opts->force ? (struct text){0} : build_id, &err);
    if (c) /* a copy may be called anything */
        c->module = strrchr(path.at, '/') + 1;
    else
        add_note(j->h, &err);
    return c;
}

/* How much a block must have to count: a tenth, or anything where such blocks have less than half.
 */
static int64_t least_of_blocks(const struct listing *l)
{
    int64_t tenth = (l->self + 9) / 10, sum = 0;
    for (size_t i = 0; i < l->blocks.n; i++)
        sum += l->blocks.at[i].self >= tenth ? l->blocks.at[i].self : 0;
    return 2 * sum >= l->self && tenth > 0 ? tenth : 1;
}

/* The blocks that hold much of the function's time, by that: its loops, not their left-overs. */
static void count_hot(struct simd_row *row, const struct listing *l)
{
    int64_t hot = 0, looped = 0, integer = 0, least = least_of_blocks(l);
    row->hot = (struct simd_mix){.machine = row->mix.machine};
    for (size_t i = 0; i < l->blocks.n; i++) {
        const struct listing_block *b = &l->blocks.at[i];
        const struct listing_insn *first = &l->insns.at[b->first], *last = first + b->n - 1;
        size_t n = (size_t)(last->bytes - first->bytes) + last->x.length;
        if (b->self < least)
            continue;
        struct simd_mix mix = {.machine = row->mix.machine};
        simd_count(&mix, (struct text){(const char *)first->bytes, n});
        simd_add_weighted(&row->hot, &mix,
                          (uint64_t)((double)b->self / (double)l->self * HOT_WEIGHT));
        integer += intloop_is_candidate(l, b) ? b->self : 0;
        hot += b->self;
        looped += b->in_loop ? b->self : 0;
    }
    row->hot.loops = hot > 0 && 2 * looped >= hot; /* else what is hot is no loop */
    row->hot.int_loop = hot > 0 && 2 * integer >= hot;
}

/* Packed debug information is that of distributions, who optimize; unpacking it takes seconds. */
static bool is_unoptimised(struct code *c, const struct code_function *f)
{
    Dwarf *dw = c->main.is_packed ? NULL : elffile_dwarf_units(&c->main);
    return dw && producer_left_unoptimised(dw, f->start);
}

static void add_function(const struct job *j, struct code *c, const struct code_function *f,
                         const struct heat_spot *s, size_t n)
{
    struct listing l = {0};
    if (c->machine == EM_X86_64) /* blocks of others are not known: all of the function counts */
        listing_add(&l, f->start, code_bytes(c, f));
    int64_t self = 0;
    for (size_t i = 0; i < n; i++) {
        listing_heat(&l, s[i].pc, s[i].self);
        self += s[i].self;
    }
    listing_cut(&l);
    struct simd_row *row = hotcode_add_row(j->h, c, f);
    row->self = self;
    row->unoptimised = is_unoptimised(c, f);
    row->mapping = s->mapping;
    if (l.insns.n)
        count_hot(row, &l);
    listing_done(&l);
}

static bool is_hot(const struct job *j, int64_t self)
{
    return (double)self >= j->opts->least * (double)j->h->total;
}

/* What of the N spots at S, which are of one mapping, is in no function. */
static void add_unknown(const struct job *j, struct code *c, const struct heat_spot *s, size_t n)
{
    struct listing l = {0};
    struct simd_mix mix = {.machine = machine_of(c)};
    struct code_function gap;
    int64_t self = 0;
    uint64_t end = 0;
    for (size_t i = 0; i < n; i++) {
        if (!code_find_gap(c, s[i].pc, &gap))
            continue;
        if (gap.start >= end) {
            simd_count(&mix, code_bytes(c, &gap));
            if (c->machine == EM_X86_64)
                listing_add(&l, gap.start, code_bytes(c, &gap));
            end = gap.start + gap.size_bytes;
        }
        listing_heat(&l, s[i].pc, s[i].self);
        self += s[i].self;
    }
    if (mix.n && is_hot(j, self)) {
        struct simd_row *row = hotcode_add_unknown(j->h, &mix, c->gap_name, c->module);
        row->self = self;
        row->mapping = s->mapping;
        listing_cut(&l);
        if (l.insns.n)
            count_hot(row, &l);
    }
    listing_done(&l);
}

/* How many of the N spots at S are in F, and what was spent there. */
static size_t count_spots(const struct code_function *f, const struct heat_spot *s, size_t n,
                          int64_t *ret_self)
{
    size_t i = 0;
    for (*ret_self = 0; i < n && s[i].pc - f->start < f->size_bytes; i++)
        *ret_self += s[i].self;
    return i;
}

/* The N spots at S are of one mapping, by address. */
static void add_mapping(const struct job *j, const struct heat_spot *s, size_t n)
{
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += s[i].self;
    if (!is_hot(j, sum))
        return;
    struct code *c = code_of_mapping(j, s->mapping);
    struct code_function gap;
    for (size_t i = 0, in_it; i < n; i += in_it) {
        const struct code_function *f = c ? code_find(c, s[i].pc) : NULL;
        int64_t self = s[i].self;
        in_it = f ? count_spots(f, s + i, n - i, &self) : 1;
        if (f && is_hot(j, self))
            add_function(j, c, f, s + i, in_it);
        else if (!f && !(c && code_find_gap(c, s[i].pc, &gap)))
            j->h->elsewhere += self;
    }
    if (c)
        add_unknown(j, c, s, n);
}

void hotcode_read_profile(struct hotcode *h, const struct selection *s,
                          const struct hotcode_opts *opts)
{
    struct heat heat;
    heat_build(&heat, s);
    *h = (struct hotcode){
        .total = heat.total, .elsewhere = heat.no_address, .has_addresses = heat.spots.n};
    struct job j = {h, s->profile, opts};
    for (size_t i = 0, next; i < heat.spots.n; i = next) {
        for (next = i + 1;
             next < heat.spots.n && heat.spots.at[next].mapping.i == heat.spots.at[i].mapping.i;)
            next++;
        add_mapping(&j, heat.spots.at + i, next - i);
    }
    heat_done(&heat);
    if (h->rows.n)
        qsort(h->rows.at, h->rows.n, sizeof *h->rows.at, by_self);
}

void hotcode_done(struct hotcode *h)
{
    for (size_t i = 0; i < h->codes.n; i++) {
        code_close(h->codes.at[i]);
        free(h->codes.at[i]);
    }
    for (size_t i = 0; i < h->notes.n; i++)
        free(h->notes.at[i]);
    vec_done(&h->codes);
    vec_done(&h->notes);
    vec_done(&h->rows);
}
