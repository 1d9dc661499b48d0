/*
 * support_perfdata.h - perf.data files, made by hand and read. Include it after cmocka.h.
 */
#pragma once
#include "base/buf.h"
#include "source/import.h"

#include <linux/perf_event.h>

#define BASIC                                                                   \
    (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD | \
     PERF_SAMPLE_CALLCHAIN)

enum { UPDATE = 78, ROUND = 68, PART = 80, COMPRESSED = 81, DATA_AT = 104 + 8 + 144 };

/* --- writing files --- */

static inline struct perf_event_attr attr_of(uint64_t sample_type)
{
    return (struct perf_event_attr){.type = PERF_TYPE_SOFTWARE,
                                    .size = 128,
                                    .sample_freq = 999,
                                    .freq = 1,
                                    .sample_type = sample_type,
                                    .sample_id_all = 1};
}

static inline void add_words(struct buf *b, size_t n, const uint64_t *words)
{
    buf_add(b, words, 8 * n);
}

#define WORDS(b, ...) add_words(b, sizeof((uint64_t[]){__VA_ARGS__}) / 8, (uint64_t[]){__VA_ARGS__})

static inline void add_record(struct buf *b, uint32_t type, uint16_t misc, struct text body)
{
    struct perf_event_header h = {type, misc, (uint16_t)(sizeof h + body.n)};
    buf_add(b, &h, sizeof h);
    buf_add(b, body.at, body.n);
}

static inline uint64_t ids(uint32_t pid, uint32_t tid)
{
    return (uint64_t)tid << 32 | pid;
}

static inline void add_mmap(struct buf *b, uint32_t pid, uint64_t start, uint64_t time,
                            const char *path)
{
    autobuf struct buf body = {0};
    char padded[32] = "";
    snprintf(padded, sizeof padded, "%s", path);
    WORDS(&body, ids(pid, pid), start, 0x1000, 0);
    buf_add(&body, padded, sizeof padded);
    WORDS(&body, ids(pid, pid), time);
    add_record(b, PERF_RECORD_MMAP, PERF_RECORD_MISC_USER, buf_text(&body));
}

static inline void add_comm(struct buf *b, uint32_t pid, uint64_t time, const char *comm)
{
    autobuf struct buf body = {0};
    char padded[16] = "";
    snprintf(padded, sizeof padded, "%s", comm);
    WORDS(&body, ids(pid, pid));
    buf_add(&body, padded, sizeof padded);
    WORDS(&body, ids(pid, pid), time);
    add_record(b, PERF_RECORD_COMM, 0, buf_text(&body));
}

static inline void add_sample(struct buf *b, uint32_t pid, uint64_t time, uint64_t pc)
{
    autobuf struct buf body = {0};
    WORDS(&body, pc, ids(pid, pid), time, 1000, 2, (uint64_t)PERF_CONTEXT_USER, pc);
    add_record(b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, buf_text(&body));
}

static inline void add_round(struct buf *b)
{
    add_record(b, ROUND, 0, (struct text){"", 0});
}

/* A file with one event and no parts behind the data. */
static inline void make_file(struct buf *file, struct perf_event_attr attr, struct text data,
                             uint64_t size)
{
    buf_str(file, "PERFILE2");
    WORDS(file, 104, 144, 112, 144, DATA_AT, size, 0, 0, 0, 0, 0, 0);
    WORDS(file, 7);
    char raw[128] = "";
    memcpy(raw, &attr, sizeof attr < sizeof raw ? sizeof attr : sizeof raw);
    buf_add(file, raw, sizeof raw);
    WORDS(file, 104, 8);
    assert_int_equal(file->n, DATA_AT);
    buf_add(file, data.at, data.n);
}

static inline int try_read(struct text file, bool strict, struct import *im, struct profile **ret,
                           struct err *err)
{
    struct reader in;
    struct import_opts opts = {.format = "perf.data", .addresses = true, .strict = strict};
    reader_open_memory(&in, file.at, file.n);
    int rc = import_reader(im, &in, "test", &opts, ret, err);
    reader_close(&in);
    return rc;
}

static inline struct profile *read_file(struct text file)
{
    struct import im;
    struct err err = {0};
    struct profile *p = NULL;
    assert_int_equal(try_read(file, false, &im, &p, &err), 0);
    import_done(&im);
    return p;
}

static inline struct profile *read_data(struct text data)
{
    autobuf struct buf file = {0};
    make_file(&file, attr_of(BASIC), data, data.n);
    return read_file(buf_text(&file));
}

/* The path of the module that the innermost frame of a sample is in. */
static inline const char *leaf_path(const struct profile *p, size_t sample)
{
    struct stack_node n = p->stacks.nodes.at[profile_stream(p, 0)->rows.stack[sample].i];
    return profile_str(p, p->mappings.at[profile_frame(p, n.frame)->mapping.i].path).at;
}
