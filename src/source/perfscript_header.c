#include "source/perfscript_header.h"

#include <string.h>

static inline bool perfscript_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline size_t skip_blanks(struct text t, size_t i)
{
    while (i < t.n && perfscript_is_blank(t.at[i]))
        i++;
    return i;
}

static inline size_t skip_digits(struct text t, size_t i)
{
    while (i < t.n && is_digit(t.at[i]))
        i++;
    return i;
}

static inline struct text from(struct text t, size_t i)
{
    return (struct text){t.at + i, t.n - i};
}

/* The next word of T, which keeps what follows it. Empty at the end. */
static inline struct text cut_word(struct text *t)
{
    size_t i = skip_blanks(*t, 0), start = i;
    while (i < t->n && !perfscript_is_blank(t->at[i]))
        i++;
    struct text word = {t->at + start, i - start};
    *t = from(*t, i);
    return word;
}

static inline bool is_number(struct text word)
{
    return word.n && skip_digits(word, 0) == word.n;
}

/* "94564.109216:" */
static inline bool is_time(struct text word)
{
    size_t point = skip_digits(word, 0);
    if (point == 0 || point >= word.n || word.at[point] != '.')
        return false;
    size_t end = skip_digits(word, point + 1);
    return end + 1 == word.n && word.at[end] == ':';
}

static inline bool is_event(struct text word)
{
    return word.n > 1 && word.at[word.n - 1] == ':' && !is_time(word);
}

/* "[001]" */
static inline bool is_cpu(struct text word)
{
    return word.n > 2 && word.at[0] == '[' && is_digit(word.at[1]) &&
           skip_digits(word, 1) == word.n - 1 && word.at[word.n - 1] == ']';
}

/* Whether T goes on with a CPU or a time. */
static bool is_place_in_time(struct text t)
{
    struct text word = cut_word(&t);
    return is_cpu(word) || is_time(word);
}

/* "U", "K", "K+C": the letters of -F +misc, in front of CPU or time. */
static bool is_misc(struct text word)
{
    if (word.n == 0 || word.n > 5)
        return false;
    for (size_t i = 0; i < word.n; i++)
        if (!strchr("KUHGg+MEFSpPCD", word.at[i]))
            return false;
    return true;
}

/*
 * Whether what follows a number shows that it was the thread's, and not part of a comm such as
 * "worker 3": a CPU, a time, an event, a period and an event, or nothing at all.
 */
static bool is_tail(struct text tail)
{
    struct text word = cut_word(&tail);
    if (word.n == 0 || is_cpu(word) || word.at[word.n - 1] == ':')
        return true;
    if (is_misc(word))
        return is_place_in_time(tail);
    return is_number(word) && is_event(cut_word(&tail));
}

/* The numbers at offset I, "123", "123/456" or "-1". The end's offset, or 0 if there are none. */
static size_t parse_numbers(struct text line, size_t i, struct perfscript_header *h)
{
    size_t start = i;
    if (i + 1 < line.n && line.at[i] == '-')
        i++;
    size_t end = skip_digits(line, i);
    if (end == i)
        return 0;
    h->pid = (struct text){line.at, 0};
    h->tid = (struct text){line.at + start, end - start};
    if (end + 1 < line.n && line.at[end] == '/' && skip_digits(line, end + 1) > end + 1) {
        size_t slash = end;
        end = skip_digits(line, end + 1);
        h->pid = h->tid;
        h->tid = (struct text){line.at + slash + 1, end - slash - 1};
    }
    return end == line.n || perfscript_is_blank(line.at[end]) ? end : 0;
}

bool perfscript_header_parse(struct text line, struct perfscript_header *h)
{
    line = from(line, skip_blanks(line, 0));
    *h = (struct perfscript_header){.event = {line.at, 0}, .rest = {line.at, 0}};
    size_t numbers = parse_numbers(line, 0, h);
    if (numbers && is_place_in_time(from(line, numbers))) { /* -F -comm */
        h->comm = (struct text){line.at, 0};
        h->thread = (struct text){line.at, numbers};
        h->tail = from(line, numbers);
        return true;
    }
    for (size_t i = 1; i < line.n;) {
        while (i < line.n && !perfscript_is_blank(line.at[i]))
            i++;
        size_t comm = i;
        i = skip_blanks(line, i);
        size_t end = i < line.n ? parse_numbers(line, i, h) : 0;
        if (end && is_tail(from(line, end))) {
            h->comm = (struct text){line.at, comm};
            h->thread = (struct text){line.at, end};
            h->tail = from(line, end);
            return true;
        }
    }
    return false;
}

/* Length of what is left of T[0..N) without spaces, or digits, at the end. */
static inline size_t back_spaces(struct text t, size_t n)
{
    while (n && t.at[n - 1] == ' ')
        n--;
    return n;
}

static inline size_t back_digits(struct text t, size_t n)
{
    while (n && is_digit(t.at[n - 1]))
        n--;
    return n;
}

/* "94564.109216:" at the end of T[0..N): its start, or 0. Digits are not looked at one by one. */
static inline size_t back_time(struct text t, size_t n)
{
    enum { US = 6, NS = 9 }; /* decimals that perf prints */
    if (n < NS + 3 || t.at[n - 1] != ':' || (t.at[n - US - 2] != '.' && t.at[n - NS - 2] != '.'))
        return 0;
    const char *blank = memrchr(t.at, ' ', n);
    return blank && is_digit(blank[1]) ? (size_t)(blank - t.at) + 1 : 0;
}

/* "[000]" at the end of T[0..N): what is in front of it; N if there is none. */
static inline size_t back_cpu(struct text t, size_t n)
{
    if (n < 3 || t.at[n - 1] != ']')
        return n;
    size_t cpu = back_digits(t, n - 1);
    return cpu && t.at[cpu - 1] == '[' ? back_spaces(t, cpu - 1) : n;
}

bool perfscript_header_guess(struct text line, struct text event, struct perfscript_header *h)
{
    if (line.n < event.n + 2 || line.at[line.n - 1] != ':')
        return false;
    size_t n = line.n - 1 - event.n;
    if (line.at[n - 1] != ' ' || memcmp(line.at + n, event.at, event.n) != 0)
        return false;
    size_t end = back_spaces(line, n);
    h->period.at = line.at + back_digits(line, end);
    h->period.n = (size_t)(line.at + end - h->period.at);
    n = back_spaces(line, (size_t)(h->period.at - line.at));
    size_t time = back_time(line, n);
    h->time = (struct text){line.at + time, n - 1 - time};
    h->thread = (struct text){line.at, back_cpu(line, back_spaces(line, time))};
    return time > 0 && h->thread.n > 0;
}

enum word { WORD_NUMBER, WORD_TIME, WORD_EVENT, WORD_OTHER };

/* What the word at offset *I is, in one walk over it; *I is then its end. */
static inline enum word perfscript_classify(struct text t, size_t *i)
{
    size_t start = *i, at = skip_digits(t, start);
    bool digits = at > start;
    if (digits && (at == t.n || perfscript_is_blank(t.at[at]))) {
        *i = at;
        return WORD_NUMBER;
    }
    bool time = digits && t.at[at] == '.';
    if (time)
        at = skip_digits(t, at + 1);
    size_t point = at;
    while (at < t.n && !perfscript_is_blank(t.at[at]))
        at++;
    *i = at;
    if (t.at[at - 1] != ':')
        return WORD_OTHER;
    return time && at == point + 1 ? WORD_TIME : WORD_EVENT;
}

void perfscript_header_tail(struct perfscript_header *h)
{
    struct text t = h->tail;
    for (size_t i = skip_blanks(t, 0); i < t.n; i = skip_blanks(t, i)) {
        size_t start = i;
        enum word kind = perfscript_classify(t, &i);
        struct text word = {t.at + start, i - start};
        if (kind == WORD_NUMBER) {
            h->period = word;
        } else if (kind == WORD_TIME) {
            h->time = (struct text){word.at, word.n - 1};
        } else if (word.at[0] == 'P' && text_starts(word, "PERF_RECORD_")) {
            h->record = from(t, start);
            return;
        } else if (kind == WORD_EVENT) {
            h->event = (struct text){word.at, word.n - 1};
            h->rest = from(t, skip_blanks(t, i));
            return;
        }
    }
}

bool perfscript_header_time(struct text time, uint64_t *ret_ns)
{
    uint64_t s, ns = 0;
    size_t point = skip_digits(time, 0);
    if (point == time.n || !text_u64((struct text){time.at, point}, 10, &s))
        return false;
    uint64_t unit = 1000000000;
    for (size_t i = point + 1; i < time.n && unit > 1; i++) {
        if (!is_digit(time.at[i]))
            return false;
        ns += (uint64_t)(time.at[i] - '0') * (unit /= 10);
    }
    return !__builtin_mul_overflow(s, 1000000000, &s) && !__builtin_add_overflow(s, ns, ret_ns);
}

bool perfscript_header_is_extra(struct text line)
{
    static const char *const starts[] = {"insn: ", "ilen: ", "ABI:", "PERF_RECORD_", "|"};
    line = text_trim(line);
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (text_starts(line, starts[i]))
            return true;
    return false;
}
