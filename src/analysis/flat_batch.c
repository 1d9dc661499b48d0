/* flat_batch.c - shares of many rows in one walk: see flat_shares_of_rows(). */
#include "analysis/flat.h"

#include "analysis/drawn.h"

#include <math.h>

enum { AT_ONCE = 64 }; /* bits of a mask */

struct batch {
    const struct flat *f;
    uint8_t *slot;          /* by row: its place in the batch + 1; 0 = not in it */
    uint64_t *self, *total; /* by stack: which of the batch ran there, and which are on it */
    size_t n;
};

static uint64_t batch_bit(const struct batch *b, uint32_t row)
{
    return row == FLAT_NOBODY || !b->slot[row] ? 0 : UINT64_C(1) << (b->slot[row] - 1);
}

static void batch_mark(struct batch *b)
{
    const struct profile *p = b->f->profile;
    for (size_t i = 1; i < p->stacks.nodes.n; i++) {
        struct stack_node node = p->stacks.nodes.at[i];
        uint64_t on = b->total[node.parent.i];
        for (size_t k = 0, n = flat_count(profile_frame(p, node.frame)); k < n; k++)
            on |= batch_bit(b, flat_row_of(b->f, node.frame, k));
        bool hidden = b->f->hidden && b->f->hidden[node.frame.i];
        b->total[i] = on;
        b->self[i] = hidden ? b->self[node.parent.i] : batch_bit(b, flat_leaf_of(b->f, node.frame));
    }
}

/* The amount of each of the batch. */
static void batch_sum(const struct batch *b, const uint64_t *mask, int64_t *ret)
{
    for (size_t i = 0; i < b->f->n_places; i++)
        for (uint64_t m = b->f->value_of_place[i] ? mask[i] : 0; m; m &= m - 1)
            ret[__builtin_ctzll(m)] += b->f->value_of_place[i];
}

static void batch_drawn(const struct batch *b, const uint64_t *mask, const double *shares,
                        double *ret)
{
    const struct flat *f = b->f;
    double inside[AT_ONCE] = {0};
    for (size_t i = 0; i < f->n_places; i++)
        for (uint64_t m = f->variance_of_place[i] > 0 ? mask[i] : 0; m; m &= m - 1)
            inside[__builtin_ctzll(m)] += f->variance_of_place[i];
    for (size_t i = 0; i < b->n; i++)
        ret[i] = drawn_effective_n(f->time.drawn, (double)f->whole, shares[i], inside[i],
                                   f->variance - inside[i]);
}

/* As many independent samples of equal weight as carry as much information about each of the batch.
 */
static void batch_effective(const struct batch *b, const uint64_t *mask, double *ret)
{
    const struct sequence *t = &b->f->time;
    size_t per = t->n ? stats_samples_per_sum(t->n) : 1, n_sums = t->n / per;
    autofree uint8_t *sums = mem_calloc(b->n * n_sums + 1, 1);
    const uint32_t *place = b->f->place_in_time;
    for (size_t i = 0; i < n_sums; i++)
        for (size_t k = 0; k < per; k++)
            for (uint64_t m = mask[*place++]; m; m &= m - 1)
                sums[(size_t)__builtin_ctzll(m) * n_sums + i]++;
    double n = (double)t->n;
    for (size_t i = 0; i < b->n; i++) {
        struct stats_series s = {.sums = sums + i * n_sums, .n = n_sums, .per = per};
        ret[i] = t->n
                     ? stats_effective_n_of_sums(&s) * n / (double)(n_sums * per) * t->n_samples / n
                     : t->n_samples;
    }
}

static void batch_shares(const struct batch *b, const uint64_t *mask, struct flat_share *ret)
{
    int64_t sum[AT_ONCE] = {0};
    double share[AT_ONCE], effective[AT_ONCE];
    double whole = (double)b->f->whole;
    batch_sum(b, mask, sum);
    for (size_t i = 0; i < b->n; i++)
        share[i] = whole > 0 ? fmin((double)sum[i] / whole, 1) : 0;
    if (b->f->time.drawn)
        batch_drawn(b, mask, share, effective);
    else
        batch_effective(b, mask, effective);
    for (size_t i = 0; i < b->n; i++)
        ret[i] = (struct flat_share){share[i], stats_wilson(share[i], effective[i], STATS_Z95),
                                     effective[i]};
}

/* Rows of threads and labels are few places each. */
static void shares_one_by_one(const struct flat *f, const uint32_t *rows, size_t n,
                              struct flat_pair *ret)
{
    for (size_t i = 0; i < n; i++)
        ret[i] = (struct flat_pair){flat_share_of_row(f, rows[i], FLAT_SELF),
                                    flat_share_of_row(f, rows[i], FLAT_TOTAL)};
}

void flat_shares_of_rows(const struct flat *f, const uint32_t *rows, size_t n,
                         struct flat_pair *ret)
{
    size_t n_stacks = f->profile->stacks.nodes.n;
    struct flat_share self[AT_ONCE], total[AT_ONCE];
    if (f->row_of_place) {
        shares_one_by_one(f, rows, n, ret);
        return;
    }
    autofree uint8_t *slot = mem_calloc(f->rows.n + 1, 1);
    autofree uint64_t *own = mem_calloc(n_stacks + 1, sizeof *own);
    autofree uint64_t *all = mem_calloc(n_stacks + 1, sizeof *all);
    for (size_t i = 0, step; i < n; i += step) {
        step = n - i < AT_ONCE ? n - i : AT_ONCE;
        struct batch b = {f, slot, own, all, step};
        for (size_t k = 0; k < step; k++)
            slot[rows[i + k]] = (uint8_t)(k + 1);
        batch_mark(&b);
        batch_shares(&b, own, self);
        batch_shares(&b, all, total);
        for (size_t k = 0; k < step; k++) {
            ret[i + k] = (struct flat_pair){self[k], total[k]};
            slot[rows[i + k]] = 0;
        }
    }
}
