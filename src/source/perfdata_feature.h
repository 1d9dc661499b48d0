/*
 * perfdata_feature.h - what a perf.data file says about itself: names of events, build-ids, the
 * machine, the command.
 *
 * In a file these parts stand behind the records, in a pipe among them. Build-ids therefore
 * become known when most mappings are made: they are kept here by path and set at the end.
 */
#pragma once
#include "source/import.h"
#include "source/perfdata_event.h"

enum perfdata_feature {
    FEATURE_TRACING_DATA = 1,
    FEATURE_BUILD_ID = 2,
    FEATURE_OSRELEASE = 4,
    FEATURE_VERSION = 5,
    FEATURE_ARCH = 6,
    FEATURE_NRCPUS = 7,
    FEATURE_CPUDESC = 8,
    FEATURE_TOTAL_MEM = 10,
    FEATURE_CMDLINE = 11,
    FEATURE_EVENT_DESC = 12,
    FEATURE_PMU_MAPPINGS = 16,
    FEATURE_CLOCK_DATA = 29,
    FEATURE_BITS = 256,
};

struct perfdata_build_id {
    uint32_t path; /* in perfdata_features.texts */
    char hex[2 * 20 + 1];
};

struct perfdata_features {
    struct import *im;
    struct perfdata_events *events;
    struct intern texts;
    VEC(struct perfdata_build_id) build_ids;
};

void perfdata_features_init(struct perfdata_features *f, struct import *im,
                            struct perfdata_events *es);
void perfdata_features_done(struct perfdata_features *f);

/* Whether a part is of use to us; if not, it need not be read. */
bool perfdata_feature_is_known(uint64_t feature);

/* Take a part in. Invalid parts are left out. */
void perfdata_feature_read(struct perfdata_features *f, uint64_t feature, struct text body);

/* The record HEADER_BUILD_ID, and each entry of FEATURE_BUILD_ID. */
void perfdata_build_id_read(struct perfdata_features *f, uint16_t misc, struct text body);

/* Set the build-ids of the profile's mappings that have none. */
void perfdata_features_finish(struct perfdata_features *f);

/*
 * Report files that are not the ones that were recorded. They are known only when all stacks are
 * unwound, so the list comes at the end.
 */
void perfdata_features_check_files(struct perfdata_features *f);
