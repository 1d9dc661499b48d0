/* listen_request.c - the lines of a request. Anybody may have written them. */
#include "record/listen_inner.h"

#include <arpa/inet.h>
#include <strings.h>

bool listen_is_whole(struct text in)
{
    if (!in.n)
        return false;
    return in.n >= LISTEN_REQUEST_MAX || memmem(in.at, in.n, "\r\n\r\n", 4) ||
           memmem(in.at, in.n, "\n\n", 2);
}

const char *listen_status(int status)
{
    switch (status) {
    case 200:
        return "200 OK";
    case 303:
        return "303 See Other";
    case 401:
        return "401 Unauthorized";
    case 403:
        return "403 Forbidden";
    case 404:
        return "404 Not Found";
    case 405:
        return "405 Method Not Allowed";
    case 431:
        return "431 Request Header Fields Too Large";
    default:
        return "400 Bad Request";
    }
}

static struct text cut_line(struct text *in)
{
    struct text line = text_cut(in, '\n');
    if (line.n && line.at[line.n - 1] == '\r')
        line.n--;
    return line;
}

static struct text trim(struct text t)
{
    while (t.n && (*t.at == ' ' || *t.at == '\t'))
        t.at++, t.n--;
    while (t.n && (t.at[t.n - 1] == ' ' || t.at[t.n - 1] == '\t'))
        t.n--;
    return t;
}

static bool is_field(struct text name, const char *is)
{
    return name.n == strlen(is) && strncasecmp(name.at, is, name.n) == 0;
}

/* "localhost:9464", "127.0.0.1", "[::1]:9464": a number has no name server. */
static bool host_is_ours(struct text host)
{
    char name[64];
    struct in6_addr ignored; /* has room for both kinds */
    bool six = host.n && *host.at == '[';
    if (six)
        text_cut(&host, '[');
    host = text_cut(&host, six ? ']' : ':');
    if (host.n >= sizeof name || memchr(host.at, '\0', host.n))
        return false;
    memcpy(name, host.at, host.n);
    name[host.n] = '\0';
    return (!six && strcasecmp(name, "localhost") == 0) ||
           inet_pton(six ? AF_INET6 : AF_INET, name, &ignored) == 1;
}

/* Takes as long wherever the first difference is: SECRET is, or has in it, what nobody may guess
 * piece by piece. */
static bool is_secret(struct text value, const char *secret)
{
    unsigned differ = 0;
    if (value.n != strlen(secret))
        return false;
    for (size_t i = 0; i < value.n; i++)
        differ |= (unsigned char)value.at[i] ^ (unsigned char)secret[i];
    return differ == 0;
}

static bool bears(struct text value, const char *token)
{
    if (value.n < 7 || strncasecmp(value.at, "Bearer ", 7) != 0)
        return false;
    return is_secret(trim((struct text){value.at + 7, value.n - 7}), token);
}

/* GET /metrics?x=y HTTP/1.1 */
static void parse_first(struct listen_request *r, struct text line, const struct listen_opts *o)
{
    struct text method = text_cut(&line, ' '), target = text_cut(&line, ' ');
    struct text path = text_cut(&target, '?');
    if (!text_starts(line, "HTTP/1.") || !path.n || *path.at != '/') {
        r->status = 400;
        return;
    }
    r->head = text_is(method, "HEAD");
    r->status = r->head || text_is(method, "GET") ? 404 : 405;
    for (const struct listen_page *p = o->pages; r->status == 404 && p->path; p++)
        if (is_secret(path, p->path)) {
            r->page = p;
            r->status = 200;
        }
}

/* "http://127.0.0.1:9464" of a page that came from here. */
static bool origin_is_ours(struct text origin, struct text host)
{
    static const char scheme[] = "http://";
    size_t n = sizeof scheme - 1;
    return origin.n == n + host.n && memcmp(origin.at, scheme, n) == 0 &&
           strncasecmp(origin.at + n, host.at, host.n) == 0;
}

/* --- which of several contents --- */

/* ";q=0.5" among the parameters of a type, 0 to 1000; 1000 where it is not there. */
static int quality_of(struct text parameters)
{
    while (parameters.n) {
        struct text one = trim(text_cut(&parameters, ';'));
        int q = 0, scale = 1000;
        if (one.n < 3 || (*one.at != 'q' && *one.at != 'Q') || one.at[1] != '=')
            continue;
        for (size_t i = 2; i < one.n && i < 7; i++) {
            if (one.at[i] == '.')
                continue;
            if (one.at[i] < '0' || one.at[i] > '9')
                return 0;
            q += (one.at[i] - '0') * scale;
            scale /= 10;
        }
        return q < 1000 ? q : 1000;
    }
    return 1000;
}

/* How much a request wants TYPE; 0 = it does not name it. "*" of all kinds wants what it gets. */
static int wants(struct text accept, const char *type)
{
    int most = 0;
    while (accept.n) {
        struct text one = text_cut(&accept, ',');
        struct text name = trim(text_cut(&one, ';'));
        int q = is_field(name, type) ? quality_of(one) : 0;
        most = q > most ? q : most;
    }
    return most;
}

/* The type of a page without its parameters. */
static int wants_page(struct text accept, const struct listen_page *p)
{
    char type[64];
    size_t n = strcspn(p->type, ";");
    if (n >= sizeof type)
        return 0;
    memcpy(type, p->type, n);
    type[n] = '\0';
    return wants(accept, type);
}

static void choose_content(struct listen_request *r, struct text accept)
{
    const struct listen_page *first = r->page;
    for (const struct listen_page *p = first + 1; p->path && p->accept; p++)
        if (strcmp(p->path, first->path) == 0 &&
            wants(accept, p->accept) > wants_page(accept, r->page))
            r->page = p;
}

struct listen_request listen_parse(struct text in, const struct listen_opts *o)
{
    struct listen_request r = {0};
    bool is_known = !o->token;
    struct text all = in, line, host = {0}, origin = {0}, accept = {0};
    if (in.n >= LISTEN_REQUEST_MAX)
        return (struct listen_request){.status = 431};
    parse_first(&r, cut_line(&all), o);
    while ((line = cut_line(&all)).n) {
        struct text name = text_cut(&line, ':'), value = trim(line);
        if (is_field(name, "Host") && !o->token && !host_is_ours(value))
            return (struct listen_request){.status = 403};
        if (is_field(name, "Host"))
            host = value;
        if (is_field(name, "Origin") && origin.n)
            return (struct listen_request){.status = 400};
        if (is_field(name, "Origin"))
            origin = value;
        if (is_field(name, "Accept"))
            accept = value;
        if (o->token && is_field(name, "Authorization"))
            is_known = bears(value, o->token);
    }
    if (!is_known)
        return (struct listen_request){.status = 401};
    if (!o->token && !host.n && r.status == 200)
        return (struct listen_request){.status = 400};
    if (!o->token && origin.n && !origin_is_ours(origin, host))
        return (struct listen_request){.status = 403};
    if (r.page)
        choose_content(&r, accept);
    return r;
}
