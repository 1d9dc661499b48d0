/* carry.c - pages of workloads that this run did not run; see carry.h. */
#include "suite/carry.h"
#include "base/jsonread.h"
#include "base/path.h"
#include "suite/suite.h"

#include <dirent.h>

void carried_done(struct carried_list *l)
{
    for (size_t i = 0; i < l->at.n; i++) {
        free(l->at.at[i].name);
        free(l->at.at[i].outcome);
        free(l->at.at[i].commit);
    }
    vec_done(&l->at);
}

/* --- run.json --- */

static char *carried_text(struct jsonread *j)
{
    struct text t = json_get_text(j);
    return mem_strndup(t.at, t.n);
}

static void read_carried(struct jsonread *j, struct carried_list *to)
{
    struct carried c = {0};
    struct text key;
    json_enter(j, JSON_OBJECT);
    while (json_member(j, &key)) {
        char **text = text_is(key, "name")      ? &c.name
                      : text_is(key, "outcome") ? &c.outcome
                      : text_is(key, "commit")  ? &c.commit
                                                : NULL;
        if (text_is(key, "time")) {
            c.time_s = json_get_int(j);
        } else if (text) {
            free(*text);
            *text = carried_text(j);
        } else {
            json_skip(j);
        }
    }
    *vec_push(&to->at) = c;
}

static void read_carried_list(struct jsonread *j, struct carried_list *to)
{
    json_enter(j, JSON_ARRAY);
    while (json_element(j))
        read_carried(j, to);
}

static char *read_commit(struct jsonread *j)
{
    char *commit = NULL;
    struct text key;
    json_enter(j, JSON_OBJECT);
    while (json_member(j, &key))
        if (text_is(key, META_COMMIT) && !commit)
            commit = carried_text(j);
        else
            json_skip(j);
    return commit;
}

/* Of its own workloads the run's time and commit hold; those it carried along have theirs. */
static void read_receipt(struct jsonread *j, struct carried_list *to)
{
    autofree char *commit = NULL;
    int64_t time_s = 0;
    struct text key;
    json_enter(j, JSON_OBJECT);
    while (json_member(j, &key)) {
        if (text_is(key, "time")) {
            time_s = json_get_int(j);
        } else if (text_is(key, "meta") && !commit) {
            commit = read_commit(j);
        } else if (text_is(key, "workloads") || text_is(key, "carried")) {
            read_carried_list(j, to);
        } else {
            json_skip(j);
        }
    }
    for (size_t i = 0; i < to->at.n; i++) {
        struct carried *c = &to->at.at[i];
        c->name = c->name ? c->name : mem_strdup("");
        c->outcome = c->outcome ? c->outcome : mem_strdup("");
        c->commit = c->commit ? c->commit : mem_strdup(!c->time_s && commit ? commit : "");
        c->time_s = c->time_s ? c->time_s : time_s;
    }
}

struct carried_list carried_read(const char *path)
{
    autofree char *receipt = mem_printf("%s/run.json", path);
    struct carried_list l = {0};
    struct reader in;
    struct jsonread j;
    struct err err;
    if (path_kind(receipt) != PATH_FILE || reader_open_file(&in, receipt, &err) != 0)
        return l;
    jsonread_init(&j, &in);
    read_receipt(&j, &l);
    jsonread_done(&j);
    reader_close(&in);
    return l;
}

/* --- files --- */

/* Whose file it is: "a.heap.kelvin" is of "a", and of "a.heap" where there is such a workload. */
static const char *owner_of(const struct conf *c, const char *file)
{
    const char *best = NULL;
    for (size_t i = 0; i < c->names[CONF_WORKLOADS].at.n; i++) {
        const char *name = c->names[CONF_WORKLOADS].at.at[i];
        size_t n = strlen(name);
        if (strncmp(file, name, n) == 0 && file[n] == '.' && (!best || n > strlen(best)))
            best = name;
    }
    return best;
}

static bool is_in_run(const struct suite *s, const char *name)
{
    for (size_t i = 0; i < s->results.n; i++)
        if (strcmp(s->results.at[i].workload.name, name) == 0)
            return true;
    return false;
}

static bool is_carried(const struct carried_list *l, const char *name)
{
    for (size_t i = 0; i < l->at.n; i++)
        if (strcmp(l->at.at[i].name, name) == 0)
            return true;
    return false;
}

/* A second name for the same file costs nothing; the folder that has the first one goes. */
static int carry_file(const struct suite *s, const char *name, struct err *err)
{
    autofree char *from = mem_printf("%s/%s", s->folder.path, name);
    autofree char *to = folder_file(&s->folder, name);
    if (path_kind(from) != PATH_FILE || link(from, to) == 0)
        return 0;
    return folder_copy_file(from, to, err);
}

static int carry_files(const struct suite *s, struct err *err)
{
    DIR *d = opendir(s->folder.path);
    int rc = 0;
    for (struct dirent *e; d && rc == 0 && (e = readdir(d));) {
        const char *owner = owner_of(&s->conf, e->d_name);
        if (owner && is_carried(&s->carried, owner))
            rc = carry_file(s, e->d_name, err);
    }
    if (d)
        closedir(d);
    return rc;
}

static bool is_workload_of(const struct conf *c, const char *name)
{
    for (size_t i = 0; i < c->names[CONF_WORKLOADS].at.n; i++)
        if (strcmp(c->names[CONF_WORKLOADS].at.at[i], name) == 0)
            return true;
    return false;
}

int carried_take(struct suite *s, struct err *err)
{
    struct carried_list all = carried_read(s->folder.path);
    for (size_t i = 0; i < all.at.n; i++) {
        struct carried *c = &all.at.at[i];
        if (!is_workload_of(&s->conf, c->name) || is_in_run(s, c->name) ||
            is_carried(&s->carried, c->name))
            continue;
        *vec_push(&s->carried.at) = *c;
        *c = (struct carried){0};
    }
    carried_done(&all);
    return s->carried.at.n ? carry_files(s, err) : 0;
}

bool carried_has_failure(const struct suite *s, const char *path)
{
    struct carried_list all = carried_read(path);
    bool found = false;
    for (size_t i = 0; i < all.at.n; i++) {
        const struct carried *c = &all.at.at[i];
        found |= is_workload_of(&s->conf, c->name) && !is_in_run(s, c->name) &&
                 strcmp(c->outcome, suite_outcome_names[SUITE_OK]) != 0 &&
                 strcmp(c->outcome, suite_outcome_names[SUITE_INCONCLUSIVE]) != 0;
    }
    carried_done(&all);
    return found;
}
