#include "record/listen_inner.h"

#include "base/clock.h"
#include "base/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* An answer, of which several clients may have got a part. */
struct listen_body {
    unsigned users;
    uint64_t made_ns;
    size_t n;
    char *at;
    bool borrowed; /* `at` is the page's own */
};

struct listen_client {
    int fd; /* -1 = free */
    uint64_t since_ns;
    struct buf in;
    char head[1024];
    size_t n_head, sent;      /* sent: of head and body */
    struct listen_body *body; /* NULL = none */
    bool answered;            /* there is a head */
    bool ended;               /* nothing more comes from it */
};

struct listen {
    struct listen_opts opts;
    int fd, epoll_fd, spare_fd;
    char address[96];
    struct listen_client clients[LISTEN_CLIENTS];
    struct listen_body *fresh[LISTEN_PAGES_MAX]; /* the last of each page */
};

/* --- the address --- */

/* "[::1]:9464", "127.0.0.1:9464", "9464" */
static int split_address(const char *address, char *host, size_t host_bytes, const char **ret_port)
{
    const char *colon = strrchr(address, ':');
    const char *from = address, *to = colon ? colon : address;
    *ret_port = colon ? colon + 1 : address;
    if (*from == '[' && to > from && to[-1] == ']')
        from++, to--;
    else if (memchr(from, ':', (size_t)(to - from)))
        return -1; /* numbers of IPv6 need brackets */
    if ((size_t)(to - from) >= host_bytes)
        return -1;
    memcpy(host, from, (size_t)(to - from));
    host[to - from] = '\0';
    char *end;
    unsigned long port = strtoul(*ret_port, &end, 10);
    return **ret_port < '0' || **ret_port > '9' || *end || port > 65535 ? -1 : 0;
}

static int resolve(const char *address, struct addrinfo **ret, struct err *err)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
                                   .ai_socktype = SOCK_STREAM};
    const char *port;
    char host[64];
    if (split_address(address, host, sizeof host, &port) != 0)
        return err_set(err, EXIT_ERROR, "'%s' is not an address such as 127.0.0.1:9464", address);
    bool here = !*host || strcmp(host, "localhost") == 0;
    if (getaddrinfo(here ? "127.0.0.1" : host, port, &hints, ret) != 0)
        return err_set(err, EXIT_ERROR, "'%s' is not an address such as 127.0.0.1:9464", address);
    return 0;
}

static bool is_loopback(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
    return ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >> 24 == 127;
}

static void name_address(struct listen *l)
{
    struct sockaddr_storage a = {0};
    socklen_t n = sizeof a;
    char host[64] = "", port[8] = "";
    getsockname(l->fd, (struct sockaddr *)&a, &n);
    getnameinfo((struct sockaddr *)&a, n, host, sizeof host, port, sizeof port,
                NI_NUMERICHOST | NI_NUMERICSERV);
    snprintf(l->address, sizeof l->address, a.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host,
             port);
}

static int bind_to(struct listen *l, const struct addrinfo *a, struct err *err)
{
    const int on = 1;
    if (!is_loopback(a->ai_addr) && !l->opts.token)
        return err_set(
            err, EXIT_ERROR,
            "'%s' can be reached from other machines: that needs a token, see 'kelvin help record'",
            l->opts.address);
    l->fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (l->fd < 0)
        return err_set_errno(err, errno, "cannot listen on '%s'", l->opts.address);
    setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(l->fd, a->ai_addr, a->ai_addrlen) != 0 || listen(l->fd, LISTEN_CLIENTS) != 0)
        return err_set_errno(err, errno, "cannot listen on '%s'", l->opts.address);
    name_address(l);
    return 0;
}

static void keep_spare(struct listen *l)
{
    if (l->spare_fd < 0)
        l->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

int listen_open(const struct listen_opts *o, struct listen **ret, struct err *err)
{
    struct listen *l = mem_new(struct listen);
    struct addrinfo *found = NULL;
    *ret = l;
    *l = (struct listen){.opts = *o, .fd = -1, .spare_fd = -1};
    keep_spare(l);
    for (int i = 0; i < LISTEN_CLIENTS; i++)
        l->clients[i].fd = -1;
    l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    int rc = resolve(o->address, &found, err);
    if (rc == 0)
        rc = bind_to(l, found, err);
    if (found)
        freeaddrinfo(found);
    struct epoll_event ev = {.events = EPOLLIN};
    if (rc == 0 && (l->epoll_fd < 0 || epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, l->fd, &ev) != 0))
        rc = err_set_errno(err, errno, "cannot wait for requests");
    if (rc != 0) {
        listen_close(l);
        *ret = NULL;
    }
    return rc;
}

int listen_fd(const struct listen *l)
{
    return l->epoll_fd;
}

const char *listen_address(const struct listen *l)
{
    return l->address;
}

/* --- answers --- */

static void body_release(struct listen_body *b)
{
    if (!b || --b->users)
        return;
    if (!b->borrowed)
        free(b->at);
    free(b);
}

static struct listen_body *body_new(const struct listen *l, const struct listen_page *page)
{
    struct listen_body *b = mem_new(struct listen_body);
    b->users = 1;
    b->made_ns = clock_kernel_ns();
    if (!page->write) {
        b->at = (char *)(uintptr_t)page->bytes.at;
        b->n = page->bytes.n;
        b->borrowed = true;
        return b;
    }
    FILE *out = open_memstream(&b->at, &b->n);
    if (out) {
        page->write(l->opts.to, out);
        fclose(out);
    }
    return b;
}

/* The page as it was a moment ago, or as it is now. */
static struct listen_body *body_get(struct listen *l, const struct listen_page *page)
{
    struct listen_body **fresh = &l->fresh[page - l->opts.pages];
    if (*fresh && clock_kernel_ns() - (*fresh)->made_ns >= LISTEN_FRESH_NS) {
        body_release(*fresh);
        *fresh = NULL;
    }
    if (!*fresh)
        *fresh = body_new(l, page);
    (*fresh)->users++;
    return *fresh;
}

/* The line of the head that says where a page went; "" where there is none. */
static const char *moved_line(const struct listen_request *r, char line[static 128])
{
    *line = '\0';
    if (r->status == 303)
        snprintf(line, 128, "Location: %s\r\n", r->page->moved);
    return line;
}

static void client_answer(struct listen *l, struct listen_client *c)
{
    struct listen_request r = listen_parse(buf_text(&c->in), &l->opts);
    char moved[128];
    c->answered = true;
    size_t n = 0;
    if (r.status == 200 && r.page->moved)
        r.status = listen_peer_is_own(c->fd) ? 303 : 403;
    if (r.status == 200) {
        c->body = body_get(l, r.page);
        n = c->body->n;
    }
    snprintf(c->head, sizeof c->head,
             "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s%s%s%s"
             "X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n"
             "Connection: close\r\n\r\n",
             listen_status(r.status), r.status == 200 ? r.page->type : "text/plain", n,
             r.status == 401 ? "WWW-Authenticate: Bearer\r\n" : "",
             r.status == 405 ? "Allow: GET, HEAD\r\n" : "", moved_line(&r, moved),
             l->opts.head ? l->opts.head : "");
    c->n_head = strlen(c->head);
    if (r.head) {
        body_release(c->body);
        c->body = NULL;
    }
}

/* --- clients --- */

/* A process that was forked may have the socket, too: shutdown() ends it for all. */
static void client_close(struct listen_client *c)
{
    if (c->fd < 0)
        return;
    shutdown(c->fd, SHUT_RDWR);
    close(c->fd);
    buf_done(&c->in);
    body_release(c->body);
    *c = (struct listen_client){.fd = -1};
}

/* Whether A goes rather than B: the oldest that gets nothing, or else the oldest. Those who only
 * hold a connection must not cut off somebody who was let in and is being answered. */
static bool client_goes_first(const struct listen_client *a, const struct listen_client *b)
{
    if ((a->body != NULL) != (b->body != NULL))
        return !a->body;
    return a->since_ns < b->since_ns;
}

/* Cut off the first to go, if there are any. */
static void client_close_first(struct listen *l)
{
    struct listen_client *first = NULL;
    for (int i = 0; i < LISTEN_CLIENTS; i++) {
        struct listen_client *c = &l->clients[i];
        if (c->fd >= 0 && (!first || client_goes_first(c, first)))
            first = c;
    }
    if (first)
        client_close(first);
}

static struct listen_client *client_find_free(struct listen *l)
{
    for (int i = 0; i < LISTEN_CLIENTS; i++)
        if (l->clients[i].fd < 0)
            return &l->clients[i];
    return NULL;
}

static struct listen_client *client_room(struct listen *l)
{
    struct listen_client *c = client_find_free(l);
    if (!c)
        client_close_first(l);
    return c ? c : client_find_free(l);
}

/*
 * Out of descriptors, somebody who waits would wake us for ever, and nobody would be answered: the
 * spare one takes the client, and the first to go makes room for the next spare.
 */
static int take_client(struct listen *l)
{
    int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0 || (errno != EMFILE && errno != ENFILE) || l->spare_fd < 0)
        return fd;
    close(l->spare_fd);
    l->spare_fd = -1;
    fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) /* the kernel says so before it looks whether anybody waits */
        client_close_first(l);
    keep_spare(l);
    if (l->spare_fd < 0 && fd >= 0) {
        close(fd);
        fd = -1;
        keep_spare(l);
    }
    return fd;
}

static void take_clients(struct listen *l)
{
    for (int i = 0; i < LISTEN_CLIENTS; i++) {
        int fd = take_client(l);
        struct epoll_event ev = {.events = EPOLLIN};
        if (fd < 0)
            return;
        struct listen_client *c = client_room(l);
        c->fd = fd;
        c->since_ns = clock_kernel_ns();
        if (epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &ev) != 0)
            client_close(c);
    }
}

/* What comes behind the request is read and dropped, or closing would take the answer back. */
static void client_read(struct listen_client *c)
{
    char bytes[4096];
    for (int i = 0; i < 4; i++) {
        ssize_t n = recv(c->fd, bytes, sizeof bytes, 0);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n < 0)
            client_close(c);
        c->ended |= n == 0;
        if (n <= 0)
            return;
        if (!c->answered)
            buf_add(&c->in, bytes, (size_t)n);
    }
}

static size_t client_size(const struct listen_client *c)
{
    return c->n_head + (c->body ? c->body->n : 0);
}

static void client_write(struct listen *l, struct listen_client *c)
{
    while (c->sent < client_size(c)) {
        bool head = c->sent < c->n_head;
        const char *from = head ? c->head + c->sent : c->body->at + (c->sent - c->n_head);
        size_t left = (head ? c->n_head : client_size(c)) - c->sent;
        ssize_t n = send(c->fd, from, left, MSG_NOSIGNAL | (head && c->body ? MSG_MORE : 0));
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            struct epoll_event ev = {.events = c->ended ? EPOLLOUT : EPOLLIN | EPOLLOUT};
            epoll_ctl(l->epoll_fd, EPOLL_CTL_MOD, c->fd, &ev);
            return;
        }
        if (n < 0) {
            client_close(c);
            return;
        }
        c->sent += (size_t)n;
    }
    struct epoll_event ev = {.events = EPOLLIN};
    epoll_ctl(l->epoll_fd, EPOLL_CTL_MOD, c->fd, &ev);
    shutdown(c->fd, SHUT_WR); /* the client closes, or its time is over */
}

static void client_poll(struct listen *l, struct listen_client *c)
{
    uint64_t most_ns = l->opts.client_ns ? l->opts.client_ns : LISTEN_CLIENT_NS;
    if (c->fd >= 0 && clock_kernel_ns() - c->since_ns > most_ns)
        client_close(c);
    if (c->fd >= 0 && !c->ended)
        client_read(c);
    if (c->fd >= 0 && !c->answered && listen_is_whole(buf_text(&c->in)))
        client_answer(l, c);
    if (c->fd >= 0 && c->answered && c->sent < client_size(c))
        client_write(l, c);
    if (c->fd >= 0 && c->ended && (!c->answered || c->sent == client_size(c)))
        client_close(c);
}

void listen_poll(struct listen *l)
{
    take_clients(l);
    for (int i = 0; i < LISTEN_CLIENTS; i++)
        client_poll(l, &l->clients[i]);
}

void listen_close(struct listen *l)
{
    if (!l)
        return;
    for (int i = 0; i < LISTEN_CLIENTS; i++)
        client_close(&l->clients[i]);
    for (int i = 0; i < LISTEN_PAGES_MAX; i++)
        body_release(l->fresh[i]);
    if (l->fd >= 0) {
        shutdown(l->fd, SHUT_RDWR);
        close(l->fd);
    }
    if (l->epoll_fd >= 0)
        close(l->epoll_fd);
    if (l->spare_fd >= 0)
        close(l->spare_fd);
    free(l);
}
