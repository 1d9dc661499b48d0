/* diff_same.c - whether both sides are runs of the same program with the same arguments. */
#include "analysis/diff_inner.h"

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

bool diff_is_same_program(const struct selection *before, const struct selection *after)
{
    const struct profile *x = before->profile, *y = after->profile;
    return is_equal(x, y, META_COMMAND) && is_equal(x, y, META_KERNEL) &&
           has_program(x, y, meta_find(&x->meta, META_COMMAND)) && files_are_same(x, y);
}
