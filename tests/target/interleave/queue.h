/* queue.h - a bounded queue of two places under a lock, and a counter: right, and with errors
 * planted. */
#include <pthread.h>
#include <stdatomic.h>

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t filled, emptied;
    int at[2], n;
};

static struct queue queue = {
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, {0}, 0};

static void queue_push(int value)
{
    pthread_mutex_lock(&queue.lock);
    while (queue.n == 1) /* one place, so that who pushes has to wait */
        pthread_cond_wait(&queue.emptied, &queue.lock);
    queue.at[queue.n++] = value;
    pthread_cond_signal(&queue.filled);
    pthread_mutex_unlock(&queue.lock);
}

static int queue_pop(void)
{
    pthread_mutex_lock(&queue.lock);
#ifdef WAIT_ONCE /* a waiter must look again when it is woken */
    if (queue.n == 0)
#else
    while (queue.n == 0)
#endif
        pthread_cond_wait(&queue.filled, &queue.lock);
    int value = queue.n ? queue.at[--queue.n] : -1;
    pthread_cond_signal(&queue.emptied);
    pthread_mutex_unlock(&queue.lock);
    return value;
}

static atomic_int count;

static void count_racy(void *arg)
{
    (void)arg;
    int n = atomic_load(&count);
    atomic_store(&count, n + 1);
}

static void count_well(void *arg)
{
    (void)arg;
    atomic_fetch_add(&count, 1);
}
