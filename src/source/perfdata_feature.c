#include "source/perfdata_feature.h"
#include "base/buf.h"
#include "base/units.h"
#include "unwind/objfile.h"

#include <fcntl.h>

/* misc bit of a build-id's entry: its length is reported; else it is 20 bytes. */
enum { MISC_BUILD_ID_SIZE = 1 << 15, BUILD_ID_MAX = 20, WORDS_MAX = 4096 };

void perfdata_features_init(struct perfdata_features *f, struct import *im,
                            struct perfdata_events *es)
{
    *f = (struct perfdata_features){.im = im, .events = es};
    intern_init(&f->texts);
}

void perfdata_features_done(struct perfdata_features *f)
{
    intern_done(&f->texts);
    vec_done(&f->build_ids);
}

/* --- texts about the machine --- */

/* length u32 | bytes, NUL-terminated and padded */
static struct text perfdata_feature_take_string(struct cursor *c)
{
    struct text t = cursor_bytes(c, perfdata_take_half(c));
    t.n = strnlen(t.at, t.n);
    return t;
}

static void read_text(struct perfdata_features *f, const char *key, const char *prefix,
                      struct text body)
{
    struct cursor c = cursor_of(body.at, body.n);
    struct text t = perfdata_feature_take_string(&c);
    if (!t.n)
        return;
    autofree char *value = mem_printf("%s%.*s", prefix, TEXT_ARG(t));
    meta_set_str(&f->im->profile->meta, key, value);
}

/* n u32 | n strings: the words of perf's own command line */
static void read_command(struct perfdata_features *f, struct text body)
{
    struct cursor c = cursor_of(body.at, body.n);
    uint32_t n = perfdata_take_half(&c);
    autobuf struct buf line = {0};
    for (uint32_t i = 0; i < n && i < WORDS_MAX && cursor_more(&c); i++) {
        struct text word = perfdata_feature_take_string(&c);
        if (c.bad)
            break;
        buf_str(&line, line.n ? " " : "");
        buf_add(&line, word.at, word.n);
    }
    if (line.n)
        meta_set(&f->im->profile->meta, META_COMMAND, buf_text(&line));
}

/* available u32 | online u32 */
static void read_cpus(struct perfdata_features *f, struct text body)
{
    struct cursor c = cursor_of(body.at, body.n);
    perfdata_take_half(&c);
    uint32_t online = perfdata_take_half(&c);
    char text[32];
    snprintf(text, sizeof text, "%u online", online);
    if (!c.bad)
        meta_set_str(&f->im->profile->meta, META_CPUS, text);
}

static void read_memory(struct perfdata_features *f, struct text body)
{
    struct cursor c = cursor_of(body.at, body.n);
    uint64_t kilobytes = perfdata_take(&c);
    char text[UNITS_MAX];
    if (!c.bad)
        meta_set_str(&f->im->profile->meta, META_MEMORY,
                     units_scaled(text, (double)kilobytes * 1024, SCALED_BYTES));
}

/* version u32 | clock id u32 | wall u64 | the clock of the records u64, both ns at one moment */
static void read_clocks(struct perfdata_features *f, struct text body)
{
    struct cursor c = cursor_of(body.at, body.n);
    uint32_t version = perfdata_take_half(&c);
    perfdata_take_half(&c);
    uint64_t wall_ns = perfdata_take(&c), clock_ns = perfdata_take(&c);
    if (!c.bad && version == 1)
        f->im->profile->clock = (struct clock_pair){.monotonic_ns = clock_ns, .wall_ns = wall_ns};
}

/* --- events --- */

/* One of FEATURE_EVENT_DESC: attr | n u32 | string | n ids. */
static void perfdata_feature_read_event(struct perfdata_features *f, struct cursor *c,
                                        uint32_t attr_size, size_t i)
{
    cursor_bytes(c, attr_size);
    uint32_t n = perfdata_take_half(c);
    struct text name = perfdata_feature_take_string(c);
    struct text ids = cursor_bytes(c, 8 * (uint64_t)n);
    if (c->bad)
        return;
    struct perfdata_event *e = n ? perfdata_events_find(f->events, perfdata_word(ids.at)) : NULL;
    if (!e && i < f->events->list.n)
        e = &f->events->list.at[i]; /* same order as the attrs */
    if (e)
        perfdata_event_set_name(e, name);
}

/* n u32 | size of an attr u32 | n events */
static void read_events(struct perfdata_features *f, struct text body)
{
    struct cursor c = cursor_of(body.at, body.n);
    uint32_t n = perfdata_take_half(&c), attr_size = perfdata_take_half(&c);
    for (size_t i = 0; i < n && cursor_more(&c); i++)
        perfdata_feature_read_event(f, &c, attr_size, i);
}

/* n u32 | n times: number of a unit u32 | string: which unit of a hybrid CPU counts an event */
static void read_units(struct perfdata_features *f, struct text body)
{
    struct cursor c = cursor_of(body.at, body.n);
    uint32_t n = perfdata_take_half(&c);
    for (size_t i = 0; i < n && cursor_more(&c); i++) {
        uint32_t number = perfdata_take_half(&c);
        struct text name = perfdata_feature_take_string(&c);
        if (c.bad)
            return;
        for (size_t k = 0; k < f->events->list.n; k++)
            perfdata_event_set_unit(&f->events->list.at[k], number, name);
    }
}

/* --- build-ids --- */

/* pid u32 | 20 bytes, length u8, 3 unused | path */
void perfdata_build_id_read(struct perfdata_features *f, uint16_t misc, struct text body)
{
    if (body.n <= 28)
        return;
    size_t n = misc & MISC_BUILD_ID_SIZE ? (uint8_t)body.at[24] : BUILD_ID_MAX;
    struct text path = {body.at + 28, strnlen(body.at + 28, body.n - 28)};
    if (n == 0 || n > BUILD_ID_MAX || path.n == 0)
        return;
    struct perfdata_build_id id = {0};
    for (size_t i = 0; i < n; i++)
        snprintf(id.hex + 2 * i, 3, "%02x", (uint8_t)body.at[4 + i]);
    uint32_t known = intern_find(&f->texts, path);
    if (known != IDMAP_NONE && known)
        return;
    id.path = intern_add(&f->texts, path);
    *vec_push(&f->build_ids) = id;
}

/* Entries with the header of a record each. */
static void read_build_ids(struct perfdata_features *f, struct text body)
{
    while (body.n >= sizeof(struct perf_event_header)) {
        struct perf_event_header h;
        memcpy(&h, body.at, sizeof h);
        if (h.size < sizeof h || h.size > body.n)
            return;
        perfdata_build_id_read(f, h.misc, (struct text){body.at + sizeof h, h.size - sizeof h});
        body = (struct text){body.at + h.size, body.n - h.size};
    }
}

void perfdata_features_finish(struct perfdata_features *f)
{
    struct profile *p = f->im->profile;
    for (size_t i = 1; i < p->mappings.n; i++) {
        struct mapping *m = &p->mappings.at[i];
        uint32_t path =
            m->build_id.i ? IDMAP_NONE : intern_find(&f->texts, profile_str(p, m->path));
        /* path 0 is "", and build_ids[0] came with path 1 */
        if (path != IDMAP_NONE && path)
            m->build_id = profile_add_str(p, text_of(f->build_ids.at[path - 1].hex));
    }
}

/* Whether the file at PATH is there, and not the one that was recorded. Prefixes will do: the
 * kernel reports at most 20 bytes. */
static bool has_changed(const char *path, struct text build_id)
{
    char own[2 * 64 + 1] = "";
    struct objfile o;
    struct err ignored;
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || objfile_open_fd(&o, fd, path, &ignored) != 0)
        return false;
    objfile_build_id(&o, own, sizeof own);
    objfile_done(&o);
    size_t n = strlen(own) < build_id.n ? strlen(own) : build_id.n;
    return memcmp(own, build_id.at, n) != 0;
}

void perfdata_features_check_files(struct perfdata_features *f)
{
    struct profile *p = f->im->profile;
    struct text first = {0};
    size_t n = 0;
    for (size_t i = 1; i < p->mappings.n; i++) {
        const struct mapping *m = &p->mappings.at[i];
        struct text path = profile_str(p, m->path), id = profile_str(p, m->build_id);
        if (!id.n || !text_starts(path, "/") || !has_changed(path.at, id))
            continue;
        if (n++ == 0)
            first = profile_module_name(p, (struct mapping_id){(uint32_t)i});
    }
    if (!n)
        return;
    meta_set_u64(&p->meta, "changed_files", n);
    import_note(f->im,
                "%.*s%s changed since the recording: stacks through %s may be wrong, as they were "
                "unwound with what is there now",
                TEXT_ARG(first), n > 1 ? " and other files have" : " has", n > 1 ? "them" : "it");
}

/* --- all of them --- */

bool perfdata_feature_is_known(uint64_t feature)
{
    switch (feature) {
    case FEATURE_BUILD_ID:
    case FEATURE_OSRELEASE:
    case FEATURE_VERSION:
    case FEATURE_ARCH:
    case FEATURE_NRCPUS:
    case FEATURE_CPUDESC:
    case FEATURE_TOTAL_MEM:
    case FEATURE_CMDLINE:
    case FEATURE_EVENT_DESC:
    case FEATURE_PMU_MAPPINGS:
    case FEATURE_CLOCK_DATA:
        return true;
    }
    return false;
}

void perfdata_feature_read(struct perfdata_features *f, uint64_t feature, struct text body)
{
    switch (feature) {
    case FEATURE_BUILD_ID:
        read_build_ids(f, body);
        break;
    case FEATURE_OSRELEASE:
        read_text(f, META_KERNEL, "Linux ", body);
        break;
    case FEATURE_VERSION:
        read_text(f, META_TOOL, "perf ", body);
        break;
    case FEATURE_ARCH:
        read_text(f, META_ARCH, "", body);
        break;
    case FEATURE_NRCPUS:
        read_cpus(f, body);
        break;
    case FEATURE_CPUDESC:
        read_text(f, META_CPU, "", body);
        break;
    case FEATURE_TOTAL_MEM:
        read_memory(f, body);
        break;
    case FEATURE_CMDLINE:
        read_command(f, body);
        break;
    case FEATURE_EVENT_DESC:
        read_events(f, body);
        break;
    case FEATURE_PMU_MAPPINGS:
        read_units(f, body);
        break;
    case FEATURE_CLOCK_DATA:
        read_clocks(f, body);
        break;
    }
}
