#include "suite/pool.h"
#include "base/publish.h"
#include "model/append.h"
#include "source/import.h"
#include "view/export/export.h"

static int pool_read_profile(const char *file, struct profile **ret, struct err *err)
{
    struct import im;
    int rc = import_file(&im, file, &(struct import_opts){.addresses = true}, ret, err);
    import_done(&im);
    return rc;
}

int pool_add(struct pool *p, const char *file, const struct record_facts *facts, struct err *err)
{
    struct profile *next = NULL;
    int rc = 0;
    p->runs++;
    p->samples += facts->samples;
    p->cpu_ns += facts->cpu_ns;
    p->sampled_ns += facts->sampled_ns;
    p->sampled_of_ns += facts->seen_ns;
    p->wall_s += facts->wall_s;
    if (p->runs == 1 && p->samples >= p->enough)
        return 0;
    if (facts->samples)
        rc = pool_read_profile(file, &next, err);
    uint64_t queued_ns;
    if (rc == 0 && next && meta_find_u64(&next->meta, META_QUEUED_NS, &queued_ns)) {
        p->queued_ns += queued_ns;
        p->queued_runs++;
    }
    if (rc == 0 && next && p->profile)
        rc = profile_append(p->profile, next, err);
    else if (rc == 0 && next) {
        p->profile = next;
        return 0;
    }
    profile_free(next);
    return rc;
}

int pool_write(struct pool *p, const char *file, struct err *err)
{
    struct publish out;
    struct selection all = {.profile = p->profile};
    struct meta *m = &p->profile->meta;
    meta_set_u64(m, META_POOLED_RUNS, p->runs);
    meta_set_u64(m, META_CPU_TIME_NS, p->cpu_ns / p->runs);
    if (p->sampled_of_ns) {
        meta_set_u64(m, META_SAMPLED_NS, p->sampled_ns / p->runs);
        meta_set_u64(m, META_SAMPLED_OF_NS, p->sampled_of_ns / p->runs);
    }
    if (p->queued_runs)
        meta_set_u64(m, META_QUEUED_NS, p->queued_ns / p->queued_runs);
    meta_set_u64(m, META_DURATION_NS, (uint64_t)(p->wall_s * 1e9 / (double)p->runs));
    if (publish_open(&out, file, err) != 0)
        return -1;
    if (exporter_kelvin.write(out.out, &all, NULL, err) == 0)
        return publish_commit(&out, err);
    publish_drop(&out);
    return -1;
}

void pool_done(struct pool *p)
{
    profile_free(p->profile);
    *p = (struct pool){0};
}
