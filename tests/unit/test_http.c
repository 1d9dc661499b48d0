/* test_http.c - addresses, and servers that answer with anything. */
#include "base/http.h"

#include "base/mem.h"
#include "wire/collector.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static void addresses(void **state)
{
    struct http_url u;
    struct err err;
    (void)state;
    assert_int_equal(http_url_parse("http://127.0.0.1:4318", &u, &err), 0);
    assert_string_equal(u.host, "127.0.0.1");
    assert_string_equal(u.port, "4318");
    assert_string_equal(u.path, "");
    assert_int_equal(http_url_parse("http://host/", &u, &err), 0);
    assert_string_equal(u.port, "80");
    assert_string_equal(u.path, "");
    assert_int_equal(http_url_parse("http://[::1]:1/a/b:c?d", &u, &err), 0);
    assert_string_equal(u.host, "::1");
    assert_string_equal(u.port, "1");
    assert_string_equal(u.path, "/a/b:c?d");
    assert_int_equal(http_url_parse("http://host/tenant@home", &u, &err), 0);
    assert_string_equal(u.path, "/tenant@home");
    assert_int_equal(http_url_parse("http://[fe80::1]", &u, &err), 0);
    assert_string_equal(u.host, "fe80::1");
    assert_string_equal(u.port, "80");
}

static void what_is_no_address(void **state)
{
    static const char *const bad[] = {"",
                                      "http",
                                      "http://",
                                      "http:///v1/traces",
                                      "http://:80",
                                      "http://h:",
                                      "http://h:0",
                                      "http://h:65536",
                                      "http://h:1x",
                                      "http://h h",
                                      "http://h\r\nX: y",
                                      "http://h/\n",
                                      "https://h",
                                      "h:80",
                                      "ftp://h",
                                      "http://me@h",
                                      "http://me:secret@h/v1"};
    struct http_url u;
    struct err err;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (http_url_parse(bad[i], &u, &err) == 0)
            fail_msg("'%s' is an address", bad[i]);
    char *long_one = mem_printf("http://%01000d", 1);
    assert_int_equal(http_url_parse(long_one, &u, &err), -1);
    free(long_one);
}

/* --- a server that gives one answer to each of a few clients --- */

struct answers {
    int fd, port;
    const char *const *texts;
    int n, asked;
    pthread_t thread;
};

static void *answer_all(void *to)
{
    struct answers *a = to;
    char bytes[65536];
    for (; a->asked < a->n; a->asked++) {
        int client = accept(a->fd, NULL, NULL);
        if (client < 0)
            return NULL;
        ssize_t got = recv(client, bytes, sizeof bytes, 0);
        if (got > 0)
            send(client, a->texts[a->asked], strlen(a->texts[a->asked]), MSG_NOSIGNAL);
        close(client);
    }
    return NULL;
}

static void answers_open(struct answers *a, const char *const *texts, int n)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    *a = (struct answers){.fd = socket(AF_INET, SOCK_STREAM, 0), .texts = texts, .n = n};
    assert_int_equal(bind(a->fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(a->fd, 8), 0);
    assert_int_equal(getsockname(a->fd, (struct sockaddr *)&at, &size), 0);
    a->port = ntohs(at.sin_port);
    assert_int_equal(pthread_create(&a->thread, NULL, answer_all, a), 0);
}

static void answers_close(struct answers *a)
{
    shutdown(a->fd, SHUT_RDWR);
    pthread_join(a->thread, NULL);
    close(a->fd);
}

static int post_to(int port, struct http_answer *ret, struct err *err)
{
    struct http_url u = {.host = "127.0.0.1"};
    struct http_post p = {.to = &u,
                          .path = "/v1/traces",
                          .type = "text/plain",
                          .body = text_of("body"),
                          .within_ms = 20000,
                          .stop_fd = -1};
    snprintf(u.port, sizeof u.port, "%d", port);
    return http_post(&p, ret, err);
}

static void answers_are_understood_or_refused(void **state)
{
    static const char *const texts[] = {
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: a/b\r\n\r\nok",
        "HTTP/1.0 503 Busy\r\nretry-after: 7\r\n\r\n",
        "HTTP/1.1 429 x\r\nRetry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\n\r\n",
        "HTTP/1.1 429 x\r\nRetry-After: soon\r\n\r\n",
        "nonsense\r\n\r\n",
        "HTTP/1.1 2",
        "HTTP/1.1 xyz\r\n\r\n",
        "",
    };
    struct answers a;
    struct http_answer got;
    struct err err;
    (void)state;
    answers_open(&a, texts, 8);
    assert_int_equal(post_to(a.port, &got, &err), 0);
    assert_int_equal(got.status, 200);
    assert_int_equal(got.n, 2);
    assert_string_equal(got.type, "a/b");
    assert_int_equal(post_to(a.port, &got, &err), 0);
    assert_int_equal(got.status, 503);
    assert_true(got.retry_after_s == 7);
    assert_int_equal(post_to(a.port, &got, &err), 0);
    assert_true(got.retry_after_s == 0); /* long ago */
    assert_int_equal(post_to(a.port, &got, &err), 0);
    assert_true(got.retry_after_s < 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(post_to(a.port, &got, &err), -1);
    answers_close(&a);
}

#define BUSY "HTTP/1.1 503 x\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n"

/* As many tries as the standard's rules ask for, no more. */
static void check_tries(const char *const *texts, int n, int want_rc, uint64_t want_tries)
{
    struct answers a;
    struct collector c;
    struct err err;
    answers_open(&a, texts, n);
    char *url = mem_printf("http://127.0.0.1:%d", a.port);
    assert_int_equal(collector_init(&c, url, &err), 0);
    c.first_pause_s = 0.01;
    c.patience_s = 20;
    assert_int_equal(collector_post(&c, text_of("body"), &err), want_rc);
    assert_int_equal(c.tries, want_tries);
    answers_close(&a);
    free(url);
}

static void what_may_help_is_tried_again(void **state)
{
    static const char *const busy[] = {
        BUSY, "HTTP/1.1 429 x\r\n\r\n", "HTTP/1.1 502 x\r\n\r\n", "HTTP/1.1 504 x\r\n\r\n",
        "",   "HTTP/1.1 200 x\r\n\r\n"};
    static const char *const wrong[] = {"HTTP/1.1 400 x\r\n\r\n", "HTTP/1.1 200 x\r\n\r\n"};
    static const char *const broken[] = {"HTTP/1.1 500 x\r\n\r\n", "HTTP/1.1 200 x\r\n\r\n"};
    (void)state;
    check_tries(busy, 6, 0, 6);
    check_tries(wrong, 2, -1, 1);
    check_tries(broken, 2, -1, 1);
}

static void patience_ends(void **state)
{
    struct collector c;
    struct err err;
    (void)state;
    assert_int_equal(collector_init(&c, "http://127.0.0.1:1", &err), 0);
    c.first_pause_s = 0.01;
    c.patience_s = 0.2;
    assert_int_equal(collector_post(&c, text_of("x"), &err), -1);
    assert_true(c.tries >= 2);
    assert_non_null(strstr(err.text, "cannot connect"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses),
        cmocka_unit_test(what_is_no_address),
        cmocka_unit_test(answers_are_understood_or_refused),
        cmocka_unit_test(what_may_help_is_tried_again),
        cmocka_unit_test(patience_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
