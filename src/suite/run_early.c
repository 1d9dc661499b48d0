/*
 * run_early.c - what a run leaves that ended before it had anything to publish.
 *
 * Whoever shows the summary of a run must not find that of the run before in its place. A mistyped
 * workload, or a kelvin.conf that is not filled in, leaves nothing where there is nothing yet.
 */
#include "base/path.h"
#include "base/publish.h"
#include "base/utf8.h"
#include "suite/run_inner.h"
#include "view/document.h"

/* The reason and the end of the build's output. */
static void early_document(struct document *d, struct run *r, const char *why)
{
    const struct provenance *git = &r->suite.git;
    document_text(d, "The run ended early, and nothing was published: %s.", why);
    if (r->tail)
        document_code(d, r->tail);
    if (r->errors.n)
        document_code(d, buf_cstr(&r->errors));
    document_text(d, "%s%.12s%s.", *git->commit ? "Commit " : "No commit", git->commit,
                  git->dirty ? " with changes" : "");
}

static int early_write(const struct folder *to, const char *name, struct run *r, const char *why)
{
    autofree char *path = folder_file(to, name);
    autofree char *title = mem_printf("%s: failed", r->suite.project);
    struct publish file;
    struct document d = {0};
    struct err err;
    if (publish_open(&file, path, &err) != 0)
        return -1;
    early_document(&d, r, why);
    if (text_ends(text_of(name), ".html"))
        document_print_html(file.out, &d, title, NULL);
    else
        document_print_markdown(file.out, &d, title);
    document_done(&d);
    return publish_commit(&file, &err);
}

/* A commit that does not build has a row in the history, without figures. */
static void early_remember(struct run *r)
{
    for (size_t i = 0; i < r->suite.results.n; i++)
        suite_fail(&r->suite.results.at[i], "was not built", NULL);
    run_remember(r);
}

void run_ended_early(struct run *r, const char *why)
{
    const char *folder = conf_text(&r->suite.conf, "", "publish.folder");
    autofree char *path = mem_printf("%s-failed", folder);
    struct folder to = {.lock = -1};
    struct err err;
    bool others = path_kind(folder) != PATH_NOTHING || path_kind(path) != PATH_NOTHING;
    if (!*folder || !r->suite.project || (r->fault == RUN_NO_WORKLOAD && !others))
        return;
    if (!*r->suite.git.commit)
        provenance_read(&r->suite.git);
    if (r->fault == RUN_BUILD_FAILED)
        early_remember(r);
    if (folder_open(&to, path, &err) == 0 && early_write(&to, "summary.md", r, why) == 0 &&
        early_write(&to, "index.html", r, why) == 0)
        folder_commit(&to, &err);
    folder_drop(&to);
}
