/*
 * init.c - a first kelvin.conf.
 */
#include "suite/init.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/words.h"
#include "suite/conf.h"

#include <dirent.h>
#include <fcntl.h>

/* --- what is there --- */

/* Debug information costs no speed and gives names, lines and inlined functions. */
static const struct {
    const char *file, *command, *env;
} systems[] = {
    {"Cargo.toml", "cargo build --release", "CARGO_PROFILE_RELEASE_DEBUG=true"},
    {"CMakeLists.txt",
     "cmake -S . -B build -DCMAKE_BUILD_TYPE=RelWithDebInfo && cmake --build build -j$(nproc)",
     NULL},
    {"meson.build",
     "test -d build || meson setup build --buildtype=debugoptimized && ninja -C build", NULL},
    {"GNUmakefile", "make -j$(nproc)", "CFLAGS=\"-O2 -g\" CXXFLAGS=\"-O2 -g\""},
    {"Makefile", "make -j$(nproc)", "CFLAGS=\"-O2 -g\" CXXFLAGS=\"-O2 -g\""},
    {"makefile", "make -j$(nproc)", "CFLAGS=\"-O2 -g\" CXXFLAGS=\"-O2 -g\""},
    {"configure", "./configure && make -j$(nproc)", "CFLAGS=\"-O2 -g\" CXXFLAGS=\"-O2 -g\""},
};

/* Where programs end up, the likeliest first. */
static const char *const folders[] = {".",   "build", "target/release", "bin", "build/bin",
                                      "src", "out"};

/* A program or shared object that can be executed; libraries go by their names. */
static bool is_program(const char *path)
{
    unsigned char head[18] = {0};
    if (access(path, X_OK) != 0 || strstr(path, ".so"))
        return false;
    autoclose int fd = path_open_file(path, 0, NULL);
    return fd >= 0 && read(fd, head, sizeof head) == (ssize_t)sizeof head &&
           memcmp(head, "\177ELF", 4) == 0 && (head[16] == 2 || head[16] == 3);
}

static int64_t init_changed(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (int64_t)st.st_mtime : 0;
}

/* The one that was built last; of equals the first by name, so that the answer is always the same.
 */
static void find_in(const char *folder, char *best, size_t size)
{
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        autofree char *path = strcmp(folder, ".") == 0 ? mem_printf("./%s", e->d_name)
                                                       : mem_printf("./%s/%s", folder, e->d_name);
        if (e->d_name[0] == '.' || strlen(path) >= size || !is_program(path))
            continue;
        int64_t newer = *best ? init_changed(path) - init_changed(best) : 1;
        if (newer > 0 || (newer == 0 && strcmp(path, best) < 0))
            strcpy(best, path);
    }
    if (d)
        closedir(d);
}

/* --- what will be there --- */

static const char word_bytes[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";

/* The word behind the first MARK of TEXT that no comment has; quotes and blanks before it are
 * skipped. Empty = there is none, or what stands at its place is no name. */
static struct text word_behind(const char *text, const char *mark)
{
    for (const char *at = text; (at = strstr(at, mark)); at++) {
        const char *line = at;
        while (line > text && line[-1] != '\n')
            line--;
        if (memchr(line, '#', (size_t)(at - line)) || (at > text && strchr(word_bytes, at[-1])))
            continue;
        const char *word = at + strlen(mark);
        word += strspn(word, " \t\r\n\"'=");
        return (struct text){word, strspn(word, word_bytes)};
    }
    return (struct text){0};
}

/* add_executable(${PROJECT_NAME} main.cpp) is as common as a name. */
static bool is_projects_name(struct text word)
{
    return !word.n && word.at &&
           (text_starts(text_of(word.at), "${PROJECT_NAME}") ||
            text_starts(text_of(word.at), "${CMAKE_PROJECT_NAME}"));
}

static void name_program(struct init_found *f)
{
    static const struct {
        const char *file, *mark, *folder;
    } names[] = {
        {"CMakeLists.txt", "add_executable(", "build"},
        {"meson.build", "executable(", "build"},
        {"Cargo.toml", "name", "target/release"},
    };
    enum { MOST = 65536 };
    autofree char *text = mem_calloc(MOST + 1, 1);
    autoclose int fd = f->because ? path_open_file(f->because, 0, NULL) : -1;
    if (fd < 0 || read(fd, text, MOST) <= 0)
        return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i].file, f->because) != 0)
            continue;
        struct text word = word_behind(text, names[i].mark);
        if (is_projects_name(word))
            word = word_behind(text, "project(");
        if (word.n && word.n < sizeof f->program / 2) {
            snprintf(f->program, sizeof f->program, "./%s/%.*s", names[i].folder, TEXT_ARG(word));
            f->to_be_built = true;
        }
    }
}

void init_look(struct init_found *f)
{
    *f = (struct init_found){0};
    for (size_t i = 0; i < sizeof systems / sizeof *systems && !f->build; i++)
        if (access(systems[i].file, F_OK) == 0) {
            f->build = systems[i].command;
            f->env = systems[i].env;
            f->because = systems[i].file;
        }
    for (size_t i = 0; i < sizeof folders / sizeof *folders && !*f->program; i++)
        find_in(folders[i], f->program, sizeof f->program);
    if (!*f->program)
        name_program(f);
}

/* --- what is written --- */

static const char head[] =
    "# What 'kelvin run' builds, measures and publishes. Lines with # are comments; a ; after a\n"
    "# blank starts one too. A line that begins with a blank continues the value above it.\n"
    "# Every key can be overridden by an environment variable (KELVIN_BUILD_COMMAND) or an option\n"
    "# (--set build.command=make); 'kelvin run --explain' shows what counts.\n"; /* command line */

/* Stands where the command of a workload is not known. */
static const char example[] = "./program --argument";

/* What was found for a key; NULL = nothing. */
static const char *found_for(const struct init_found *f, const struct conf_key *k)
{
    if (strcmp(k->section, "build") == 0) {
        if (strcmp(k->key, "command") == 0)
            return f->build;
        if (strcmp(k->key, "env") == 0)
            return f->env;
        if (strcmp(k->key, "binary") == 0 && *f->program)
            return f->program;
    }
    if (strcmp(k->section, "workload") == 0) {
        if (strcmp(k->key, "command") == 0)
            return *f->program ? f->program : example;
        if (strcmp(k->key, "collect") == 0)
            return "cpu bench";
    }
    return NULL;
}

static void print_key(FILE *out, const struct init_found *f, const struct conf_key *k)
{
    autobuf struct buf quoted = {0};
    const char *found = found_for(f, k);
    if (found == f->program && strcmp(k->key, "command") == 0) { /* a line, not a path */
        words_quote(&quoted, found);
        found = buf_cstr(&quoted);
    }
    fprintf(out, "# %s%s%s\n", k->help, k->choices ? ": " : "", k->choices ? k->choices : "");
    if (found)
        fprintf(out, "%s = %s\n", k->key, found);
    else
        fprintf(out, "# %s =%s%s\n", k->key, *k->fallback ? " " : "", k->fallback);
}

/* A section that nothing was found for is a comment as a whole. */
static void print_section(FILE *out, const char *section)
{
    if (strcmp(section, "workload") == 0)
        fputs("\n# One for each thing to measure; add more with other names.\n[workload main]\n",
              out);
    else if (strcmp(section, "input") == 0)
        fputs("\n# Files that workloads read, as {NAME} in their commands.\n# [input NAME]\n", out);
    else if (strcmp(section, "metric") == 0)
        fputs("\n# A figure that the program prints about itself.\n# [metric NAME]\n", out);
    else if (strcmp(section, "variant") == 0)
        fputs("\n# Another build to compare with, by other flags or another compiler.\n# [variant "
              "NAME]\n",
              out);
    else
        fprintf(out, "\n[%s]\n", section);
}

void init_print(FILE *out, const struct init_found *f)
{
    const char *section = "";
    fputs(head, out);
    for (const struct conf_key *k = conf_keys; k->section; k++) {
        if (strcmp(section, k->section) != 0)
            print_section(out, k->section);
        section = k->section;
        print_key(out, f, k);
    }
}

int init_check_filled(const struct conf *c, const char *workload, struct err *err)
{
    struct conf_value v = conf_find(c, workload, "workload.command");
    bool built = *conf_text(c, "", "build.command");
    if (!v.text || strcmp(v.text, example) != 0)
        return 0;
    return err_set(
        err, EXIT_ERROR,
        "%s: '%s' is only an example: put the program to measure, with its arguments, "
        "after 'command =' of [workload %s]%s",
        v.origin, example, workload,
        built ? "" : ", and the command that builds it, if any, after 'command =' of [build]");
}
