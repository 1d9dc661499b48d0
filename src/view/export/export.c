#include "view/export/export.h"
#include "analysis/extract.h"

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
