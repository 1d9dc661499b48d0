#include "model/meta_words.h"
#include "base/units.h"

static const struct {
    const char *key, *title;
} titles[] = {
    {META_ARCH, "architecture"},
    {META_BUILD, "compiler"},
    {META_CLOCK, "clock source"},
    {META_CLOCKS, "clocks"},
    {META_COMMENT, "comment"},
    {META_CPU, "CPU"},
    {META_CPUS, "CPUs"},
    {META_CPU_TIME_NS, "CPU time"},
    {META_POOLED_RUNS, "runs pooled"},
    {META_DIRTY, "changed since commit"},
    {META_DURATION_NS, "duration"},
    {META_ENGINE_NOTE, "limits"},
    {META_EXIT_STATUS, "exit status"},
    {META_GOVERNOR, "frequency governor"},
    {META_IDLE_CPUS, "CPUs recorded"},
    {META_IDLE_NS, "idle, all CPUs together"},
    {META_LOAD, "load at start"},
    {META_OS, "system"},
    {META_QUEUED_NS, "waited for a CPU"},
    {META_SAMPLED_NS, "CPU time, estimated from samples"},
    {META_SAMPLED_OF_NS, "CPU time that could be sampled"},
    {META_SMT, "SMT"},
    {META_SOURCE, "file"},
    {META_TIME_NS, "started"},
    {META_UNNAMED_SHARE, "frames without a name"},
    {META_VIRTUAL, "virtual machine"},
};

const char *meta_words_title(const char *key)
{
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        if (strcmp(titles[i].key, key) == 0)
            return titles[i].title;
    return key;
}

bool meta_words_value(struct buf *ret, const struct meta *m, const char *key)
{
    char s[UNITS_MAX];
    uint64_t ns;
    const char *value = meta_find(m, key);
    if (!value || !*value)
        return false;
    bool is_ns = text_ends(text_of(key), "_ns") && meta_find_u64(m, key, &ns);
    if (is_ns && strcmp(key, META_TIME_NS) == 0)
        buf_str(ret, units_utc(s, ns));
    else if (is_ns)
        buf_str(ret, units_scaled(s, (double)ns, SCALED_NS));
    else
        buf_str(ret, value);
    return true;
}

void meta_words_running(struct buf *b, const char *event, uint64_t enabled_ns, uint64_t running_ns)
{
    double share = enabled_ns ? (double)running_ns / (double)enabled_ns : 0;
    if (enabled_ns)
        buf_printf(b, "%s%s %.0f%% of the time", b->n ? ", " : "", event,
                   100 * (share < 1 ? share : 1));
}
