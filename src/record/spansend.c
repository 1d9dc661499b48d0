#include "record/spansend.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* A body that waits. */
struct spansend_body {
    struct buf bytes;
    size_t spans;
};

struct spansend_item {
    struct otlp_span span;
    struct str_id name;
};

struct spansend {
    const struct profile *profile;
    struct collector collector;
    struct spansend_item batch[SPANSEND_BATCH];
    size_t n;
    int stop_fd;
    pthread_t thread;
    bool running;

    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    struct spansend_body queue[SPANSEND_QUEUE];
    size_t first, waiting;
    bool over, busy; /* busy: a body is under way */
    struct spansend_facts facts;
};

/* --- the thread that posts --- */

static bool spansend_next(struct spansend *s, struct spansend_body *ret)
{
    pthread_mutex_lock(&s->lock);
    while (!s->waiting && !s->over)
        pthread_cond_wait(&s->changed, &s->lock);
    bool got = s->waiting > 0;
    if (got) {
        *ret = s->queue[s->first];
        s->first = (s->first + 1) % SPANSEND_QUEUE;
        s->waiting--;
        s->busy = true;
    }
    pthread_mutex_unlock(&s->lock);
    return got;
}

static void *spansend_run(void *to)
{
    struct spansend *s = to;
    struct spansend_body body;
    while (spansend_next(s, &body)) {
        struct err err;
        int rc = collector_post(&s->collector, buf_text(&body.bytes), &err);
        buf_done(&body.bytes);
        pthread_mutex_lock(&s->lock);
        *(rc == 0 ? &s->facts.sent : &s->facts.failed) += body.spans;
        s->facts.rejected = s->collector.rejected;
        if (rc != 0 || *s->collector.message)
            snprintf(s->facts.why, sizeof s->facts.why, "%s",
                     rc != 0 ? err.text : s->collector.message);
        s->busy = false;
        pthread_cond_broadcast(&s->changed);
        pthread_mutex_unlock(&s->lock);
    }
    return NULL;
}

/* Signals are the recorder's. */
static int spansend_start(struct spansend *s, struct err *err)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&s->thread, NULL, spansend_run, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    s->running = rc == 0;
    return rc == 0 ? 0 : err_set_errno(err, rc, "cannot start a thread");
}

int spansend_open(const char *url, const struct profile *p, struct spansend **ret, struct err *err)
{
    struct spansend *s = *ret = mem_new(struct spansend);
    pthread_condattr_t monotonic;
    *s = (struct spansend){.profile = p, .stop_fd = -1};
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (collector_init(&s->collector, url, err) != 0)
        return -1;
    s->collector.stop_fd = s->stop_fd = eventfd(0, EFD_CLOEXEC);
    return spansend_start(s, err);
}

/* --- the recorder's side --- */

/* Only we add: room that is there stays. */
static bool spansend_has_room(struct spansend *s)
{
    pthread_mutex_lock(&s->lock);
    bool room = s->waiting < SPANSEND_QUEUE;
    if (!room)
        s->facts.dropped += s->n;
    pthread_mutex_unlock(&s->lock);
    return room;
}

static void spansend_encode(struct spansend *s, struct buf *to)
{
    struct otlp_span spans[SPANSEND_BATCH];
    const struct profile *p = s->profile;
    uint64_t since_1970 = p->clock.wall_ns - p->clock.monotonic_ns;
    for (size_t i = 0; i < s->n; i++) {
        spans[i] = s->batch[i].span;
        spans[i].name = profile_str(p, s->batch[i].name);
        spans[i].start_ns += since_1970;
    }
    otlp_add_protobuf(to, &(struct otlp_batch){p, spans, s->n});
}

void spansend_flush(struct spansend *s)
{
    struct spansend_body body = {.spans = s->n};
    if (s->n && spansend_has_room(s)) {
        spansend_encode(s, &body.bytes);
        pthread_mutex_lock(&s->lock);
        s->queue[(s->first + s->waiting++) % SPANSEND_QUEUE] = body;
        pthread_cond_broadcast(&s->changed);
        pthread_mutex_unlock(&s->lock);
    }
    s->n = 0;
}

void spansend_add(struct spansend *s, struct str_id name, const struct otlp_span *span)
{
    s->batch[s->n++] = (struct spansend_item){*span, name};
    if (s->n == SPANSEND_BATCH)
        spansend_flush(s);
}

/* --- the end --- */

/* What waited in vain is dropped. */
static void spansend_drop(struct spansend *s)
{
    for (; s->waiting; s->waiting--, s->first = (s->first + 1) % SPANSEND_QUEUE) {
        s->facts.dropped += s->queue[s->first].spans;
        buf_done(&s->queue[s->first].bytes);
    }
}

void spansend_stop(struct spansend *s, double seconds)
{
    uint64_t until_ns = clock_kernel_ns() + (uint64_t)(seconds * 1e9);
    struct timespec until = {(time_t)(until_ns / CLOCK_SECOND_NS),
                             (long)(until_ns % CLOCK_SECOND_NS)};
    if (!s->running)
        return;
    spansend_flush(s);
    pthread_mutex_lock(&s->lock);
    while ((s->waiting || s->busy) &&
           pthread_cond_timedwait(&s->changed, &s->lock, &until) != ETIMEDOUT)
        ;
    spansend_drop(s);
    s->over = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    if (eventfd_write(s->stop_fd, 1) == 0)
        pthread_join(s->thread, NULL);
    s->running = false;
}

void spansend_facts(struct spansend *s, struct spansend_facts *ret)
{
    pthread_mutex_lock(&s->lock);
    *ret = s->facts;
    pthread_mutex_unlock(&s->lock);
}

void spansend_close(struct spansend *s)
{
    if (!s)
        return;
    spansend_stop(s, 0);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->changed);
    if (s->stop_fd >= 0)
        close(s->stop_fd);
    free(s);
}
