#include "base/program.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/path.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

enum { NAMES_MAX = 63 };

/* What execvp() takes where there is no PATH. */
#define DEFAULT_PATH "/bin:/usr/bin"

static struct text search_path(void)
{
    const char *path = getenv("PATH");
    return text_of(path ? path : DEFAULT_PATH);
}

/* The first folder on the way to PATH that may not be entered; NULL if all may. Free it. */
static char *closed_folder(const char *path)
{
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        char *folder = mem_strndup(path, slash > path ? (size_t)(slash - path) : 1);
        if (faccessat(AT_FDCWD, folder, X_OK, AT_EACCESS) != 0 && errno == EACCES)
            return folder;
        free(folder);
    }
    return NULL;
}

static enum program_state look_at(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return errno == EACCES ? PROGRAM_CLOSED : PROGRAM_NOT_FOUND;
    if (S_ISDIR(st.st_mode))
        return PROGRAM_FOLDER;
    if (faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0)
        return PROGRAM_FOUND;
    return st.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH) ? PROGRAM_FORBIDDEN : PROGRAM_NOT_EXECUTABLE;
}

static enum program_state find_by_path(const char *path, char **ret_path)
{
    enum program_state state = *path ? look_at(path) : PROGRAM_NOT_FOUND;
    if (state == PROGRAM_CLOSED)
        *ret_path = closed_folder(path);
    else if (state != PROGRAM_NOT_FOUND)
        *ret_path = mem_strdup(path);
    return state;
}

/* Go through PATH. What was met first on the way is reported where nothing can be run. */
static enum program_state find_by_name(const char *name, char **ret_path)
{
    enum program_state met = PROGRAM_NOT_FOUND;
    struct text path = search_path();
    for (bool more = true; more;) {
        const char *colon = memchr(path.at, ':', path.n);
        struct text folder = {path.at, colon ? (size_t)(colon - path.at) : path.n};
        autofree char *full = folder.n ? mem_printf("%.*s/%s", (int)folder.n, folder.at, name)
                                       : mem_printf("./%s", name);
        char *at = NULL;
        enum program_state state = find_by_path(full, &at);
        bool keep = state == PROGRAM_FOUND || (met == PROGRAM_NOT_FOUND && state != PROGRAM_FOLDER);
        free(keep ? *ret_path : at);
        met = keep ? state : met;
        *ret_path = keep ? at : *ret_path;
        more = colon && state != PROGRAM_FOUND;
        path = (struct text){folder.at + folder.n + 1, path.n - folder.n - 1};
    }
    return met;
}

enum program_state program_find(const char *command, char **ret_path)
{
    char *path = NULL;
    enum program_state state = strchr(command, '/') || !*command ? find_by_path(command, &path)
                                                                 : find_by_name(command, &path);
    if (ret_path)
        *ret_path = path;
    else
        free(path);
    return state;
}

bool program_exists(const char *command)
{
    return program_find(command, NULL) == PROGRAM_FOUND;
}

/* --- names that are near --- */

/* The names in a folder that begin as WORD does: few enough to compare. */
static size_t list_names(const char *folder, const char *word, const char **names)
{
    size_t n = 0;
    DIR *d = opendir(folder);
    const struct dirent *e;
    while (d && n < NAMES_MAX && (e = readdir(d)))
        if (e->d_name[0] == word[0] && strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            names[n++] = mem_strdup(e->d_name);
    if (d)
        closedir(d);
    return n;
}

/* A name in PATH much like COMMAND; NULL if there is none. Free it. */
static char *program_nearest(const char *command)
{
    struct text rest = search_path();
    char *best = NULL;
    while (rest.n > 0 && !best) {
        const char *names[NAMES_MAX + 1] = {0};
        struct text part = text_cut(&rest, ':');
        autofree char *folder = mem_strndup(part.at, part.n);
        size_t n = list_names(folder, command, names);
        const char *near = opt_nearest(command, names);
        best = near ? mem_strdup(near) : NULL;
        while (n > 0)
            free((char *)(uintptr_t)names[--n]);
    }
    return best;
}

/* --- why not --- */

/* NAME=VALUE, which a shell takes for a variable. */
static bool is_assignment(const char *word)
{
    size_t n = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    return n && word[n] == '=' && !strchr("0123456789", *word);
}

static void explain_not_found(const char *command, struct err *err)
{
    if (is_assignment(command)) {
        err_set(err, EXIT_ERROR, "%s: not a program; 'env NAME=VALUE COMMAND' sets a variable",
                command);
        return;
    }
    if (strchr(command, '/')) {
        err_set(err, EXIT_ERROR, "%s: not found", command);
        return;
    }
    if (path_kind(command) == PATH_FILE) {
        err_set(err, EXIT_ERROR, "%s: not found in PATH; did you mean './%s'?", command, command);
        return;
    }
    if (path_kind(command) == PATH_FOLDER) {
        err_set(err, EXIT_ERROR, "%s: is a folder, and PATH has no such program", command);
        return;
    }
    autofree char *near = program_nearest(command);
    if (near)
        err_set(err, EXIT_ERROR, "%s: not found in PATH; did you mean '%s'?", command, near);
    else
        err_set(err, EXIT_ERROR, "%s: not found in PATH", command);
}

static void explain_closed(const char *command, const char *folder, struct err *err)
{
    if (strchr(command, '/'))
        err_set(err, EXIT_ERROR, "%s: you may not enter the folder '%s'", command,
                folder ? folder : "?");
    else if (path_kind(command) == PATH_FILE)
        explain_not_found(command, err);
    else
        err_set(err, EXIT_ERROR,
                "%s: not found in PATH; it may be in '%s', which you may not enter", command,
                folder ? folder : "?");
}

enum program_state program_explain(const char *command, int errnum, struct err *err)
{
    autofree char *path = NULL;
    enum program_state state = program_find(command, &path);
    switch (state) {
    case PROGRAM_NOT_FOUND:
        explain_not_found(command, err);
        break;
    case PROGRAM_FOLDER:
        err_set(err, EXIT_ERROR, "%s: is a folder", path);
        break;
    case PROGRAM_NOT_EXECUTABLE:
        err_set(err, EXIT_ERROR, "%s: not executable; 'chmod +x' it", path);
        break;
    case PROGRAM_FORBIDDEN:
        err_set(err, EXIT_ERROR, "%s: you may not execute it; see 'ls -l' and 'findmnt -T'", path);
        break;
    case PROGRAM_CLOSED:
        explain_closed(command, path, err);
        break;
    case PROGRAM_FOUND:
        if (errnum == ENOENT && access("/dev/null", F_OK) != 0)
            err_set(err, EXIT_ERROR,
                    "there is no /dev/null here, which commands get as input: mount /dev, or "
                    "'mknod -m 666 /dev/null c 1 3'");
        else if (errnum == ENOENT)
            err_set(err, EXIT_ERROR, "%s: its interpreter is missing; 'file' shows which", path);
        else
            err_set_errno(err, errnum, "%s", path);
        break;
    }
    return state;
}

/* --- what may not be looked into --- */

const char *program_hidden(const char *command)
{
    struct stat st;
    autofree char *path = NULL;
    if (program_find(command, &path) != PROGRAM_FOUND || stat(path, &st) != 0)
        return NULL;
    if ((st.st_mode & S_ISUID) && st.st_uid != geteuid())
        return "runs with the rights of its owner (setuid)";
    if ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) && st.st_gid != getegid())
        return "runs with the rights of its group (setgid)";
    if (geteuid() == 0)
        return NULL;
    if (getxattr(path, "security.capability", NULL, 0) > 0)
        return "has capabilities of its own (setcap)";
    return faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) != 0 ? "may be run but not read" : NULL;
}
