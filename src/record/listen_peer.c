/*
 * listen_peer.c - whose process is at the other end of a connection within this machine.
 *
 * The kernel lists all connections with the user of each; one within the machine is there twice,
 * and the client's line is the one whose own address is our peer's.
 */
#include "record/listen_inner.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TCP_IS_ESTABLISHED = 1 }; /* others may have lost their owner, and count as root's */

struct peer_ends {
    struct sockaddr_in ours, theirs;
};

/*   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid
 *    0: 0100007F:9C40 0100007F:A2F2 01 00000000:00000000 00:00000000 00000000  1000 ... */
static bool peer_is_line(const char *line, const struct peer_ends *e, uid_t *ret_uid)
{
    uint32_t own, other, own_port, other_port, state, uid;
    if (sscanf(line,
               " %*u: %" SCNx32 ":%" SCNx32 " %" SCNx32 ":%" SCNx32 " %" SCNx32
               " %*x:%*x %*x:%*x %*x %" SCNu32,
               &own, &own_port, &other, &other_port, &state, &uid) != 6)
        return false;
    *ret_uid = uid;
    return state == TCP_IS_ESTABLISHED && own == e->theirs.sin_addr.s_addr &&
           own_port == ntohs(e->theirs.sin_port) && other == e->ours.sin_addr.s_addr &&
           other_port == ntohs(e->ours.sin_port);
}

bool listen_peer_is_own(int fd)
{
    struct peer_ends e;
    socklen_t n = sizeof e.ours, m = sizeof e.theirs;
    char line[512];
    uid_t uid = 0;
    bool found = false;
    if (getsockname(fd, (struct sockaddr *)&e.ours, &n) != 0 ||
        getpeername(fd, (struct sockaddr *)&e.theirs, &m) != 0 || e.ours.sin_family != AF_INET)
        return false;
    autofclose FILE *list = fopen("/proc/self/net/tcp", "re");
    while (!found && list && fgets(line, sizeof line, list))
        found = peer_is_line(line, &e, &uid);
    return found && (uid == geteuid() || uid == 0);
}
