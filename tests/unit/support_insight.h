/* support_insight.h - profiles made for insights, and what they say. */
#pragma once
#include "analysis/insight_inner.h"
#include "analysis/insight_names.h"
#include "source/import.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "support.h"

/* Twelve functions of about equal share, a thousand samples: nothing to say. */
#define PLAIN                                                                       \
    "main;a 80\nmain;b 80\nmain;c 80\nmain;d 80\nmain;e 80\nmain;f 80\nmain;g 80\n" \
    "main;h 80\nmain;i 90\nmain;j 90\nmain;k 90\nmain;l 90\n"

/* The ids of the rules that speak, evidence and advice (or NULL) of the last. Frees P. */
static inline void ask_both(struct profile *p, struct buf *ids, struct buf *evidence,
                            struct buf *advice)
{
    struct flat *f = flat_build(SUPPORT_ALL(p, 0), FLAT_FUNCTION);
    struct quality q = quality_of(SUPPORT_ALL(p, 0));
    q.has_samples = true; /* folded stacks do not say that they count samples */
    q.samples = profile_stream(p, 0)->types[0].total;
    struct insights s = insights_build(&(struct insight_input){f, &q});
    for (size_t i = 0; i < s.at.n; i++) {
        buf_printf(ids, "%s%s", i ? " " : "", s.at.at[i].rule->id);
        evidence->n = 0;
        buf_str(evidence, s.at.at[i].evidence);
        if (advice)
            advice->n = 0;
        if (advice)
            buf_str(advice, s.at.at[i].advice);
    }
    insights_done(&s);
    flat_free(f);
    profile_free(p);
}

static inline void ask(struct profile *p, struct buf *ids, struct buf *evidence)
{
    ask_both(p, ids, evidence, NULL);
}

static inline void assert_says(const char *stacks, const char *ids, const char *evidence)
{
    autobuf struct buf b = {0}, e = {0};
    ask(support_folded(stacks), &b, &e);
    assert_string_equal(buf_cstr(&b), ids);
    if (!strstr(buf_cstr(&e), evidence))
        fail_msg("'%s' is not in '%s'", evidence, buf_cstr(&e));
}

/* PLAIN, and 1,500 samples of FUNCTION in MODULE. */
static inline void add_in_module(struct profile *p, const char *module, const char *function,
                                 int64_t samples)
{
    struct mapping m = {.path = profile_add_str(p, text_of(module))};
    struct line line = {
        profile_add_function(p, &(struct function){.name = profile_add_str(p, text_of(function))})};
    struct frame_key key = {
        .pc = 0x100, .mapping = profile_add_mapping(p, &m), .lines = &line, .n_lines = 1};
    struct frame_id frame = profile_add_frame(p, &key);
    struct err err;
    struct row row = {.stack = stacks_intern(&p->stacks, &frame, 1), .values = &samples};
    assert_int_equal(profile_add_row(p, 0, &row, &err), 0);
}

static inline struct profile *with_module(const char *module, const char *function)
{
    struct profile *p = support_folded(PLAIN);
    add_in_module(p, module, function, 1500);
    return p;
}

/* The insight ID of the folded STACKS with META's times set; its advice and evidence in the bufs.
 */
static inline void find_insight(const char *stacks, const char *id, uint64_t cpu_ns,
                                struct buf *evidence, struct buf *advice)
{
    struct profile *p = support_folded(stacks);
    if (cpu_ns) {
        meta_set_u64(&p->meta, META_DURATION_NS, 10000000000);
        meta_set_u64(&p->meta, META_CPU_TIME_NS, cpu_ns);
    }
    struct flat *f = flat_build(SUPPORT_ALL(p, 0), FLAT_FUNCTION);
    struct quality q = quality_of(SUPPORT_ALL(p, 0));
    struct insights s = insights_build(&(struct insight_input){f, &q});
    for (size_t i = 0; i < s.at.n; i++)
        if (strcmp(s.at.at[i].rule->id, id) == 0) {
            buf_str(evidence, s.at.at[i].evidence);
            buf_str(advice, s.at.at[i].advice);
        }
    if (cpu_ns && cpu_ns < 6000000000)
        assert_string_equal(s.at.at[0].rule->id, "waiting"); /* the headline */
    insights_done(&s);
    flat_free(f);
    profile_free(p);
}

/* A thousand samples: 300 at 0x100 in the file, the rest at 0x900. */
static inline struct profile *with_addresses(void)
{
    struct profile *p = profile_new();
    struct err err;
    support_value(p, "cpu-clock", "samples", "count");
    struct mapping m = {.path = profile_add_str(p, text_of("/bin/app"))};
    struct mapping_id app = profile_add_mapping(p, &m);
    for (int i = 0; i < 8; i++) { /* seven more functions, so that none dominates */
        struct frame_key key = {.pc = i ? 0x900 + (uint64_t)i * 16 : 0x100, .mapping = app};
        struct line line = {profile_add_function(
            p, &(struct function){.name = profile_add_str(p, (struct text){&"abcdefgh"[i], 1})})};
        key.lines = &line;
        key.n_lines = 1;
        struct frame_id frame = profile_add_frame(p, &key);
        int64_t n = i ? 100 : 300;
        struct row s = {.stack = stacks_intern(&p->stacks, &frame, 1), .values = &n};
        assert_int_equal(profile_add_row(p, 0, &s, &err), 0);
    }
    return p;
}
