/*
 * guest.c - a program that notices when a profiler inside it gets in the way.
 *
 * Usage: guest WHAT [N]; see the table at the end. Prints "undisturbed", or what was wrong.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/* Keeps a function's frame on the stack while it calls the last one. */
#define STAY __asm__ volatile("" ::: "memory")

static const char *own_path;

static int wrong(const char *what)
{
    printf("wrong: %s (%s)\n", what, strerror(errno));
    return 1;
}

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* errno must stay as it is: false when it does not. */
static int spin(double seconds)
{
    volatile uint64_t x = 1;
    double end = cpu_s() + seconds;
    errno = 4321;
    while (cpu_s() < end) {
        for (int i = 0; i < 10000; i++)
            x = x * 6364136223846793005u + 1442695040888963407u;
        if (errno != 4321)
            return 0;
    }
    errno = 0;
    return 1;
}

/* --- a program with signals of its own --- */

static volatile sig_atomic_t prof_ticks, alarm_ticks, own_ticks, bad_info;

static void on_prof(int sig)
{
    (void)sig;
    prof_ticks++;
}

static void on_alarm(int sig)
{
    (void)sig;
    alarm_ticks++;
}

static void on_own(int sig, siginfo_t *info, void *ucontext)
{
    (void)ucontext;
    own_ticks++;
    if (sig != SIGRTMAX - 3 || info->si_value.sival_int != 77)
        bad_info = 1;
}

/* As daemons do when they start. */
static int reset_all(void)
{
    sigset_t all;
    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_DFL);
    for (int i = 1; i < NSIG; i++)
        sigaction(i, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    return spin(0.3) ? 0 : wrong("errno changed while all signals were blocked");
}

static int own_signals(void)
{
    struct sigaction old, own = {.sa_sigaction = on_own, .sa_flags = SA_SIGINFO};
    struct itimerval every = {{0, 10000}, {0, 10000}};
    sigset_t none;
    if (reset_all() != 0)
        return 1;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPROF, on_prof);
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_PROF, &every, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    if (sigaction(SIGRTMAX - 3, &own, &old) != 0 || old.sa_handler != SIG_DFL)
        return wrong("the old handler is not the one that was set");
    /* A busy machine gives less time, and ticks by CPU time come later. */
    for (int i = 0; i < 60 && (i == 0 || prof_ticks < 20 || alarm_ticks < 20); i++)
        if (!spin(0.5))
            return wrong("errno changed");
    sigqueue(getpid(), SIGRTMAX - 3, (union sigval){.sival_int = 77});
    if (prof_ticks < 20 || alarm_ticks < 20)
        return wrong("its own timers did not tick");
    return own_ticks != 1 || bad_info ? wrong("its own use of the signal") : 0;
}

/* --- calls that must go on after a signal --- */

enum { ROUNDS = 100000 };

static int there[2], back[2];

/* Every read has to wait. */
static void *answer(void *unused)
{
    char c;
    (void)unused;
    for (int i = 0; i < ROUNDS; i++)
        if (read(there[0], &c, 1) != 1 || write(back[1], &c, 1) != 1)
            return "answer";
    return NULL;
}

static int restarts(void)
{
    pthread_t thread;
    void *failed;
    char c = 'x';
    if (pipe(there) != 0 || pipe(back) != 0)
        return wrong("pipe");
    pthread_create(&thread, NULL, answer, NULL);
    for (int i = 0; i < ROUNDS; i++)
        if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
            return wrong("a read or write was not restarted");
    pthread_join(thread, &failed);
    return failed ? wrong("a read or write of the other thread was not restarted") : 0;
}

/* --- threads and processes --- */

__attribute__((noinline)) static int worker_work(double seconds)
{
    int fine = spin(seconds);
    STAY;
    return fine;
}

static void *worker(void *arg)
{
    pthread_setname_np(pthread_self(), "worker");
    return worker_work(*(double *)arg) ? NULL : "errno";
}

/* Workers that block all signals, as servers have them. */
static int many_threads(int n)
{
    pthread_t *threads = calloc((size_t)n, sizeof *threads);
    double seconds = 2.0 / n;
    void *failed = NULL, *any = NULL;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    for (int i = 0; i < n; i++)
        if (pthread_create(&threads[i], NULL, worker, &seconds) != 0)
            return wrong("pthread_create");
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    for (int i = 0; i < n; i++) {
        pthread_join(threads[i], &failed);
        any = failed ? failed : any;
    }
    free(threads);
    return any ? wrong("errno changed in a thread") : 0;
}

static int thread_storm(int n)
{
    double seconds = 0.0001;
    for (int i = 0; i < n; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, worker, &seconds) != 0)
            return wrong("pthread_create");
        pthread_join(thread, NULL);
    }
    return 0;
}

__attribute__((noinline)) static int child_work(void)
{
    __asm__ volatile("# child_work"); /* unlike the others, so that the compiler folds none */
    int fine = spin(1);
    STAY;
    return fine;
}

static int wait_for(pid_t pid)
{
    int status;
    if (waitpid(pid, &status, 0) != pid)
        return wrong("waitpid");
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : wrong("the child failed");
}

static int forks(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(child_work() ? 0 : 1);
    return spin(0.5) ? wait_for(pid) : wrong("errno changed");
}

static int fork_storm(int n)
{
    for (int i = 0; i < n; i++) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(0);
        if (wait_for(pid) != 0)
            return 1;
    }
    return spin(0.5) ? 0 : wrong("errno changed");
}

__attribute__((noinline)) static int spawned_work(void)
{
    __asm__ volatile("# spawned_work"); /* unlike the others, so that the compiler folds none */
    int fine = spin(1);
    STAY;
    return fine ? 0 : wrong("errno changed after exec");
}

static int spawns(void)
{
    char *argv[] = {(char *)own_path, "spawned", NULL};
    pid_t pid;
    if (posix_spawn(&pid, own_path, NULL, NULL, argv, environ) != 0)
        return wrong("posix_spawn");
    return wait_for(pid);
}

/* Closes all files first, as many programs do before they start another. */
static int execs(void)
{
    if (!spin(0.5))
        return wrong("errno changed");
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    execl(own_path, own_path, "spawned", NULL);
    return wrong("exec");
}

/* --- other stacks --- */

static ucontext_t main_context, coroutine_context;
static int coroutine_fine;

__attribute__((noinline)) static int coroutine_work(void)
{
    __asm__ volatile("# coroutine_work"); /* unlike the others, so that the compiler folds none */
    int fine = spin(1);
    STAY;
    return fine;
}

static void coroutine(void)
{
    coroutine_fine = coroutine_work();
}

/* N bytes of stack right below memory that is not there. */
static char *stack_below_hole(size_t n)
{
    char *at = mmap(NULL, n + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(at + n, 4096);
    return at;
}

static int coroutines(void)
{
    getcontext(&coroutine_context);
    coroutine_context.uc_stack.ss_size = 65536;
    coroutine_context.uc_stack.ss_sp = stack_below_hole(65536);
    coroutine_context.uc_link = &main_context;
    makecontext(&coroutine_context, coroutine, 0);
    swapcontext(&main_context, &coroutine_context);
    return coroutine_fine ? 0 : wrong("errno changed in a coroutine");
}

static void on_segv(int sig)
{
    (void)sig;
    coroutine();
}

static int alternate_stack(void)
{
    stack_t stack = {.ss_sp = stack_below_hole(65536), .ss_size = 65536};
    struct sigaction act = {.sa_handler = on_segv, .sa_flags = SA_ONSTACK};
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &act, NULL);
    raise(SIGUSR1);
    return coroutine_fine ? 0 : wrong("errno changed in a handler");
}

/* --- libraries that come later --- */

static int loads(void)
{
    typedef unsigned long crc_fn(unsigned long, const unsigned char *, unsigned);
    static unsigned char bytes[1 << 20];
    void *library = dlopen("libz.so.1", RTLD_NOW);
    crc_fn *crc = library ? (crc_fn *)dlsym(library, "crc32") : NULL;
    if (!crc)
        return wrong("no libz.so.1");
    double end = cpu_s() + 1;
    while (cpu_s() < end)
        bytes[0] = (unsigned char)crc(0, bytes, sizeof bytes);
    return 0;
}

static int run(const char *what, int n)
{
    static const struct {
        const char *name;
        int (*run)(void);
        int (*run_n)(int n);
    } table[] = {
        {"reset", reset_all, NULL},      {"signals", own_signals, NULL},
        {"restarts", restarts, NULL},    {"threads", NULL, many_threads},
        {"storm", NULL, thread_storm},   {"fork", forks, NULL},
        {"forks", NULL, fork_storm},     {"exec", execs, NULL},
        {"spawn", spawns, NULL},         {"spawned", spawned_work, NULL},
        {"coroutine", coroutines, NULL}, {"altstack", alternate_stack, NULL},
        {"load", loads, NULL},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].name, what) == 0)
            return table[i].run ? table[i].run() : table[i].run_n(n);
    return wrong("no such test");
}

int main(int argc, char **argv)
{
    own_path = argv[0];
    if (argc < 2 || run(argv[1], argc > 2 ? atoi(argv[2]) : 1) != 0)
        return 1;
    puts("undisturbed");
    return 0;
}
