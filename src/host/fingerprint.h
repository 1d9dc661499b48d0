/*
 * fingerprint.h - what machine this is, as far as it bears on measurements.
 *
 * No host name, user, address or serial number: a profile is shown to others. Texts that cannot
 * be found out are "not known", which is not the same as "none" or "off".
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct meta;

#define FINGERPRINT_UNKNOWN "not known"

struct fingerprint {
    /* The hardware: what `hash` and `name` are made of. */
    char cpu[128]; /* "AMD EPYC 7763 64-Core Processor" */
    char arch[72]; /* "x86_64" */
    int cpus_present;
    uint64_t memory_bytes;
    char hypervisor[48]; /* "none", "KVM" */

    char kernel[136]; /* "Linux 6.18.5" */
    char os[128];     /* "Debian GNU/Linux 12 (bookworm)" */
    char os_id[32];   /* "debian" */
    int cpus_online;
    int cpus_usable;    /* by this process: its affinity */
    double cpus_quota;  /* CPUs' worth of time that the cgroup allows; 0 = no limit */
    char container[32]; /* "none", "docker" */
    char governor[32];  /* of CPU 0: "performance" */
    char turbo[16];     /* "on", "off" */
    char smt[16];       /* "on", "off" */
    char clock[32];     /* the kernel's clock source: "tsc" */
    double load[3];     /* of 1, 5 and 15 minutes */
    bool has_load;

    uint64_t hash; /* the same as long as the hardware is */
    char name[48]; /* "2c-8g-3f9a1c2d": cores, GiB, start of the hash */
};

/* Look at the machine whose "/" is ROOT, "" being this one. Never fails: see above. */
void fingerprint_read(struct fingerprint *f, const char *root);

/* One line for people: "AMD EPYC, 2 CPUs, 7.8 GiB, KVM". TO holds at least 320 bytes. */
char *fingerprint_line(const struct fingerprint *f, char *to);

/* Other processes take part in what is measured: the load is above half of the CPUs. */
bool fingerprint_is_busy(const struct fingerprint *f);

/* "load was 24.4 on 2 CPUs at the start: ...", or NULL where the machine is not busy. Free it. */
char *fingerprint_busy(const struct fingerprint *f);

/* Write it all under META_HOST, META_CPU... */
void fingerprint_put(const struct fingerprint *f, struct meta *m);
