#include "page/code.h"

#include "base/jsonread.h"

struct page_function {
    struct text name, path, build_id;
    struct listing listing;
    VEC(char *) texts; /* by instruction; in the arena */
};

struct page_file {
    struct text path, text;
    const char *note;
};

struct page_code {
    struct arena arena;
    struct profile *names; /* lines of the instructions */
    VEC(struct page_function) functions;
    VEC(struct page_file) files;
};

/* --- reading --- */

struct code_reading {
    struct page_code *c;
    struct jsonread j;
    VEC(struct line) lines; /* of the last instruction */
};

static struct text code_text(struct code_reading *r)
{
    if (json_peek(&r->j) == JSON_NULL) {
        json_skip(&r->j);
        return (struct text){"", 0};
    }
    return arena_text(&r->c->arena, json_get_text(&r->j));
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* In place. False where it is no hex. */
static bool code_unhex(char *at, size_t n)
{
    for (size_t i = 0; i + 1 < n; i += 2) {
        int high = hex_digit(at[i]), low = hex_digit(at[i + 1]);
        if (high < 0 || low < 0)
            return false;
        at[i / 2] = (char)(high << 4 | low);
    }
    return n % 2 == 0;
}

static void read_runs(struct code_reading *r, struct page_function *f)
{
    json_enter(&r->j, JSON_ARRAY);
    while (json_element(&r->j)) {
        json_enter(&r->j, JSON_ARRAY);
        uint64_t start = json_element(&r->j) ? (uint64_t)json_get_int(&r->j) : 0;
        struct text hex = json_element(&r->j) ? code_text(r) : (struct text){"", 0};
        if (json_element(&r->j) || !code_unhex((char *)(uintptr_t)hex.at, hex.n))
            json_fail(&r->j, "code must be an address and bytes in hex");
        else
            listing_add(&f->listing, start, (struct text){hex.at, hex.n / 2});
    }
}

static void read_chain(struct code_reading *r)
{
    struct profile *names = r->c->names;
    if (json_peek(&r->j) == JSON_NULL) {
        json_skip(&r->j);
        return;
    }
    r->lines.n = 0;
    json_enter(&r->j, JSON_ARRAY);
    while (json_element(&r->j)) {
        struct function fn = {.name = profile_add_str(names, json_get_text(&r->j))};
        if (json_element(&r->j))
            fn.file = profile_add_str(names, json_get_text(&r->j));
        int64_t line = json_element(&r->j) ? json_get_int(&r->j) : 0;
        if (r->lines.n < PROFILE_MAX_FRAME_LINES)
            *vec_push(&r->lines) =
                (struct line){profile_add_function(names, &fn), (uint32_t)line, 0};
    }
}

static void read_insn(struct code_reading *r, struct page_function *f, struct mapping_id mapping)
{
    struct listing_insn *insn = &f->listing.insns.at[f->texts.n];
    *vec_push(&f->texts) = (char *)(uintptr_t)code_text(r).at;
    struct text target = json_element(&r->j) ? code_text(r) : (struct text){"", 0};
    if (target.n)
        insn->target = profile_add_named_frame(r->c->names, target, FRAME_USER);
    if (json_element(&r->j))
        read_chain(r);
    struct frame_key key = {
        .pc = insn->pc, .mapping = mapping, .lines = r->lines.at, .n_lines = r->lines.n};
    insn->frame = profile_add_frame(r->c->names, &key);
}

static void read_insns(struct code_reading *r, struct page_function *f)
{
    struct mapping m = {.path = profile_add_str(r->c->names, f->path)};
    struct mapping_id mapping = profile_add_mapping(r->c->names, &m);
    r->lines.n = 0;
    json_enter(&r->j, JSON_ARRAY);
    while (json_element(&r->j))
        if (f->texts.n < f->listing.insns.n)
            read_insn(r, f, mapping);
        else
            json_fail(&r->j, "more instructions than code");
    if (f->texts.n != f->listing.insns.n)
        json_fail(&r->j, "fewer instructions than code");
}

static void read_code_function(struct code_reading *r)
{
    struct text key;
    struct page_function *f = vec_push(&r->c->functions);
    *f = (struct page_function){.name = {"", 0}, .path = {"", 0}, .build_id = {"", 0}};
    json_enter(&r->j, JSON_OBJECT);
    while (json_member(&r->j, &key))
        if (text_is(key, "function"))
            f->name = code_text(r);
        else if (text_is(key, "path"))
            f->path = code_text(r);
        else if (text_is(key, "build_id"))
            f->build_id = code_text(r);
        else if (text_is(key, "code") && !f->listing.insns.n)
            read_runs(r, f);
        else if (text_is(key, "insns") && !f->texts.n)
            read_insns(r, f);
        else
            json_fail(&r->j, "a function has no second or other '%.*s'", TEXT_ARG(key));
    if (f->texts.n != f->listing.insns.n)
        json_fail(&r->j, "a function without its instructions");
}

static void read_code_file(struct code_reading *r)
{
    struct text key, note = {"", 0};
    struct page_file *f = vec_push(&r->c->files);
    *f = (struct page_file){.path = {"", 0}, .text = {"", 0}};
    json_enter(&r->j, JSON_OBJECT);
    while (json_member(&r->j, &key))
        if (text_is(key, "path"))
            f->path = code_text(r);
        else if (text_is(key, "note"))
            note = code_text(r);
        else if (text_is(key, "text"))
            f->text = code_text(r);
        else
            json_skip(&r->j);
    f->note = note.n ? note.at : NULL;
}

struct page_code *page_code_read(struct text json, struct err *err)
{
    struct reader in;
    struct text key;
    struct code_reading r = {.c = mem_new(struct page_code)};
    r.c->names = profile_new();
    reader_open_memory(&in, json.at, json.n);
    jsonread_init(&r.j, &in);
    json_enter(&r.j, JSON_OBJECT);
    while (json_member(&r.j, &key)) {
        bool functions = text_is(key, "functions");
        if (!functions && !text_is(key, "files")) {
            json_skip(&r.j);
            continue;
        }
        json_enter(&r.j, JSON_ARRAY);
        while (json_element(&r.j))
            (functions ? read_code_function : read_code_file)(&r);
    }
    json_finish(&r.j);
    bool failed = json_failed(&r.j, err);
    jsonread_done(&r.j);
    reader_close(&in);
    vec_done(&r.lines);
    if (!failed)
        return r.c;
    page_code_free(r.c);
    return NULL;
}

void page_code_free(struct page_code *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->functions.n; i++) {
        listing_done(&c->functions.at[i].listing);
        vec_done(&c->functions.at[i].texts);
    }
    vec_done(&c->functions);
    vec_done(&c->files);
    profile_free(c->names);
    arena_done(&c->arena);
    free(c);
}

/* --- asking --- */

static bool has_inlined(const struct page_code *c, const struct page_function *f, const char *name)
{
    for (size_t i = 0; i < f->listing.insns.n; i++) {
        const struct frame *frame = profile_frame(c->names, f->listing.insns.at[i].frame);
        for (size_t k = 1; k < frame->n_lines; k++)
            if (text_is(profile_function_name(c->names, profile_lines(c->names, frame)[k].function),
                        name))
                return true;
    }
    return false;
}

/* The function itself, else the hottest that it is inlined into; or NULL. */
static const struct page_function *find_function(const struct page_code *c, const char *name)
{
    for (size_t i = 0; i < c->functions.n; i++)
        if (text_is(c->functions.at[i].name, name))
            return &c->functions.at[i];
    for (size_t i = 0; i < c->functions.n; i++)
        if (has_inlined(c, &c->functions.at[i], name))
            return &c->functions.at[i];
    return NULL;
}

struct code_of {
    const struct page_function *f;
    const struct profile *p;
};

static bool is_code_of(const void *ctx, struct mapping_id id)
{
    const struct code_of *of = ctx;
    const struct mapping *m = &of->p->mappings.at[id.i];
    return text_is(of->f->path, profile_str(of->p, m->path).at) &&
           text_is(of->f->build_id, profile_str(of->p, m->build_id).at);
}

static void code_read_file(const void *ctx, struct annotate_file *file)
{
    const struct page_code *c = ctx;
    file->note = "not in this page; lines are shown by number";
    for (size_t i = 0; i < c->files.n; i++)
        if (text_is(c->files.at[i].path, file->path.at)) {
            file->note = c->files.at[i].note;
            file->text = c->files.at[i].text;
        }
}

/* --- where the program is gone and source came along --- */

struct code_seen {
    const struct profile *p;
    const char *name;     /* of the function that is not inlined */
    struct mapping where; /* its file */
};

static bool code_is_seen(const void *ctx, const struct frame *f)
{
    const struct code_seen *of = ctx;
    const struct mapping *m = &of->p->mappings.at[f->mapping.i];
    return f->n_lines && m->path.i == of->where.path.i && m->build_id.i == of->where.build_id.i &&
           text_is(profile_function_name(of->p, profile_lines(of->p, f)->function), of->name);
}

static bool code_is_seen_mapping(const void *ctx, struct mapping_id id)
{
    const struct code_seen *of = ctx;
    const struct mapping *m = &of->p->mappings.at[id.i];
    return m->path.i == of->where.path.i && m->build_id.i == of->where.build_id.i;
}

static bool code_has_text(const struct page_code *c, struct text path)
{
    for (size_t i = 0; i < c->files.n; i++)
        if (c->files.at[i].text.n && text_is(c->files.at[i].path, path.at))
            return true;
    return false;
}

/* Whether the function is in F, itself or inlined, and its source is in the page. */
static bool code_shows_frame(const struct page_code *c, const struct profile *p,
                             const struct frame *f, const char *function)
{
    for (size_t k = 0; f->pc && k < f->n_lines; k++) {
        const struct function *fn = &p->functions.at[profile_lines(p, f)[k].function.i];
        if (text_is(profile_str(p, fn->name), function) &&
            code_has_text(c, profile_str(p, fn->file)))
            return true;
    }
    return false;
}

static bool code_find_seen(const struct page_code *c, const struct profile *p, const char *function,
                           struct code_seen *ret)
{
    for (size_t i = 0; c && c->files.n && i < p->frames.n; i++) {
        const struct frame *f = &p->frames.at[i];
        if (!code_shows_frame(c, p, f, function))
            continue;
        *ret = (struct code_seen){p, profile_function_name(p, profile_lines(p, f)->function).at,
                                  p->mappings.at[f->mapping.i]};
        return true;
    }
    return false;
}

static struct annotate code_annotate(const struct selection *s, const struct hits *hits,
                                     struct listing *l)
{
    return (struct annotate){
        .listing = l,
        .total = s->total,
        .selected = s->words,
        .hides = s->hidden_line != NULL,
        .noun = quantity_noun(selection_quantity(s)),
        .whole = hits->total,
        .samples = s->count_type < 0 ? -1 : hits->n_samples,
        .exact = obtained_exactly(s->stream->obtained),
    };
}

static void code_print_seen(FILE *out, const struct page_code *c, const struct selection *s,
                            const struct code_seen *of)
{
    struct listing l = {0};
    struct hits hits;
    annotate_list_seen(&l, s->profile, code_is_seen, of);
    hits_build(&hits, s, &l, code_is_seen_mapping, of);
    struct annotate a = code_annotate(s, &hits, &l);
    struct text path = profile_str(s->profile, of->where.path);
    const char *slash = strrchr(path.at, '/');
    a.function = of->name;
    a.module = slash ? slash + 1 : path.at;
    a.names = s->profile;
    a.warning = ANNOTATE_NO_PROGRAM;
    annotate_parts_build(&a, &hits, code_read_file, c);
    annotate_print_json(out, &a);
    annotate_parts_done(&a);
    hits_done(&hits);
    listing_done(&l);
}

/* The listing as it is, for the hits of one selection. */
static struct listing copy_listing(const struct listing *l)
{
    struct listing r = {.self = 0};
    vec_reserve(&r.insns, l->insns.n + 1);
    if (l->insns.n)
        memcpy(r.insns.at, l->insns.at, l->insns.n * sizeof *l->insns.at);
    r.insns.n = l->insns.n;
    return r;
}

bool page_code_has(const struct page_code *c, const struct profile *p, const char *function)
{
    struct code_seen seen;
    return c && (find_function(c, function) || code_find_seen(c, p, function, &seen));
}

int page_code_print(FILE *out, const struct page_code *c, const struct selection *s,
                    const char *function, struct err *err)
{
    const struct page_function *f = c ? find_function(c, function) : NULL;
    struct code_seen seen;
    if (!f && code_find_seen(c, s->profile, function, &seen)) {
        code_print_seen(out, c, s, &seen);
        return 0;
    }
    if (!f)
        return err_set(err, EXIT_ERROR,
                       c ? "the code of '%s' is not in this page, which has that of the hottest "
                           "functions whose programs were there when it was made"
                         : "no code is in this page: the programs that ran were not there when it "
                           "was made, or '%s' has no address",
                       function);
    struct code_of of = {f, s->profile};
    struct hits hits;
    struct listing l = copy_listing(&f->listing);
    hits_build(&hits, s, &l, is_code_of, &of);
    listing_cut(&l);
    const char *slash = strrchr(f->path.at, '/');
    struct annotate a = code_annotate(s, &hits, &l);
    a.function = f->name.at;
    a.module = slash ? slash + 1 : f->path.at;
    a.names = c->names;
    annotate_parts_build(&a, &hits, code_read_file, c);
    a.texts = f->texts.at;
    annotate_print_json(out, &a);
    a.texts = NULL; /* of the page */
    annotate_parts_done(&a);
    hits_done(&hits);
    listing_done(&l);
    return 0;
}
