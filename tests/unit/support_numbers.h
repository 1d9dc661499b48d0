/*
 * support_numbers.h - results as lines of text, compared with those that are expected. Include it
 * after cmocka.h.
 *
 * `build/tests/unit/test_NAME write > tests/unit/NAME_expected.h` makes what comes out now the
 * expected result: look at the difference before a commit.
 */
#pragma once
#include "base/buf.h"

#include <ctype.h>
#include <stdio.h>

struct numbers_part {
    const char *name;
    void (*numbers)(struct buf *b);
    const char *const *expected;
    size_t n;
};

#define NUMBERS_PART(name)                                   \
    {                                                        \
#name, numbers_of_##name, expected_##name,           \
            sizeof expected_##name / sizeof *expected_##name \
    }

static inline void numbers_compare(const struct numbers_part *parts, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        autobuf struct buf b = {0};
        size_t i = 0;
        parts[k].numbers(&b);
        for (struct text rest = buf_text(&b), line; rest.n; i++) {
            line = text_cut(&rest, '\n');
            if (i < parts[k].n && !text_is(line, parts[k].expected[i]))
                fail_msg("%s: '%.*s' where '%.400s' is expected", parts[k].name,
                         (int)(line.n < 400 ? line.n : 400), line.at, parts[k].expected[i]);
        }
        assert_int_equal(i, parts[k].n);
    }
}

static inline int numbers_write(const char *file, const struct numbers_part *parts, size_t n)
{
    printf("/* %s_expected.h - written by test_%s; see support_numbers.h. */\n#pragma once\n", file,
           file);
    puts("/* clang-format off */");
    for (size_t k = 0; k < n; k++) {
        autobuf struct buf b = {0};
        parts[k].numbers(&b);
        printf("\nstatic const char *const expected_%s[] = {\n", parts[k].name);
        for (struct text rest = buf_text(&b), line; rest.n;) {
            line = text_cut(&rest, '\n');
            printf("    \"%.*s\",\n", (int)line.n, line.at);
        }
        puts("};");
    }
    return 0;
}

struct numbers_parts {
    const struct numbers_part *at;
    size_t n;
};

static inline void every_number_is_as_it_was(void **state)
{
    const struct numbers_parts *parts = *state;
    numbers_compare(parts->at, parts->n);
}

/* The main() of a test that has nothing else. */
static inline int numbers_main(int argc, const char *file, const struct numbers_part *parts,
                               size_t n)
{
    struct numbers_parts all = {parts, n};
    const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(every_number_is_as_it_was, &all)};
    return argc > 1 ? numbers_write(file, parts, n) : cmocka_run_group_tests(tests, NULL, NULL);
}

/* FNV-1a over what a struct's members are, one by one. */
static inline uint64_t numbers_hash(uint64_t hash, uint64_t value)
{
    for (int i = 0; i < 8; i++, value >>= 8)
        hash = (hash ^ (value & 0xff)) * 1099511628211u;
    return hash;
}

#define NUMBERS_HASH_START 14695981039346656037u

/* 0 to N - 1, the same on every machine. One a statement: the order of calls within one is nobody's
 * to know. */
static inline uint32_t numbers_random(uint64_t *seed, uint32_t n)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*seed >> 33) % n);
}

/* The numbers of a sentence, so that its words may change. */
static inline void numbers_digits(struct buf *b, const char *words)
{
    bool before = false;
    for (const char *c = words; *c; c++) {
        bool is = isdigit((unsigned char)*c) || (*c == '.' && isdigit((unsigned char)c[1]));
        if (is && !before)
            buf_byte(b, ' ');
        if (is)
            buf_byte(b, (uint8_t)*c);
        before = is;
    }
}
