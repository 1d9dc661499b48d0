/*
 * wordfreq.c - counts words: the example that `kelvin run` is shown with.
 *
 * Makes a text of WORDS words, drawn with SEED as words of a language are (a few often, most
 * seldom), counts each in a hash table, sorts them and prints the five most frequent.
 *
 * Usage: wordfreq WORDS SEED
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    char word[16];
    uint32_t count;
};

struct table {
    struct entry *at;
    size_t cap, n;
};

static uint64_t draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

/* A word for a rank: its digits in base 26, made readable. */
static size_t spell(uint32_t rank, char *to)
{
    size_t n = 0;
    do
        to[n++] = "etaoinshrdlucmfwypvbgkjqxz"[rank % 26];
    while ((rank /= 26) > 0);
    to[n] = '\0';
    return n;
}

/* Blank-separated words; squaring the draw makes small ranks frequent. */
static char *make_text(size_t words, uint64_t seed, size_t *ret_n)
{
    char *text = malloc(words * 8 + 1), *at = text;
    uint64_t state = seed * 2654435761u + 1;
    for (size_t i = 0; i < words && text; i++) {
        double u = (double)(draw(&state) >> 11) / 9007199254740992.0;
        at += spell((uint32_t)(u * u * u * 200000), at);
        *at++ = ' ';
    }
    *ret_n = (size_t)(at - text);
    return text;
}

static uint64_t hash(const char *word, size_t n)
{
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (uint8_t)word[i]) * 1099511628211u;
    return h;
}

static struct entry *find(struct table *t, const char *word, size_t n)
{
    size_t i = hash(word, n) & (t->cap - 1);
    while (t->at[i].count && (strncmp(t->at[i].word, word, n) != 0 || t->at[i].word[n]))
        i = (i + 1) & (t->cap - 1);
    return &t->at[i];
}

static void grow(struct table *t)
{
    struct table old = *t;
    t->cap = old.cap ? old.cap * 2 : 1024;
    t->at = calloc(t->cap, sizeof *t->at);
    for (size_t i = 0; i < old.cap; i++)
        if (old.at[i].count)
            *find(t, old.at[i].word, strlen(old.at[i].word)) = old.at[i];
    free(old.at);
}

static void count_words(struct table *t, const char *text, size_t n)
{
    for (const char *at = text, *end = text + n; at < end;) {
        const char *blank = memchr(at, ' ', (size_t)(end - at));
        size_t length = (size_t)(blank - at);
        if (2 * t->n >= t->cap)
            grow(t);
        struct entry *e = find(t, at, length);
        if (!e->count) {
            memcpy(e->word, at, length);
            t->n++;
        }
        e->count++;
        at = blank + 1;
    }
}

static int by_count(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return strcmp(x->word, y->word);
}

int main(int argc, char **argv)
{
    size_t words = argc > 1 ? strtoul(argv[1], NULL, 10) : 0, n;
    uint64_t seed = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
    struct table t = {0};
    if (!words) {
        fprintf(stderr, "usage: wordfreq WORDS SEED\n");
        return 1;
    }
    char *text = make_text(words, seed, &n);
    count_words(&t, text, n);
    qsort(t.at, t.cap, sizeof *t.at, by_count);
    for (size_t i = 0; i < 5 && i < t.n; i++)
        printf("%8u %s\n", t.at[i].count, t.at[i].word);
    free(t.at);
    free(text);
    return 0;
}
