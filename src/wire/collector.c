#include "wire/collector.h"

#include "base/clock.h"
#include "base/protofield.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define PAUSE_MAX_S 30.0

int collector_init(struct collector *c, const char *url, struct err *err)
{
    *c = (struct collector){
        .within_ms = 10000, .patience_s = 300, .first_pause_s = 1, .stop_fd = -1};
    return http_url_parse(url, &c->url, err);
}

static bool may_be_tried_again(int status)
{
    return status == 429 || status == 502 || status == 503 || status == 504;
}

/* ExportTraceServiceResponse: 1 partial_success {1 rejected_spans, 2 error_message} */
static void take_partial(struct collector *c, const struct http_answer *a)
{
    struct cursor all = cursor_of(a->body, a->n);
    struct protofield f = {0};
    while (protofield_next(&all, &f)) {
        if (f.number != 1 || f.wire != PROTO_BYTES)
            continue;
        struct cursor partial = cursor_of(f.bytes.at, f.bytes.n);
        struct protofield g = {0};
        while (protofield_next(&partial, &g)) {
            if (g.number == 1 && g.wire == PROTO_VARINT && g.value < UINT32_MAX)
                c->rejected += g.value;
            if (g.number == 2 && g.wire == PROTO_BYTES)
                snprintf(c->message, sizeof c->message, "%.*s", TEXT_ARG(g.bytes));
        }
    }
}

/* False: the collector asks for the end, or somebody else does. */
static bool collector_pause(const struct collector *c, double seconds)
{
    struct pollfd stop = {.fd = c->stop_fd, .events = POLLIN};
    uint64_t until_ns = clock_monotonic_ns() + (uint64_t)(seconds * 1e9);
    for (uint64_t now_ns; (now_ns = clock_monotonic_ns()) < until_ns;)
        if (poll(&stop, 1, (int)((until_ns - now_ns) / 1000000) + 1) > 0)
            return false;
    return true;
}

/* Half to one and a half of it: many programs must not come at the same time. */
static double some_of(double seconds)
{
    uint64_t now = clock_monotonic_ns();
    return seconds * (0.5 + (double)(now * UINT64_C(0x9e3779b97f4a7c15) >> 40) / (1 << 24));
}

static int refused(const struct http_answer *a, struct err *err)
{
    return err_set(err, EXIT_ERROR, "the collector answered %d", a->status);
}

int collector_post(struct collector *c, struct text body, struct err *err)
{
    struct http_post p = {.to = &c->url,
                          .path = "/v1/traces",
                          .type = c->json ? "application/json" : "application/x-protobuf",
                          .body = body,
                          .within_ms = c->within_ms,
                          .stop_fd = c->stop_fd};
    struct http_answer a;
    uint64_t start_ns = clock_monotonic_ns();
    for (double pause_s = c->first_pause_s;; pause_s = fmin(2 * pause_s, PAUSE_MAX_S)) {
        c->tries++;
        int rc = http_post(&p, &a, err);
        if (rc == 0 && a.status >= 200 && a.status < 300) {
            if (!c->json && strncmp(a.type, "application/x-protobuf", 22) == 0)
                take_partial(c, &a);
            return 0;
        }
        if (rc == 0 && refused(&a, err) != 0 && !may_be_tried_again(a.status))
            return -1;
        double wait_s = rc == 0 && a.retry_after_s >= 0 ? a.retry_after_s : some_of(pause_s);
        double passed_s = (double)(clock_monotonic_ns() - start_ns) / 1e9;
        if (passed_s + wait_s > c->patience_s || !collector_pause(c, wait_s))
            return -1;
    }
}
