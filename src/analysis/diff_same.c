/*
 * diff_same.c - whether both sides are runs of the same program with the same arguments, or one;
 * and which functions are of files that did not change.
 */
#include "analysis/diff_inner.h"
#include "base/words.h"

static struct text path_of(const struct profile *p, size_t mapping)
{
    return profile_str(p, p->mappings.at[mapping].path);
}

static struct text build_of(const struct profile *p, size_t mapping)
{
    return profile_str(p, p->mappings.at[mapping].build_id);
}

/* The build of the file PATH in P: "" where it has none, or the file is not there. */
static struct text find_build(const struct profile *p, struct text path)
{
    for (size_t i = 0; i < p->mappings.n; i++)
        if (text_is(path_of(p, i), path.at) && build_of(p, i).n)
            return build_of(p, i);
    return (struct text){0};
}

/* Whether each file that both have is one build of it. What has no build may be another. */
static bool files_are_same(const struct profile *x, const struct profile *y)
{
    for (size_t i = 0; i < x->mappings.n; i++) {
        struct text path = path_of(x, i), other = find_build(y, path);
        if (text_starts(path, "/") && other.n && !text_is(build_of(x, i), other.at))
            return false;
    }
    return true;
}

static bool is_called(const struct profile *p, size_t mapping, struct text name)
{
    struct text module = profile_module_name(p, (struct mapping_id){(uint32_t)mapping});
    return module.n == name.n && memcmp(module.at, name.at, name.n) == 0;
}

static bool is_equal(const struct profile *x, const struct profile *y, const char *key)
{
    const char *a = meta_find(&x->meta, key), *b = meta_find(&y->meta, key);
    return a && b && strcmp(a, b) == 0;
}

/* Whether the file that COMMAND starts is among those with a build, on both sides. */
static bool has_program(const struct profile *x, const struct profile *y, const char *command)
{
    struct text rest = text_of(command), name = text_cut(&rest, ' ');
    const char *slash = memrchr(name.at, '/', name.n);
    if (slash)
        name = (struct text){slash + 1, (size_t)(name.at + name.n - slash - 1)};
    for (size_t i = 0; i < x->mappings.n; i++)
        if (name.n && is_called(x, i, name) && build_of(x, i).n && find_build(y, path_of(x, i)).n)
            return true;
    return false;
}

static bool is_program_file(struct text path)
{
    return text_starts(path, "/") && !memmem(path.at, path.n, ".so", 3);
}

/*
 * Shells, env, time and the like start a program under another name than the command's. Whether
 * there is one, and all that is no library has a build that the other side has as well.
 */
static bool programs_have_builds(const struct profile *x, const struct profile *y)
{
    size_t n = 0;
    for (size_t i = 0; i < x->mappings.n; i++) {
        struct text path = path_of(x, i);
        if (!is_program_file(path))
            continue;
        if (!build_of(x, i).n)
            return false;
        n += find_build(y, path).n > 0;
    }
    return n > 0;
}

bool diff_is_same_build(const struct selection *before, const struct selection *after)
{
    const struct profile *x = before->profile, *y = after->profile;
    const char *command = meta_find(&x->meta, META_COMMAND);
    return command && files_are_same(x, y) &&
           (has_program(x, y, command) ||
            (programs_have_builds(x, y) && programs_have_builds(y, x)));
}

bool diff_is_same_program(const struct diff_opts *o)
{
    const struct profile *x = o->runs[0]->profile, *y = o->runs[o->n_before]->profile;
    const char *command = meta_find(&x->meta, META_COMMAND);
    if (command && words_hidden(command) && !o->same_arguments) /* they may differ */
        return false;
    return is_equal(x, y, META_COMMAND) && is_equal(x, y, META_KERNEL) &&
           diff_is_same_build(o->runs[0], o->runs[o->n_before]);
}

bool diff_is_same_recording(const struct selection *before, const struct selection *after)
{
    const struct profile *x = before->profile, *y = after->profile;
    return is_equal(x, y, META_TIME_NS) && is_equal(x, y, META_COMMAND) &&
           before->n_rows == after->n_rows && before->total == after->total &&
           before->n_samples == after->n_samples;
}

/* --- functions that cannot have another name --- */

/* Whether all other runs have that file in the same build, or run the same kernel. */
static bool is_in_all(const struct diff_opts *o, const struct profile *p, struct frame_id frame)
{
    const struct frame *f = profile_frame(p, frame);
    struct text path = path_of(p, f->mapping.i), build = build_of(p, f->mapping.i);
    for (size_t i = 0; i < o->n_runs; i++) {
        const struct profile *other = o->runs[i]->profile;
        struct text theirs = find_build(other, path); /* NULL where the file is not there */
        if (f->kind == FRAME_KERNEL
                ? !is_equal(p, other, META_KERNEL)
                : !build.n || theirs.n != build.n || memcmp(theirs.at, build.at, build.n) != 0)
            return false;
    }
    return true;
}

void diff_find_fixed(struct diff_builder *b)
{
    b->fixed = mem_calloc(b->lay.names.strings.n + 1, sizeof *b->fixed);
    for (size_t i = 0; i < b->o->n_runs; i++) {
        const struct overlay_run *run = &b->lay.runs[i];
        const struct profile *p = run->s->profile;
        autofree int8_t *known = mem_calloc(p->frames.n + 1, 1); /* 1: not fixed, 2: fixed */
        for (size_t k = 1; k < p->stacks.nodes.n; k++) {
            struct stack_node at = p->stacks.nodes.at[k];
            int8_t *fixed = &known[at.frame.i];
            if (!*fixed)
                *fixed = is_in_all(b->o, p, at.frame) ? 2 : 1;
            uint32_t node = run->node_of_stack[k], end = run->node_of_stack[at.parent.i];
            for (; *fixed == 2 && node != end && node; node = b->lay.parent.at[node])
                b->fixed[b->lay.name.at[node]] = true;
        }
    }
}
