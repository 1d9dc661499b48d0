/*
 * fuzz_conf.c - any bytes as a suite file.
 */
#include "suite/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    autobuf struct buf errors = {0};
    struct conf c;
    struct err err;
    int rc = conf_parse(&c, "kelvin.conf", (struct text){(const char *)bytes, n}, &errors, &err);
    if ((rc == 0) != (errors.n == 0))
        abort();
    for (size_t i = 0; i < c.names[CONF_WORKLOADS].at.n; i++) {
        struct words w = conf_words(&c, c.names[CONF_WORKLOADS].at.at[i], "workload.collect");
        words_done(&w);
    }
    conf_done(&c);
    return 0;
}
