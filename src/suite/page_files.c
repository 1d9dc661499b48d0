/*
 * page_files.c - writing the pages into the folder.
 */
#include "analysis/calltree.h"
#include "base/publish.h"
#include "suite/page.h"
#include "suite/page_inner.h"
#include "suite/suite.h"
#include "view/diff.h"
#include "view/document.h"
#include "view/flame.h"
#include "view/viewer.h"

typedef void write_fn(FILE *out, const struct suite *s, const struct suite_result *r);

static int write_file(const struct suite *s, const struct suite_result *r, const char *name,
                      write_fn *print, struct err *err)
{
    autofree char *path = folder_file(&s->folder, name);
    struct publish file;
    if (publish_open(&file, path, err) != 0)
        return -1;
    print(file.out, s, r);
    return publish_commit(&file, err);
}

static void write_flame(FILE *out, const struct suite *s, const struct suite_result *r)
{
    const struct suite_recording *rec = &r->recordings.at[0];
    struct calltree_opts o = {.group = GROUP_COMM,
                              .min_share = 0.0005,
                              .keep_up_to = FLAME_KEEP_UP_TO,
                              .keep_rows = true};
    struct calltree *t = calltree_build(&rec->selection, &o);
    autofree char *title = mem_printf("%s: %s", s->project, r->workload.name);
    flame_print_selection(out, &rec->selection, t,
                          &(struct flame_opts){.title = title,
                                               .min_share = 0.0005,
                                               .hidden = "frames under 0.05% not drawn"});
    calltree_free(t);
}

/* The recording, to be explored in a browser. */
static int write_view(const struct suite *s, const struct suite_result *r, struct err *err)
{
    const struct suite_recording *rec = &r->recordings.at[0];
    autofree char *name = page_view_file(r);
    autofree char *path = folder_file(&s->folder, name);
    struct publish file;
    struct viewer *v = viewer_new(
        &(struct viewer_opts){
            .profiles = {rec->profile}, .n = 1, .still = &rec->selection, .start = ""},
        err);
    int rc = v ? publish_open(&file, path, err) : -1;
    if (rc == 0) {
        viewer_print(file.out, v);
        rc = publish_commit(&file, err);
    }
    viewer_free(v);
    return rc;
}

/* What changed since the baseline, drawn: the same as 'kelvin diff -o FILE.svg'. */
static void write_diff(FILE *out, const struct suite *s, const struct suite_result *r)
{
    VEC(const struct selection *) runs = {0};
    (void)s;
    for (size_t i = 0; i < r->before.n; i++)
        *vec_push(&runs) = &r->before.at[i].selection;
    for (size_t i = 0; i < r->recordings.n; i++)
        *vec_push(&runs) = &r->recordings.at[i].selection;
    struct diff_view v = {.runs = runs.at, .unlike = "", .top = 10};
    diff_print_svg(out, r->diff, &v);
    vec_done(&runs);
}

static void write_page(FILE *out, const struct suite *s, const struct suite_result *r)
{
    struct document d = {0};
    autofree char *title = mem_printf("%s: %s", s->project, r->workload.name);
    page_workload(&d, s, r);
    document_print_markdown(out, &d, title);
    document_done(&d);
}

static void write_page_html(FILE *out, const struct suite *s, const struct suite_result *r)
{
    struct document d = {0};
    autofree char *title = mem_printf("%s: %s", s->project, r->workload.name);
    page_workload(&d, s, r);
    document_print_html(out, &d, title, NULL);
    document_done(&d);
}

static void write_index(FILE *out, const struct suite *s, const struct suite_result *r)
{
    struct document d = {0};
    (void)r;
    page_index(&d, s, "md");
    document_print_markdown(out, &d, s->project);
    document_done(&d);
}

static void write_index_html(FILE *out, const struct suite *s, const struct suite_result *r)
{
    struct document d = {0};
    (void)r;
    page_index(&d, s, "html");
    document_print_html(out, &d, s->project, NULL);
    document_done(&d);
}

static void write_summary(FILE *out, const struct suite *s, const struct suite_result *r)
{
    (void)r;
    page_summary(out, s);
}

static void write_receipt(FILE *out, const struct suite *s, const struct suite_result *r)
{
    (void)r;
    page_receipt(out, s);
}

static int write_workload(const struct suite *s, const struct suite_result *r, struct err *err)
{
    autofree char *svg = mem_printf("%s.svg", r->workload.name);
    autofree char *page = mem_printf("%s.md", r->workload.name);
    autofree char *html = mem_printf("%s.html", r->workload.name);
    autofree char *diff = mem_printf("%s.diff.svg", r->workload.name);
    if (r->diff && write_file(s, r, diff, write_diff, err) != 0)
        return -1;
    if (r->recordings.n && write_file(s, r, svg, write_flame, err) != 0)
        return -1;
    if (page_has_view(r) && write_view(s, r, err) != 0)
        return -1;
    if (write_file(s, r, page, write_page, err) != 0)
        return -1;
    return write_file(s, r, html, write_page_html, err);
}

static const struct {
    const char *name;
    write_fn *print;
} files[] = {
    {"README.md", write_index},
    {"index.html", write_index_html},
    {"summary.md", write_summary},
    {"run.json", write_receipt},
};

int page_write_all(const struct suite *s, struct err *err)
{
    for (size_t i = 0; i < s->results.n; i++)
        if (write_workload(s, &s->results.at[i], err) != 0)
            return -1;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (write_file(s, NULL, files[i].name, files[i].print, err) != 0)
            return -1;
    return 0;
}
