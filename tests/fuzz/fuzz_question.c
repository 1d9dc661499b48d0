/* fuzz_question.c - a question to the page's core: a small recording is loaded, the input asks
 * about it. */
#include "base/mem.h"
#include "page/core.h"
#include "wire/recording.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fill(struct profile *p)
{
    struct err err;
    struct thread_key t = {profile_add_str(p, text_of("thread")), 1, 1};
    struct thread_id thread = profile_add_thread(p, &t);
    int stream = profile_add_stream(p, "cpu-clock", BY_SOFTWARE_CLOCK);
    profile_add_value(p, stream, "samples", "count");
    for (int i = 0; i < 20; i++) {
        struct frame_id a = profile_add_named_frame(p, text_of("main"), FRAME_USER);
        struct frame_id b = profile_add_named_frame(p, text_of(i % 2 ? "f" : "g"), FRAME_USER);
        struct stack_id s = stacks_push(&p->stacks, (struct stack_id){0}, a);
        int64_t one = 1;
        struct row r = {.stack = stacks_push(&p->stacks, s, b),
                        .thread = thread,
                        .has_time = true,
                        .time_ns = (uint64_t)i * 1000,
                        .values = &one};
        profile_add_row(p, stream, &r, &err);
    }
}

static struct core *small_core(void)
{
    struct profile *p = profile_new();
    struct core *c = core_new();
    struct err err;
    char *at;
    size_t n;
    fill(p);
    FILE *out = open_memstream(&at, &n);
    recording_write(out, p, true, &err);
    fclose(out);
    core_load(c, 0, (struct text){at, n}, &err);
    core_load(c, 1, (struct text){at, n}, &err);
    free(at);
    profile_free(p);
    return c;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct core *core;
    if (!core)
        core = small_core();
    FILE *out = fopen("/dev/null", "w");
    core_ask(core, (struct text){(const char *)data, size}, out);
    fclose(out);
    return 0;
}
