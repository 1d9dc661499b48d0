/*
 * words.c - a line taken apart into words.
 */
#include "base/words.h"

void words_done(struct words *w)
{
    for (size_t i = 0; i < w->at.n; i++)
        free(w->at.at[i]);
    vec_done(&w->at);
}

void words_add(struct words *w, struct text word)
{
    vec_reserve(&w->at, 2);
    w->at.at[w->at.n++] = mem_strndup(word.at ? word.at : "", word.n);
    w->at.at[w->at.n] = NULL;
}

/* In double quotes a backslash is itself unless it stands before one of these. */
static bool escapes(char quote, char next)
{
    return quote != '"' || strchr("\"\\$`", next);
}

/* One word from LINE at *I, which is not a separator; moves *I behind it. */
static int words_take(struct words *w, struct text line, size_t *i, const char *separators)
{
    autobuf struct buf word = {0};
    char quote = 0;
    for (; *i < line.n; ++*i) {
        char c = line.at[*i];
        if (quote != '\'' && c == '\\' && *i + 1 < line.n && line.at[*i + 1] &&
            escapes(quote, line.at[*i + 1]))
            buf_byte(&word, (uint8_t)line.at[++*i]);
        else if (quote ? c == quote : c == '"' || c == '\'')
            quote = quote ? 0 : c;
        else if (!quote && c && strchr(separators, c))
            break;
        else
            buf_byte(&word, (uint8_t)c);
    }
    words_add(w, buf_text(&word));
    return quote ? -1 : 0;
}

size_t words_first(const char *line, char **ret)
{
    struct words w = {0};
    size_t n = 0;
    *ret = NULL;
    if (*line && !strchr(WORDS_BLANKS, *line) &&
        words_take(&w, text_of(line), &n, WORDS_BLANKS) == 0)
        *ret = mem_strdup(w.at.at[0]);
    words_done(&w);
    return *ret ? n : 0;
}

int words_split(struct words *w, struct text line, const char *separators, struct err *err)
{
    *w = (struct words){0};
    vec_reserve(&w->at, 1);
    w->at.at[0] = NULL;
    for (size_t i = 0; i < line.n;) {
        if (line.at[i] && strchr(separators, line.at[i]))
            i++;
        else if (words_take(w, line, &i, separators) != 0)
            return err_set(err, EXIT_ERROR, "a quote has no end in: %.*s", TEXT_ARG(line));
    }
    return 0;
}

static bool needs_quotes(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "%+,-./:=@_";
    return !*word || word[strspn(word, plain)];
}

void words_quote(struct buf *line, const char *word)
{
    if (!needs_quotes(word)) {
        buf_str(line, word);
        return;
    }
    buf_byte(line, '\'');
    for (; *word; word++)
        if (*word == '\'')
            buf_str(line, "'\\''");
        else
            buf_byte(line, (uint8_t)*word);
    buf_byte(line, '\'');
}

void words_join(struct buf *line, char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (line->n)
            buf_byte(line, ' ');
        words_quote(line, words[i]);
    }
}

/* NAME=VALUE, as a shell takes it in front of a command, also of one in parentheses. */
static bool is_assignment(const char *word)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    word += strspn(word, "(");
    size_t n = strspn(word, letters);
    word += n;
    return n && (*word == '=' || (word[0] == '+' && word[1] == '='));
}

/* The word of N that names the program: the values in front of it may be secrets. */
static const char *program_word(char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!is_assignment(words[i]))
            return words[i];
    return "sh";
}

/* "app (2 arguments not shown)": words_hide() was here before. */
static bool is_hidden(char *const *w, size_t n)
{
    return (n == 5 && w[1][0] == '(' && w[1][1 + strspn(w[1] + 1, "0123456789")] == '\0' &&
            (strcmp(w[2], "argument") == 0 || strcmp(w[2], "arguments") == 0) &&
            strcmp(w[3], "not") == 0 && strcmp(w[4], "shown)") == 0) ||
           (n == 4 && strcmp(w[1], "(arguments") == 0 && strcmp(w[2], "not") == 0 &&
            strcmp(w[3], "shown)") == 0);
}

void words_hide(struct buf *b, const char *line)
{
    struct words w;
    struct err ignored;
    bool whole = words_split(&w, text_of(line), WORDS_BLANKS, &ignored) == 0;
    if (w.at.n)
        words_quote(b, program_word(w.at.at, w.at.n));
    if (!whole)
        buf_str(b, " (arguments not shown)");
    else if (is_hidden(w.at.at, w.at.n))
        for (size_t i = 1; i < w.at.n; i++)
            buf_printf(b, " %s", w.at.at[i]);
    else if (w.at.n > 1)
        buf_printf(b, " (%zu %s not shown)", w.at.n - 1, w.at.n == 2 ? "argument" : "arguments");
    words_done(&w);
}

bool words_hidden(const char *line)
{
    static const char end[] = " not shown)";
    size_t n = strlen(line);
    return n >= sizeof end - 1 && strcmp(line + n - (sizeof end - 1), end) == 0;
}

static bool ends_word(char c)
{
    return !c || strchr(WORDS_BLANKS, c);
}

/* The sign that S begins with; BEFORE is what stands in front of it. */
static const char *shell_sign_at(const char *s, char before)
{
    switch (*s) {
    case '|':
        return "|";
    case '<':
        return "<";
    case '>':
        return ">";
    case '*':
        return "*";
    case '&':
        return s[1] == '&' || ends_word(s[1]) ? "&&" : NULL;
    case ';':
        return ends_word(s[1]) ? ";" : NULL;
    case '$':
        return s[1] && strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_{(", s[1])
                   ? "$"
                   : NULL;
    case '~':
        return ends_word(before) && s[1] == '/' ? "~/" : NULL;
    }
    return NULL;
}

const char *words_shell_sign(const char *line)
{
    char quote = 0, before = 0;
    for (const char *s = line; *s; before = *s++) {
        const char *sign = quote ? NULL : shell_sign_at(s, before);
        if (sign)
            return sign;
        if (*s == '\\' && quote != '\'' && s[1])
            s++;
        else if (quote ? *s == quote : *s == '"' || *s == '\'')
            quote = quote ? 0 : *s;
    }
    return NULL;
}
