#include "suite/record_inner.h"

#include "suite/functions.h"

#include "analysis/label.h"
#include "base/clock.h"
#include "base/shortname.h"
#include "symbol/dataname.h"
#include "symbol/symbolize.h"
#include "wire/heap.h"
#include "wire/keepdir.h"

#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <sys/wait.h>

/* --- what was recorded, as facts --- */

struct self {
    uint32_t label;
    int64_t amount;
};

static int record_by_amount(const void *a, const void *b)
{
    const struct self *x = a, *y = b;
    if (x->amount != y->amount)
        return x->amount < y->amount ? 1 : -1;
    return x->label < y->label ? -1 : 1;
}

/* As in a report, a function is one, inlined or not; but not the kernel's of the same name. */
static uint32_t label_of_function(const struct labels *l, uint32_t label)
{
    const struct label *own = &l->at.at[label];
    if (own->kind == FRAME_KERNEL)
        return label;
    for (uint32_t k = l->of_text.at[own->text]; k; k = l->at.at[k - 1].same_text_plus_1)
        if (l->at.at[k - 1].kind != FRAME_KERNEL)
            return k - 1;
    return label;
}

/* What is shown of it, by the innermost function. */
static void find_top(struct record_facts *f, const struct selection *s)
{
    const struct profile *p = s->profile;
    const struct rows *rows = &s->stream->rows;
    struct labels labels;
    VEC(struct self) sums = {0};
    int64_t own = 0;
    labels_init(&labels, p, &(struct label_opts){0});
    for (size_t i = 0; i < rows->n; i++) {
        if (!rows->stack[i].i)
            continue;
        struct frame_id frame = p->stacks.nodes.at[rows->stack[i].i].frame;
        if (text_is(profile_module_name(p, profile_frame(p, frame)->mapping), HEAP_AGENT_FILE)) {
            own += rows->value[s->type][i];
            continue;
        }
        size_t innermost = labels_count(profile_frame(p, frame)) - 1;
        uint32_t label = labels_of_frame(&labels, p, frame, innermost);
        while (sums.n <= label) {
            uint32_t next = (uint32_t)sums.n;
            *vec_push(&sums) = (struct self){.label = next};
        }
        sums.at[label].amount += rows->value[s->type][i];
    }
    for (uint32_t i = 0; i < sums.n; i++) {
        int64_t amount = sums.at[i].amount;
        sums.at[i].amount = 0;
        sums.at[label_of_function(&labels, i)].amount += amount;
    }
    if (sums.n)
        qsort(sums.at, sums.n, sizeof *sums.at, record_by_amount);
    for (size_t i = 0; i < RECORD_TOP && i < sums.n && sums.at[i].amount; i++) {
        struct text name = labels_text(&labels, sums.at[i].label);
        autobuf struct buf b = {0};
        shortname_add(&b, name, RECORD_NAME_WIDTH);
        snprintf(f->top[i].name, sizeof f->top[i].name, "%s", buf_cstr(&b));
        f->top[i].share = (double)sums.at[i].amount / (double)s->total;
    }
    f->agent_share = own && s->total ? (double)own / (double)s->total : 0;
    vec_done(&sums);
    labels_done(&labels);
}

static void note_others(struct record_facts *f, const struct recorder *r)
{
    for (size_t i = 1; i < r->n_events; i++) {
        snprintf(f->others[i - 1].event, sizeof f->others[i - 1].event, "%s", r->facts[i].event);
        f->others[i - 1].samples = r->events[i].samples;
    }
}

/* Those of which there is a thread: others are there as parents. */
static uint32_t count_processes(const struct profile *p)
{
    autofree bool *seen = mem_calloc(p->processes.n + 1, sizeof *seen);
    uint32_t n = 0;
    for (size_t i = 1; i < p->threads.n; i++) {
        n += !seen[p->threads.at[i].process.i];
        seen[p->threads.at[i].process.i] = true;
    }
    return n;
}

static void fill_facts(struct record_facts *f, const struct recorder *r)
{
    const struct stream *s = profile_stream(r->profile, r->events[0].stream);
    const char *note = meta_find(&r->profile->meta, META_ENGINE_NOTE);
    autofree char *hidden = record_hidden(r);
    f->started = true;
    f->end = r->end;
    f->exited = r->exited;
    f->status = r->status;
    f->obtained = r->facts->obtained;
    snprintf(f->event, sizeof f->event, "%s", r->facts->event);
    snprintf(f->engine, sizeof f->engine, "%s", r->engine->name);
    snprintf(f->note, sizeof f->note, "%s", note ? note : "");
    f->rate_hz = r->facts->rate_hz;
    f->rate_is_most = r->facts->rate_is_most;
    f->rate_achieved_hz = s->rate_achieved_hz;
    f->wall_s = (double)(r->end_ns - r->start_ns) / 1e9;
    f->samples = r->events[0].samples;
    f->lost = s->lost_known ? s->lost : r->facts->lost - r->events[0].lost_before;
    f->all.samples = r->earlier_samples + f->samples;
    f->all.lost = r->earlier_lost + f->lost;
    f->all.wall_s = (double)(r->end_ns - r->first_start_ns) / 1e9;
    f->throttled = r->facts->throttled;
    f->kernel_hidden = r->facts->kernel_hidden;
    f->seen_ns = record_cpu_ns(r);
    f->sampled_ns = r->facts->sampled_ns;
    f->too_short = record_was_too_short(r);
    snprintf(f->hidden, sizeof f->hidden, "%s", hidden ? hidden : "");
    f->missed = quality_missed(r->profile);
    f->rate_may_help = quality_misses_threads(r->profile);
    memcpy(f->ends, r->events[0].ends, sizeof f->ends);
    note_others(f, r);
    f->bytes = r->writer.bytes;
    if (r->exited)
        f->cpu_ns = clock_timeval_ns(r->usage.ru_utime) + clock_timeval_ns(r->usage.ru_stime);
    f->machine = r->opts.engine.machine != NULL;
    if (f->machine)
        f->idle_ns = recorder_idle_ns(r, &f->cpus);
    f->processes = count_processes(r->profile);
    f->has_waits = r->waits != NULL;
    f->waits_bare = r->facts->waits_bare;
    memcpy(f->no_wakers, r->facts->no_wakers, sizeof f->no_wakers);
    if (r->waits)
        f->waits = *waits_facts(r->waits);
    f->has_heap = r->heap != NULL;
    if (r->heap)
        f->heap = *heap_facts(r->heap);
    f->has_locks = r->locks != NULL;
    if (r->locks)
        f->locks = *locks_facts(r->locks);
    if (r->scopes)
        f->scopes = *scopes_facts(r->scopes);
    if (r->send)
        spansend_facts(r->send, &f->sent);
}

/* --- is it good enough --- */

static double record_percent_of(uint64_t part, uint64_t whole)
{
    return whole ? 100 * (double)part / (double)whole : 0;
}

static bool is_over(struct record_facts *f, enum record_gate gate, double is, double limit)
{
    if (f->gate != GATE_GOOD || is <= limit)
        return f->gate != GATE_GOOD;
    f->gate = gate;
    f->percent = is;
    return true;
}

static bool record_judge(struct record_facts *f, const struct record_opts *o)
{
    uint64_t unfinished = f->samples - f->ends[UNWIND_WHOLE] - f->ends[UNWIND_GUESSED];
    if (f->samples < (uint64_t)o->min_samples)
        f->gate = GATE_FEW;
    if (o->strict) {
        is_over(f, GATE_LOST, record_percent_of(f->lost, f->lost + f->samples), STRICT_LOST);
        is_over(f, GATE_UNFINISHED, record_percent_of(unfinished, f->samples), STRICT_UNFINISHED);
        is_over(f, GATE_UNNAMED, 100 * f->unnamed_share, STRICT_UNNAMED);
    }
    return f->gate == GATE_GOOD;
}

/* What the label of a recording says that was published though a gate failed. */
static const char *gate_label(enum record_gate gate)
{
    static const char *const labels[] = {
        [GATE_FEW] = "fewer samples than were asked for",
        [GATE_LOST] = "too many samples lost",
        [GATE_UNFINISHED] = "too many stacks unfinished",
        [GATE_UNNAMED] = "too many frames without a name",
    };
    return labels[gate];
}

/* --- the end --- */

static struct selection select_tally(const struct recorder *r, const struct stream *tally)
{
    int samples = stream_samples(tally), type = r->profile->default_value.type;
    return (struct selection){
        .profile = r->profile,
        .stream = tally,
        .value = {r->events[0].stream, type},
        .type = type,
        .count_type = samples,
        .total = tally->types[type].total,
        .n_samples = (int64_t)r->events[0].samples,
        .n_rows = tally->rows.n,
    };
}

/* Names, labels, gates, and the file in its place. */
static int record_finish(struct recorder *r, const struct record_opts *o, struct record_facts *f,
                         struct err *err)
{
    struct symbolize_opts names = {
        .locate = processes_locate, .locate_arg = r->processes, .owner = processes_owner};
    processes_end_walks(r->processes);
    processes_find_maps(r->processes);
    symbolize(r->profile, &names);
    struct stream *tally = recorder_tally(r);
    struct selection all = select_tally(r, tally);
    struct quality q = quality_of(&all);
    record_label_end(r, &q);
    fill_facts(f, r);
    f->unnamed_share = q.unnamed_share;
    find_top(f, &all);
    tally_free_stream(tally);
    bool good = record_judge(f, o);
    if (!good && !o->allow_partial)
        return 0;
    if (o->pack_source)
        record_pack_source(r->profile, o, &f->packed);
    if (!good)
        meta_set_str(&r->profile->meta, META_PARTIAL, gate_label(f->gate));
    autofree char *old = NULL;
    int rc = recorder_publish(r, &old, err);
    f->published = rc == 0;
    snprintf(f->old, sizeof f->old, "%s", old ? old : "");
    f->bytes = r->writer.bytes;
    return rc;
}

/* --- one file after the other --- */

struct job {
    const struct record_opts *opts;
    const struct record_host *host;
    unsigned n_files, n_gaps;
    uint64_t rescued_ns;      /* when room was made last */
    char *output;             /* of a folder: the present file */
    VEC(pid_t) finishing;     /* processes that give names to files that are closed */
    bool failed;              /* one of them could not */
    struct recorder recorder; /* last: a rotation finds the job around it */
};

static struct job *job_of(struct recorder *r)
{
    return (struct job *)((char *)r - offsetof(struct job, recorder));
}

/* "DIR/app.0007.kelvin" for the seventh file of "DIR/app.kelvin". */
static char *numbered(const char *output, unsigned n)
{
    const char *suffix = strrchr(output, '.');
    if (!suffix || strcmp(suffix, ".kelvin") != 0)
        suffix = output + strlen(output);
    return mem_printf("%.*s.%04u.kelvin", (int)(suffix - output), output, n);
}

/* In a process of its own, while recording goes on. */
static int finish_file(struct recorder *r)
{
    struct record_facts facts = {0};
    struct err err;
    return record_finish(r, job_of(r)->opts, &facts, &err) == 0 ? 0 : 1;
}

/* Take the end of a process that finishes a file; false while it is not there, unless BLOCK. */
static bool reap_file(struct job *j, size_t i, bool block)
{
    int status, pid;
    while ((pid = waitpid(j->finishing.at[i], &status, block ? 0 : WNOHANG)) < 0 && errno == EINTR)
        ;
    if (pid == 0)
        return false;
    j->failed |= !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    return true;
}

static void reap_files(struct job *j, bool block)
{
    size_t n = 0;
    for (size_t i = 0; i < j->finishing.n; i++)
        if (!reap_file(j, i, block))
            j->finishing.at[n++] = j->finishing.at[i];
    j->finishing.n = n;
}

/* The name of the next file; in a folder, the oldest make room for it. Owned by the job. */
static const char *name_next(struct job *j)
{
    const struct record_opts *o = j->opts;
    free(j->output);
    if (!o->folder)
        return j->output = numbered(o->output, j->n_files + 1);
    uint64_t now_ns = clock_wall_ns();
    struct keepdir_limits limits = {o->keep_s, o->max_bytes};
    j->output = keepdir_name(o->folder, now_ns);
    keepdir_trim(o->folder, &limits, now_ns, j->output, 0);
    return j->output;
}

/*
 * On a busy machine names may take longer than a file. More at once would only slow each other
 * down, and all else: the present file goes on until one of them is done.
 */
static int next_file(struct recorder *r, struct err *err)
{
    enum { FINISHING_MOST = 2 };
    struct job *j = job_of(r);
    reap_files(j, false);
    if (j->finishing.n >= FINISHING_MOST)
        return 0;
    j->n_files++;
    int pid = recorder_rotate(r, name_next(j), finish_file, err);
    if (pid < 0)
        return -1;
    *vec_push(&j->finishing) = pid;
    record_label_start(r, j->opts, j->host);
    return 0;
}

/*
 * The disk is full, or the folder is gone. What lasts for days goes on with a new file, for which
 * the oldest one makes room: at most one in the time that a file takes, as others may fill the disk
 * faster than we can empty it.
 */
static int rescue_folder(struct recorder *r, struct err *err)
{
    struct job *j = job_of(r);
    uint64_t now_ns = clock_monotonic_ns();
    struct keepdir_limits limits = {j->opts->keep_s, j->opts->max_bytes};
    bool again = (double)(now_ns - j->rescued_ns) < j->opts->rotate_s * 1e9 && j->n_gaps;
    keepdir_trim(j->opts->folder, &limits, clock_wall_ns(), NULL, again ? 0 : 1);
    if (!again)
        j->rescued_ns = now_ns;
    j->n_gaps++;
    keepdir_open(j->opts->folder, err);
    j->n_files++;
    recorder_skip(r, name_next(j), err); /* where that fails, too, there is a next time */
    record_label_start(r, j->opts, j->host);
    return 0;
}

static bool heap_bytes_read(const char *digits, uint64_t *ret)
{
    char *end;
    *ret = strtoull(digits, &end, 10);
    return *digits >= '0' && *digits <= '9' && !*end && *ret && *ret <= UINT64_C(1) << 40;
}

bool record_heap_read(const char *words, struct record_heap *ret)
{
    autofree char *copy = mem_strdup(words ? words : "");
    bool good = true, has_how = false;
    *ret = (struct record_heap){0};
    for (char *rest = copy, *word; *copy && (word = strsep(&rest, ",")) && good;) {
        bool is_how = strcmp(word, "mmap") != 0;
        good = is_how ? !has_how : !ret->maps;
        if (!is_how)
            ret->maps = true;
        else if (strcmp(word, "sampled") == 0)
            ret->sample_bytes = RECORD_HEAP_BYTES;
        else if (strncmp(word, "sampled:", 8) == 0)
            good &= heap_bytes_read(word + 8, &ret->sample_bytes);
        else
            good &= strcmp(word, "exact") == 0;
        has_how |= is_how;
    }
    return good;
}

static char *record_name_lock(void *names, const struct locks_place *place)
{
    return datanames_find(names, place->path, place->build_id, place->address);
}

static struct recorder_opts recorder_opts_of(const struct record_opts *o, const char *output,
                                             char **command)
{
    struct record_heap heap;
    record_heap_read(o->heap, &heap);
    return (struct recorder_opts){
        .engine = {.rate_hz = o->rate_hz,
                   .events = o->events.at,
                   .n_events = o->events.n,
                   .stack_bytes = o->stack_bytes,
                   .user_only = o->user_only,
                   .engine = o->engine},
        .output = output,
        .command = command,
        .pid = (int)o->pid,
        .duration_s = o->duration_s,
        .status = o->status,
        .waits = o->waits,
        .heap = o->heap != NULL,
        .heap_sample_bytes = heap.sample_bytes,
        .heap_maps = heap.maps,
        .locks = o->locks,
        .name_lock = record_name_lock,
        .rotate_s = o->rotate_s,
        .rotate = next_file,
        .rescue = o->folder ? rescue_folder : NULL,
        .listen = o->listen,
        .listen_token = o->listen_token,
        .listening = o->listening,
        .otlp = o->otlp,
    };
}

/* --- the machine --- */

static int record_find_user(struct process_wish *w, const char *name, struct err *err)
{
    uint64_t number;
    const struct passwd *found = getpwnam(name);
    w->of_user = true;
    if (found)
        w->user = found->pw_uid;
    else if (text_u64(text_of(name), 10, &number) && number < UINT32_MAX)
        w->user = (uid_t)number;
    else
        return err_set(err, EXIT_ERROR, "no user '%s'", name);
    return 0;
}

int record_machine_init(struct engine_machine *m, const struct record_opts *o,
                        kallsyms_ranges *ticks, struct err *err)
{
    if (o->cpus && cpulist_parse(&m->cpus, o->cpus, err) != 0)
        return -1;
    if (o->user && record_find_user(&m->wish, o->user, err) != 0)
        return -1;
    m->wish.cgroup = o->cgroup;
    record_ticks_init(ticks);
    m->tick = record_tick;
    m->tick_arg = ticks;
    return 0;
}

/* Whether the folder has recordings besides the one of which nothing could be saved. */
static bool has_others(const struct job *j)
{
    keepdir_files files = {0};
    struct err ignored;
    bool any = false;
    if (!j->opts->folder || keepdir_list(j->opts->folder, &files, &ignored) != 0)
        return false;
    for (size_t i = 0; i < files.n; i++)
        any |= files.at[i].size_bytes && !text_starts(text_of(files.at[i].path), j->output);
    keepdir_done(&files);
    return any;
}

int record_take(const struct record_opts *opts, char **command, struct record_facts *ret,
                struct err *err)
{
    struct job j = {.opts = opts, .n_files = 0};
    struct recorder *r = &j.recorder;
    struct record_host host;
    *ret = (struct record_facts){0}; /* read however this ends */
    autoclose int lock = -1;
    if (opts->folder &&
        (keepdir_open(opts->folder, err) != 0 || keepdir_lock(opts->folder, &lock, err) != 0))
        return -1;
    const char *output = opts->rotate_s > 0 ? name_next(&j) : opts->output;
    struct recorder_opts ro = recorder_opts_of(opts, output, command);
    j.host = &host;
    struct datanames names = {0};
    struct engine_machine machine = {0};
    kallsyms_ranges ticks = {0};
    ro.name_lock_arg = &names;
    ro.engine.machine = opts->machine ? &machine : NULL;
    autofree char *functions = NULL;
    if (opts->functions && command &&
        functions_list(command[0], opts->functions, &functions, err) != 0)
        return -1;
    ro.functions = functions;
    ro.functions_least_ns = (uint64_t)(opts->functions_least_us * 1000);
    fingerprint_read(&host.fingerprint, "");
    provenance_read(&host.provenance);
    int rc = opts->machine ? record_machine_init(&machine, opts, &ticks, err) : 0;
    bool begun = rc == 0;
    if (begun)
        rc = recorder_start(r, &ro, err);
    if (rc == 0) {
        record_label_start(r, opts, &host);
        ret->started = true;
        rc = recorder_run(r, err);
        fill_facts(ret, r);
        if (rc == 0)
            rc = record_finish(r, opts, ret, err);
        if (rc != 0 && partfile_is_there(&r->part))
            ret->saved_samples = record_count_saved(r->part.path);
        ret->part_left = ret->saved_samples > 0;
        ret->others_left = rc != 0 && has_others(&j);
        snprintf(ret->part, sizeof ret->part, "%s", ret->part_left ? r->part.path : "");
    }
    ret->files = j.n_files + 1;
    ret->gaps = j.n_gaps;
    if (begun)
        recorder_done(r, ret->part_left);
    datanames_done(&names);
    vec_done(&machine.cpus);
    vec_done(&ticks);
    reap_files(&j, true);
    vec_done(&j.finishing);
    free(j.output);
    /* In a folder one may have been removed meanwhile, or the disk was full: its .part is read. */
    if (j.failed && !opts->folder && rc == 0)
        rc = err_set(err, EXIT_ERROR,
                     "a file before the last could not be finished: see '%s.*.part'", opts->output);
    return rc;
}

int record_code(const struct record_facts *f, int ours)
{
    if (!f->exited)
        return ours;
    bool asked = f->end == END_DURATION && WIFSIGNALED(f->status) && WTERMSIG(f->status) == SIGTERM;
    if (WIFSIGNALED(f->status) && !asked)
        return 128 + WTERMSIG(f->status);
    if (WIFEXITED(f->status) && WEXITSTATUS(f->status))
        return WEXITSTATUS(f->status);
    return ours;
}
