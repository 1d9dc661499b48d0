#include "source/perfscript_known.h"

#include <xxhash.h>

void known_init(struct known *k, struct import *im)
{
    *k = (struct known){.profile = im->profile, .opts = im->opts};
    k->recent = mem_calloc(RECENT_SLOTS, sizeof *k->recent);
}

void known_done(struct known *k)
{
    arena_done(&k->texts);
    vec_done(&k->frames);
    vec_done(&k->threads);
    vec_done(&k->lines);
    idmap_done(&k->frame_map);
    idmap_done(&k->thread_map);
    buf_done(&k->name);
    free(k->recent);
}

static bool same_text(struct text a, struct text b)
{
    return a.n == b.n && memcmp(a.at, b.at, a.n) == 0;
}

/* --- threads --- */

static int32_t id_of(struct text digits)
{
    uint64_t v;
    return text_u64(digits, 10, &v) && v <= INT32_MAX ? (int32_t)v : THREAD_NO_ID;
}

static struct thread_id add_thread(struct known *k, const struct perfscript_header *h)
{
    struct thread t = {
        .name = profile_add_str(k->profile, h->comm), .pid = id_of(h->pid), .tid = id_of(h->tid)};
    return profile_add_thread(k->profile, &t);
}

const struct known_thread *known_thread_of(struct known *k, const struct perfscript_header *h)
{
    uint32_t hash = (uint32_t)XXH3_64bits(h->thread.at, h->thread.n);
    for_each_match (&k->thread_map, hash, i)
        if (same_text(k->threads.at[i].text, h->thread))
            return &k->threads.at[i];
    idmap_add(&k->thread_map, hash, (uint32_t)k->threads.n);
    struct known_thread *t = vec_push(&k->threads);
    *t = (struct known_thread){
        .text = arena_text(&k->texts, h->thread),
        .thread = add_thread(k, h),
        .java = text_starts(h->comm, "java"),
    };
    return t;
}

/* --- frames --- */

static struct line line_of(struct known *k, struct text function, bool java)
{
    struct text name = perfscript_frame_tidy(&k->name, function, java);
    struct function f = {.name = profile_add_str(k->profile, name)};
    return (struct line){.function = profile_add_function(k->profile, &f)};
}

static struct mapping_id mapping_of(struct known *k, struct text module)
{
    if (text_is(module, "[unknown]") || text_is(module, "inlined"))
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
        *vec_push(&k->lines) = line_of(k, function, java);
    return n;
}

static struct frame_id add_frame(struct known *k, const struct known_frame *f, uint64_t pc)
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
        .mapping = mapping_of(k, f->module),
    };
    new->n_lines = add_lines(k, f->symbol, java);
    new->keep_pc = k->opts.addresses || (k->opts.bare_addresses && !new->n_lines);
    if (!new->keep_pc)
        new->frame = add_frame(k, new, 0);
    return new;
}

static const struct known_frame *find_frame(struct known *k, const struct perfscript_frame *f,
                                            bool java)
{
    uint32_t hash = hash_pair((uint32_t)XXH3_64bits(f->symbol.at, f->symbol.n),
                              (uint32_t)XXH3_64bits(f->module.at, f->module.n) + java);
    for_each_match (&k->frame_map, hash, i) {
        const struct known_frame *known = &k->frames.at[i];
        if (same_text(known->symbol, f->symbol) && same_text(known->module, f->module) &&
            known->java == java)
            return known;
    }
    return make_frame(k, f, java, hash);
}

struct frame_id known_frame_of(struct known *k, const struct perfscript_frame *f, bool java)
{
    const struct known_frame *known = find_frame(k, f, java);
    if (!known->keep_pc)
        return known->frame;
    uint64_t pc = 0;
    text_u64(f->pc, 16, &pc);
    return add_frame(k, known, pc);
}

void recent_set(struct known *k, struct text line, bool java, struct frame_id frame)
{
    if (line.n < RECENT_HEAD || line.n > RECENT_TEXT)
        return;
    struct recent_line *r = recent_slot(k, line.at);
    r->n = (uint16_t)line.n;
    r->java = java;
    r->frame = frame;
    memcpy(r->text, line.at, line.n);
}
