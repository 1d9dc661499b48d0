/* schedule.c - depth first through schedules; see schedule.h. */
#include "schedule.h"
#include "base/text.h"

void schedule_begin(struct schedule *s)
{
    s->at = 0;
    s->unlike = false;
}

/* What was read wants a thread here; 0 where it has no wish. */
static uint8_t wanted_taken(struct schedule *s, const struct schedule_choice *c)
{
    if (s->at >= s->wanted.n)
        return 0;
    for (uint8_t i = 0; i < c->n; i++)
        if (c->threads[i] == s->wanted.at[s->at])
            return i;
    s->unlike = true;
    return 0;
}

unsigned schedule_choose(struct schedule *s, const uint8_t *threads, size_t n, bool free)
{
    if (s->at == s->choices.n) {
        struct schedule_choice *new = vec_push(&s->choices);
        *new = (struct schedule_choice){.n = (uint8_t)n, .free = free};
        memcpy(new->threads, threads, n);
        new->taken = wanted_taken(s, new);
    }
    const struct schedule_choice *c = &s->choices.at[s->at++];
    /* A body that does another thing the second time cannot be told from its threads alone. */
    s->unlike |= c->n != n || memcmp(c->threads, threads, n) != 0;
    return c->taken < n ? threads[c->taken] : threads[0];
}

static unsigned preemptions_before(const struct schedule *s, size_t n)
{
    unsigned sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += !s->choices.at[i].free && s->choices.at[i].taken;
    return sum;
}

bool schedule_next(struct schedule *s)
{
    for (size_t i = s->choices.n; i-- > 0;) {
        struct schedule_choice *c = &s->choices.at[i];
        bool allowed = c->free || preemptions_before(s, i) < s->bound;
        if (c->taken + 1 < c->n && allowed) {
            c->taken++;
            s->choices.n = i + 1;
            return true;
        }
    }
    return false;
}

/* --- as a word --- */

void schedule_print(const struct schedule *s, struct buf *b)
{
    for (size_t i = 0; i < s->at;) {
        const struct schedule_choice *c = &s->choices.at[i];
        unsigned thread = c->threads[c->taken];
        size_t n = 0;
        while (i < s->at && s->choices.at[i].threads[s->choices.at[i].taken] == thread)
            i++, n++;
        buf_printf(b, n > 1 ? "%s%ux%zu" : "%s%u", b->n ? "." : "", thread, n);
    }
}

int schedule_read(struct schedule *s, const char *word, struct err *err)
{
    struct text rest = text_of(word);
    *s = (struct schedule){0};
    while (rest.n) {
        struct text run = text_cut(&rest, '.');
        bool repeated = memchr(run.at, 'x', run.n);
        struct text thread = text_cut(&run, 'x');
        uint64_t who, n = 1;
        if (!text_u64(thread, 10, &who) || who < 1 || who >= SCHEDULE_THREADS ||
            (repeated && !text_u64(run, 10, &n)) || n < 1 || n > SCHEDULE_CHOICES_MAX ||
            s->wanted.n + n > SCHEDULE_CHOICES_MAX)
            return err_set(err, EXIT_ERROR, "'%s' is not a schedule such as 1x3.2.1", word);
        while (n-- > 0)
            *vec_push(&s->wanted) = (uint8_t)who;
    }
    return 0;
}

void schedule_done(struct schedule *s)
{
    vec_done(&s->choices);
    vec_done(&s->wanted);
}
