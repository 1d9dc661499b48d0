/*
 * fuzz_suppressions.c - any bytes as a file of known leaks, held against a small profile.
 */
#include "analysis/suppressions.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const char *const names[] = {"main", "f1", "g", ""};
    struct suppressions s = {0};
    struct err err;
    struct profile *p = profile_new();
    struct stack_id stack = {0};
    bool understood = suppressions_parse(&s, (struct text){(const char *)bytes, n}, &err) == 0;
    if (!understood && !*err.text)
        abort();
    for (int i = 0; i < 4 && understood; i++) {
        suppressions_match(&s, p, stack);
        stack = stacks_push(&p->stacks, stack,
                            profile_add_named_frame(p, text_of(names[i]), FRAME_USER));
    }
    suppressions_done(&s);
    profile_free(p);
    return 0;
}
