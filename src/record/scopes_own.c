/*
 * scopes_own.c - rings that a program made: one that records itself, or one that runs and was
 * asked.
 */
#include "record/scopes_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

/* "CHANNEL SOCKET". The program waits for a byte: see scopes_attach(). */
static int scopes_serve(struct scopes *s, struct err *err)
{
    int channel, socket;
    if (sscanf(s->opts.self, "%d %d", &channel, &socket) != 2)
        return err_set(err, EXIT_ERROR, SCOPES_SELF_ENV " is not 'CHANNEL SOCKET'");
    if (rings_adopt(&s->rings, channel, err) != 0)
        return -1;
    fcntl(channel, F_SETFD, FD_CLOEXEC);
    fcntl(socket, F_SETFD, FD_CLOEXEC);
    s->answer = DOOR_OPEN;
    s->self_fd = socket;
    s->rings.channel->params[SCOPES_PARAM_TICKS] = s->ticks.counter;
    return 0;
}

int scopes_find_own(struct scopes *s, const char *library, bool *ret_none, struct err *err)
{
    if (s->opts.self)
        return scopes_serve(s, err);
    if (doors_find(&s->doors, s->opts.pid, err) != 0)
        return -1;
    *ret_none = !s->doors.at.n;
    return *ret_none ? 0 : doors_knock(&s->doors, library, s->ticks.counter, err);
}

void scopes_await_own(struct scopes *s)
{
    char path[48];
    struct err ignored;
    int fd;
    if (s->answer != DOOR_SILENT || (s->answer = doors_ask(&s->doors, &fd)) != DOOR_OPEN)
        return;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", s->opts.pid, fd);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 || rings_adopt(&s->rings, fd, &ignored) != 0) {
        s->answer = DOOR_FAILED;
        rings_close(&s->rings);
    }
}

void scopes_leave_own(struct scopes *s)
{
    if (s->doors.at.n)
        doors_close(&s->doors);
}

const char *scopes_why_none(const struct scopes *s)
{
    static const char *const why[] = {
        [DOOR_SILENT] = "the program began no scope while it was recorded",
        [DOOR_BUSY] = "another recorder has them",
        [DOOR_FAILED] = "the program could not load " SCOPES_AGENT_FILE ", or had no memory for it",
        [DOOR_OPEN] = NULL,
    };
    return s->opts.pid ? why[s->answer] : NULL;
}
