#include "source/perfscript_known.h"

#define XXH_INLINE_ALL /* the texts are short: a call would cost as much as the hash */
#include <xxhash.h>

void known_init(struct known *k, struct import *im)
{
    *k = (struct known){.profile = im->profile, .opts = im->opts};
    k->recent = mem_calloc(RECENT_SLOTS, sizeof *k->recent);
    k->guesses = mem_calloc(GUESS_SLOTS, sizeof *k->guesses);
    k->chains = mem_calloc(CHAIN_SLOTS, sizeof *k->chains);
}

void known_done(struct known *k)
{
    arena_done(&k->texts);
    vec_done(&k->frames);
    vec_done(&k->threads);
    vec_done(&k->lines);
    vec_done(&k->chain);
    idmap_done(&k->frame_map);
    idmap_done(&k->thread_map);
    buf_done(&k->name);
    free(k->recent);
    free(k->guesses);
    free(k->chains);
}

/* Eight bytes at a time, the last ones overlapping: most texts are too short to call memcmp(). */
static inline bool same_text(struct text a, struct text b)
{
    uint64_t x, y, differ = 0;
    if (a.n != b.n)
        return false;
    if (a.n < 8)
        return memcmp(a.at, b.at, a.n) == 0;
    for (size_t i = 0; i + 8 < a.n; i += 8) {
        memcpy(&x, a.at + i, 8);
        memcpy(&y, b.at + i, 8);
        differ |= x ^ y;
    }
    memcpy(&x, a.at + a.n - 8, 8);
    memcpy(&y, b.at + a.n - 8, 8);
    return !(differ | (x ^ y));
}

/* --- threads --- */

static int32_t id_of(struct text digits)
{
    uint64_t v;
    return text_u64(digits, 10, &v) && v <= INT32_MAX ? (int32_t)v : THREAD_NO_ID;
}

static struct thread_id add_thread(struct known *k, const struct perfscript_header *h)
{
    struct thread_key t = {
        .name = profile_add_str(k->profile, h->comm), .pid = id_of(h->pid), .tid = id_of(h->tid)};
    return profile_add_thread(k->profile, &t);
}

static inline uint32_t known_hash_text(struct text t)
{
    return (uint32_t)XXH3_64bits_withSeed(t.at, t.n, hash_seeds[0]);
}

const struct known_thread *known_thread_find(const struct known *k, struct text text)
{
    uint32_t hash = known_hash_text(text);
    for_each_match (&k->thread_map, hash, i)
        if (same_text(k->threads.at[i].text, text))
            return &k->threads.at[i];
    return NULL;
}

const struct known_thread *known_thread_of(struct known *k, const struct perfscript_header *h)
{
    const struct known_thread *known = known_thread_find(k, h->thread);
    if (known)
        return known;
    idmap_add(&k->thread_map, known_hash_text(h->thread), (uint32_t)k->threads.n);
    struct known_thread *t = vec_push(&k->threads);
    *t = (struct known_thread){
        .text = arena_text(&k->texts, h->thread),
        .thread = add_thread(k, h),
        .java = text_starts(h->comm, "java"),
    };
    return t;
}

/* --- frames --- */

static struct line known_line_of(struct known *k, struct text function, bool java)
{
    struct text name = perfscript_frame_tidy(&k->name, function, java);
    struct function f = {.name = profile_add_str(k->profile, name)};
    return (struct line){.function = profile_add_function(k->profile, &f)};
}

static struct mapping_id known_mapping_of(struct known *k, struct text module)
{
    if (module.n == 0 || text_is(module, "[unknown]") || text_is(module, "inlined"))
        return (struct mapping_id){0};
    struct mapping m = {.path = profile_add_str(k->profile, module)};
    return profile_add_mapping(k->profile, &m);
}

/* The functions that SYMBOL names; their number. */
static uint16_t add_lines(struct known *k, struct text symbol, bool java)
{
    struct text function;
    uint16_t n = 0;
    if (text_is(symbol, "[unknown]"))
        return 0;
    for (; n < PROFILE_MAX_FRAME_LINES && perfscript_frame_next(&symbol, &function); n++)
        *vec_push(&k->lines) = known_line_of(k, function, java);
    return n;
}

static struct frame_id known_add_frame(struct known *k, const struct known_frame *f, uint64_t pc)
{
    struct frame_key key = {.pc = pc,
                            .mapping = f->mapping,
                            .kind = f->kind,
                            .lines = f->n_lines ? k->lines.at + f->first_line : NULL,
                            .n_lines = f->n_lines};
    return profile_add_frame(k->profile, &key);
}

static const struct known_frame *make_frame(struct known *k, const struct perfscript_frame *f,
                                            bool java, uint32_t hash)
{
    idmap_add(&k->frame_map, hash, (uint32_t)k->frames.n);
    struct known_frame *new = vec_push(&k->frames);
    *new = (struct known_frame){
        .symbol = arena_text(&k->texts, f->symbol),
        .module = arena_text(&k->texts, f->module),
        .java = java,
        .kind = (uint8_t)perfscript_frame_kind(f->module),
        .first_line = (uint32_t)k->lines.n,
        .mapping = known_mapping_of(k, f->module),
    };
    new->n_lines = add_lines(k, f->symbol, java);
    new->keep_pc = k->opts.addresses || (k->opts.bare_addresses && !new->n_lines);
    if (!new->keep_pc)
        new->frame = known_add_frame(k, new, 0);
    return new;
}

static bool is_frame(const struct known_frame *known, const struct perfscript_frame *f, bool java)
{
    return known->java == java && same_text(known->symbol, f->symbol) &&
           same_text(known->module, f->module);
}

/* The last eight bytes of T and its length: not a hash that one can rely on, but a fast one. */
static inline uint64_t rough_hash(struct text t)
{
    uint64_t tail = 0;
    if (t.n >= 8)
        memcpy(&tail, t.at + t.n - 8, 8);
    return (tail + t.n) * 0x9e3779b97f4a7c15u;
}

static const struct known_frame *find_frame(struct known *k, const struct perfscript_frame *f,
                                            bool java)
{
    uint32_t hash = hash_pair(known_hash_text(f->symbol), known_hash_text(f->module) + java);
    for_each_match (&k->frame_map, hash, i)
        if (is_frame(&k->frames.at[i], f, java))
            return &k->frames.at[i];
    return make_frame(k, f, java, hash);
}

struct frame_id known_frame_of(struct known *k, const struct perfscript_frame *f, bool java)
{
    uint64_t rough = (rough_hash(f->symbol) ^ rough_hash(f->module) >> 3) >> (64 - GUESS_BITS);
    uint32_t *guess = &k->guesses[rough & (GUESS_SLOTS - 1)];
    if (*guess >= k->frames.n || !is_frame(&k->frames.at[*guess], f, java))
        *guess = (uint32_t)(find_frame(k, f, java) - k->frames.at);
    const struct known_frame *known = &k->frames.at[*guess];
    if (!known->keep_pc)
        return known->frame;
    uint64_t pc = 0;
    text_u64(text_trim(f->pc), 16, &pc);
    return known_add_frame(k, known, pc);
}

/* --- lines --- */

enum { RECENT_HEAD = 17 }; /* "\tffffffff8168ec7a": a tab and the pc, padded to 16 */

static inline uint64_t hash_head(const char *at)
{
    uint64_t a, b;
    memcpy(&a, at + 1, 8);
    memcpy(&b, at + 9, 8);
    uint64_t h = (a * 0x9e3779b97f4a7c15u) ^ (b * 0xd6e8feb86659fd93u);
    return (h ^ h >> 29) * 0x9e3779b97f4a7c15u;
}

static inline struct recent_line *slot_of(const struct known *k, uint64_t head)
{
    return &k->recent[head >> (64 - RECENT_BITS)];
}

/* What the bytes at AT start with, if it is a line seen before; NULL if not. */
static inline struct recent_line *recent_find(const struct known *k, struct text at, bool java)
{
    if (at.n < RECENT_HEAD)
        return NULL;
    uint64_t head = hash_head(at.at);
    struct recent_line *r = slot_of(k, head);
    if (r->tag != (uint8_t)(head >> 32) || !r->n || r->n > at.n || r->java != java)
        return NULL;
    return XXH3_64bits(at.at, r->n) == r->hash ? r : NULL;
}

/*
 * A slot is given away when its line did not come again since the last time it was asked for, and
 * a line is hashed when it comes for the second time: the innermost pcs of samples are many, and
 * must neither drive out those that matter nor cost much.
 */
static void recent_set(struct known *k, struct text line, bool java, struct frame_id frame)
{
    if (line.n < RECENT_HEAD || line.n > RECENT_MAX)
        return;
    uint64_t head = hash_head(line.at);
    struct recent_line *r = slot_of(k, head);
    if (r->used) {
        r->used = 0;
        return;
    }
    uint8_t tag = (uint8_t)(head >> 32);
    bool again = r->tag == tag && !r->n;
    *r = (struct recent_line){.frame = frame, .tag = tag, .java = java};
    if (!again)
        return;
    r->hash = XXH3_64bits(line.at, line.n);
    r->n = (uint16_t)line.n & RECENT_MAX;
}

/* A line that is not known whole, up to its newline NL. False if it is no plain frame. */
static bool read_new_frame(struct known *k, const char *at, const char *nl, bool java)
{
    struct perfscript_frame frame;
    struct text line = {at, (size_t)(nl - at)};
    if (line.n && at[line.n - 1] == '\r')
        line.n--;
    if (!perfscript_frame_split(line, &frame) || perfscript_frame_is_comm(&frame))
        return false;
    struct frame_id id = known_frame_of(k, &frame, java);
    *vec_push(&k->chain) = id;
    recent_set(k, (struct text){at, (size_t)(nl - at) + 1}, java, id);
    return true;
}

/* Works on the window, as even looking for a line's end costs more than knowing it from before. */
void known_read_chain(struct known *k, struct reader *in, bool java)
{
    while (in->start < in->end && k->chain.n < PERFSCRIPT_MAX_DEPTH) {
        struct text at = {in->buf + in->start, in->end - in->start};
        if (at.at[0] != '\t' && at.at[0] != ' ')
            return;
        struct recent_line *r = recent_find(k, at, java);
        if (r) {
            in->start += r->n;
            *vec_push(&k->chain) = r->frame;
            r->used = 1;
        } else {
            const char *nl = memchr(at.at, '\n', at.n);
            if (!nl || !read_new_frame(k, at.at, nl, java))
                return;
            in->start = (size_t)(nl + 1 - in->buf);
        }
        in->lines++;
    }
}

/* --- chains --- */

struct recent_chain *known_chain(const struct known *k, uint64_t who, uint64_t *ret_hash)
{
    size_t bytes = k->chain.n * sizeof *k->chain.at;
    uint64_t hash = bytes ? XXH3_64bits(k->chain.at, bytes) : 0;
    hash ^= who * 0x9e3779b97f4a7c15u;
    *ret_hash = hash;
    return &k->chains[hash >> (64 - CHAIN_BITS)];
}
