/*
 * listen.h - answers to a few HTTP requests while something else goes on.
 *
 *     listen_open() -> listen_fd() becomes readable -> listen_poll() -> listen_close()
 *
 * Nothing blocks: sockets are read and written as far as they go, by the thread that calls. Clients
 * cost no more than LISTEN_CLIENTS sockets and answers; when there are more, the oldest that gets
 * no page goes, and the oldest of all where each gets one. So it is when the process has no more
 * descriptors. A request has at most
 * LISTEN_REQUEST_MAX bytes, and a client LISTEN_CLIENT_NS from its first byte to its last. An
 * answer is made at most every LISTEN_FRESH_NS, however many ask.
 *
 * Only addresses of this machine itself are listened to, unless there is a token, which each
 * request must then bear. Otherwise a request needs a Host line, and a name there that is not this
 * machine's address is refused: a page in a browser could have itself sent here by a name server of
 * its own. So is a request whose Origin line names another page than ours.
 */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"

#include <stdbool.h>

enum {
    LISTEN_CLIENTS = 64,
    LISTEN_PAGES_MAX = 32,
    LISTEN_REQUEST_MAX = 8192,
    LISTEN_TOKEN_MIN = 16
};
#define LISTEN_CLIENT_NS UINT64_C(5000000000)
#define LISTEN_FRESH_NS UINT64_C(100000000)

/* What can be asked for. */
struct listen_page {
    const char *path;   /* "/metrics"; NULL = no more */
    const char *type;   /* of its content */
    const char *accept; /* media type: instead of the one before it, of the same path, for who asks
                           for this type rather; NULL = for all others */
    void (*write)(void *to, FILE *out);
    struct text bytes; /* the content itself, where write is NULL; must outlive the listener */
    const char *moved; /* no content, but the path to go to, for clients of this user (or root) on
                          this machine: others may have seen this page's path among the arguments
                          of a program. NULL = there is content */
};

struct listen_opts {
    const char *address;             /* "9464", "127.0.0.1:9464", "[::1]:9464"; port 0 = any */
    const char *token;               /* NULL = none */
    const struct listen_page *pages; /* at most LISTEN_PAGES_MAX */
    void *to;                        /* of pages */
    const char *head;                /* more lines for the head of answers, each with its "\r\n" */
    uint64_t client_ns;              /* how long a client may take; 0 = LISTEN_CLIENT_NS */
};

struct listen;

int listen_open(const struct listen_opts *o, struct listen **ret, struct err *err);
int listen_fd(const struct listen *l);
void listen_poll(struct listen *l);

/* "127.0.0.1:9464", as it came to be. */
const char *listen_address(const struct listen *l);

/* Clients that are there are cut off. NULL is fine. */
void listen_close(struct listen *l);
