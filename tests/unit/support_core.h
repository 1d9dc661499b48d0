/*
 * support_core.h - files for the page's core, and questions to it. Include it after support.h.
 */
#pragma once
#include "page/core.h"
#include "wire/recording.h"

#include <jansson.h>

struct core_file {
    char *at;
    size_t n;
};

static inline struct core_file file_of(const struct profile *p)
{
    struct core_file f = {0};
    struct err err;
    FILE *out = open_memstream(&f.at, &f.n);
    assert_int_equal(recording_write(out, p, true, &err), 0);
    fclose(out);
    return f;
}

/* Read P, and free it. */
static inline void core_take(struct core *c, int file, struct profile *p)
{
    struct err err;
    struct core_file f = file_of(p);
    assert_int_equal(core_load(c, file, (struct text){f.at, f.n}, &err), 0);
    profile_free(p);
    free(f.at);
}

static inline char *ask_text(struct core *c, const char *question)
{
    char *at;
    size_t n;
    FILE *out = open_memstream(&at, &n);
    core_ask(c, text_of(question), out);
    fclose(out);
    return at;
}

static inline json_t *ask(struct core *c, const char *question)
{
    char *text = ask_text(c, question);
    json_t *answer = json_loads(text, 0, NULL);
    if (!answer)
        fail_msg("not JSON: %s", text);
    free(text);
    return answer;
}
