/* fuzz_page.c - any bytes as the recording of a page, which then asks all that it can ask. */
#include "page/core.h"
#include "reseal.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t n, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t n, size_t max, unsigned int seed);

/* What the panes ask, of both files where it matters. */
static const char *const questions[] = {
    "{\"ask\":\"about\"}",
    "{\"ask\":\"lanes\",\"bins\":50}",
    "{\"ask\":\"lanes\",\"bins\":4096,\"from_s\":0.001,\"to_s\":1e300}",
    "{\"ask\":\"lanes\",\"bins\":3,\"brief\":true,\"focus\":[\".\"]}",
    "{\"ask\":\"moment\",\"pid\":1,\"tid\":1,\"from_s\":0.5}",
    "{\"ask\":\"tree\",\"group\":\"comm\",\"packed\":true}",
    "{\"ask\":\"tree\",\"inverted\":true,\"least\":0.01}",
    "{\"ask\":\"tree\",\"chart\":true,\"group\":\"tid\",\"packed\":true}",
    "{\"ask\":\"tree_shares\",\"group\":\"comm\"}",
    "{\"ask\":\"list\",\"top\":60,\"sort\":\"self\"}",
    "{\"ask\":\"list\",\"top\":60,\"by\":\"line\",\"skip\":1}",
    "{\"ask\":\"list\",\"top\":60,\"by\":\"thread\",\"sort\":\"name\"}",
    "{\"ask\":\"list\",\"top\":60,\"by\":\"process\"}",
    "{\"ask\":\"list\",\"top\":60,\"by\":\"scope\"}",
    "{\"ask\":\"calls\",\"pattern\":\".\"}",
    "{\"ask\":\"search\",\"pattern\":\"a|e\"}",
    "{\"ask\":\"report\"}",
    "{\"ask\":\"report\",\"time\":\"20%..70%\",\"merge-recursion\":true,\"hide\":[\"^m\"]}",
    "{\"ask\":\"heap\"}",
    "{\"ask\":\"heap\",\"time\":\"20%..70%\"}",
    "{\"ask\":\"locks\"}",
    "{\"ask\":\"scopes\"}",
    "{\"ask\":\"waits\"}",
    "{\"ask\":\"waits\",\"time\":\"20%..70%\"}",
    "{\"ask\":\"compare\",\"time\":\"0..50%\",\"other_time\":\"50%..100%\",\"force\":true}",
    "{\"ask\":\"compare\",\"by\":\"scope\",\"force\":true}",
    "{\"ask\":\"compare\",\"by\":\"place\",\"force\":true}",
    "{\"ask\":\"compare\",\"by\":\"line\",\"force\":true}",
    "{\"ask\":\"code\"}",
};

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t n, size_t max, unsigned int seed)
{
    n = LLVMFuzzerMutate(bytes, n, max);
    if (seed % 8)
        reseal(bytes, n);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct core *c = core_new();
    struct err err;
    core_limit_rows(c, 1 << 22);
    if (core_load(c, 0, (struct text){(const char *)bytes, n}, &err) == 0 &&
        core_load(c, 1, (struct text){(const char *)bytes, n}, &err) == 0)
        for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
            char *answer = NULL;
            size_t length = 0;
            FILE *out = open_memstream(&answer, &length);
            core_ask(c, text_of(questions[i]), out);
            fclose(out);
            if (length < 2 || answer[0] != '{' || answer[length - 1] != '}')
                abort();
            free(answer);
        }
    core_free(c);
    return 0;
}
