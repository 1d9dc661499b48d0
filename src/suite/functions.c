#include "suite/functions.h"

#include "base/pattern.h"
#include "base/program.h"
#include "symbol/demangle.h"
#include "symbol/elffile.h"
#include "symbol/elfsym.h"

#include <stdlib.h>

/* A variable of the environment has 128 KB at most. */
enum { FUNCTIONS_MAX = 8000 };

typedef VEC(uint64_t) function_places;

static bool function_matches(const struct pattern *wanted, struct text name)
{
    autobuf struct buf shown = {0};
    autofree char *symbol = mem_strndup(name.at, name.n);
    bool known = demangle(symbol, &shown);
    return pattern_fits(wanted, known ? buf_cstr(&shown) : symbol);
}

static void find_functions(const struct elfsyms *s, const struct pattern *wanted,
                           function_places *to)
{
    struct elfsym symbol;
    for (int t = 0; t < s->n; t++)
        for (size_t i = 0; i < s->tables[t].n; i++)
            if (elfsyms_get(s, t, i, &symbol) && function_matches(wanted, elfsyms_name(s, &symbol)))
                *vec_push(to) = symbol.start;
}

static int by_function_place(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static char *print_places(function_places *all)
{
    autobuf struct buf b = {0};
    uint64_t last = 0;
    if (all->n)
        qsort(all->at, all->n, sizeof *all->at, by_function_place);
    buf_str(&b, "only");
    for (size_t i = 0; i < all->n; last = all->at[i++])
        if (all->at[i] != last)
            buf_printf(&b, " %llx", (unsigned long long)all->at[i]);
    return mem_strdup(buf_cstr(&b));
}

static int list_matches(const char *path, const struct pattern *wanted, char **ret, struct err *err)
{
    struct elffile file;
    struct elfsyms symbols = {0};
    function_places all = {0};
    elf_version(EV_CURRENT);
    if (elffile_open(&file, path, (struct text){0}) != 0)
        return err_set(err, EXIT_ERROR, "'%s' is not a program with names of functions", path);
    elfsyms_add(&symbols, file.elf, SHT_DYNSYM);
    elfsyms_add(&symbols, file.elf, SHT_SYMTAB);
    find_functions(&symbols, wanted, &all);
    elfsyms_done(&symbols);
    elffile_close(&file);
    int rc = 0;
    if (!all.n)
        rc = err_set(err, EXIT_ERROR, "no function of '%s' matches; is it stripped?", path);
    else if (all.n > FUNCTIONS_MAX)
        rc = err_set(err, EXIT_ERROR, "%zu functions match, more than %d: ask for fewer", all.n,
                     FUNCTIONS_MAX);
    else
        *ret = print_places(&all);
    vec_done(&all);
    return rc;
}

int functions_list(const char *command, const char *regex, char **ret, struct err *err)
{
    autofree char *path = NULL;
    struct pattern compiled;
    *ret = NULL;
    if (!*regex) {
        *ret = mem_strdup("all");
        return 0;
    }
    int rc = pattern_init(&compiled, regex, false, err);
    if (rc != 0)
        return rc;
    if (program_find(command, &path) != PROGRAM_FOUND)
        rc = err_set(err, EXIT_ERROR, "%s: not found", command);
    else
        rc = list_matches(path, &compiled, ret, err);
    pattern_done(&compiled);
    return rc;
}
