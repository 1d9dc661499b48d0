#include "source/pprof_tables.h"
#include "base/protofield.h"

static void ids_done(struct pprof_ids *ids)
{
    vec_done(&ids->at);
    idmap_done(&ids->map);
}

void pprof_tables_done(struct pprof_tables *t)
{
    vec_done(&t->strings);
    ids_done(&t->mapping_ids);
    ids_done(&t->function_ids);
    ids_done(&t->location_ids);
    vec_done(&t->mappings);
    vec_done(&t->functions);
    vec_done(&t->locations);
    vec_done(&t->frames);
    vec_done(&t->lines);
    vec_done(&t->scratch);
}

/* --- ids --- */

uint32_t pprof_ids_find_sparse(const struct pprof_ids *ids, uint64_t id)
{
    for_each_match (&ids->map, hash_u64(id), i)
        if (ids->at.at[i] == id)
            return i;
    return IDMAP_NONE;
}

/* From now on ids are looked up in the map. */
static void make_sparse(struct pprof_ids *ids)
{
    ids->sparse = true;
    for (size_t i = 0; i < ids->at.n; i++)
        idmap_add(&ids->map, hash_u64(ids->at.at[i]), (uint32_t)i);
}

/* NULL, or why ID cannot be had. */
static const char *ids_add(struct pprof_ids *ids, uint64_t id)
{
    if (id == 0)
        return "has the id 0, which stands for none";
    if (pprof_ids_find(ids, id) != IDMAP_NONE)
        return "has an id that an earlier one has";
    if (ids->at.n == INT32_MAX)
        return "is one too many";
    *vec_push(&ids->at) = id;
    if (ids->sparse)
        idmap_add(&ids->map, hash_u64(id), (uint32_t)ids->at.n - 1);
    else if (id != ids->at.n)
        make_sparse(ids);
    return NULL;
}

static int pprof_tables_skip(struct pprof_tables *t, uint64_t place, const char *what, uint64_t id,
                             const char *why, struct err *err)
{
    return import_skip_byte(t->im, place, err, "%s %llu %s", what, (unsigned long long)id, why);
}

/* --- records in --- */

/* A number that must fit 32 bits; what does not becomes one that is in no table. */
static uint32_t narrow(uint64_t v)
{
    return v < UINT32_MAX ? (uint32_t)v : UINT32_MAX;
}

/* A line or column: what is negative or past 32 bits is not known. */
static uint32_t line_number(uint64_t v)
{
    return v <= UINT32_MAX ? (uint32_t)v : 0;
}

int pprof_add_string(struct pprof_tables *t, struct text s, uint64_t place, struct err *err)
{
    bool first = t->strings.n == 0;
    if (t->strings.n == UINT32_MAX)
        return err_set(err, EXIT_INPUT, "byte %llu: more than 2^32 strings",
                       (unsigned long long)place);
    *vec_push(&t->strings) = first ? 0 : profile_add_str(t->im->profile, s).i;
    if (first && s.n)
        return import_skip_byte(t->im, place, err, "the first string must be empty");
    return 0;
}

int pprof_add_mapping(struct pprof_tables *t, struct text message, uint64_t place, struct err *err)
{
    uint64_t v[11] = {0};
    const char *why = "is damaged";
    if (!protofield_numbers(message, v, 10) || (why = ids_add(&t->mapping_ids, v[1])))
        return pprof_tables_skip(t, place, "mapping", v[1], why, err);
    *vec_push(&t->mappings) = (struct pprof_mapping){
        .place = place,
        .start = v[2],
        .limit = v[3],
        .offset = v[4],
        .path = narrow(v[5]),
        .build_id = narrow(v[6]),
    };
    return 0;
}

int pprof_add_function(struct pprof_tables *t, struct text message, uint64_t place, struct err *err)
{
    uint64_t v[6] = {0};
    const char *why = "is damaged";
    if (!protofield_numbers(message, v, 5) || (why = ids_add(&t->function_ids, v[1])))
        return pprof_tables_skip(t, place, "function", v[1], why, err);
    *vec_push(&t->functions) = (struct pprof_function){
        .place = place,
        .name = narrow(v[2]),
        .system_name = narrow(v[3]),
        .file = narrow(v[4]),
        .line = line_number(v[5]),
    };
    return 0;
}

/* Field 4 of a Location. */
static bool pprof_tables_add_line(struct pprof_tables *t, const struct protofield *f)
{
    uint64_t v[4] = {0};
    if (f->wire != PROTO_BYTES || !protofield_numbers(f->bytes, v, 3))
        return false;
    *vec_push(&t->lines) = (struct pprof_line){v[1], line_number(v[2]), line_number(v[3])};
    return true;
}

static bool parse_location(struct pprof_tables *t, struct text message, uint64_t *ret_id,
                           struct pprof_location *l)
{
    struct cursor c = cursor_of(message.at, message.n);
    struct protofield f = {0};
    uint64_t v[6] = {0};
    while (protofield_next(&c, &f)) {
        if (f.number == 4) {
            if (!pprof_tables_add_line(t, &f))
                return false;
        } else if (f.number <= 5) {
            if (f.wire != PROTO_VARINT)
                return false;
            v[f.number] = f.value;
        } else if (f.number == PPROF_LOCATION_KIND && f.wire == PROTO_VARINT) {
            l->kind_plus_1 = f.value <= FRAME_KINDS ? (uint8_t)f.value : 0;
        }
        *ret_id = v[1];
    }
    l->mapping = v[2];
    l->address = v[3];
    return !c.bad;
}

int pprof_add_location(struct pprof_tables *t, struct text message, uint64_t place, struct err *err)
{
    size_t first = t->lines.n;
    struct pprof_location l = {.place = place, .first_line = (uint32_t)first};
    uint64_t id = 0;
    const char *why = NULL;
    if (!parse_location(t, message, &id, &l))
        why = "is damaged";
    else if (t->lines.n - first > PROFILE_MAX_FRAME_LINES || t->lines.n > UINT32_MAX)
        why = "has too many inlined functions";
    else
        why = ids_add(&t->location_ids, id);
    if (why) {
        t->lines.n = first;
        return pprof_tables_skip(t, place, "location", id, why, err);
    }
    l.n_lines = (uint32_t)(t->lines.n - first);
    *vec_push(&t->locations) = l;
    *vec_push(&t->frames) = 0;
    return 0;
}

/* --- records out --- */

struct str_id pprof_string(const struct pprof_tables *t, uint64_t i, bool *ret_ok)
{
    bool ok = i < t->strings.n;
    if (ret_ok)
        *ret_ok &= ok;
    return (struct str_id){ok ? t->strings.at[i] : 0};
}

struct text pprof_text(const struct pprof_tables *t, uint64_t i)
{
    return profile_str(t->im->profile, pprof_string(t, i, NULL));
}

/* What the code in a mapping is, as perf names its mappings. */
static enum frame_kind kind_of_path(struct text path)
{
    const char *slash = path.n ? memrchr(path.at, '/', path.n) : NULL;
    size_t folder = slash ? (size_t)(slash + 1 - path.at) : 0;
    struct text base = {path.at + folder, path.n - folder};
    if (text_starts(path, "[kernel") || text_starts(path, "[guest.kernel") ||
        text_starts(base, "vmlinux"))
        return FRAME_KERNEL;
    if (text_starts(base, "perf-") && text_ends(base, ".map"))
        return FRAME_JIT;
    return FRAME_USER;
}

static int make_mapping(struct pprof_tables *t, size_t i, struct err *err)
{
    struct pprof_mapping *from = &t->mappings.at[i];
    bool ok = true;
    struct mapping m = {
        .path = pprof_string(t, from->path, &ok),
        .build_id = pprof_string(t, from->build_id, &ok),
        .start = from->start,
        .end = from->limit,
        .offset = from->offset,
    };
    from->made = profile_add_mapping(t->im->profile, &m).i + 1;
    from->kind = (uint8_t)kind_of_path(profile_str(t->im->profile, m.path));
    return ok ? 0
              : pprof_tables_skip(t, from->place, "mapping", t->mapping_ids.at.at[i],
                                  "has a string that is not in the string table", err);
}

static int make_function(struct pprof_tables *t, size_t i, struct err *err)
{
    struct pprof_function *from = &t->functions.at[i];
    bool ok = true;
    struct function f = {
        .name = pprof_string(t, from->name, &ok),
        .system_name = pprof_string(t, from->system_name, &ok),
        .file = pprof_string(t, from->file, &ok),
        .line = from->line,
    };
    if (f.name.i == 0)
        f.name = f.system_name;
    if (f.system_name.i == f.name.i)
        f.system_name.i = 0;
    from->made = profile_add_function(t->im->profile, &f).i + 1;
    return ok ? 0
              : pprof_tables_skip(t, from->place, "function", t->function_ids.at.at[i],
                                  "has a string that is not in the string table", err);
}

static int pprof_tables_line_of(struct pprof_tables *t, const struct pprof_location *l,
                                const struct pprof_line *from, struct err *err)
{
    struct function_id function = {0};
    if (from->function) {
        uint32_t i = pprof_ids_find(&t->function_ids, from->function);
        if (i == IDMAP_NONE)
            return pprof_tables_skip(t, l->place, "function", from->function,
                                     "is used by a location but is not in the file", err);
        if (!t->functions.at[i].made && make_function(t, i, err) != 0)
            return -1;
        function.i = t->functions.at[i].made - 1;
    }
    *vec_push(&t->scratch) = (struct line){function, from->line, from->column};
    return 0;
}

static int pprof_tables_mapping_of(struct pprof_tables *t, const struct pprof_location *l,
                                   struct frame_key *key, struct err *err)
{
    if (!l->mapping)
        return 0;
    uint32_t i = pprof_ids_find(&t->mapping_ids, l->mapping);
    if (i == IDMAP_NONE)
        return pprof_tables_skip(t, l->place, "mapping", l->mapping,
                                 "is used by a location but is not in the file", err);
    if (!t->mappings.at[i].made && make_mapping(t, i, err) != 0)
        return -1;
    key->mapping.i = t->mappings.at[i].made - 1;
    key->kind = (enum frame_kind)t->mappings.at[i].kind;
    return 0;
}

/* Whether the location at hand has no name, or only a place that a name may still replace. */
static bool is_bare_location(const struct pprof_tables *t)
{
    const struct profile *p = t->im->profile;
    return t->scratch.n == 0 ||
           (t->scratch.n == 1 &&
            profile_name_is_place(profile_function_name(p, t->scratch.at[0].function)));
}

int pprof_make_frame(struct pprof_tables *t, uint32_t index, struct err *err)
{
    const struct pprof_location *l = &t->locations.at[index];
    struct frame_key key = {.pc = l->address};
    t->scratch.n = 0;
    for (uint32_t i = l->n_lines; i > 0; i--) /* the model has the outermost first */
        if (pprof_tables_line_of(t, l, &t->lines.at[l->first_line + i - 1], err) != 0)
            return -1;
    if (pprof_tables_mapping_of(t, l, &key, err) != 0)
        return -1;
    if (l->kind_plus_1)
        key.kind = (enum frame_kind)(l->kind_plus_1 - 1);
    key.lines = t->scratch.at;
    key.n_lines = t->scratch.n;
    const struct import_opts *opts = &t->im->opts;
    if (!opts->addresses && !(opts->bare_addresses && is_bare_location(t)))
        key.pc = 0;
    t->frames.at[index] = profile_add_frame(t->im->profile, &key).i + 1;
    return 0;
}
