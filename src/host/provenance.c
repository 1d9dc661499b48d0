#include "host/provenance.h"
#include "base/words.h"
#include "host/ask.h"
#include "model/meta.h"

enum { LIMIT_MS = 2000 };

/* A repository may name a program as its file watcher: that must not run just to be asked. */
#define GIT "git", "--no-optional-locks", "-c", "core.fsmonitor=false"

static bool is_hash(struct text t)
{
    if (t.n != 40 && t.n != 64)
        return false;
    for (size_t i = 0; i < t.n; i++)
        if (!strchr("0123456789abcdef", t.at[i]))
            return false;
    return true;
}

/* Two lines: the commit, and the branch or "HEAD". */
static bool take_head(struct provenance *p, struct text said)
{
    struct text commit = text_cut(&said, '\n'), branch = text_cut(&said, '\n');
    if (!is_hash(commit))
        return false;
    memcpy(p->commit, commit.at, commit.n);
    p->detached = text_is(branch, "HEAD");
    if (!p->detached)
        snprintf(p->branch, sizeof p->branch, "%.*s", TEXT_ARG(branch));
    return true;
}

void provenance_read(struct provenance *p)
{
    static const char *const head[] = {GIT, "rev-parse", "HEAD", "--abbrev-ref", "HEAD", NULL};
    static const char *const status[] = {
        GIT, "status", "--porcelain", "--untracked-files=no", "--ignore-submodules=dirty", NULL};
    *p = (struct provenance){0};
    autobuf struct buf said = {0};
    struct ask a = {.ms_left = LIMIT_MS};
    if (!ask_program(&a, head, &said) || !take_head(p, buf_text(&said)))
        return;
    said.n = 0;
    p->dirty_known = ask_program(&a, status, &said) || said.n > 0;
    p->dirty = said.n > 0;
}

void provenance_put(const struct provenance *p, struct meta *m)
{
    meta_set_str(m, META_TOOL, "kelvin " KELVIN_VERSION);
    if (!p->commit[0])
        return;
    meta_set_str(m, META_COMMIT, p->commit);
    meta_set_str(m, META_BRANCH, p->detached ? "none (detached)" : p->branch);
    meta_set_str(m, META_DIRTY, !p->dirty_known ? "not known" : p->dirty ? "yes" : "no");
}

/* "--otlp=http://host/x?token=y" without what may be a key. */
static size_t word_bytes(const char *word)
{
    const char *scheme = strstr(word, "://"), *query = scheme ? strchr(scheme, '?') : NULL;
    return query ? (size_t)(query + 1 - word) : strlen(word);
}

void provenance_put_options(struct meta *m, int n, char *const *args)
{
    autobuf struct buf b = {0};
    struct words told = {0};
    for (int i = 0; i < n; i++) {
        size_t bytes = word_bytes(args[i]);
        autofree char *word =
            mem_printf("%.*s%s", (int)bytes, args[i], bytes < strlen(args[i]) ? "..." : "");
        words_add(&told, text_of(word));
    }
    words_join(&b, told.at.at, told.at.n);
    words_done(&told);
    meta_set_str(m, META_OPTIONS, buf_cstr(&b));
}
