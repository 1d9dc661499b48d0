#include "source/perfscript_frame.h"

static inline bool perfscript_frame_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static inline bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* The last '(' of T that stands behind a space; NULL if there is none. */
static const char *last_open(struct text t)
{
    while (t.n > 1) {
        const char *open = memrchr(t.at + 1, '(', t.n - 1);
        if (!open || open[-1] == ' ')
            return open;
        t.n = (size_t)(open - t.at);
    }
    return NULL;
}

/* Where the module's bracket opens in T, which ends with the bracket that closes it. */
static const char *module_open(struct text t)
{
    const char *open = last_open(t);
    if (open && text_ends(t, " (deleted))")) /* "(/usr/lib/libz.so (deleted))" */
        return last_open((struct text){t.at, (size_t)(open - t.at)});
    return open;
}

/* Without the "+0x4a" that perf puts behind a symbol since Linux 4.8. */
static struct text without_offset(struct text t)
{
    size_t n = t.n;
    while (n && is_hex(t.at[n - 1]))
        n--;
    if (n < t.n && n >= 3 && memcmp(t.at + n - 3, "+0x", 3) == 0)
        t.n = n - 3;
    return t;
}

/* Offset of the pc's end, or 0. */
static inline size_t find_pc(struct text line, struct text *ret)
{
    size_t i = 0;
    while (i < line.n && perfscript_frame_is_blank(line.at[i]))
        i++;
    size_t pc = i;
    while (i < line.n && is_hex(line.at[i]))
        i++;
    *ret = (struct text){line.at + pc, i - pc};
    return i > pc && i < line.n && perfscript_frame_is_blank(line.at[i]) ? i : 0;
}

static bool split_any(struct text line, struct perfscript_frame *ret)
{
    size_t i = find_pc(line, &ret->pc);
    if (i == 0)
        return false;
    while (line.n > i && line.at[line.n - 1] != ')')
        line.n--;
    /* One blank stays in front, so that a line without a symbol still has " (" in it. */
    struct text rest = {line.at + i, line.n - i};
    const char *open = module_open(rest);
    if (!open)
        return false;
    ret->module = (struct text){open + 1, (size_t)(rest.at + rest.n - open) - 2};
    ret->symbol = without_offset(text_trim((struct text){rest.at, (size_t)(open - rest.at)}));
    if (ret->symbol.n == 0) /* old perf prints "pc  (module)" where newer ones say [unknown] */
        ret->symbol = text_of("[unknown]");
    return true;
}

/*
 * The line as nearly all are: a tab, the pc padded to 16, a symbol, and a module without blanks or
 * brackets. False when it is not like that, which need not mean that it is no frame.
 */
static inline bool split_usual(struct text line, struct perfscript_frame *ret)
{
    enum { PC_END = 17 };
    const char *at = line.at;
    if (line.n < PC_END + 5 || at[0] != '\t' || !is_hex(at[PC_END - 1]) || at[PC_END] != ' ' ||
        perfscript_frame_is_blank(at[PC_END + 1]) || at[line.n - 1] != ')' || at[line.n - 2] == ')')
        return false;
    const char *symbol = at + PC_END + 1;
    const char *open = memrchr(symbol, '(', (size_t)(at + line.n - symbol));
    if (!open || open < symbol + 2 || open[-1] != ' ' || perfscript_frame_is_blank(open[-2]))
        return false;
    ret->pc = (struct text){at + 1, PC_END - 1};
    ret->symbol = without_offset((struct text){symbol, (size_t)(open - symbol) - 1});
    ret->module = (struct text){open + 1, (size_t)(at + line.n - open) - 2};
    return ret->symbol.n > 0;
}

bool perfscript_frame_split(struct text line, struct perfscript_frame *ret)
{
    return split_usual(line, ret) || split_any(line, ret);
}

bool perfscript_frame_bare(struct text line, struct perfscript_frame *ret)
{
    size_t i = find_pc(line, &ret->pc);
    if (i == 0)
        return false;
    ret->symbol = without_offset(text_trim((struct text){line.at + i, line.n - i}));
    ret->module = text_of("inlined");
    return ret->symbol.n > 0;
}

bool perfscript_frame_is_comm(const struct perfscript_frame *f)
{
    return text_starts(f->symbol, "(") && !text_starts(f->symbol, "(anonymous namespace)");
}

/* "/tmp/perf-123.map": the file that a JIT compiler writes its symbols to. */
static bool is_perf_map(struct text module)
{
    static const char start[] = "/tmp/perf-";
    const char *at = memmem(module.at, module.n, start, sizeof start - 1);
    if (!at)
        return false;
    struct text rest = {at + sizeof start - 1, 0};
    rest.n = (size_t)(module.at + module.n - rest.at);
    size_t digits = 0;
    while (digits < rest.n && rest.at[digits] >= '0' && rest.at[digits] <= '9')
        digits++;
    rest = (struct text){rest.at + digits, rest.n - digits};
    return digits && text_starts(rest, ".map");
}

/* "jitted-123-4.so", which perf inject makes of the code in a jitdump. */
static bool is_jitted(struct text base)
{
    return text_starts(base, "jitted-") && text_ends(base, ".so");
}

/* "vmlinux", "vmlinux-6.1.0-13-amd64", "vmlinux.debug" */
static bool is_vmlinux(struct text base)
{
    return text_is(base, "vmlinux") || text_starts(base, "vmlinux-") ||
           text_starts(base, "vmlinux.");
}

/* "/lib/modules/6.1.0/kernel/drivers/net/e1000.ko.xz" */
static bool is_kernel_module(struct text base)
{
    const char *at = base.n ? memmem(base.at, base.n, ".ko", 3) : NULL;
    size_t behind = at ? (size_t)(at - base.at) + 3 : 0;
    return at && (behind == base.n || base.at[behind] == '.');
}

enum frame_kind perfscript_frame_kind(struct text module)
{
    const char *slash = module.n ? memrchr(module.at, '/', module.n) : NULL;
    struct text base = module;
    if (slash)
        base = (struct text){slash + 1, (size_t)(module.at + module.n - slash) - 1};
    if (is_jitted(base))
        return FRAME_JIT;
    if ((text_starts(module, "[") || text_ends(module, "vmlinux") || is_vmlinux(base) ||
         is_kernel_module(base)) &&
        !memmem(module.at, module.n, "unknown", 7))
        return FRAME_KERNEL;
    if (text_is(module, "inlined"))
        return FRAME_INLINED;
    return is_perf_map(module) ? FRAME_JIT : FRAME_USER;
}

/* Offset of the next "->" that separates two functions; the length of T where there is none. */
static size_t find_arrow(struct text t)
{
    for (size_t i = 0; i + 1 < t.n; i++)
        if (t.at[i] == '-' && t.at[i + 1] == '>' && !text_ends((struct text){t.at, i}, "operator"))
            return i;
    return t.n;
}

bool perfscript_frame_next(struct text *symbol, struct text *ret)
{
    while (symbol->n) {
        size_t n = find_arrow(*symbol);
        size_t used = n < symbol->n ? n + 2 : n;
        *ret = (struct text){symbol->at, n};
        symbol->at += used;
        symbol->n -= used;
        if (n)
            return true;
    }
    return false;
}

/* "net/http.(*Client).Do": these brackets belong to the name. */
static bool is_go_method(struct text t)
{
    const char *open = memmem(t.at, t.n, ".(", 2);
    return open && memmem(open + 2, (size_t)(t.at + t.n - open) - 2, ").", 2);
}

static inline bool is_word(char c)
{
    return is_hex(c) || (c >= 'g' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* The end of "operator<<" or "operator()" at offset I of T, or I where there is none. */
static size_t skip_operator(struct text t, size_t i)
{
    static const char word[] = "operator";
    size_t end = i + sizeof word - 1;
    if (t.at[i] != 'o' || (i && is_word(t.at[i - 1])) ||
        !text_starts((struct text){t.at + i, t.n - i}, word) || end == t.n || is_word(t.at[end]))
        return i;
    if (text_starts((struct text){t.at + end, t.n - end}, "()"))
        return end + 2;
    while (end < t.n && strchr("<>=!-+*/%^&|~,[]", t.at[end]))
        end++;
    return end;
}

/*
 * Length of the name in front of its argument list. Brackets inside "<...>" and "{...}" belong to
 * the name: "std::function<void (int)>::operator()", "main::{lambda(int)#1}". Where these do not
 * close, the first bracket ends it.
 */
static size_t name_length(struct text t)
{
    static const char anonymous[] = "(anonymous namespace)";
    size_t first = t.n, depth = 0;
    for (size_t i = 0; i < t.n; i++) {
        size_t end = skip_operator(t, i);
        if (end > i) {
            i = end - 1;
        } else if (t.at[i] == '<' || t.at[i] == '{') {
            depth++;
        } else if (t.at[i] == '>' || t.at[i] == '}') {
            depth -= depth > 0;
        } else if (t.at[i] == '(' && !text_starts((struct text){t.at + i, t.n - i}, anonymous)) {
            if (depth == 0)
                return i;
            first = first < i ? first : i;
        }
    }
    return depth ? first : t.n;
}

struct text perfscript_frame_tidy(struct buf *b, struct text function, bool java)
{
    size_t n = is_go_method(function) ? function.n : name_length(function);
    b->n = 0;
    for (size_t i = 0; i < n; i++)
        if (function.at[i] != '"' && function.at[i] != '\'')
            buf_byte(b, function.at[i] == ';' ? ':' : (uint8_t)function.at[i]);
    struct text name = buf_text(b);
    /* "Ljava/io/PrintStream;::print" is a class in the notation of class files. */
    if (java && text_starts(name, "L") && memchr(name.at, '/', name.n))
        name = (struct text){name.at + 1, name.n - 1};
    return name;
}

bool perfscript_frame_srcline(struct text line, struct text *ret_file, uint32_t *ret_line)
{
    uint64_t number;
    line = text_trim(line);
    struct text rest = line;
    const char *discriminator = memmem(line.at, line.n, " (", 2); /* "a.c:12 (discriminator 3)" */
    if (discriminator)
        rest.n = (size_t)(discriminator - line.at);
    const char *colon = rest.n ? memrchr(rest.at, ':', rest.n) : NULL;
    if (!colon || colon == rest.at)
        return false;
    struct text digits = {colon + 1, (size_t)(rest.at + rest.n - colon) - 1};
    if (!text_u64(digits, 10, &number) || number > UINT32_MAX)
        return false;
    *ret_file = (struct text){rest.at, (size_t)(colon - rest.at)};
    *ret_line = (uint32_t)number;
    return true;
}

bool perfscript_frame_no_srcline(struct text line)
{
    line = text_trim(line);
    size_t n = line.n;
    if (text_is(line, ":0"))
        return true;
    if (n < 4 || line.at[n - 1] != ']')
        return false;
    n--;
    size_t end = n;
    while (n && is_hex(line.at[n - 1]))
        n--;
    return n < end && n > 1 && line.at[n - 1] == '[';
}
