/*
 * cputime.c - run a command and write the CPU seconds that it used to a file: cputime FILE
 * COMMAND...
 *
 * Linked statically, so that what is preloaded into the command does not come into this program.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
    struct rusage used;
    int status = 1;
    FILE *to = argc > 2 ? fopen(argv[1], "w") : NULL;
    if (!to)
        return 2;
    pid_t pid = fork();
    if (pid == 0) {
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    if (pid < 0 || wait4(pid, &status, 0, &used) != pid)
        return 2;
    fprintf(to, "%f\n", seconds(used.ru_utime) + seconds(used.ru_stime));
    return fclose(to) != 0 || !WIFEXITED(status) ? 2 : WEXITSTATUS(status);
}
