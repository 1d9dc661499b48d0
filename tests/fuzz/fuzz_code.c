/*
 * fuzz_code.c - any bytes as the source and instructions that came with a page, then asked about.
 */
#include "page/code.h"
#include "view/report.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* A sample at an address of /bin/app, which a seed has the code of. */
static struct profile *sampled_profile(void)
{
    struct profile *p = profile_new();
    struct err err;
    int64_t one = 1;
    struct mapping m = {.path = profile_add_str(p, text_of("/bin/app")),
                        .build_id = profile_add_str(p, text_of("1f"))};
    struct frame_key key = {.pc = 4096, .mapping = profile_add_mapping(p, &m)};
    profile_add_stream(p, "cpu", BY_SOFTWARE_CLOCK);
    profile_add_value(p, 0, "samples", "count");
    struct row r = {.stack =
                        stacks_push(&p->stacks, (struct stack_id){0}, profile_add_frame(p, &key)),
                    .values = &one};
    if (profile_add_row(p, 0, &r, &err) != 0)
        abort();
    return p;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct err err;
    struct page_code *c = page_code_read((struct text){(const char *)bytes, n}, &err);
    struct profile *p = sampled_profile();
    struct selection s = selection_all(p, (struct value_ref){0, 0});
    FILE *out = fopen("/dev/null", "w");
    if (c && out)
        page_code_print(out, c, &s, "f", &err);
    if (out)
        fclose(out);
    profile_free(p);
    page_code_free(c);
    return 0;
}
