#include "base/http.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

/* --- addresses --- */

static int url_flaw(struct err *err, const char *url)
{
    return err_set(err, EXIT_ERROR, "'%s' is not http://HOST[:PORT][/PATH]", url);
}

static bool url_put(char *to, size_t size, struct text t)
{
    if (t.n >= size)
        return false;
    if (t.n)
        memcpy(to, t.at, t.n);
    to[t.n] = '\0';
    return true;
}

/* Nothing that would end a line of the request. */
static bool url_is_plain(const char *url)
{
    for (; *url; url++)
        if ((unsigned char)*url <= ' ' || (unsigned char)*url >= 0x7f)
            return false;
    return true;
}

/* A password would be sent without encryption, and kept among the options of a recording. */
static bool url_has_user(struct text url)
{
    const char *host = memmem(url.at, url.n, "://", 3);
    const char *end = host ? memchr(host + 3, '/', (size_t)(url.at + url.n - host - 3)) : NULL;
    return host && memchr(host, '@', (size_t)((end ? end : url.at + url.n) - host));
}

int http_url_parse(const char *url, struct http_url *ret, struct err *err)
{
    struct text rest = text_of(url);
    *ret = (struct http_url){.port = "80"};
    if (url_has_user(rest))
        return err_set(err, EXIT_ERROR,
                       "the address has a user or password in it (before '@'), and there is no TLS "
                       "here: leave them out, and send to a collector on this machine");
    if (text_starts(rest, "https://"))
        return err_set(
            err, EXIT_ERROR,
            "'%s': there is no TLS here; send to a collector on this machine, or write a "
            "file and send that with curl",
            url);
    if (!text_starts(rest, "http://") || !url_is_plain(url))
        return url_flaw(err, url);
    rest.at += strlen("http://"), rest.n -= strlen("http://");
    size_t host_n = 0;
    while (host_n < rest.n && rest.at[host_n] != '/')
        host_n++;
    struct text host = {rest.at, host_n}, path = {rest.at + host_n, rest.n - host_n};
    size_t colon = host.n;
    for (size_t i = 0; i < host.n && (host.at[0] != '[' || host.at[host.n - 1] != ']'); i++)
        colon = host.at[i] == ':' ? i : colon;
    struct text port =
        colon < host.n ? (struct text){host.at + colon + 1, host.n - colon - 1} : text_of("80");
    uint64_t number;
    host.n = colon;
    if (host.n > 2 && host.at[0] == '[' && host.at[host.n - 1] == ']')
        host.at++, host.n -= 2;
    if (!host.n || !text_u64(port, 10, &number) || !number || number > 65535 ||
        !url_put(ret->host, sizeof ret->host, host) ||
        !url_put(ret->port, sizeof ret->port, port) ||
        !url_put(ret->path, sizeof ret->path, text_is(path, "/") ? text_of("") : path))
        return url_flaw(err, url);
    return 0;
}

/* --- a connection with a limit of time --- */

struct http_run {
    const struct http_post *p;
    int fd;
    uint64_t until_ns;
};

/* Whether the socket is ready for EVENTS in time. */
static bool http_wait(const struct http_run *r, short events)
{
    struct pollfd fds[] = {{.fd = r->fd, .events = events},
                           {.fd = r->p->stop_fd, .events = POLLIN}};
    for (;;) {
        uint64_t now_ns = clock_monotonic_ns();
        if (now_ns >= r->until_ns) {
            errno = ETIMEDOUT;
            return false;
        }
        int n = poll(fds, 2, (int)((r->until_ns - now_ns) / 1000000) + 1);
        if (n < 0 && errno != EINTR)
            return false;
        if (n > 0 && fds[1].revents) {
            errno = ECANCELED;
            return false;
        }
        if (n > 0)
            return true;
    }
}

static bool http_connect_to(struct http_run *r, const struct addrinfo *a)
{
    int flaw = 0;
    socklen_t n = sizeof flaw;
    r->fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);
    if (r->fd < 0)
        return false;
    if (connect(r->fd, a->ai_addr, a->ai_addrlen) == 0)
        return true;
    if (errno == EINPROGRESS && http_wait(r, POLLOUT) &&
        getsockopt(r->fd, SOL_SOCKET, SO_ERROR, &flaw, &n) == 0) {
        if (!flaw)
            return true;
        errno = flaw;
    }
    int e = errno;
    close(r->fd);
    r->fd = -1;
    errno = e;
    return false;
}

static int http_connect(struct http_run *r, struct err *err)
{
    const struct http_url *to = r->p->to;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *all = NULL;
    int rc = getaddrinfo(to->host, to->port, &hints, &all), e = 0;
    if (rc != 0)
        return err_set(err, EXIT_ERROR, "'%s': %s", to->host, gai_strerror(rc));
    for (const struct addrinfo *a = all; a && r->fd < 0; a = a->ai_next)
        if (!http_connect_to(r, a))
            e = errno;
    freeaddrinfo(all);
    return r->fd >= 0 ? 0
                      : err_set_errno(err, e, "cannot connect to %s port %s", to->host, to->port);
}

static int http_send(const struct http_run *r, struct text t, struct err *err)
{
    while (t.n) {
        ssize_t n = send(r->fd, t.at, t.n, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN && http_wait(r, POLLOUT))
            continue;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set_errno(err, errno, "cannot send to %s port %s", r->p->to->host,
                                 r->p->to->port);
        t.at += n, t.n -= (size_t)n;
    }
    return 0;
}

/* --- the answer --- */

/* The value of a header, whose name may be written in any case; empty where there is none. */
static struct text http_header(struct text head, const char *name)
{
    size_t n = strlen(name);
    while (head.n) {
        struct text line = text_cut(&head, '\n');
        if (line.n > n && strncasecmp(line.at, name, n) == 0 && line.at[n] == ':')
            return text_trim((struct text){line.at + n + 1, line.n - n - 1});
    }
    return (struct text){0};
}

/* Seconds, or a date. */
static double http_retry_after(struct text t)
{
    char date[64];
    struct tm when = {0};
    uint64_t seconds;
    if (t.n && text_u64(t, 10, &seconds))
        return seconds < 86400 ? (double)seconds : 86400;
    if (!t.n || !url_put(date, sizeof date, t) ||
        !strptime(date, "%a, %d %b %Y %H:%M:%S GMT", &when))
        return -1;
    double left = difftime(timegm(&when), time(NULL));
    return left > 0 ? left : 0;
}

/* Where the headers end; NULL: not yet. */
static const char *http_head_end(const struct buf *b)
{
    const char *end = b->n ? memmem(b->at, b->n, "\r\n\r\n", 4) : NULL;
    return end ? end + 4 : NULL;
}

/* Whether all of the answer is here: else it ends with the connection. */
static bool http_is_whole(const struct buf *b)
{
    const char *end = http_head_end(b);
    uint64_t n;
    if (!end)
        return false;
    struct text length = http_header((struct text){b->at, (size_t)(end - b->at)}, "content-length");
    return length.n && text_u64(length, 10, &n) && b->n - (size_t)(end - b->at) >= n;
}

static int http_receive(const struct http_run *r, struct buf *b, struct err *err)
{
    char piece[4096];
    while (b->n < HTTP_ANSWER_MAX && !http_is_whole(b)) {
        ssize_t n = recv(r->fd, piece, sizeof piece, 0);
        if (n > 0)
            buf_add(b, piece, (size_t)n);
        if (n == 0 || (n < 0 && errno == ECONNRESET && http_head_end(b)))
            return 0;
        if (n < 0 && errno != EINTR && (errno != EAGAIN || !http_wait(r, POLLIN)))
            return err_set_errno(err, errno, "no answer from %s port %s", r->p->to->host,
                                 r->p->to->port);
    }
    return 0;
}

static int http_parse(const struct http_run *r, const struct buf *b, struct http_answer *ret,
                      struct err *err)
{
    struct text all = buf_text(b);
    const char *end = http_head_end(b);
    uint64_t status;
    if (!end || all.n < 12 || !text_starts(all, "HTTP/1.") ||
        !text_u64((struct text){all.at + 9, 3}, 10, &status) || status < 100)
        return err_set(err, EXIT_ERROR, "%s port %s does not speak HTTP", r->p->to->host,
                       r->p->to->port);
    struct text head = {all.at, (size_t)(end - all.at)};
    ret->status = (int)status;
    ret->retry_after_s = http_retry_after(http_header(head, "retry-after"));
    struct text type = http_header(head, "content-type");
    url_put(ret->type, sizeof ret->type, type);
    ret->n = all.n - head.n < sizeof ret->body ? all.n - head.n : sizeof ret->body;
    if (ret->n)
        memcpy(ret->body, end, ret->n);
    return 0;
}

static int http_exchange(const struct http_run *r, struct http_answer *ret, struct err *err)
{
    const struct http_post *p = r->p;
    autobuf struct buf head = {0}, answer = {0};
    bool v6 = strchr(p->to->host, ':') != NULL;
    buf_printf(&head,
               "POST %s HTTP/1.1\r\nHost: %s%s%s:%s\r\nContent-Type: %s\r\n"
               "Content-Length: %zu\r\nUser-Agent: kelvin/" KELVIN_VERSION
               "\r\nConnection: close\r\n\r\n",
               *p->to->path ? p->to->path : p->path, v6 ? "[" : "", p->to->host, v6 ? "]" : "",
               p->to->port, p->type, p->body.n);
    if (http_send(r, buf_text(&head), err) != 0 || http_send(r, p->body, err) != 0 ||
        http_receive(r, &answer, err) != 0)
        return -1;
    return http_parse(r, &answer, ret, err);
}

int http_post(const struct http_post *p, struct http_answer *ret, struct err *err)
{
    struct http_run r = {
        .p = p, .fd = -1, .until_ns = clock_monotonic_ns() + (uint64_t)p->within_ms * 1000000};
    *ret = (struct http_answer){.retry_after_s = -1};
    if (http_connect(&r, err) != 0)
        return -1;
    int rc = http_exchange(&r, ret, err);
    close(r.fd);
    return rc;
}
