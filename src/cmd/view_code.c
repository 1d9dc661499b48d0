#include "cmd/view_code.h"

#include "base/json.h"
#include "cmd/annotate.h"
#include "symbol/symbolize.h"

#include <elf.h>

/* More are seldom looked at, and each is some kilobytes of the page. */
enum { FUNCTIONS_MAX = 80, INSNS_MAX = 60000 };

struct packed {
    struct text name;
    struct mapping mapping;
    char *path; /* where the file is; NULL = not yet looked for */
    struct listing listing;
};

struct packing {
    const struct input *in;
    const struct input_opts *opts;
    struct packed list[FUNCTIONS_MAX];
    size_t n, n_insns;
    struct profile *names;
};

/* --- which functions --- */

static bool packing_has_file(const struct profile *p, const struct frame *f)
{
    struct text path = profile_str(p, p->mappings.at[f->mapping.i].path);
    return f->pc && f->n_lines && f->kind == FRAME_USER && path.n && path.at[0] == '/';
}

struct hot {
    struct str_id name;
    struct mapping_id mapping;
    double self; /* shares of the streams it is in, added up */
};

static int hot_by_self(const void *a, const void *b)
{
    const struct hot *x = a, *y = b;
    if (x->self != y->self)
        return x->self > y->self ? -1 : 1;
    return x->name.i < y->name.i ? -1 : x->name.i > y->name.i;
}

/* A function's time with that of the code inlined into it: by a frame's outermost name. Callers
 * count a little: who looks at a hot function looks at what leads there next. */
static void add_hot(const struct profile *p, struct stack_id at, double share, struct hot *of)
{
    for (int depth = 0; at.i && depth < 8; depth++, at = p->stacks.nodes.at[at.i].parent) {
        const struct frame *f = profile_frame(p, p->stacks.nodes.at[at.i].frame);
        if (!packing_has_file(p, f))
            continue;
        struct str_id name = p->functions.at[profile_lines(p, f)->function.i].name;
        of[name.i].name = name;
        of[name.i].mapping = f->mapping;
        of[name.i].self += depth ? share / 64 : share;
    }
}

/* By its first column that has anything. */
static void add_hot_stream(const struct profile *p, const struct stream *s, struct hot *of)
{
    for (int type = 0; type < s->n_types; type++) {
        double total = (double)s->types[type].total;
        if (!(total > 0))
            continue;
        for (size_t i = 0; i < s->rows.n; i++)
            add_hot(p, s->rows.stack[i], (double)s->rows.value[type][i] / total, of);
        return;
    }
}

/* Of all streams: whoever looks at the heap or at waits wants the code behind those. */
static void list_hottest(struct packing *k)
{
    const struct profile *p = k->in->profile;
    autofree struct hot *of = mem_calloc(p->strings.strings.n + 1, sizeof *of);
    size_t n = 0;
    for (size_t i = 0; i < p->streams.n; i++)
        add_hot_stream(p, p->streams.at[i], of);
    for (size_t i = 0; i < p->strings.strings.n; i++)
        if (of[i].self > 0)
            of[n++] = of[i];
    qsort(of, n, sizeof *of, hot_by_self);
    for (k->n = 0; k->n < n && k->n < FUNCTIONS_MAX; k->n++)
        k->list[k->n] = (struct packed){.name = profile_str(p, of[k->n].name),
                                        .mapping = p->mappings.at[of[k->n].mapping.i]};
}

/* --- their code --- */

static bool packed_same_file(const struct packed *a, const struct packed *b)
{
    return a->mapping.path.i == b->mapping.path.i && a->mapping.build_id.i == b->mapping.build_id.i;
}

static void packing_add_code(struct packing *k, struct packed *f, const struct code *code)
{
    struct annotate_job job = {
        .in = *k->in, .function = f->name, .mapping = f->mapping, .code = *code};
    if (k->n_insns > INSNS_MAX)
        return;
    annotate_add_code(&job, &f->listing);
    k->n_insns += f->listing.insns.n;
    annotate_add_frames(k->names, f->path, &f->listing);
}

/* Functions of one file at a time: it is opened once. */
static void packing_add_file(struct packing *k, size_t first, struct code *code)
{
    const struct profile *p = k->in->profile;
    struct text path = profile_str(p, k->list[first].mapping.path);
    struct text build_id = profile_str(p, k->list[first].mapping.build_id);
    autofree char *found = input_find_file(k->opts, path.at, build_id);
    struct err ignored;
    bool open = code_open(code, found, build_id, &ignored) == 0 && code->machine == EM_X86_64;
    for (size_t i = first; i < k->n; i++) {
        if (k->list[i].path || !packed_same_file(&k->list[first], &k->list[i]))
            continue;
        k->list[i].path = mem_strdup(found);
        if (open)
            packing_add_code(k, &k->list[i], code);
    }
}

/* --- as JSON --- */

static void packing_put_hex(struct json *j, const struct listing *l, size_t first, size_t n)
{
    autobuf struct buf b = {0};
    for (size_t i = first; i < first + n; i++)
        for (int c = 0; c < l->insns.at[i].x.length; c++)
            buf_printf(&b, "%02x", l->insns.at[i].bytes[c]);
    json_text(j, buf_text(&b));
}

static bool follows(const struct listing *l, size_t i)
{
    return l->insns.at[i].pc == l->insns.at[i - 1].pc + l->insns.at[i - 1].x.length;
}

/* Runs of instructions without a gap: [address, bytes in hex]. */
static void put_runs(struct json *j, const struct listing *l)
{
    json_key(j, "code");
    json_open(j, '[');
    for (size_t i = 0, n; i < l->insns.n; i += n) {
        for (n = 1; i + n < l->insns.n && follows(l, i + n);)
            n++;
        json_open(j, '[');
        json_uint(j, l->insns.at[i].pc);
        packing_put_hex(j, l, i, n);
        json_close(j, ']');
    }
    json_close(j, ']');
}

static bool same_lines(const struct profile *p, struct frame_id a, struct frame_id b)
{
    const struct frame *x = profile_frame(p, a), *y = profile_frame(p, b);
    if (x->n_lines != y->n_lines)
        return false;
    for (size_t i = 0; i < x->n_lines; i++) {
        const struct line *m = &profile_lines(p, x)[i], *n = &profile_lines(p, y)[i];
        if (m->function.i != n->function.i || m->line != n->line)
            return false;
    }
    return true;
}

static void packing_put_lines(struct json *j, const struct profile *p, const struct frame *f)
{
    json_open(j, '[');
    for (size_t i = 0; i < f->n_lines; i++) {
        const struct line *line = &profile_lines(p, f)[i];
        const struct function *fn = &p->functions.at[line->function.i];
        json_text(j, profile_str(p, fn->name));
        json_text(j, profile_str(p, fn->file));
        json_uint(j, line->line);
    }
    json_close(j, ']');
}

/* By instruction: text, where it leads to or null, lines outermost first or null: as before it. */
static void packing_put_insns(struct json *j, const struct profile *names, const struct listing *l,
                              struct asmtext *t)
{
    json_key(j, "insns");
    json_open(j, '[');
    for (size_t i = 0; i < l->insns.n; i++) {
        const struct listing_insn *n = &l->insns.at[i];
        const struct frame *target = profile_frame(names, n->target);
        json_str(j, asmtext_of(t, n));
        if (n->target.i && target->n_lines)
            json_text(j, profile_function_name(names, profile_lines(names, target)->function));
        else
            json_null(j);
        if (i && same_lines(names, l->insns.at[i - 1].frame, n->frame))
            json_null(j);
        else
            packing_put_lines(j, names, profile_frame(names, n->frame));
    }
    json_close(j, ']');
}

static void packing_put_functions(struct json *j, const struct packing *k, struct asmtext *t)
{
    const struct profile *p = k->in->profile;
    json_key(j, "functions");
    json_open(j, '[');
    for (size_t i = 0; i < k->n; i++) {
        const struct packed *f = &k->list[i];
        if (!f->listing.insns.n)
            continue;
        json_open(j, '{');
        json_key(j, "function");
        json_text(j, f->name);
        json_key(j, "path");
        json_text(j, profile_str(p, f->mapping.path));
        json_key(j, "build_id");
        json_text(j, profile_str(p, f->mapping.build_id));
        put_runs(j, &f->listing);
        packing_put_insns(j, k->names, &f->listing, t);
        json_close(j, '}');
    }
    json_close(j, ']');
}

/* The first program that a file was compiled into. */
static const char *packing_binary(const struct packing *k, struct str_id file)
{
    for (size_t i = 0; i < k->n; i++)
        for (size_t n = 0; n < k->list[i].listing.insns.n; n++) {
            const struct frame *f = profile_frame(k->names, k->list[i].listing.insns.at[n].frame);
            for (size_t l = 0; l < f->n_lines; l++)
                if (k->names->functions.at[profile_lines(k->names, f)[l].function.i].file.i ==
                    file.i)
                    return k->list[i].path;
        }
    return "/";
}

static void packing_put_file(struct json *j, struct text path, const struct annotate_source *from)
{
    struct annotate_file file = {.path = path};
    annotate_read_source(from, &file);
    json_open(j, '{');
    json_key(j, "path");
    json_text(j, file.path);
    json_put_str(j, "note", file.note);
    json_key(j, "text");
    json_text(j, file.text.at ? file.text : text_of(""));
    json_close(j, '}');
    if (file.owned)
        free((char *)file.text.at);
}

/* What came along with the recording, for functions whose program is gone. */
static void packing_put_packed(struct json *j, const struct packing *k,
                               const struct opt_list *folders)
{
    const struct profile *p = k->in->profile;
    struct annotate_source from = {"/", true, folders, p};
    for (size_t i = 0; i < p->packed.n; i++) {
        struct text path = profile_str(p, p->packed.at[i].path);
        if (intern_find(&k->names->strings, path) == IDMAP_NONE)
            packing_put_file(j, path, &from);
    }
}

static void packing_put_files(struct json *j, const struct packing *k,
                              const struct opt_list *folders)
{
    autofree bool *seen = mem_calloc(k->names->strings.strings.n + 1, sizeof *seen);
    json_key(j, "files");
    json_open(j, '[');
    for (size_t i = 1; i < k->names->functions.n; i++) {
        struct str_id file = k->names->functions.at[i].file;
        if (!file.i || seen[file.i])
            continue;
        seen[file.i] = true;
        struct annotate_source from = {packing_binary(k, file), true, folders, k->in->profile};
        packing_put_file(j, profile_str(k->names, file), &from);
    }
    packing_put_packed(j, k, folders);
    json_close(j, ']');
}

static void packing_print(struct packing *k, const struct opt_list *folders, struct buf *ret)
{
    struct asmtext *t = asmtext_open();
    char *at = NULL;
    size_t n = 0;
    FILE *out = t ? open_memstream(&at, &n) : NULL;
    if (out) {
        struct json j = {.out = out};
        json_open(&j, '{');
        packing_put_functions(&j, k, t);
        packing_put_files(&j, k, folders);
        json_close(&j, '}');
        fclose(out);
        buf_add(ret, at, n);
    }
    free(at);
    asmtext_close(t);
}

void view_code_build(struct buf *ret, const struct input *in, const struct input_opts *opts,
                     const struct opt_list *folders)
{
    struct packing *k = mem_new(struct packing);
    struct code code[FUNCTIONS_MAX];
    size_t n_files = 0;
    k->in = in;
    k->opts = opts;
    k->names = profile_new();
    list_hottest(k);
    for (size_t i = 0; i < k->n; i++) {
        if (k->list[i].path)
            continue;
        code[n_files] = (struct code){.main.fd = -1, .debug.fd = -1};
        packing_add_file(k, i, &code[n_files++]);
    }
    if (k->n_insns || in->profile->packed.n) {
        symbolize(k->names, &(struct symbolize_opts){.no_debuginfod = true});
        packing_print(k, folders, ret);
    }
    for (size_t i = 0; i < k->n; i++) {
        free(k->list[i].path);
        listing_done(&k->list[i].listing);
    }
    for (size_t i = 0; i < n_files; i++)
        code_close(&code[i]);
    profile_free(k->names);
    free(k);
}
