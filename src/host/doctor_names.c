/*
 * doctor_names.c - whether functions of system libraries will have names: the C library is the
 * example, being in every recording.
 */
#include "base/buf.h"
#include "host/doctor_inner.h"
#include "host/sysfile.h"

#include <elf.h>
#include <link.h>

/* The build-id in the notes of N bytes at AT, as hex in TO; notes are padded to four bytes. */
static bool build_id_of(const uint8_t *at, size_t n, char *to)
{
    while (n >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        memcpy(&note, at, sizeof note);
        size_t name = (note.n_namesz + 3u) & ~(size_t)3, desc = (note.n_descsz + 3u) & ~(size_t)3;
        if (name + desc > n - sizeof note)
            return false;
        const uint8_t *id = at + sizeof note + name;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && note.n_descsz <= 20) {
            for (size_t i = 0; i < note.n_descsz; i++)
                sprintf(to + 2 * i, "%02x", id[i]);
            return note.n_descsz > 1;
        }
        at = id + desc;
        n -= sizeof note + name + desc;
    }
    return false;
}

/* TO is char[41]. Ends the walk at the C library. */
static int find_libc(struct dl_phdr_info *info, size_t size, void *to)
{
    (void)size;
    const char *file = strrchr(info->dlpi_name, '/');
    if (!file || strncmp(file, "/libc.so", 8) != 0)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        const uint8_t *notes = (const uint8_t *)(uintptr_t)(info->dlpi_addr + p->p_vaddr);
        if (p->p_type == PT_NOTE && build_id_of(notes, p->p_memsz, to))
            return 1;
    }
    return 0;
}

static const char *package_line(const char *os_id)
{
    static const struct {
        const char *os, *line;
    } rows[] = {
        {"debian", "sudo apt-get install libc6-dbg"},
        {"ubuntu", "sudo apt-get install libc6-dbg"},
        {"fedora", "sudo dnf debuginfo-install glibc"},
        {"rhel", "sudo dnf debuginfo-install glibc"},
        {"opensuse-tumbleweed", "sudo zypper install glibc-debuginfo"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].os, os_id) == 0)
            return rows[i].line;
    return "install the debug package of your C library";
}

void doctor_debuginfo(const struct doctor *d, struct doctor_finding *f)
{
    char id[41];
    if (!dl_iterate_phdr(find_libc, id)) {
        doctor_say(f, DOCTOR_NOTE, "not known: no C library with a build-id to try it on");
        return;
    }
    autofree char *path = mem_printf("/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2);
    if (sysfile_exists(d->root, path)) {
        doctor_say(f, DOCTOR_OK, "found for the C library in /usr/lib/debug");
        return;
    }
    doctor_say(f, DOCTOR_LIMITED,
               "none for the C library in /usr/lib/debug: only its exported functions have names");
    doctor_fix(f, "%s", package_line(d->host.os_id));
}

static const char *server_of(const char *os_id)
{
    static const struct {
        const char *os, *server;
    } rows[] = {
        {"debian", "https://debuginfod.debian.net"},
        {"ubuntu", "https://debuginfod.ubuntu.com"},
        {"fedora", "https://debuginfod.fedoraproject.org"},
        {"arch", "https://debuginfod.archlinux.org"},
        {"opensuse-tumbleweed", "https://debuginfod.opensuse.org"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].os, os_id) == 0)
            return rows[i].server;
    return "https://debuginfod.elfutils.org";
}

/* Its value is not shown: a private server's address may hold a password. */
void doctor_debuginfod(const struct doctor *d, struct doctor_finding *f)
{
    const char *urls = getenv("DEBUGINFOD_URLS");
    if (urls && *urls) {
        doctor_say(f, DOCTOR_OK, "DEBUGINFOD_URLS is set");
        return;
    }
    doctor_say(f, DOCTOR_NOTE, "DEBUGINFOD_URLS is not set: nothing is fetched");
    doctor_fix(f, "export DEBUGINFOD_URLS=%s", server_of(d->host.os_id));
}
