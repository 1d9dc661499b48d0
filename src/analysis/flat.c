/* flat.c - building the list; shares and callers are in flat_share.c. */
#include "analysis/flat.h"

#include "analysis/drawn.h"
#include "base/buf.h"

/* --- names of rows --- */

static uint32_t flat_add_row(struct flat *f, struct text name, bool kernel,
                             struct mapping_id mapping)
{
    uint32_t id = intern_add(&f->names, name);
    while (f->row_of_name[kernel].n <= id)
        *vec_push(&f->row_of_name[kernel]) = 0;
    uint32_t *row = &f->row_of_name[kernel].at[id];
    if (!*row) {
        *vec_push(&f->rows) = (struct flat_row){.name = id, .kernel = kernel, .mapping = mapping};
        *row = (uint32_t)f->rows.n;
    }
    return *row - 1;
}

static void module_name(struct buf *b, const struct profile *p, const struct frame *frame)
{
    struct text module = profile_module_name(p, frame->mapping);
    if (module.n)
        buf_add(b, module.at, module.n);
    else
        buf_str(b, frame->kind == FRAME_KERNEL ? "[kernel]" : "[unknown]");
}

/* "[libc.so.6]" for code without a name, as in drawings. */
static void bare_name(struct buf *b, const struct profile *p, const struct frame *frame)
{
    autobuf struct buf module = {0};
    module_name(&module, p, frame);
    bool bracketed = module.at[0] == '[';
    buf_printf(b, bracketed ? "%s" : "[%s]", buf_cstr(&module));
}

static void line_name(struct buf *b, const struct profile *p, const struct frame *frame,
                      const struct line *line)
{
    const struct function *fn = line ? &p->functions.at[line->function.i] : NULL;
    if (fn && fn->file.i && line->line)
        buf_printf(b, "%s:%u", profile_str(p, fn->file).at, line->line);
    else
        bare_name(b, p, frame);
}

static void file_name(struct buf *b, const struct profile *p, const struct frame *frame,
                      const struct line *line)
{
    const struct function *fn = line ? &p->functions.at[line->function.i] : NULL;
    if (fn && fn->file.i)
        buf_str(b, profile_str(p, fn->file).at);
    else
        bare_name(b, p, frame);
}

static struct text strip_kernel_mark(struct text name, bool kernel)
{
    if (kernel && text_ends(name, "_[k]"))
        name.n -= 4;
    return name;
}

static uint32_t row_for(struct flat *f, enum flat_by by, const struct frame *frame,
                        const struct line *line)
{
    autobuf struct buf b = {0};
    const struct profile *p = f->profile;
    bool kernel = frame->kind == FRAME_KERNEL;
    if (by == FLAT_MODULE) {
        module_name(&b, p, frame);
    } else if (by == FLAT_LINE) {
        line_name(&b, p, frame, line);
    } else if (by == FLAT_FILE) {
        file_name(&b, p, frame, line);
    } else {
        struct text name = line ? profile_function_name(p, line->function) : (struct text){"", 0};
        name = strip_kernel_mark(name, kernel);
        buf_add(&b, name.at, name.n);
        if (!name.n)
            bare_name(&b, p, frame);
    }
    uint32_t row = flat_add_row(f, buf_text(&b), kernel, frame->mapping);
    f->rows.at[row].jit |= frame->kind == FRAME_JIT;
    return row;
}

static void name_frames(struct flat *f, enum flat_by by)
{
    const struct profile *p = f->profile;
    f->row_of_line = mem_calloc(p->lines.n + 1, sizeof *f->row_of_line);
    f->row_of_bare = mem_calloc(p->frames.n + 1, sizeof *f->row_of_bare);
    for (uint32_t i = 0; i < p->frames.n; i++) {
        const struct frame *frame = &p->frames.at[i];
        const struct line *lines = profile_lines(p, frame);
        for (size_t k = 0; k < flat_count(frame); k++) {
            bool hides = selection_hides(f->selection, (struct frame_id){i}, k);
            uint32_t row =
                hides ? FLAT_NOBODY : row_for(f, by, frame, frame->n_lines ? &lines[k] : NULL);
            *(frame->n_lines ? &f->row_of_line[frame->first_line + k] : &f->row_of_bare[i]) = row;
        }
    }
    f->hidden = selection_hidden_frames(f->selection);
}

/* --- by thread --- */

static void name_threads(struct flat *f)
{
    const struct profile *p = f->profile;
    f->row_of_place = mem_calloc(p->threads.n, sizeof *f->row_of_place);
    for (size_t i = 0; i < p->threads.n; i++) {
        const struct thread *t = &p->threads.at[i];
        struct text name = profile_str(p, t->name);
        autobuf struct buf b = {0};
        buf_printf(&b, "%.*s", TEXT_ARG(name.n ? name : text_of("[unknown]")));
        int32_t pid = profile_pid(p, t);
        if (pid >= 0 && t->tid >= 0)
            buf_printf(&b, " %d/%d", pid, t->tid);
        else if (pid >= 0 || t->tid >= 0)
            buf_printf(&b, " %d", pid >= 0 ? pid : t->tid);
        f->row_of_place[i] = flat_add_row(f, buf_text(&b), false, (struct mapping_id){0});
    }
}

static void name_groups(struct flat *f, const struct grouping *g, const char *key)
{
    f->row_of_place = mem_calloc(f->n_places + 1, sizeof *f->row_of_place);
    for (uint32_t i = 0; i < f->n_places; i++) {
        autofree char *title = grouping_title(g, i, key);
        f->row_of_place[i] = flat_add_row(f, text_of(title), false, (struct mapping_id){0});
    }
}

static void sum_places(struct flat *f)
{
    const struct selection *s = f->selection;
    const int64_t *value = selection_values(s);
    const int64_t *count = f->count_type >= 0 ? selection_counts(s) : NULL;
    for (size_t i = 0; i < s->n_rows; i++) {
        size_t at = selection_row(s, i);
        uint32_t place = f->place_of_row[at];
        struct flat_row *row = &f->rows.at[f->row_of_place[place]];
        row->self += value[at];
        row->self_count += count ? count[at] : 0;
        row->total = row->self;
        row->total_count = row->self_count;
        f->value_of_place[place] += value[at];
    }
}

/* --- by what is on the stack --- */

struct sum {
    int64_t value, count;
};

struct sums {
    struct sum *of;         /* by stack: first of itself, then with all that stand on it */
    uint32_t *first, *next; /* children of a stack, 0 = none */
    uint32_t *on_path;      /* by row: how often it is on the path that is being walked */
};

/* What is spent in hidden functions is their caller's. */
static struct stack_id running(const struct flat *f, uint32_t stack)
{
    const struct stack_node *nodes = f->profile->stacks.nodes.at;
    while (stack && f->hidden && f->hidden[nodes[stack].frame.i])
        stack = nodes[stack].parent.i;
    return (struct stack_id){stack};
}

static void flat_add_self(struct flat *f, struct sums *s)
{
    const struct selection *sel = f->selection;
    const int64_t *value = selection_values(sel);
    const int64_t *count = f->count_type >= 0 ? selection_counts(sel) : NULL;
    for (size_t i = 0; i < sel->n_rows; i++) {
        size_t row = selection_row(sel, i);
        struct sum *sum = &s->of[sel->stream->rows.stack[row].i];
        sum->value += value[row];
        sum->count += count ? count[row] : 0;
    }
    const struct stack_node *nodes = f->profile->stacks.nodes.at;
    for (uint32_t i = 0; i < f->profile->stacks.nodes.n; i++) {
        f->value_of_place[i] = s->of[i].value;
        struct stack_id at = running(f, i);
        if (!at.i || (!s->of[i].value && !s->of[i].count))
            continue;
        struct flat_row *row = &f->rows.at[flat_leaf_of(f, nodes[at.i].frame)];
        row->self += s->of[i].value;
        row->self_count += s->of[i].count;
    }
}

/* Parents come before their children, so one pass backwards sums the tree. */
static void flat_sum_up(const struct flat *f, struct sums *s)
{
    const struct stack_node *nodes = f->profile->stacks.nodes.at;
    for (size_t i = f->profile->stacks.nodes.n; i-- > 1;) {
        uint32_t parent = nodes[i].parent.i;
        s->of[parent].value += s->of[i].value;
        s->of[parent].count += s->of[i].count;
        s->next[i] = s->first[parent];
        s->first[parent] = (uint32_t)i;
    }
}

/* A row gets what stands on a stack where it is met first from the root. */
static void flat_enter(struct flat *f, struct sums *s, uint32_t stack)
{
    struct frame_id id = f->profile->stacks.nodes.at[stack].frame;
    for (size_t k = 0, n = flat_count(profile_frame(f->profile, id)); k < n; k++) {
        uint32_t row = flat_row_of(f, id, k);
        if (row == FLAT_NOBODY)
            continue;
        struct flat_row *r = &f->rows.at[row];
        if (++s->on_path[row] > r->nested && s->of[stack].value)
            r->nested = s->on_path[row];
        if (s->on_path[row] > 1)
            continue;
        r->total += s->of[stack].value;
        r->total_count += s->of[stack].count;
    }
}

static void flat_leave(struct flat *f, struct sums *s, uint32_t stack)
{
    struct frame_id id = f->profile->stacks.nodes.at[stack].frame;
    for (size_t k = 0, n = flat_count(profile_frame(f->profile, id)); k < n; k++)
        if (flat_row_of(f, id, k) != FLAT_NOBODY)
            s->on_path[flat_row_of(f, id, k)]--;
}

/* Depth first without recursion: stacks can be very deep. */
static void add_totals(struct flat *f, struct sums *s)
{
    uint32_t at = 0;
    for (;;) {
        if (s->first[at]) {
            uint32_t child = s->first[at];
            s->first[at] = s->next[child];
            at = child;
            flat_enter(f, s, at);
        } else if (at) {
            flat_leave(f, s, at);
            at = f->profile->stacks.nodes.at[at].parent.i;
        } else {
            return;
        }
    }
}

static void sum_stacks(struct flat *f)
{
    size_t n = f->profile->stacks.nodes.n;
    struct sums s = {
        .of = mem_calloc(n, sizeof *s.of),
        .first = mem_calloc(n, sizeof *s.first),
        .next = mem_calloc(n, sizeof *s.next),
        .on_path = mem_calloc(f->rows.n + 1, sizeof *s.on_path),
    };
    flat_add_self(f, &s);
    flat_sum_up(f, &s);
    add_totals(f, &s);
    free(s.of);
    free(s.first);
    free(s.next);
    free(s.on_path);
}

/* --- all of it --- */

static bool all_in_order(const struct flat *f)
{
    if (f->time.n != f->selection->stream->rows.n)
        return false;
    for (size_t i = 0; i < f->time.n; i++)
        if (f->time.order[i] != i)
            return false;
    return true;
}

/* Shares are asked for one by one: what they all need is put in order once. */
static void find_places(struct flat *f)
{
    _Static_assert(sizeof(struct stack_id) == 4 && sizeof(struct thread_id) == 4, "numbers");
    const uint32_t *of_row = f->place_of_row;
    if (!f->time.n)
        return;
    f->place_in_time = of_row;
    if (all_in_order(f))
        return;
    f->place_in_time = f->own_places = mem_calloc(f->time.n, sizeof *f->own_places);
    for (size_t i = 0; i < f->time.n; i++)
        f->own_places[i] = of_row[f->time.order[i]];
}

static void find_variances(struct flat *f)
{
    const struct selection *s = f->selection;
    const int64_t *value = selection_values(s), *count = selection_counts(s);
    f->variance_of_place = mem_calloc(f->n_places + 1, sizeof *f->variance_of_place);
    for (size_t i = 0; i < s->n_rows; i++) {
        size_t at = selection_row(s, i);
        double v = drawn_variance(f->time.drawn, (double)value[at], (double)count[at]);
        f->variance_of_place[f->place_of_row[at]] += v;
        f->variance += v;
    }
}

static struct flat *flat_new(const struct selection *s, size_t n_places,
                             const uint32_t *place_of_row)
{
    struct flat *f = mem_new(struct flat);
    f->selection = s;
    f->profile = s->profile;
    f->type = s->type;
    f->time = sequence_build(s);
    f->count_type = f->time.count_type;
    f->whole = s->total;
    f->n_places = n_places;
    f->place_of_row = place_of_row;
    f->value_of_place = mem_calloc(n_places + 1, sizeof *f->value_of_place);
    intern_init(&f->names);
    find_places(f);
    if (f->time.drawn)
        find_variances(f);
    return f;
}

struct flat *flat_build(const struct selection *s, enum flat_by by)
{
    const struct profile *p = s->profile;
    const struct rows *rows = &s->stream->rows;
    struct flat *f = by == FLAT_THREAD
                         ? flat_new(s, p->threads.n, rows->n ? &rows->thread->i : NULL)
                         : flat_new(s, p->stacks.nodes.n, rows->n ? &rows->stack->i : NULL);
    if (by == FLAT_THREAD) {
        name_threads(f);
        sum_places(f);
    } else {
        name_frames(f, by);
        sum_stacks(f);
    }
    return f;
}

struct flat *flat_build_groups(const struct selection *s, const struct grouping *g, const char *key)
{
    struct flat *f = flat_new(s, g->names.strings.n, g->of_row);
    name_groups(f, g, key);
    sum_places(f);
    return f;
}

void flat_free(struct flat *f)
{
    if (!f)
        return;
    intern_done(&f->names);
    vec_done(&f->row_of_name[0]);
    vec_done(&f->row_of_name[1]);
    vec_done(&f->rows);
    free(f->row_of_line);
    free(f->row_of_bare);
    free(f->row_of_place);
    free(f->value_of_place);
    free(f->variance_of_place);
    free(f->own_places);
    free(f->hidden);
    sequence_done(&f->time);
    free(f);
}
