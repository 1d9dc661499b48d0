/*
 * tokenizer.c - text into tokens: words, numbers, signs and blanks, each with a number of its own.
 *
 *     tokenizer          benchmarks (kelvin_bench.h)
 *     tokenizer run N    one megabyte of made-up text N times, and how fast that went: by CPU time,
 * which is about the program where wall time is about whatever else runs
 */
#include <kelvin_bench.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TABLE = 1 << 14, WORD_MAX = 32 };

static struct {
    char word[WORD_MAX];
    uint32_t hash;
} table[TABLE];

static enum { BLANK, WORD, DIGIT, SIGN } kinds[256];

static void tokenizer_init(void)
{
    memset(table, 0, sizeof table);
    for (int c = 0; c < 256; c++)
        kinds[c] = c <= ' '                             ? BLANK
                   : c >= '0' && c <= '9'               ? DIGIT
                   : (c | 32) >= 'a' && (c | 32) <= 'z' ? WORD
                                                        : SIGN;
}

__attribute__((noinline)) static uint32_t hash_word(const char *s, size_t n)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)s[i]) * 16777619u;
    return h | 1;
}

__attribute__((noinline)) static uint32_t find_word(const char *s, size_t n)
{
    uint32_t h = hash_word(s, n), at = h % TABLE;
    while (table[at].hash &&
           (table[at].hash != h || memcmp(table[at].word, s, n) != 0 || table[at].word[n]))
        at = (at + 1) % TABLE;
    if (!table[at].hash) {
        memcpy(table[at].word, s, n);
        table[at].hash = h;
    }
    return at;
}

/* How many tokens; their numbers are summed so that nothing is left out. */
__attribute__((noinline)) static size_t tokenize(const char *text, size_t n, uint64_t *ret_sum)
{
    size_t tokens = 0;
    for (size_t i = 0, end; i < n; i = end, tokens++) {
        for (end = i + 1; end < n &&
                          kinds[(unsigned char)text[end]] == kinds[(unsigned char)text[i]] &&
                          end - i < WORD_MAX - 1;)
            end++;
        *ret_sum += kinds[(unsigned char)text[i]] == BLANK ? 0 : find_word(text + i, end - i);
    }
    return tokens;
}

static char *make_text(size_t n)
{
    static const char *const words[] = {"the", "cache", "line",   "is",   "64",  "bytes",  "wide",
                                        ",",   "and",   "misses", "cost", "100", "cycles", "."};
    char *text = malloc(n + 16);
    uint32_t seed = 1;
    for (size_t at = 0; at < n;) {
        seed = seed * 1664525u + 1013904223u;
        const char *w = words[(seed >> 16) % 14];
        at += (size_t)(stpcpy(stpcpy(text + at, w), " ") - (text + at));
    }
    text[n] = '\0';
    return text;
}

BENCH_OVER(tokenize, n, 4096, 65536)
{
    char *text = make_text(n);
    uint64_t sum = 0;
    tokenizer_init();
    kelvin_bytes((double)n);
    BENCH_LOOP
    {
        KELVIN_KEEP(tokenize(text, n, &sum));
    }
    free(text);
}

BENCH(hash_word)
{
    const char *word = "performance";
    KELVIN_HIDE(word);
    BENCH_LOOP
    {
        KELVIN_KEEP(hash_word(word, 11));
    }
}

int main(int argc, char **argv)
{
    if (argc < 3 || strcmp(argv[1], "run") != 0)
        return kelvin_main(argc, argv);
    size_t n = 1 << 20, tokens = 0, times = (size_t)atoi(argv[2]);
    char *text = make_text(n);
    uint64_t sum = 0;
    struct timespec a, b;
    tokenizer_init();
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
    for (size_t i = 0; i < times; i++)
        tokens += tokenize(text, n, &sum);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
    double s = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
    printf("tokens: %zu (%llu)\nspeed: %.1f MB/s\n", tokens, (unsigned long long)sum,
           (double)(n * times) / 1e6 / s);
    free(text);
    return 0;
}
