#include "view/export/folded.h"
#include "base/buf.h"
#include "base/units.h"
#include "base/utf8.h"
#include "view/export/export.h"

static void replace_separators(char *at, size_t n)
{
    for (char *hit; (hit = memchr(at, ';', n)); n -= (size_t)(hit + 1 - at), at = hit + 1)
        *hit = ':';
}

/* Bytes at the start of T that stay: a character, or a byte of an old encoding. 0 = none. */
static size_t folded_out_kept(struct text t)
{
    int n = utf8_length(t.at, t.n);
    if (n)
        return t.at[0] == '\t' || !utf8_hidden(t) ? (size_t)n : 0;
    return ((unsigned char)t.at[0] & 0xe0) != 0x80; /* C1, which terminals of old encodings obey */
}

/*
 * Names may hold anything, a line only so much: no newline, ';' only between frames, and nothing
 * that a terminal would act on.
 */
static void folded_out_add_name(struct buf *line, struct text name)
{
    for (size_t i = 0, n; i < name.n; i += n) {
        n = utf8_printable((struct text){name.at + i, name.n - i});
        if (n) {
            buf_add(line, name.at + i, n);
            replace_separators(line->at + line->n - n, n);
            continue;
        }
        struct text rest = {name.at + i, name.n - i};
        size_t hidden = utf8_hidden(rest);
        bool blank = rest.at[0] == '\n' || rest.at[0] == '\r' || rest.at[0] == '\0';
        n = folded_out_kept(rest);
        if (n && !blank) {
            buf_add(line, rest.at, n);
            continue;
        }
        n = hidden ? hidden : 1;
        buf_byte(line, blank ? ' ' : '?');
    }
}

struct printer {
    FILE *out;
    const struct calltree *tree;
    int decimals;
    struct buf line;
    VEC(size_t) ends; /* length of the line at each depth */
};

static void print_node(struct printer *w, uint32_t node)
{
    if (w->tree->self[node] == 0)
        return;
    char value[UNITS_MAX];
    fwrite(w->line.at, 1, w->line.n, w->out);
    fprintf(w->out, " %s\n", units_decimal(value, w->tree->self[node], w->decimals));
}

/* Samples without any frame count all the same. */
static void print_root(struct printer *w)
{
    buf_str(&w->line, "[no stack]");
    print_node(w, 0);
    w->line.n = 0;
}

/* Depth first without recursion: stacks may be very deep. */
static void print_tree(struct printer *w)
{
    const struct calltree *t = w->tree;
    VEC(uint32_t) todo = {0}; /* position in t->list of the next child, one a level */
    VEC(uint32_t) nodes = {0};
    *vec_push(&nodes) = 0;
    *vec_push(&todo) = t->child_at[0];
    *vec_push(&w->ends) = 0;
    while (nodes.n) {
        uint32_t node = nodes.at[nodes.n - 1];
        uint32_t *next = &todo.at[todo.n - 1];
        w->line.n = w->ends.at[w->ends.n - 1];
        if (*next == t->child_end[node]) {
            nodes.n--, todo.n--, w->ends.n--;
            continue;
        }
        uint32_t child = t->list[(*next)++];
        if (nodes.n > 1)
            buf_byte(&w->line, ';');
        folded_out_add_name(&w->line, labels_text(&t->labels, t->label[child]));
        print_node(w, child);
        *vec_push(&nodes) = child;
        *vec_push(&todo) = t->child_at[child];
        *vec_push(&w->ends) = w->line.n;
    }
    vec_done(&todo);
    vec_done(&nodes);
}

/* The bytes of all lines, and of what they are made from. */
static int folded_check_size(const struct calltree *t, struct err *err)
{
    enum { NODE_BYTES = 16 };
    uint64_t bytes = 0, held = 0;
    autofree uint64_t *line = mem_calloc(t->n, sizeof *line);
    for (size_t i = 1; i < t->n; i++) {
        line[i] = line[t->parent[i]] + labels_text(&t->labels, t->label[i]).n + 1;
        bytes += t->self[i] ? line[i] : 0;
        held += NODE_BYTES;
    }
    for (size_t i = 0; i < t->labels.at.n; i++)
        held += labels_text(&t->labels, (uint32_t)i).n;
    return export_check_size(bytes, held, err);
}

int folded_print(FILE *out, const struct selection *s, const struct folded_opts *o, struct err *err)
{
    struct calltree_opts tree = {
        .group = o->group,
        .by = o->by,
        .by_key = o->by_key,
        .underscores = true,
        .labels = {.mark_kernel = o->mark_kernel,
                   .mark_jit = o->mark_jit,
                   .mark_inlined = true,
                   .mark_inlined_frames = o->mark_inlined_frames,
                   .addresses = o->addresses,
                   .merge_kinds = true},
    };
    struct printer w = {.out = out, .decimals = selection_value(s)->decimals};
    struct calltree *t = calltree_build(s, &tree);
    w.tree = t;
    int rc = folded_check_size(t, err);
    if (rc == 0) {
        print_root(&w);
        print_tree(&w);
    }
    buf_done(&w.line);
    vec_done(&w.ends);
    calltree_free(t);
    return rc;
}

static int folded_write(FILE *out, const struct selection *s, const struct export_opts *o,
                        struct err *err)
{
    (void)o; /* it holds one value only */
    struct folded_opts view = {
        .group = GROUP_COMM, .mark_kernel = true, .mark_jit = true, .mark_inlined_frames = true};
    return folded_print(out, s, &view, err);
}

const struct exporter exporter_folded = {
    .name = "folded",
    .title = "folded stacks",
    .suffix = ".folded",
    .write = folded_write,
};
