#include "record/door.h"

#include "base/clock.h"
#include "base/mem.h"
#define KELVIN_OFF /* kelvin itself has no scopes */
#include "../include/kelvin.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

/* Modules of a program that may have a door; programs have few hundred. */
enum { DOORS_MAX = 256, PIECE_BYTES = 1 << 20 };

/* --- memory of the process --- */

static bool door_peek(int pid, uint64_t at, void *to, size_t n)
{
    struct iovec here = {to, n}, there = {(void *)(uintptr_t)at, n};
    return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)n;
}

static bool door_poke(int pid, uint64_t at, const void *from, size_t n)
{
    struct iovec here = {(void *)(uintptr_t)from, n}, there = {(void *)(uintptr_t)at, n};
    return process_vm_writev(pid, &here, 1, &there, 1, 0) == (ssize_t)n;
}

#define DOOR_AT(at, field) ((at) + offsetof(struct kelvin_door, field))

/* --- finding doors --- */

static void look_in_piece(struct doors *d, uint64_t start, const uint8_t *bytes, size_t n)
{
    static const char magic[16] = KELVIN_DOOR_MAGIC;
    const uint8_t *at = bytes;
    while (d->at.n < DOORS_MAX &&
           (at = memmem(at, n - (size_t)(at - bytes), magic, sizeof magic))) {
        uint64_t address = start + (uint64_t)(at - bytes);
        struct kelvin_door door;
        if (door_peek(d->pid, address, &door, sizeof door) &&
            (uint64_t)(uintptr_t)door.self == address)
            *vec_push(&d->at) = address;
        at++;
    }
}

/* Pieces overlap by a magic number less a byte. */
static void look_in_mapping(struct doors *d, uint64_t start, uint64_t end, uint8_t *piece)
{
    enum { OVERLAP = 15 };
    for (uint64_t at = start; at < end; at += PIECE_BYTES - OVERLAP) {
        size_t n = end - at < PIECE_BYTES ? (size_t)(end - at) : PIECE_BYTES;
        if (door_peek(d->pid, at, piece, n))
            look_in_piece(d, at, piece, n);
    }
}

/* Data of a file that was mapped to be written: "START-END rw-p OFFSET DEV INODE PATH". */
static bool is_data_of_a_file(const char *line, uint64_t *ret_start, uint64_t *ret_end)
{
    char rights[5];
    uint64_t inode;
    return sscanf(line,
                  "%" SCNx64 "-%" SCNx64 " %4s %*x %*s\t"
                  "%" SCNu64,
                  ret_start, ret_end, rights, &inode) == 4 &&
           inode && strcmp(rights, "rw-p") == 0;
}

static int door_refused(int pid, struct err *err)
{
    if (errno == ESRCH)
        return err_set(err, EXIT_ERROR, "process %d is gone", pid);
    return err_set_errno(err, errno,
                         "scopes of a running program need the right to write to its memory: run "
                         "as root, or set kernel.yama.ptrace_scope to 0");
}

int doors_find(struct doors *d, int pid, struct err *err)
{
    char path[40], line[4352];
    uint64_t start, end;
    *d = (struct doors){.pid = pid};
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    autofclose FILE *maps = fopen(path, "re");
    if (!maps)
        return door_refused(pid, err);
    autofree uint8_t *piece = mem_calloc(1, PIECE_BYTES);
    bool readable = false, any = false;
    while (fgets(line, sizeof line, maps)) {
        if (!is_data_of_a_file(line, &start, &end))
            continue;
        any = true;
        readable |= door_peek(pid, start, piece, 1);
        look_in_mapping(d, start, end, piece);
    }
    return any && !readable ? door_refused(pid, err) : 0;
}

/* --- knocking --- */

/* The recorder, and a number that differs where numbers of processes are used again. */
static uint64_t new_request(void)
{
    return (uint64_t)getpid() << 32 | (clock_kernel_ns() & UINT32_MAX);
}

/* A recorder that came before and still lives. */
static bool is_taken(const struct kelvin_door *door)
{
    pid_t pid = (pid_t)(door->request >> 32);
    return pid > 0 && pid != getpid() && (kill(pid, 0) == 0 || errno == EPERM);
}

static bool knock_at(const struct doors *d, uint64_t at, const struct kelvin_door *with)
{
    struct kelvin_door is;
    return door_poke(d->pid, DOOR_AT(at, library), with->library, sizeof with->library) &&
           door_poke(d->pid, DOOR_AT(at, ticks), &with->ticks, sizeof with->ticks) &&
           door_poke(d->pid, DOOR_AT(at, request), &with->request, sizeof with->request) &&
           door_peek(d->pid, at, &is, sizeof is) &&
           door_poke(d->pid, (uint64_t)(uintptr_t)is.hooks, &is.knock, sizeof is.knock);
}

int doors_knock(struct doors *d, const char *library, bool has_ticks, struct err *err)
{
    struct kelvin_door with = {.request = d->request = new_request(), .ticks = has_ticks};
    if (strlen(library) >= sizeof with.library)
        return err_set(err, EXIT_ERROR, "the path of %s is longer than %zu bytes",
                       KELVIN_LIBRARY_FILE, sizeof with.library - 1);
    memcpy(with.library, library, strlen(library));
    struct kelvin_door is;
    for (size_t i = 0; i < d->at.n; i++)
        if (door_peek(d->pid, d->at.at[i], &is, sizeof is) && is_taken(&is))
            return err_set(err, EXIT_ERROR, "process %d records them", (int)(is.request >> 32));
    for (size_t i = 0; i < d->at.n; i++)
        if (!knock_at(d, d->at.at[i], &with))
            return door_refused(d->pid, err);
    return 0;
}

enum door_answer doors_ask(const struct doors *d, int *ret_fd)
{
    enum door_answer answer = DOOR_SILENT;
    struct kelvin_door door;
    *ret_fd = -1;
    for (size_t i = 0; i < d->at.n; i++) {
        if (!door_peek(d->pid, d->at.at[i], &door, sizeof door) || door.answer != d->request)
            continue;
        *ret_fd = door.fd;
        if (door.fd >= 0)
            return DOOR_OPEN;
        answer = door.fd == -2 ? DOOR_BUSY : DOOR_FAILED;
    }
    return answer;
}

void doors_close(struct doors *d)
{
    struct kelvin_door is;
    const uint64_t none = 0;
    for (size_t i = 0; i < d->at.n; i++) {
        uint64_t at = d->at.at[i];
        if (!door_peek(d->pid, at, &is, sizeof is) || is.request != d->request)
            continue;
        bool ours = is.answer != d->request || is.fd >= 0;
        door_poke(d->pid, DOOR_AT(at, request), &none, sizeof none);
        if (ours)
            door_poke(d->pid, (uint64_t)(uintptr_t)is.hooks, &none, sizeof(void *));
    }
    vec_done(&d->at);
}
