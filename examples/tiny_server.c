/*
 * tiny_server.c - a server with workers under load, whose scopes show where the time of a request
 * goes: in the queue, in service, or waiting for a lock.
 *
 *     cc -O2 -g -pthread tiny_server.c $(pkg-config --cflags kelvin) -o tiny_server
 *     kelvin record -- ./tiny_server 4 2000         # workers, requests
 *     kelvin scopes tiny_server.kelvin              # request = queue + service; wait is a part of
 * service
 *
 * Clients are inside of it: a thread that sends SET and GET over a pair of sockets, a few at a
 * time.
 */
#define _GNU_SOURCE
#include <kelvin.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { KEYS = 4096, QUEUE = 256 };

/* A request on its way: its spans begin in one thread and end in another. */
struct request {
    int number, key, value; /* value 0 = GET */
    kelvin_span whole, queued;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t more, room;
    struct request at[QUEUE];
    int first, n, over;
} queue = {
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, {{0}}, 0, 0, 0};

static struct {
    pthread_mutex_t lock;
    int values[KEYS];
} store = {PTHREAD_MUTEX_INITIALIZER, {0}};

static int ends[2]; /* requests come in at [0], answers go out there */

static void queue_put(struct request r)
{
    r.whole = kelvin_begin("request");
    r.queued = kelvin_begin("queue");
    pthread_mutex_lock(&queue.lock);
    while (queue.n == QUEUE)
        pthread_cond_wait(&queue.room, &queue.lock);
    queue.at[(queue.first + queue.n++) % QUEUE] = r;
    KELVIN_GAUGE("queue length", queue.n);
    pthread_cond_signal(&queue.more);
    pthread_mutex_unlock(&queue.lock);
}

static int queue_take(struct request *ret)
{
    pthread_mutex_lock(&queue.lock);
    while (!queue.n && !queue.over)
        pthread_cond_wait(&queue.more, &queue.lock);
    int got = queue.n > 0;
    if (got) {
        *ret = queue.at[queue.first];
        queue.first = (queue.first + 1) % QUEUE;
        queue.n--;
        pthread_cond_signal(&queue.room);
    }
    pthread_mutex_unlock(&queue.lock);
    return got;
}

static int answer(const struct request *r)
{
    unsigned digest = (unsigned)r->key;
    {
        KELVIN_SCOPE("compute");
        for (int i = 0; i < 20000; i++)
            digest = digest * 1664525u + 1013904223u;
    }
    {
        KELVIN_SCOPE("wait");
        pthread_mutex_lock(&store.lock);
    }
    {
        KELVIN_SCOPE("update");
        if (r->value)
            store.values[r->key] = r->value;
        digest += (unsigned)store.values[r->key];
        pthread_mutex_unlock(&store.lock);
    }
    return (int)digest;
}

static void *work(void *nothing)
{
    struct request r;
    kelvin_thread_name("worker");
    while (queue_take(&r)) {
        kelvin_end(r.queued);
        {
            KELVIN_SCOPE("service", "kind", r.value ? "set" : "get");
            int result = answer(&r);
            if (write(ends[0], &result, sizeof result) != sizeof result)
                break;
        }
        kelvin_end(r.whole);
        KELVIN_COUNT("requests", 1);
    }
    return nothing;
}

/* Sixteen requests are under way at a time. */
static void *client(void *requests)
{
    int n = *(int *)requests, answers = 0, result;
    for (int i = 0; i < n; i++) {
        int message[3] = {i, rand() % KEYS, i % 4 ? 0 : i};
        if (write(ends[1], message, sizeof message) != sizeof message)
            break;
        if (i >= 16 && read(ends[1], &result, sizeof result) == sizeof result)
            answers++;
    }
    while (answers < n && read(ends[1], &result, sizeof result) == sizeof result)
        answers++;
    shutdown(ends[1], SHUT_WR);
    return NULL;
}

int main(int argc, char **argv)
{
    int workers = argc > 1 ? atoi(argv[1]) : 4, n = argc > 2 ? atoi(argv[2]) : 2000, message[3];
    pthread_t threads[64], sender;
    workers = workers < 1 ? 1 : workers > 64 ? 64 : workers;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0)
        return perror("socketpair"), 1;
    for (int i = 0; i < workers; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    pthread_create(&sender, NULL, client, &n);
    while (read(ends[0], message, sizeof message) == sizeof message)
        queue_put((struct request){message[0], message[1], message[2], 0, 0});
    pthread_mutex_lock(&queue.lock);
    queue.over = 1;
    pthread_cond_broadcast(&queue.more);
    pthread_mutex_unlock(&queue.lock);
    for (int i = 0; i < workers; i++)
        pthread_join(threads[i], NULL);
    pthread_join(sender, NULL);
    return 0;
}
