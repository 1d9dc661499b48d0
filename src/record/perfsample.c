#include "record/perfsample.h"

uint64_t perfsample_id(const struct perf_event_header *h)
{
    return *(const uint64_t *)(h + 1);
}

static const uint64_t *read_chain(struct perfsample *ret, const uint64_t *at, uint64_t *pcs)
{
    uint64_t n = *at++;
    struct process_sample *to = &ret->s.at;
    for (uint64_t i = 0; i < n && to->n_kernel_pcs < PERFSAMPLE_PCS_MAX; i++)
        if (at[i] < (uint64_t)-4095) /* else a mark between contexts */
            pcs[to->n_kernel_pcs++] = at[i];
    to->kernel_pcs = pcs;
    return at + n;
}

/* 32 bits of size, then so many bytes: together whole words. */
static const uint64_t *read_raw(struct perfsample *ret, const uint64_t *at)
{
    uint32_t n = *(const uint32_t *)at;
    ret->raw = (const uint8_t *)at + sizeof n;
    ret->n_raw = n;
    return at + (n + sizeof n + 7) / 8;
}

/*
 * identifier | ip | pid tid | time | cpu | period | [counts] | [n, pcs] | [size raw] | [abi [regs]
 * | size [bytes, bytes copied]] The stack's bytes are there in full size, whatever was copied.
 */
void perfsample_read(struct perfsample *ret, const struct perf_event_header *h,
                     const struct perf_event_attr *attr, uint64_t *pcs)
{
    const uint64_t *at = (const uint64_t *)(h + 1),
                   *end = (const void *)((const char *)h + h->size);
    const uint32_t *ids = (const void *)(at + 2);
    *ret = (struct perfsample){
        .s = {.time_ns = at[3], .period = at[5], .at = {.pid = (int)ids[0], .tid = (int)ids[1]}}};
    struct process_sample *to = &ret->s.at;
    at += 6;
    if (attr->sample_type & PERF_SAMPLE_READ) {
        ret->age_ns = *at;
        at += 1 + __builtin_popcountll(attr->read_format);
    }
    if (attr->sample_type & PERF_SAMPLE_CALLCHAIN)
        at = read_chain(ret, at, pcs);
    if (attr->sample_type & PERF_SAMPLE_RAW)
        at = read_raw(ret, at);
    if (!(attr->sample_type & PERF_SAMPLE_REGS_USER))
        return;
    uint64_t abi = *at++;
    if (abi != PERF_SAMPLE_REGS_ABI_NONE) {
        if (abi == PERF_SAMPLE_REGS_ABI_64)
            unwind_regs_from_perf(at, &to->regs);
        at += __builtin_popcountll(attr->sample_regs_user);
    }
    uint64_t size = at < end ? *at++ : 0;
    if (size && at + size / 8 < end)
        to->stack = (struct unwind_stack){to->regs.sp, (const uint8_t *)at, at[size / 8],
                                          at[size / 8] < size};
}
