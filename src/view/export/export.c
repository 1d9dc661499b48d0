#include "view/export/export.h"

const struct exporter *const export_formats[] = {
    &exporter_kelvin,     &exporter_folded, &exporter_pprof,
    &exporter_speedscope, /* before json: its suffix is longer */
    &exporter_firefox,    &exporter_json,   NULL,
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
