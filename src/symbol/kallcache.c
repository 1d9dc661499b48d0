#include "symbol/kallcache.h"

#include "base/cachefile.h"
#include "base/reader.h"

#include <xxhash.h>

static bool kallcache_read_file(const char *path, struct buf *ret)
{
    struct reader in;
    struct err err;
    if (reader_open_file(&in, path, &err) != 0)
        return false;
    for (struct text t; (t = reader_peek(&in, 1)).n; reader_take(&in, t.n))
        buf_add(ret, t.at, t.n);
    bool good = !reader_failed(&in, &err);
    reader_close(&in);
    return good;
}

/*
 * What the symbols depend on: the boot, as addresses are chosen then, and the loaded modules. It
 * is the cache file's first line.
 */
static bool make_key(struct buf *ret)
{
    autobuf struct buf boot = {0}, modules = {0};
    if (!kallcache_read_file("/proc/sys/kernel/random/boot_id", &boot) || !boot.n)
        return false;
    kallcache_read_file("/proc/modules", &modules); /* not there in a kernel without modules */
    struct text id = text_trim(buf_text(&boot));
    buf_printf(ret, "# %.*s %016llx\n", TEXT_ARG(id),
               (unsigned long long)XXH3_64bits(modules.n ? modules.at : "", modules.n));
    return true;
}

/* The first address is zero for all who have no right to see it. */
static bool is_hidden(const struct buf *text)
{
    struct text rest = buf_text(text), first = text_cut(&rest, ' ');
    uint64_t address;
    return !text_u64(first, 16, &address) || !address;
}

bool kallcache_read(const char *path, struct buf *ret)
{
    if (strcmp(path, KALLSYMS_RUNNING) != 0)
        return kallcache_read_file(path, ret);
    autobuf struct buf key = {0};
    bool has_key = make_key(&key);
    if (has_key && cachefile_read("kallsyms", ret) && ret->n > key.n &&
        memcmp(ret->at, key.at, key.n) == 0)
        return true;
    autobuf struct buf text = {0};
    ret->n = 0;
    if (!kallcache_read_file(KALLSYMS_RUNNING, &text) || is_hidden(&text))
        return false;
    buf_add(ret, key.at, key.n);
    buf_add(ret, text.at, text.n);
    if (has_key)
        cachefile_write("kallsyms", ret);
    return true;
}
