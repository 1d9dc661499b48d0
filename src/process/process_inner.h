/*
 * process_inner.h - the state behind process.h, shared by process.c (who runs, what is mapped) and
 * process_frames.c (what an address is).
 */
#pragma once
#include "process/process.h"

enum { PROCESS_PCS_MAX = 8192, PROCESS_CACHE_SLOTS = 1 << 13 };

/* An executable mapping as it was told; its row in the profile is made when a frame needs it. */
struct code_map {
    uint64_t start, end, offset;
    uint32_t path, build_id; /* in processes.texts */
    uint32_t open_path;      /* where to read it instead; 0 = there */
    struct mapping_id mapping;
};

/* A file with code that was sampled, held open until it was asked for names. */
struct held_file {
    uint32_t path; /* in processes.texts */
    int fd;
    char link[32];
};

/* Whose process it was that made code at run time. */
struct jit_owner {
    int pid;
    uid_t uid;
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
    bool ended;             /* the next task of this pid is another process */
    uint32_t executable;    /* path of what it runs, in processes.texts; 0 = not known */
    uint32_t jitdump;       /* path of the dump it mapped, in processes.texts; 0 = none */
    bool asked_root, moved; /* moved: its root folder is not ours */
    uint64_t start_ns, end_ns;
    struct process_id row; /* 0 = none yet */
    struct address_space *space;
};

struct task {
    int pid, tid;
    bool alive;
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
    struct address_space *nothing; /* of processes that are not known */
    uint32_t last_serial;
    size_t n_maps; /* of all address spaces */
    bool live;
    uint64_t now_ns; /* 0 = not known */
    struct mapping_id kernel;
    uint64_t kernel_start, kernel_end, kernel_text; /* 0 where not told */
    VEC(struct jit_owner) owners;
    VEC(struct frame_id) frames; /* of the sample at hand, innermost first */
    uint64_t pcs[PROCESS_PCS_MAX];
    struct known_pc cache[PROCESS_CACHE_SLOTS];
};

/* NULL where nothing was ever heard of PID. */
struct process_state *process_find(const struct processes *ps, int pid);

/* One of `texts` as a string of the profile. */
struct str_id process_str(struct processes *ps, uint32_t text);

/* Memory that has no file behind it, where code is made at run time. */
bool process_is_anonymous(struct text path);
