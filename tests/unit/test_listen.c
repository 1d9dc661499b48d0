/* test_listen.c - requests that anybody may have written. */
#include "record/listen_inner.h"

#include "base/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static void write_page(void *to, FILE *out)
{
    (void)to;
    fputs("page\n", out);
}

static const struct listen_page pages[] = {
    {.path = "/metrics", .type = "text/plain; version=1", .write = write_page},
    {.path = "/metrics",
     .type = "application/openmetrics-text; version=1.0.0",
     .accept = "application/openmetrics-text",
     .write = write_page},
    {.path = "/other", .type = "text/plain", .write = write_page},
    {0}};

static int status_of(const char *request, const char *token)
{
    struct listen_opts o = {.pages = pages, .token = token};
    return listen_parse(text_of(request), &o).status;
}

static void what_is_asked_for(void **state)
{
    (void)state;
    assert_int_equal(status_of("GET /metrics HTTP/1.1\r\nHost: localhost:1\r\n\r\n", NULL), 200);
    assert_int_equal(status_of("GET /metrics?a=b HTTP/1.0\r\nHost: localhost\r\n\r\n", NULL), 200);
    assert_int_equal(status_of("HEAD /metrics HTTP/1.0\nHost: localhost\n\n", NULL), 200);
    assert_int_equal(status_of("GET /metrics/ HTTP/1.1\r\n\r\n", NULL), 404);
    assert_int_equal(status_of("GET /../etc/passwd HTTP/1.1\r\n\r\n", NULL), 404);
    assert_int_equal(status_of("POST /metrics HTTP/1.1\r\n\r\n", NULL), 405);
    assert_int_equal(status_of("GET /metrics\r\n\r\n", NULL), 400);
    assert_int_equal(status_of("GET http://x/metrics HTTP/1.1\r\n\r\n", NULL), 400);
    assert_int_equal(status_of("\r\n\r\n", NULL), 400);
    assert_int_equal(status_of("", NULL), 400);
}

static void a_name_that_is_not_this_machine_is_refused(void **state)
{
    (void)state;
    assert_int_equal(status_of("GET /metrics HTTP/1.1\r\nhost: evil.example\r\n\r\n", NULL), 403);
    assert_int_equal(
        status_of("GET /metrics HTTP/1.1\r\nHOST:127.0.0.1.evil.example\r\n\r\n", NULL), 403);
    assert_int_equal(status_of("GET /metrics HTTP/1.1\r\nHost: [::1]:9464\r\n\r\n", NULL), 200);
    assert_int_equal(status_of("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", NULL), 200);
    assert_int_equal(status_of("GET /metrics HTTP/1.1\r\n\r\n", NULL), 400);
    assert_int_equal(status_of("GET /metrics HTTP/1.1\r\nHost:\r\n\r\n", NULL), 403);
    assert_int_equal(status_of("GET /metrics HTTP/1.0\r\n\r\n", NULL), 400);
    static const char *const others[] = {"[evil.example",
                                         "[evil.example]:80",
                                         "[",
                                         "[]",
                                         "[127.0.0.1]",
                                         "localhost.evil.example",
                                         "localhost.:80",
                                         "localhostx",
                                         "xlocalhost",
                                         "[localhost]",
                                         "127.0.0.1.",
                                         "127.0.0.1@evil.example",
                                         "127.1",
                                         "0x7f000001"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        autofree char *request = mem_printf("GET /metrics HTTP/1.1\r\nHost: %s\r\n\r\n", others[i]);
        assert_int_equal(status_of(request, NULL), 403);
    }
    static const char nul[] = "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\0.evil.example\r\n\r\n";
    struct listen_opts o = {.pages = pages};
    assert_int_equal(listen_parse((struct text){nul, sizeof nul - 1}, &o).status, 403);
}

static void other_pages_are_refused(void **state)
{
    (void)state;
    assert_int_equal(status_of("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:80\r\n"
                               "Origin: http://127.0.0.1:80\r\n\r\n",
                               NULL),
                     200);
    static const char *const others[] = {"http://127.0.0.1:81", "https://127.0.0.1:80",
                                         "http://evil.example", "null",
                                         "http://127.0.0.1:80.evil.example"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        autofree char *request = mem_printf(
            "GET /metrics HTTP/1.1\r\nOrigin: %s\r\nHost: 127.0.0.1:80\r\n\r\n", others[i]);
        assert_int_equal(status_of(request, NULL), 403);
    }
    /* Of two, neither may hide the other. */
    assert_int_equal(status_of("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:80\r\nOrigin: "
                               "http://evil.example\r\nOrigin: http://127.0.0.1:80\r\n\r\n",
                               NULL),
                     400);
}

static size_t page_of(const char *path, const char *accept)
{
    struct listen_opts o = {.pages = pages};
    autofree char *request =
        mem_printf("GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", path, accept);
    struct listen_request r = listen_parse(text_of(request), &o);
    assert_int_equal(r.status, 200);
    return (size_t)(r.page - pages);
}

/* The type that is wanted more; the first where both are, or none is named. */
static void the_content_is_what_is_accepted(void **state)
{
    (void)state;
    assert_int_equal(page_of("/metrics", ""), 0);
    assert_int_equal(page_of("/metrics", "Accept: */*\r\n"), 0);
    assert_int_equal(page_of("/metrics", "Accept: application/openmetrics-text\r\n"), 1);
    assert_int_equal(page_of("/metrics", "accept:APPLICATION/OpenMetrics-Text; version=1.0.0\r\n"),
                     1);
    assert_int_equal(page_of("/metrics", "Accept: application/openmetrics-text;version=1.0.0,"
                                         "application/openmetrics-text;version=0.0.1;q=0.75,"
                                         "text/plain;version=0.0.4;q=0.5,*/*;q=0.1\r\n"),
                     1);
    assert_int_equal(
        page_of("/metrics", "Accept: application/openmetrics-text;q=0.4, text/plain;q=0.5\r\n"), 0);
    assert_int_equal(
        page_of("/metrics", "Accept: application/openmetrics-text;q=0.555, text/plain;q=0.55\r\n"),
        1);
    assert_int_equal(page_of("/metrics", "Accept: text/plain, application/openmetrics-text\r\n"),
                     0);
    assert_int_equal(page_of("/metrics", "Accept: application/openmetrics-text;q=0\r\n"), 0);
    assert_int_equal(page_of("/metrics", "Accept: application/openmetrics-text;q=x\r\n"), 0);
    assert_int_equal(page_of("/other", "Accept: application/openmetrics-text\r\n"), 2);
}

static void a_token_is_asked_for(void **state)
{
    const char *token = "0123456789abcdef";
    (void)state;
    assert_int_equal(status_of("GET /metrics HTTP/1.1\r\n\r\n", token), 401);
    assert_int_equal(status_of("GET /nosuch HTTP/1.1\r\n\r\n", token), 401);
    assert_int_equal(
        status_of("GET /metrics HTTP/1.1\r\nAuthorization: Bearer 0123456789abcdee\r\n\r\n", token),
        401);
    assert_int_equal(
        status_of("GET /metrics HTTP/1.1\r\nAuthorization: Bearer 0123456789abcde\r\n\r\n", token),
        401);
    assert_int_equal(status_of("GET /metrics HTTP/1.1\r\nHost: server.example\r\nauthorization:  "
                               "bearer  0123456789abcdef \r\n\r\n",
                               token),
                     200);
}

static void any_bytes_are_a_request_or_none(void **state)
{
    static const char good[] =
        "GET /metrics HTTP/1.1\r\nHost: [::1]:9\r\nAuthorization: Bearer x\r\n";
    struct listen_opts o = {.pages = pages, .token = "x"};
    unsigned seed = 1;
    (void)state;
    for (int round = 0; round < 20000; round++) {
        size_t n = sizeof good - 1 - (size_t)(rand_r(&seed) % 40);
        autofree char *bytes = mem_calloc(n, 1); /* so that a byte too many is seen */
        memcpy(bytes, good, n);
        for (int k = rand_r(&seed) % 4; k > 0; k--)
            bytes[(size_t)rand_r(&seed) % n] = (char)rand_r(&seed);
        o.token = round % 2 ? "x" : NULL;
        listen_is_whole((struct text){bytes, n});
        int status = listen_parse((struct text){bytes, n}, &o).status;
        assert_true(status == 200 || (status >= 400 && status < 500));
    }
    autofree char *long_one = mem_calloc(LISTEN_REQUEST_MAX, 1);
    struct text t = {long_one, LISTEN_REQUEST_MAX};
    assert_true(listen_is_whole(t));
    assert_int_equal(listen_parse(t, &o).status, 431);
    assert_false(listen_is_whole((struct text){good, sizeof good - 1}));
}

static void addresses(void **state)
{
    static const char *const bad[] = {"",          "x",      "127.0.0.1",       "127.0.0.1:",
                                      ":",         "::1:80", "127.0.0.1:x",     "127.0.0.1:65536",
                                      "-1",        "[::1",   "evil.example:80", "127.0.0.1:80x",
                                      "0.0.0.0:0", "[::]:0"};
    struct listen *l;
    struct err err;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct listen_opts o = {.address = bad[i], .pages = pages};
        if (listen_open(&o, &l, &err) == 0)
            fail_msg("'%s' is an address", bad[i]);
        assert_null(l);
    }
    struct listen_opts o = {.address = "0", .pages = pages};
    assert_int_equal(listen_open(&o, &l, &err), 0);
    assert_true(strncmp(listen_address(l), "127.0.0.1:", 10) == 0);
    struct listen_opts taken = {.address = listen_address(l), .pages = pages};
    struct listen *second;
    assert_int_equal(listen_open(&taken, &second, &err), -1);
    assert_non_null(strstr(err.text, "cannot listen on '127.0.0.1:"));
    listen_close(l);
    listen_close(NULL);
}

static int connect_to(const struct listen *l)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    to.sin_port = htons((uint16_t)atoi(strrchr(listen_address(l), ':') + 1));
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

/* Read what comes until the other side ends. */
static size_t read_rest(struct listen *l, int fd)
{
    static char bytes[1 << 16];
    size_t all = 0;
    ssize_t n = 0;
    do {
        listen_poll(l);
        n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
        all += n > 0 ? (size_t)n : 0;
    } while (n > 0 || (n < 0 && errno == EAGAIN));
    return all;
}

static void connections_that_ask_nothing_cut_off_nobody(void **state)
{
    enum { PAGE_BYTES = 16 << 20, IDLE = 3 * LISTEN_CLIENTS };
    static const char request[] = "GET /large HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    autofree char *large = mem_calloc(PAGE_BYTES, 1);
    const struct listen_page one[] = {
        {.path = "/large", .type = "text/plain", .bytes = {large, PAGE_BYTES}}, {0}};
    struct listen_opts o = {.address = "0", .pages = one};
    struct listen *l;
    struct err err;
    int idle[IDLE];
    (void)state;
    assert_int_equal(listen_open(&o, &l, &err), 0);
    int fd = connect_to(l);
    assert_int_equal(send(fd, request, sizeof request - 1, 0), sizeof request - 1);
    listen_poll(l);
    for (int i = 0; i < IDLE; i++) {
        idle[i] = connect_to(l);
        listen_poll(l);
    }
    assert_true(read_rest(l, fd) > PAGE_BYTES);
    close(fd);
    for (int i = 0; i < IDLE; i++)
        close(idle[i]);
    listen_close(l);
}

/* Whether it says nothing or a byte now and then: its time ends. */
static void a_client_that_takes_for_ever_is_cut_off(void **state)
{
    static const char *const said[] = {"", "GET /other HTTP/1.1\r\nHost: 127"};
    struct listen_opts o = {.address = "0", .pages = pages, .client_ns = 50000000};
    struct listen *l;
    struct err err;
    (void)state;
    assert_int_equal(listen_open(&o, &l, &err), 0);
    alarm(60);
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        struct pollfd ended = {connect_to(l), POLLRDHUP, 0};
        assert_int_equal(send(ended.fd, said[i], strlen(said[i]), 0), strlen(said[i]));
        while (poll(&ended, 1, 5) == 0) {
            listen_poll(l);
            if (i && send(ended.fd, "x", 1, MSG_NOSIGNAL) < 0)
                break;
        }
        close(ended.fd);
    }
    alarm(0);
    listen_close(l);
}

/* What sockets hold comes, the rest does not. */
static void a_client_that_does_not_read_is_cut_off(void **state)
{
    enum { PAGE_BYTES = 64 << 20 };
    static const char request[] = "GET /large HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    autofree char *large = mem_calloc(PAGE_BYTES, 1);
    const struct listen_page one[] = {
        {.path = "/large", .type = "text/plain", .bytes = {large, PAGE_BYTES}}, {0}};
    struct listen_opts o = {.address = "0", .pages = one, .client_ns = 50000000};
    struct listen *l;
    struct err err;
    (void)state;
    assert_int_equal(listen_open(&o, &l, &err), 0);
    int fd = connect_to(l);
    assert_int_equal(send(fd, request, sizeof request - 1, 0), sizeof request - 1);
    listen_poll(l);
    usleep(60000);
    assert_true(read_rest(l, fd) < PAGE_BYTES);
    close(fd);
    listen_close(l);
}

/* As many descriptors as are open, and MORE. */
static void leave_descriptors(rlim_t more, struct rlimit *ret_old)
{
    int next = dup(0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, ret_old), 0);
    struct rlimit few = {(rlim_t)next + more, ret_old->rlim_max};
    close(next);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
}

static void without_descriptors_somebody_is_answered(void **state)
{
    enum { IDLE = 12 };
    static const char request[] = "GET /page HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    const struct listen_page one[] = {{.path = "/page", .type = "text/plain", .bytes = {"text", 4}},
                                      {0}};
    struct listen_opts o = {.address = "0", .pages = one};
    struct rlimit old;
    struct listen *l;
    struct err err;
    int idle[IDLE];
    (void)state;
    for (rlim_t more = 0; more < 3; more++) {
        assert_int_equal(listen_open(&o, &l, &err), 0);
        for (int i = 0; i < IDLE; i++)
            idle[i] = connect_to(l);
        int fd = connect_to(l);
        assert_int_equal(send(fd, request, sizeof request - 1, 0), sizeof request - 1);
        leave_descriptors(more, &old);
        alarm(20);
        size_t n = read_rest(l, fd);
        alarm(0);
        /* With none but the spare one, all are turned away: that ends it, too. */
        assert_true(more ? n > 4 : n == 0);
        assert_int_equal(poll(&(struct pollfd){listen_fd(l), POLLIN, 0}, 1, 0), 0);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
        close(fd);
        for (int i = 0; i < IDLE; i++)
            close(idle[i]);
        listen_close(l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_asked_for),
        cmocka_unit_test(a_name_that_is_not_this_machine_is_refused),
        cmocka_unit_test(other_pages_are_refused),
        cmocka_unit_test(the_content_is_what_is_accepted),
        cmocka_unit_test(a_token_is_asked_for),
        cmocka_unit_test(any_bytes_are_a_request_or_none),
        cmocka_unit_test(addresses),
        cmocka_unit_test(connections_that_ask_nothing_cut_off_nobody),
        cmocka_unit_test(a_client_that_takes_for_ever_is_cut_off),
        cmocka_unit_test(a_client_that_does_not_read_is_cut_off),
        cmocka_unit_test(without_descriptors_somebody_is_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
