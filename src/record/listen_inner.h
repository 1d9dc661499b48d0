/*
 * listen_inner.h - what listen.c and listen_request.c share.
 */
#pragma once
#include "record/listen.h"

/* What a request asks for. */
struct listen_request {
    int status; /* 200, or why there is no answer */
    bool head;  /* without the content */
    const struct listen_page *page;
};

/* Whether all lines of a request have come, or too many. */
bool listen_is_whole(struct text in);

struct listen_request listen_parse(struct text in, const struct listen_opts *o);

/* Whether the client at the other end of FD, which is of this machine, is this user's or root's. */
bool listen_peer_is_own(int fd);

/* "404 Not Found" */
const char *listen_status(int status);
