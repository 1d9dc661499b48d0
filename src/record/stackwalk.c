#include "record/stackwalk.h"

enum { NODES_MAX = 1 << 23, TABLE_BITS = 24 };

/* --- start and end --- */

static int trie_open(struct stackwalk *s, struct err *err)
{
    uint64_t size_bytes = stackwalk_trie_size(NODES_MAX, TABLE_BITS);
    if (shared_open(&s->trie, "kelvin-stacks", size_bytes, err) != 0)
        return -1;
    struct stackwalk_trie *t = s->trie.at;
    t->size_bytes = size_bytes;
    t->n_max = NODES_MAX;
    t->table_bits = TABLE_BITS;
    t->n = 1;
    t->magic = STACKWALK_TRIE_MAGIC;
    return 0;
}

int stackwalk_open(struct stackwalk *s, struct profile *p, struct channel *c, struct err *err)
{
    s->profile = p;
    s->spaces = processes_new(p);
    processes_set_live(s->spaces);
    if (trie_open(s, err) != 0 || stackwalk_images_open(&s->images, err) != 0)
        return -1;
    c->params[STACKWALK_PARAM_TRIE_FD] = (uint64_t)s->trie.fd;
    c->params[STACKWALK_PARAM_TRIE_INODE] = s->trie.inode;
    c->params[STACKWALK_PARAM_IMAGES_FD] = (uint64_t)s->images.memory.fd;
    c->params[STACKWALK_PARAM_IMAGES_INODE] = s->images.memory.inode;
    return 0;
}

void stackwalk_end(struct stackwalk *s)
{
    if (s->spaces)
        processes_find_maps(s->spaces);
}

void stackwalk_close(struct stackwalk *s)
{
    shared_close(&s->trie);
    stackwalk_images_close(&s->images);
    processes_free(s->spaces);
    vec_done(&s->stack_of_node);
    vec_done(&s->end_of_node);
    vec_done(&s->chain);
}

const char *stackwalk_end_name(enum stackwalk_end end)
{
    static const char *const why[STACKWALK_ENDS] = {
        [STACKWALK_END_NO_MAP] = "address in no mapping",
        [STACKWALK_END_NO_RULE] = "no unwind rule and no frame pointer",
        [STACKWALK_END_NO_SENSE] =
            "unwind rule leads out of the stack (a wrong rule, or the program changed stacks)",
        [STACKWALK_END_DEEP] = "too deep",
        [STACKWALK_END_HANDLER] = "called by a signal handler",
    };
    return why[end];
}

/* --- what is mapped --- */

struct text stackwalk_maps_text(const struct record *rec)
{
    size_t room = (size_t)(rec->words - 4) * 8, n = rec->payload[2];
    return (struct text){(const char *)&rec->payload[3], n < room ? n : room};
}

void stackwalk_take_maps(struct stackwalk *s, int pid, const struct record *rec)
{
    if (rec->words < STACKWALK_MAPS_WORDS)
        return;
    /* Again from the start: what lies elsewhere now must not stay. */
    processes_comm(s->spaces, pid, pid, "", true);
    processes_maps(s->spaces, pid, stackwalk_maps_text(rec));
    stackwalk_images_answer(&s->images, s->spaces, pid, rec->payload[1]);
}

void stackwalk_take_fork(struct stackwalk *s, int pid, const struct record *rec)
{
    int parent = (int)rec->payload[1];
    processes_fork(s->spaces, pid, pid, parent, parent);
}

/* --- nodes --- */

/* The caller of a node; 0 where that makes no sense. Read once: it may be scribbled on. */
static uint32_t node_parent(const struct stackwalk *s, uint32_t id)
{
    uint32_t parent = *(const volatile uint32_t *)&stackwalk_trie_node(s->trie.at, id)->parent;
    return parent < id ? parent : 0;
}

static uint64_t node_pc(const struct stackwalk *s, uint32_t id)
{
    return *(const volatile uint64_t *)&stackwalk_trie_node(s->trie.at, id)->pc;
}

/* From the outermost node of s->chain to the innermost. */
static void resolve_chain(struct stackwalk *s, int pid, struct stack_id stack, uint8_t end)
{
    struct profile *p = s->profile;
    for (size_t i = s->chain.n; i-- > 0;) {
        uint32_t id = s->chain.at[i];
        uint64_t pc = node_pc(s, id);
        if (!(pc & STACKWALK_ROOT) && pc < STACKWALK_ENDS) {
            end = (uint8_t)pc;
            struct frame_id frame = profile_add_named_frame(p, text_of("[unfinished]"), FRAME_USER);
            stack = stacks_push(&p->stacks, stack, frame);
        } else if (!(pc & STACKWALK_ROOT)) {
            stack = stacks_push(&p->stacks, stack, processes_frame(s->spaces, pid, pc - 1));
        }
        s->stack_of_node.at[id] = stack.i + 1;
        s->end_of_node.at[id] = end;
    }
}

struct stack_id stackwalk_get(struct stackwalk *s, int pid, uint32_t node, uint8_t *ret_end)
{
    const struct stackwalk_trie *trie = s->trie.at;
    uint32_t n_max =
        (uint32_t)((s->trie.size_bytes - CHANNEL_PAGE) / sizeof(struct stackwalk_node));
    if (!node || node >= n_max || node >= trie->n)
        return (struct stack_id){0};
    while (s->stack_of_node.n <= node) {
        *vec_push(&s->stack_of_node) = 0;
        *vec_push(&s->end_of_node) = STACKWALK_END_WHOLE;
    }
    s->chain.n = 0;
    uint32_t outer = node;
    for (; outer && !s->stack_of_node.at[outer]; outer = node_parent(s, outer))
        *vec_push(&s->chain) = outer;
    bool known = outer && s->stack_of_node.at[outer];
    struct stack_id stack = {known ? s->stack_of_node.at[outer] - 1 : 0};
    resolve_chain(s, pid, stack, known ? s->end_of_node.at[outer] : STACKWALK_END_WHOLE);
    *ret_end = s->end_of_node.at[node];
    return (struct stack_id){s->stack_of_node.at[node] - 1};
}
