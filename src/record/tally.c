#include "record/tally.h"

void tally_done(struct tally *t)
{
    vec_done(&t->samples);
    vec_done(&t->value);
}

void tally_add(struct tally *t, struct stack_id stack, int64_t value)
{
    while (t->samples.n <= stack.i) {
        *vec_push(&t->samples) = 0;
        *vec_push(&t->value) = 0;
    }
    t->samples.at[stack.i]++;
    t->value.at[stack.i] += value;
}

struct stream *tally_stream(const struct tally *t, const struct stream *like)
{
    struct stream *s = mem_new(struct stream);
    *s = *like;
    s->row_map = (struct idmap){0};
    s->rows = (struct rows){.cap = t->samples.n + 1};
    s->rows.stack = mem_calloc(s->rows.cap, sizeof *s->rows.stack);
    s->rows.thread = mem_calloc(s->rows.cap, sizeof *s->rows.thread);
    for (int i = 0; i < s->n_types; i++)
        s->rows.value[i] = mem_calloc(s->rows.cap, sizeof(int64_t));
    for (uint32_t i = 0; i < t->samples.n; i++) {
        if (!t->samples.at[i])
            continue;
        size_t row = s->rows.n++;
        s->rows.stack[row].i = i;
        for (int k = 0; k < s->n_types; k++)
            s->rows.value[k][row] =
                s->types[k].role == ROLE_SAMPLES ? t->samples.at[i] : t->value.at[i];
    }
    return s;
}

void tally_free_stream(struct stream *s)
{
    if (!s)
        return;
    free(s->rows.stack);
    free(s->rows.thread);
    for (int i = 0; i < s->n_types; i++)
        free(s->rows.value[i]);
    free(s);
}
