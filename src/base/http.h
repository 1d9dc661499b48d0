/*
 * http.h - a request to a server by HTTP/1.1, and what it answers. Plain: no TLS, no proxy.
 *
 * One connection for each request, closed by both sides afterwards. A server may be slow, gone or
 * talk nonsense: each whole request has a time limit, and each answer a size limit.
 *
 * Written by hand, because libcurl would load twenty other libraries at every start of Kelvin,
 * and link them into the static program.
 */
#pragma once
#include "base/err.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

/* "http://HOST[:PORT][/PATH]" in its parts. */
struct http_url {
    char host[256], port[8], path[512]; /* path: "" where there is none */
};

int http_url_parse(const char *url, struct http_url *ret, struct err *err);

struct http_post {
    const struct http_url *to;
    const char *path; /* where that of the address is none */
    const char *type; /* of the body */
    struct text body;
    int within_ms; /* for all of it */
    int stop_fd;   /* readable: give up; -1 = never */
};

enum { HTTP_ANSWER_MAX = 16384 };

struct http_answer {
    int status;
    double retry_after_s; /* -1 = not said */
    char type[64];
    char body[HTTP_ANSWER_MAX]; /* its beginning */
    size_t n;
};

/* Fails when there is no answer, or none that makes sense. */
int http_post(const struct http_post *p, struct http_answer *ret, struct err *err);
