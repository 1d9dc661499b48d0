#include "model/standin.h"

/* Behind underscores. They are called by our libraries for the program, never for themselves. */
static const char *const stood_in[] = {
    "pthread_mutex_", "pthread_rwlock_", "pthread_cond_", "pthread_barrier_", "sem_",
    "new_sem_",       "malloc",          "calloc",        "realloc",          "free",
    "memalign",       "posix_memalign",  "aligned_alloc", "valloc",           "pvalloc",
    "libc_malloc",    "libc_calloc",     "libc_realloc",  "libc_free",        "libc_memalign",
    "int_malloc",     "int_realloc",     "int_free",      "int_memalign",
};

static bool is_stood_in(struct text name)
{
    while (name.n && *name.at == '_')
        name.at++, name.n--;
    for (size_t i = 0; i < sizeof stood_in / sizeof *stood_in; i++)
        if (text_starts(name, stood_in[i]))
            return true;
    return false;
}

static struct text name_of_frame(const struct profile *p, const struct frame *f)
{
    return f->n_lines ? profile_function_name(p, profile_lines(p, f)->function)
                      : (struct text){"", 0};
}

/*
 * F, which AGENT called. In a library without symbols unlocking goes on in a function without a
 * name: then it is our own that says what it is.
 */
static bool standin_fits(const struct profile *p, const struct frame *f, const struct frame *agent)
{
    struct text name = name_of_frame(p, f), ours = name_of_frame(p, agent);
    if (f->kind == FRAME_KERNEL)
        return false;
    if (name.n && *name.at != '[')
        return is_stood_in(name);
    return is_stood_in(ours) || text_starts(ours, "mutex_") || text_starts(ours, "rwlock_");
}

/* By mapping: whether it is one of ours. NULL where none is. */
static uint8_t *find_agents(const struct profile *p)
{
    uint8_t *is = NULL;
    for (size_t i = 0; i < p->mappings.n; i++) {
        if (!profile_is_agent(p, (struct mapping_id){(uint32_t)i}))
            continue;
        is = is ? is : mem_calloc(p->mappings.n, 1);
        is[i] = 1;
    }
    return is;
}

static void skip_frames(struct profile *p, uint32_t node, struct stack_id outer)
{
    struct stack_node *n = &p->stacks.nodes.at[node];
    *vec_push(&p->standins) = (struct standin){{node}, n->parent};
    n->parent = outer;
}

void standin_leave_out(struct profile *p)
{
    struct stack_node *nodes = p->stacks.nodes.at;
    autofree uint8_t *agents = find_agents(p);
    for (size_t i = 1; agents && i < p->stacks.nodes.n; i++) {
        struct stack_id outer = nodes[i].parent;
        while (outer.i && agents[profile_frame(p, nodes[outer.i].frame)->mapping.i])
            outer = nodes[outer.i].parent;
        struct stack_id caller = nodes[i].parent;
        if (outer.i && outer.i != caller.i &&
            standin_fits(p, profile_frame(p, nodes[i].frame),
                         profile_frame(p, nodes[caller.i].frame)))
            skip_frames(p, (uint32_t)i, outer);
    }
}

const struct standin *standin_find(const struct profile *p, struct stack_id stack)
{
    size_t from = 0, to = p->standins.n;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (p->standins.at[mid].stack.i < stack.i)
            from = mid + 1;
        else
            to = mid;
    }
    bool found = from < p->standins.n && p->standins.at[from].stack.i == stack.i;
    return found ? &p->standins.at[from] : NULL;
}

struct stack_id standin_parent(const struct profile *p, struct stack_id stack)
{
    const struct standin *s = p->standins.n ? standin_find(p, stack) : NULL;
    return s ? s->parent : p->stacks.nodes.at[stack.i].parent;
}
