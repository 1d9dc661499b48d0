/*
 * view.c - a profile in a browser.
 */
#include "analysis/diff.h"
#include "base/program.h"
#include "base/publish.h"
#include "base/signals.h"
#include "base/subprocess.h"
#include "cmd/command.h"
#include "cmd/input.h"
#include "cmd/view_code.h"
#include "cmd/view_start.h"
#include "record/listen.h"
#include "view/viewer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/random.h>
#include <unistd.h>

struct cmd_view_opts {
    struct input_opts input;
    const char *output;
    long port;
    bool no_open;
    struct opt_list source;
};

#define AT(field) offsetof(struct cmd_view_opts, field)

static const struct opt view_table[] = {
    {'o', "output", OPT_TEXT, AT(output), "FILE",
     "write one HTML file that needs nothing else, and serve nothing"},
    {0, "port", OPT_INT, AT(port), "N", "listen on this port of 127.0.0.1 (default: a free one)",
     .min = 1, .max = 65535},
    {0, "source", OPT_LIST, AT(source), "DIR",
     "put source files below DIR into the page too; may be repeated"},
    {0, "no-open", OPT_FLAG, AT(no_open), NULL, "print the address, start no browser"},
    PUBLIC_OPTS(struct cmd_view_opts),
    SELECTION_OPTS(struct cmd_view_opts),
    INPUT_OPTS(struct cmd_view_opts),
    OPT_END,
};

/* --- the server --- */

static const char view_head[] =
    "Content-Security-Policy: default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src "
    "'self' 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self'; worker-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
    "Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n";

enum { TOKEN_BYTES = 16 };

/* People who do not know the address see nothing, other users of this machine included. */
static int view_token(char token[2 * TOKEN_BYTES + 1], struct err *err)
{
    uint8_t random[TOKEN_BYTES];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return err_set_errno(err, errno, "cannot get random numbers for the address");
    for (int i = 0; i < TOKEN_BYTES; i++)
        snprintf(token + 2 * i, 3, "%02x", random[i]);
    return 0;
}

/* A browser, where there is a screen for it. The program may be the browser itself, and run for
 * days: it is not waited for, and in a group of its own Ctrl-C does not end it. */
static void view_open_browser(const char *address, struct subprocess *ret)
{
    char program[] = "xdg-open";
    char *argv[] = {program, (char *)(uintptr_t)address, NULL};
    struct err ignored;
    if ((!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY")) || !program_exists(argv[0]))
        return;
    autoclose int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing >= 0)
        subprocess_start(ret,
                         &(struct subprocess_opts){.argv = argv,
                                                   .in_fd = nothing,
                                                   .out_fd = nothing,
                                                   .error_fd = nothing,
                                                   .group = true},
                         &ignored);
}

static void view_listen(struct listen *l, struct signals *signals, struct subprocess *browser)
{
    struct pollfd wait[] = {{listen_fd(l), POLLIN, 0}, {signals->fd, POLLIN, 0}};
    while (!signals_take(signals)) {
        poll(wait, 2, 1000); /* clients that take too long are looked at as well */
        listen_poll(l);
        subprocess_reap(browser, false);
    }
}

/* A page for each part, below the token, and one below DOOR that leads there. PATHS holds their
 * names. */
static void view_list_pages(const struct viewer *v, const char *token, const char *door,
                            struct arena *paths, struct listen_page *ret)
{
    struct viewer_part parts[VIEWER_PARTS_MAX];
    size_t n = viewer_parts(v, parts);
    for (size_t i = 0; i < n; i++) {
        autofree char *path = mem_printf("/%s/%s", token, parts[i].name);
        ret[i] = (struct listen_page){.path = arena_text(paths, text_of(path)).at,
                                      .type = parts[i].type,
                                      .bytes = parts[i].bytes};
    }
    autofree char *path = mem_printf("/open/%s", door);
    ret[n] = (struct listen_page){
        .path = arena_text(paths, text_of(path)).at, .type = "text/plain", .moved = ret[0].path};
}

/* Arguments of programs can be seen by every user: the browser's address is not the one that is
 * printed, and leads there for this user's programs alone. */
static int view_wait(const struct cmd_view_opts *o, struct listen *l, const char *token,
                     const char *door, struct err *err)
{
    autofree char *opened = mem_printf("http://%s/open/%s", listen_address(l), door);
    struct subprocess browser = SUBPROCESS_NONE;
    struct signals signals;
    if (signals_open(&signals, false) != 0) /* whoever reads the address may end us */
        return err_set_errno(err, errno, "cannot wait for signals");
    printf("http://%s/%s/\n", listen_address(l), token);
    fflush(stdout);
    command_say("open this address in a browser; Ctrl-C ends");
    if (!o->no_open)
        view_open_browser(opened, &browser);
    view_listen(l, &signals, &browser);
    subprocess_done(&browser);
    signals_close(&signals);
    return 0;
}

static int view_serve(const struct cmd_view_opts *o, const struct viewer *v, struct err *err)
{
    char token[2 * TOKEN_BYTES + 1], door[2 * TOKEN_BYTES + 1], address[32];
    struct listen_page pages[VIEWER_PARTS_MAX + 2] = {0};
    struct listen *l = NULL;
    struct arena paths = {0};
    if (view_token(token, err) != 0 || view_token(door, err) != 0)
        return -1;
    view_list_pages(v, token, door, &paths, pages);
    snprintf(address, sizeof address, "127.0.0.1:%ld", o->port);
    struct listen_opts opts = {
        .address = address, .pages = pages, .head = view_head, .client_ns = UINT64_C(300000000000)};
    int rc = listen_open(&opts, &l, err);
    if (rc == 0)
        rc = view_wait(o, l, token, door, err);
    listen_close(l);
    arena_done(&paths);
    return rc;
}

/* --- all of it --- */

static int view_write(const struct cmd_view_opts *o, const struct viewer *v, struct err *err)
{
    struct publish file;
    /* As private as the source in it. */
    if ((viewer_has_code(v) ? publish_open_private : publish_open)(&file, o->output, err) != 0)
        return -1;
    viewer_print(file.out, v);
    return publish_commit(&file, err);
}

/* Whether they differ is no secret; what they are may be. */
static const char *view_arguments(const struct input *in)
{
    autobuf struct buf b = {0};
    const struct profile *x = in[0].profile, *y = in[1].profile;
    if (diff_arguments_hidden(x, y))
        return NULL;
    diff_arguments(x, y, &b);
    return b.n ? "differ" : "same";
}

static int view_files(const struct cmd_view_opts *o, struct input *in, size_t n, struct err *err)
{
    autobuf struct buf start = {0};
    struct buf code[VIEWER_FILES] = {{0}};
    struct viewer_opts opts = {.n = n, .still = &in[0].selection};
    view_add_start(&start, &o->input);
    opts.start = buf_cstr(&start);
    opts.arguments = o->output && n > 1 ? view_arguments(in) : NULL;
    for (size_t i = 0; i < n; i++) {
        opts.profiles[i] = in[i].profile;
        view_code_build(&code[i], &in[i], &o->input, &o->source);
        opts.code[i] = buf_text(&code[i]);
        if (o->output)
            input_make_public(&in[i], &o->input);
    }
    struct viewer *v = viewer_new(&opts, err);
    for (size_t i = 0; i < n; i++)
        buf_done(&code[i]);
    if (!v)
        return -1;
    int rc = o->output ? view_write(o, v, err) : view_serve(o, v, err);
    viewer_free(v);
    return rc;
}

static int view_check(const struct cmd_view_opts *o, const struct opt_result *operands,
                      struct err *err)
{
    if (!viewer_is_built())
        return err_set(err, EXIT_ERROR,
                       "view: this kelvin was built without the page, which takes clang, lld, "
                       "wasi-libc and libclang-rt-dev-wasm32: install them with 'tools/setup.sh "
                       "page' and build again; 'kelvin report -o report.html' works without");
    if (operands->n_operands < 1 || operands->n_operands > VIEWER_FILES)
        return err_set(err, EXIT_ERROR,
                       operands->n_operands
                           ? "view: one profile, or two to compare"
                           : "view: no profile is given: name a file ('-' reads standard input)");
    if (o->output && strcmp(o->output, "-") == 0 && isatty(STDOUT_FILENO))
        return err_set(err, EXIT_ERROR,
                       "view: a page is not for a terminal: give a file, -o out.html, or a pipe");
    return 0;
}

static int view_run(const struct command *self, int n, char **args)
{
    struct cmd_view_opts o = {.port = 0};
    struct opt_result operands;
    struct input in[VIEWER_FILES] = {0};
    struct err err = {0};
    int rc = command_parse(self, &o, n, args, &operands);
    if (rc != 0)
        return rc < 0 ? EXIT_ERROR : EXIT_OK;
    if (view_check(&o, &operands, &err) != 0)
        return command_fail(&err);
    size_t n_files = (size_t)operands.n_operands;
    struct import_opts want = {.addresses = true};
    rc = input_load_all(in, operands.operands, n_files, &o.input, &want);
    if (rc == EXIT_OK && view_files(&o, in, n_files, &err) != 0)
        rc = command_fail(&err);
    for (size_t i = 0; i < n_files; i++)
        input_done(&in[i]);
    return rc;
}

const struct command command_view = {
    .name = "view",
    .summary = "explore a profile in the browser, or write it as one page",
    .operands = "PROFILE [PROFILE]",
    .about =
        "Prints an address on 127.0.0.1 and serves a page there until Ctrl-C; a browser is started "
        "where there is one. The page shows a timeline with a lane for each thread, flame graph, "
        "functions, call tree, callers and callees, insights, and heap, locks, scopes, waits and "
        "single events where they were recorded. All follow one selection (time, threads, "
        "functions), which is "
        "kept in the address and can be copied as a command line. With two profiles it compares "
        "them.\n\n"
        "The page computes with the same code as the other commands, so it shows the same numbers "
        "and the same intervals. Nobody can open it without the token in the address.\n\n"
        "With -o it is one file to send, which works offline. Such a file shows the recorded "
        "program without its arguments, unless --arguments asks for them. Without scripts it "
        "shows the still flame graph and the tables. If source or instructions of the program are "
        "in it, only you can read the file (mode 0600).",
    .examples = "kelvin view app.kelvin                    # serve, and start a browser\n"
                "kelvin view app.kelvin -o app.html        # one file to send\n"
                "kelvin view before.kelvin after.kelvin    # compare\n"
                "kelvin view app.kelvin --time 1..2        # start with a part of it",
    .opts = view_table,
    .run = view_run,
};
