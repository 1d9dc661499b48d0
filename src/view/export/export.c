#include "view/export/export.h"
#include "analysis/extract.h"
#include "base/units.h"

const struct exporter *const export_formats[] = {
    &exporter_kelvin,
    &exporter_folded,
    &exporter_pprof,
    &exporter_speedscope, /* before json: their suffixes are longer */
    &exporter_chrometrace,
    &exporter_perfetto,
    &exporter_otlp,
    &exporter_otlp_protobuf,
    &exporter_firefox,
    &exporter_json,
    NULL,
};

const struct exporter *export_find(const char *name)
{
    for (int i = 0; export_formats[i]; i++)
        if (strcmp(export_formats[i]->name, name) == 0)
            return export_formats[i];
    return NULL;
}

const struct exporter *export_for_path(const char *path)
{
    for (int i = 0; export_formats[i]; i++)
        if (text_ends(text_of(path), export_formats[i]->suffix))
            return export_formats[i];
    return NULL;
}

int export_write(const struct exporter *e, FILE *out, const struct selection *s,
                 const struct export_opts *opts, struct err *err)
{
    if (selection_is_all(s))
        return e->write(out, s, opts, err);
    struct profile *part = extract_build(s);
    struct selection all = selection_all(part, part->default_value);
    int rc = e->write(out, &all, opts, err);
    profile_free(part);
    return rc;
}

/* --- how large it becomes --- */

/* Profiles of real programs become at most a few dozen times larger. */
#define SIZE_ALWAYS_FINE (UINT64_C(512) << 20)
enum { SIZE_RATIO_MAX = 200, FRAME_BYTES = 2, NODE_BYTES = 16, ROW_BYTES = 24 };

int export_check_size(uint64_t bytes, uint64_t held_bytes, struct err *err)
{
    char size[UNITS_MAX];
    if (bytes <= SIZE_ALWAYS_FINE || bytes / SIZE_RATIO_MAX <= held_bytes)
        return 0;
    return err_set(err, EXIT_ERROR,
                   "the stacks are so deep that this would be %s, %llu times as large as the "
                   "profile; formats that write each caller once can hold it (kelvin, firefox)",
                   units_scaled(size, (double)bytes, SCALED_BYTES),
                   (unsigned long long)(bytes / (held_bytes ? held_bytes : 1)));
}

int export_check_stacks(const struct profile *p, const int *streams, size_t n, struct err *err)
{
    const struct stack_node *nodes = p->stacks.nodes.at;
    autofree uint32_t *depth = mem_calloc(p->stacks.nodes.n, sizeof *depth);
    for (size_t i = 1; i < p->stacks.nodes.n; i++)
        depth[i] = depth[nodes[i].parent.i] + 1;
    uint64_t frames = 0, rows = 0;
    for (size_t i = 0; i < n; i++) {
        const struct rows *r = &profile_stream(p, streams[i])->rows;
        rows += r->n;
        for (size_t k = 0; k < r->n; k++)
            frames += depth[r->stack[k].i];
    }
    return export_check_size(frames * FRAME_BYTES,
                             p->stacks.nodes.n * NODE_BYTES + rows * ROW_BYTES, err);
}
