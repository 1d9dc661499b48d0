#include "record/tracefs.h"

#include "base/mem.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/syscall.h>

static int mount_own(void)
{
    autoclose int fs = (int)syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC);
    if (fs < 0 || syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) != 0)
        return -1;
    return (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, 0);
}

/* A file of a tracepoint, or NULL. The caller closes it. */
static FILE *open_event_file(struct text group, struct text event, const char *file)
{
    static const char *const roots[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
    autofree char *path = mem_printf("events/%.*s/%.*s/%s", TEXT_ARG(group), TEXT_ARG(event), file);
    for (size_t i = 0; i < 2; i++) {
        autofree char *whole = mem_printf("%s/%s", roots[i], path);
        FILE *f = fopen(whole, "re");
        if (f)
            return f;
    }
    autoclose int root = mount_own();
    int fd = root < 0 ? -1 : openat(root, path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? NULL : fdopen(fd, "r");
}

bool tracefs_can_read(void)
{
    autofclose FILE *f = open_event_file(text_of("sched"), text_of("sched_switch"), "id");
    return f != NULL;
}

bool tracefs_id(struct text group, struct text event, uint64_t *ret)
{
    unsigned long long id;
    autofclose FILE *f = open_event_file(group, event, "id");
    if (!f || fscanf(f, "%llu", &id) != 1)
        return false;
    *ret = id;
    return true;
}

/* "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;" */
int tracefs_offset_in(const char *format, const char *field)
{
    autofree char *words = mem_printf(" %s;\toffset:", field);
    const char *at = strstr(format, words);
    char *end;
    long offset = at ? strtol(at + strlen(words), &end, 10) : -1;
    return at && *end == ';' && offset >= 0 && offset < 1 << 16 ? (int)offset : -1;
}

int tracefs_offset(const char *group, const char *event, const char *field)
{
    char format[4096];
    autofclose FILE *f = open_event_file(text_of(group), text_of(event), "format");
    size_t n = f ? fread(format, 1, sizeof format - 1, f) : 0;
    format[n] = '\0';
    return tracefs_offset_in(format, field);
}
