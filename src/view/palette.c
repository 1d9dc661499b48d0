#include "view/palette.h"

#include <math.h>

/* A range of hues in degrees of the OKLCH space, where equal lightness looks equally light. */
struct hues {
    double from, to, chroma;
};

static const struct hues hues[FAMILIES] = {
    [FAMILY_GREY] = {255, 255, 0.008},  [FAMILY_HOT] = {22, 82, 0.135},
    [FAMILY_RED] = {14, 32, 0.135},     [FAMILY_ORANGE] = {48, 68, 0.13},
    [FAMILY_YELLOW] = {84, 104, 0.13},  [FAMILY_GREEN] = {136, 158, 0.12},
    [FAMILY_AQUA] = {184, 206, 0.085},  [FAMILY_BLUE] = {238, 264, 0.095},
    [FAMILY_PURPLE] = {296, 318, 0.11},
};

/* Three levels of lightness for each of the eight hues of a family. */
static const double light_levels[] = {0.87, 0.82, 0.77}, dark_levels[] = {0.76, 0.71, 0.66};

static uint8_t to_srgb(double linear)
{
    double v = linear <= 0.0031308 ? 12.92 * linear : 1.055 * pow(linear, 1 / 2.4) - 0.055;
    return (uint8_t)(v <= 0 ? 0 : v >= 1 ? 255 : v * 255 + 0.5);
}

/* Through cone responses to linear light, with the constants of the OKLab definition. */
static struct rgb from_oklch(double lightness, double chroma, double hue_degrees)
{
    double hue = hue_degrees * M_PI / 180, a = chroma * cos(hue), b = chroma * sin(hue);
    double l = lightness + 0.3963377774 * a + 0.2158037573 * b;
    double m = lightness - 0.1055613458 * a - 0.0638541728 * b;
    double s = lightness - 0.0894841775 * a - 1.2914855480 * b;
    l = l * l * l;
    m = m * m * m;
    s = s * s * s;
    return (struct rgb){
        to_srgb(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
        to_srgb(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
        to_srgb(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s),
    };
}

struct rgb palette_rgb(struct shade s, bool dark)
{
    const struct hues *h = &hues[s.family];
    double hue = h->from + (h->to - h->from) * (s.step % 8) / 7;
    double chroma = dark ? h->chroma * 0.9 : h->chroma;
    return from_oklch((dark ? dark_levels : light_levels)[s.step / 8 % 3], chroma, hue);
}

struct rgb palette_text(bool dark)
{
    return dark ? (struct rgb){0x0b, 0x0c, 0x0e} : (struct rgb){0x1a, 0x1c, 0x1f};
}

static const char kind_letters[FRAME_KINDS] = {
    [FRAME_KERNEL] = 'k', [FRAME_JIT] = 'j', [FRAME_INLINED] = 'i', [FRAME_WAKER] = 'w'};

struct text palette_strip(struct text name, enum frame_kind kind)
{
    char suffix[] = {'_', '[', kind_letters[kind], ']', '\0'};
    if (kind_letters[kind] && name.n > 4 && text_ends(name, suffix))
        name.n -= 4;
    return name;
}

/* FNV-1a, with its bits mixed once more as the shade takes only the low ones. */
static uint32_t hash_name(struct text name)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < name.n; i++)
        h = (h ^ (uint8_t)name.at[i]) * 16777619u;
    h ^= h >> 15;
    h *= 0x2c1b3c6du;
    return h ^ h >> 13;
}

struct shade palette_shade(const struct palette *p, struct text name, enum frame_kind kind)
{
    return (struct shade){
        .family = (uint8_t)p->family(name, kind),
        .step = (uint8_t)(hash_name(palette_strip(name, kind)) % PALETTE_SHADES),
    };
}

static bool palette_has(struct text name, const char *part)
{
    return memmem(name.at, name.n, part, strlen(part)) != NULL;
}

static enum palette_family by_kind(struct text name, enum frame_kind kind)
{
    static const enum palette_family families[FRAME_KINDS] = {
        [FRAME_USER] = FAMILY_HOT,    [FRAME_KERNEL] = FAMILY_BLUE,  [FRAME_JIT] = FAMILY_GREEN,
        [FRAME_INLINED] = FAMILY_HOT, [FRAME_WAKER] = FAMILY_PURPLE,
    };
    (void)name;
    return families[kind];
}

/* "java/lang/String.hashCode", as the JVM's agents write it, with or without a type's 'L'. */
static bool is_java(struct text name)
{
    static const char *const roots[] = {"java/", "javax/", "jdk/", "net/", "org/",
                                        "com/",  "io/",    "sun/", NULL};
    struct text rest = name.n && name.at[0] == 'L' ? (struct text){name.at + 1, name.n - 1} : name;
    for (int i = 0; roots[i]; i++)
        if (text_starts(name, roots[i]) || text_starts(rest, roots[i]))
            return true;
    return false;
}

static enum palette_family by_native(struct text name, enum frame_kind kind)
{
    if (kind == FRAME_KERNEL)
        return FAMILY_ORANGE;
    return palette_has(name, "::") ? FAMILY_YELLOW : FAMILY_RED;
}

static enum palette_family by_java(struct text name, enum frame_kind kind)
{
    return kind == FRAME_JIT || is_java(name) ? FAMILY_GREEN : by_native(name, kind);
}

/* Node writes "LazyCompile:*name /path/file.js:10" for scripts and "Builtin:Name" for its own. */
static enum palette_family by_js(struct text name, enum frame_kind kind)
{
    if (kind == FRAME_JIT)
        return palette_has(name, "/") ? FAMILY_GREEN : FAMILY_AQUA;
    if (kind == FRAME_KERNEL || palette_has(name, "::"))
        return by_native(name, kind);
    if (palette_has(name, "/") && palette_has(name, ".js"))
        return FAMILY_GREEN;
    return palette_has(name, ":") ? FAMILY_AQUA : FAMILY_RED;
}

static enum palette_family by_chain(struct text name, enum frame_kind kind)
{
    (void)name;
    return kind == FRAME_WAKER ? FAMILY_AQUA : FAMILY_BLUE;
}

/* Of wall time: the innermost frame of a wait says what it is. */
static enum palette_family by_state(struct text name, enum frame_kind kind)
{
    return text_starts(name, "[blocked") ? FAMILY_BLUE
           : text_is(name, "[runnable]") ? FAMILY_PURPLE
           : kind == FRAME_KERNEL        ? FAMILY_ORANGE
                                         : FAMILY_HOT;
}

#define PLAIN(NAME, FAMILY)                                                         \
    static enum palette_family plain_##NAME(struct text name, enum frame_kind kind) \
    {                                                                               \
        (void)name, (void)kind;                                                     \
        return FAMILY;                                                              \
    }
PLAIN(red, FAMILY_RED)
PLAIN(orange, FAMILY_ORANGE)
PLAIN(yellow, FAMILY_YELLOW)
PLAIN(green, FAMILY_GREEN)
PLAIN(aqua, FAMILY_AQUA)
PLAIN(blue, FAMILY_BLUE)
PLAIN(purple, FAMILY_PURPLE)

/* clang-format off */
#define NATIVE [FAMILY_RED] = "user", [FAMILY_ORANGE] = "kernel", [FAMILY_YELLOW] = "C++"

const struct palette palettes[] = {
    {"hot", "warm; kernel, JIT and waker frames in their own hues", by_kind,
     {[FAMILY_HOT] = "user", [FAMILY_BLUE] = "kernel", [FAMILY_GREEN] = "JIT",
      [FAMILY_PURPLE] = "waker"}},
    {"state", "of wall time: running, blocked and runnable in their own hues", by_state,
     {[FAMILY_HOT] = "running", [FAMILY_ORANGE] = "running in the kernel",
      [FAMILY_BLUE] = "blocked", [FAMILY_PURPLE] = "runnable"}},
    {"mem", "greens, for memory", plain_green, {NULL}},
    {"io", "blues, for I/O", plain_blue, {NULL}},
    {"java", "Java, C++, kernel and other code in different colours", by_java,
     {NATIVE, [FAMILY_GREEN] = "Java"}},
    {"js", "scripts, built-ins, C++, kernel and other code in different colours", by_js,
     {NATIVE, [FAMILY_GREEN] = "JavaScript", [FAMILY_AQUA] = "built-in"}},
    {"wakeup", "aquas, for wake-ups", plain_aqua, {NULL}},
    {"chain", "blues, with the waker's frames in aqua", by_chain,
     {[FAMILY_BLUE] = "blocked", [FAMILY_AQUA] = "waker"}},
    {"red", "reds", plain_red, {NULL}},
    {"orange", "oranges", plain_orange, {NULL}},
    {"yellow", "yellows", plain_yellow, {NULL}},
    {"green", "greens", plain_green, {NULL}},
    {"aqua", "aquas", plain_aqua, {NULL}},
    {"blue", "blues", plain_blue, {NULL}},
    {"purple", "purples", plain_purple, {NULL}},
    {NULL, NULL, NULL, {NULL}},
};
/* clang-format on */

const struct palette *palette_find(const char *name)
{
    for (const struct palette *p = palettes; p->name; p++)
        if (strcmp(p->name, name) == 0)
            return p;
    return NULL;
}
