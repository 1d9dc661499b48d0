/*
 * process_inner.h - the state behind process.h, shared by process.c (processes, threads and
 * mappings) and process_frames.c (the frame of an address).
 */
#pragma once
#include "process/process.h"

enum { PROCESS_PCS_MAX = 8192, PROCESS_CACHE_SLOTS = 1 << 13 };

/* An executable mapping as it was reported; its row in the profile is made when a frame needs it.
 */
struct code_map {
    uint64_t start, end, offset;
    uint32_t path, build_id; /* in processes.texts */
    uint32_t open_path;      /* where to read it instead; 0 = there */
    int pid;                 /* that has it mapped now; 0 = none */
    struct mapping_id mapping;
};

/* A file with code that was sampled, held open until it was asked for names. */
struct held_file {
    uint32_t path, build_id; /* in processes.texts: containers have other files of that path */
    int fd;
    char link[32];
};

struct known_build_id {
    uint32_t path, build_id; /* in processes.texts; build_id 0 = it has none */
};

/* Whose process it was that made code at run time. */
struct jit_owner {
    int pid;
    uid_t uid;
};

/* A frame of code made at run time, seen before its process had written a map of it. */
struct unnamed_code {
    struct frame_id frame;
    int pid;
};

/* Whose a process is, as it was when somebody looked. */
struct process_belongs {
    bool known;
    uid_t uid;
    uint32_t cgroup; /* path, in processes.texts */
};

struct process_user {
    uid_t uid;
    uint32_t name; /* in processes.texts */
};

/* What a process has mapped. Shared after a fork until one side changes it. */
struct address_space {
    int refs;
    uint32_t serial; /* changes with the mappings; names them in the cache */
    struct unwind_space *unwind;
    VEC(struct code_map) maps; /* by unwind_map.user_id */
    size_t *n_all;             /* processes.n_maps */
};

/* What we know of a process now; the profile's row of it is made with its first sample. */
struct process_state {
    int pid, parent_pid; /* parent_pid: -1 = not known */
    int n_tasks;
    bool ended;          /* the next task of this pid is another process */
    uint32_t executable; /* path of what it runs, in processes.texts; 0 = not known */
    uint32_t jitdump;    /* path of the dump it mapped, in processes.texts; 0 = none */
    bool asked_root;
    int root_pid; /* /proc/PID/root of this one is its root folder; 0 = its root is ours */
    uint64_t start_ns, end_ns;
    struct process_id row; /* 0 = none yet */
    bool asked_labels;     /* else what it belongs to is that of the process that started it */
    struct process_belongs belongs;
    uint32_t unreported; /* samples since it runs a program none of whose maps was reported */
    struct address_space *space;
};

struct task {
    int pid, tid;
    bool alive;
    uint64_t end_ns; /* of one that is not */
    struct str_id comm;
    struct thread_id thread; /* 0 = no sample yet since it got this name */
};

/* What a pc of an address space became. */
struct known_pc {
    uint64_t pc;
    uint32_t serial;
    struct frame_id frame;
};

struct processes {
    struct profile *profile;
    struct unwind_files *files;
    struct intern texts;
    VEC(struct process_state) list;
    VEC(struct task) tasks;
    VEC(struct held_file) held;
    struct idmap by_pid, by_tid;
    size_t n_ended;                /* tasks that are not alive */
    size_t n_ended_kept;           /* when some were forgotten the last time */
    struct address_space *nothing; /* of processes that are not known */
    uint32_t last_serial;
    size_t n_maps;    /* of all address spaces */
    bool live, lossy; /* lossy: what nobody has heard of may run all the same */
    dev_t root_dev;   /* of our root folder */
    ino_t root_ino;
    uint64_t now_ns; /* 0 = not known */
    struct mapping_id kernel;
    uint64_t kernel_start, kernel_end, kernel_text; /* 0 where not reported */
    VEC(struct jit_owner) owners;
    VEC(struct unnamed_code) unnamed_code;
    VEC(struct known_build_id)
    build_ids; /* of files that were mapped before anybody reported them */
    void (*on_exec)(void *arg, int pid, const char *comm); /* NULL = nobody asks */
    void *on_exec_arg;
    bool labels; /* processes get them */
    struct process_wish wish;
    VEC(struct process_user) users;
    VEC(struct frame_id) frames; /* of the sample at hand, innermost first */
    uint64_t pcs[PROCESS_PCS_MAX];
    struct known_pc cache[PROCESS_CACHE_SLOTS];
};

/* NULL where nothing was ever heard of PID. */
struct process_state *process_find(const struct processes *ps, int pid);

/* One of `texts` as a string of the profile. */
struct str_id process_str(struct processes *ps, uint32_t text);

/* The labels of a process whose first thread is called COMM; none unless asked for. */
struct attrs_id process_labels(struct processes *ps, struct process_state *proc,
                               struct str_id comm);

/*
 * A sample of PID is to be unwound. The kernel reports no maps of a program that runs as another
 * user than the one who starts it (setuid), not even to root: then they are read here.
 */
void process_look_again(struct processes *ps, int pid);

/* Look now whose it is: what it starts inherits that. */
void process_ask(struct processes *ps, int pid);

/* The path in /proc/PID/cgroup that says most, and the container that a path is of; "" = none. */
struct text process_cgroup(struct text lines);
struct text process_container(struct text cgroup);

/* Whether NAME is the cgroup, one above it, or its container. */
bool process_cgroup_is(struct text cgroup, const char *name);

/* Memory without a file, where code is made at run time. */
bool process_is_anonymous(struct text path);
