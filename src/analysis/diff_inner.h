/* diff_inner.h - the verdict on a comparison whose functions are tested. */
#pragma once
#include "analysis/diff.h"

/* Fill has_cpu, cpu_s, verdict and why of D. CPU_S is the runs' CPU time; NULL where not known. */
void diff_judge(struct diff *d, const struct diff_opts *o, const double *cpu_s);
