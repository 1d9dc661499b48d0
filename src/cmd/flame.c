/*
 * flame.c - any profile as a flame graph.
 */
#include "view/flame.h"
#include "analysis/calltree.h"
#include "analysis/scopejoin.h"
#include "analysis/walljoin.h"
#include "base/publish.h"
#include "cmd/command.h"
#include "cmd/input.h"
#include "model/meta_program.h"

#include <unistd.h>

struct cmd_flame_opts {
    bool scopes;
    struct input_opts input;
    const char *output, *title, *subtitle, *font, *count_name, *notes, *colors, *theme, *group;
    const char *min_width, *id, *by;
    long width_px;
    double row_px, font_px, factor;
    bool flames, inverted, reverse, chart, no_script;
};

#define AT(field) offsetof(struct cmd_flame_opts, field)

static const struct opt flame_table[] = {
    {'o', "output", OPT_TEXT, AT(output), "FILE", "write to FILE (default: standard output)"},
    {0, "title", OPT_TEXT, AT(title), "TEXT",
     "the heading (default: Flame graph, and the program)"},
    {0, "subtitle", OPT_TEXT, AT(subtitle), "TEXT", "a second line under the heading"},
    {0, "width", OPT_INT, AT(width_px), "PIXELS", "width of the drawing (default: 1200)",
     .min = 100, .max = 100000},
    {0, "height", OPT_NUMBER, AT(row_px), "PIXELS", "height of a frame (default: 17)", .min = 2,
     .max = 200},
    {0, "min-width", OPT_TEXT, AT(min_width), "WIDTH",
     "leave out frames narrower than WIDTH pixels, or percent with a '%' (default: 0.1)"},
    {0, "font", OPT_TEXT, AT(font), "FAMILY", "font of the text (default: the system's sans-serif)",
     .alias = "font-type"},
    {0, "font-size", OPT_NUMBER, AT(font_px), "PIXELS", "size of the text (default: 12)", .min = 4,
     .max = 100},
    {0, "count-name", OPT_TEXT, AT(count_name), "NAME",
     "what the values are called (default: as in the profile)"},
    {0, "factor", OPT_NUMBER, AT(factor), "NUMBER",
     "multiply the values shown; numbers of samples stay as they are (default: 1)", .min = 1e-12,
     .max = 1e12},
    {0, "notes", OPT_TEXT, AT(notes), "TEXT", "remarks to keep in the file, not drawn"},
    {0, "colors", OPT_CHOICE, AT(colors), "PALETTE",
     "the palette (default: hot; state for --value wall)",
     "hot state mem io java js wakeup chain red orange yellow green aqua blue purple", "palette"},
    {0, "theme", OPT_CHOICE, AT(theme), "THEME",
     "light, dark, or auto: as the reader's system prefers (default: auto)", "auto light dark"},
    {0, "flames", OPT_FLAG, AT(flames), NULL, "root at the bottom"},
    {0, "inverted", OPT_FLAG, AT(inverted), NULL, "root on top: the default", NULL, "icicle"},
    {0, "reverse", OPT_FLAG, AT(reverse), NULL,
     "start at the functions that ran, with their callers below"},
    {0, "flame-chart", OPT_FLAG, AT(chart), NULL,
     "by time, a lane for each thread, with gaps where it did not run"},
    {0, "group", OPT_CHOICE, AT(group), "BY",
     "what to group stacks by: comm, pid, tid or none (default: comm; tid in charts)",
     "comm pid tid none"},
    {0, "by", OPT_TEXT, AT(by), "LABEL",
     "group stacks by a label instead: process, thread, state, reason, command, user, cgroup, "
     "container...",
     "process thread state reason command user cgroup container"},
    {0, "id", OPT_TEXT, AT(id), "NAME",
     "id of the drawing in an HTML page (default: from a hash of its content)"},
    {0, "no-script", OPT_FLAG, AT(no_script), NULL, "a still picture, without zoom and search"},
    SELECTION_OPTS(struct cmd_flame_opts),
    {.name = "scopes",
     .kind = OPT_FLAG,
     .offset = offsetof(struct cmd_flame_opts, scopes),
     .help = "the program's scopes (kelvin.h) as frames above its functions"},
    INPUT_OPTS(struct cmd_flame_opts),
    OPT_END,
};

/* "0.5" pixels or "0.1%" as a share of the total. */
static int min_share(const struct cmd_flame_opts *o, double *ret, struct err *err)
{
    char *end;
    double inner_px = (double)o->width_px - 2 * FLAME_MARGIN_PX;
    double v = strtod(o->min_width, &end);
    bool percent = *end == '%';
    if (end == o->min_width || end[percent] != '\0' || !(v >= 0 && v <= 1e6))
        return err_set(err, EXIT_ERROR,
                       "flame: --min-width is '%s': give pixels (0.5) or a share (0.1%%)",
                       o->min_width);
    *ret = percent ? v / 100 : v / inner_px;
    return 0;
}

static enum calltree_group group_of(const char *name)
{
    return strcmp(name, "none") == 0  ? GROUP_NONE
           : strcmp(name, "pid") == 0 ? GROUP_PID
           : strcmp(name, "tid") == 0 ? GROUP_TID
                                      : GROUP_COMM;
}

static enum style_theme theme_of(const char *name)
{
    return strcmp(name, "light") == 0  ? THEME_LIGHT
           : strcmp(name, "dark") == 0 ? THEME_DARK
                                       : THEME_AUTO;
}

static char *default_title(const struct cmd_flame_opts *o, const struct profile *p)
{
    autobuf struct buf program = {0};
    const char *kind = o->chart     ? "Flame chart"
                       : o->reverse ? "Flame graph of callers"
                                    : "Flame graph";
    return meta_program(&p->meta, &program) ? mem_printf("%s: %s", kind, buf_cstr(&program))
                                            : mem_strdup(kind);
}

static bool is_wall(const struct cmd_flame_opts *o)
{
    return o->input.value && strcmp(o->input.value, WALL_VALUE) == 0;
}

static struct flame_opts view_opts(const struct cmd_flame_opts *o, const char *title,
                                   const char *hidden, double least)
{
    return (struct flame_opts){
        .title = title,
        .subtitle = o->subtitle,
        .notes = o->notes,
        .font = o->font,
        .count_name = o->count_name,
        .id = o->id,
        .hidden = hidden,
        .palette = palette_find(o->colors    ? o->colors
                                : is_wall(o) ? "state"
                                             : "hot"),
        .theme = theme_of(o->theme),
        .width_px = (double)o->width_px,
        .row_px = o->row_px,
        .font_px = o->font_px,
        .factor = o->factor,
        .min_share = least,
        .flames = o->flames && !o->inverted,
        .still = o->no_script,
    };
}

/* A drawing by another name opens in no program. */
static int flame_check_name(const char *path, struct err *err)
{
    static const char *const others[] = {".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf", NULL};
    const char *dot = strrchr(path, '.');
    if (dot && text_is_one_of(text_of(dot), others))
        return err_set(err, EXIT_ERROR, "flame draws SVG, not %s: name the file '%.*s.svg'",
                       dot + 1, (int)(dot - path), path);
    if (dot && (strcmp(dot, ".html") == 0 || strcmp(dot, ".htm") == 0))
        return err_set(err, EXIT_ERROR,
                       "flame draws SVG: name the file '%.*s.svg'; 'kelvin report -o %s' writes a "
                       "page with the flame graph inside",
                       (int)(dot - path), path, path);
    return 0;
}

static int flame_draw(const struct cmd_flame_opts *o, const struct input *in, double least,
                      struct err *err)
{
    struct grouping groups = {0};
    if (o->by &&
        grouping_build(&groups, in->selection.profile, in->selection.value, o->by, err) != 0) {
        grouping_done(&groups);
        return -1;
    }
    struct calltree_opts tree_opts = {
        .by = o->by ? &groups : NULL,
        .by_key = o->by,
        .group = o->by ? GROUP_LABEL
                       : group_of(o->group   ? o->group
                                  : o->chart ? "tid"
                                             : "comm"),
        .order = o->chart ? ORDER_TIME : ORDER_NAME,
        .callers_first = o->reverse,
        .min_share = least,
        .keep_up_to = o->no_script ? 0 : FLAME_KEEP_UP_TO,
        .keep_rows = !o->no_script && !o->chart,
    };
    bool percent = strchr(o->min_width, '%') != NULL;
    autofree char *hidden =
        mem_printf("frames under %s%s not drawn", o->min_width, percent ? "" : " px");
    autofree char *title =
        o->title ? mem_strdup(o->title) : default_title(o, in->selection.profile);
    struct flame_opts view = view_opts(o, title, hidden, least);
    struct publish file;
    int rc = publish_open(&file, o->output, err);
    if (rc == 0) {
        struct calltree *tree = calltree_build(&in->selection, &tree_opts);
        flame_print_selection(file.out, &in->selection, tree, &view);
        calltree_free(tree);
        rc = publish_commit(&file, err);
    }
    grouping_done(&groups);
    return rc;
}

/* With the scopes that each sample was in above its functions. */
static int flame_draw_scopes(const struct cmd_flame_opts *o, const struct input *in, double least,
                             struct err *err)
{
    struct profile *joined;
    if (scopejoin_stacks(&in->selection, &joined, err) != 0)
        return -1;
    struct input with = {.profile = joined,
                         .selection = selection_all(joined, joined->default_value)};
    with.selection.words = in->selection.words;
    int rc = flame_draw(o, &with, least, err);
    profile_free(joined);
    return rc;
}

static int flame_run(const struct command *self, int n, char **args)
{
    struct cmd_flame_opts o = {
        .output = "-",
        .width_px = 1200,
        .row_px = 17,
        .font_px = 12,
        .factor = 1,
        .min_width = "0.1",
        .theme = "auto",
    };
    struct opt_result operands;
    int rc = command_parse(self, &o, n, args, &operands);
    if (rc != 0)
        return rc < 0 ? EXIT_ERROR : EXIT_OK;
    struct err err;
    double least = 0;
    if (strcmp(o.output, "-") == 0 && isatty(STDOUT_FILENO)) {
        err_set(&err, EXIT_ERROR,
                "flame: an SVG is not for a terminal: give a file, -o out.svg, or a pipe");
        return command_fail(&err);
    }
    if (flame_check_name(o.output, &err) != 0 || min_share(&o, &least, &err) != 0)
        return command_fail(&err);
    struct input in;
    struct import_opts want = {.merge = o.no_script && !o.chart && !o.scopes};
    o.input.overloads = true;
    if ((rc = input_load(&in, &operands, &o.input, &want)) != EXIT_OK)
        return rc;
    if (!o.scopes)
        input_tell_others(&in, &o.input);
    input_tell_events(&in, &o.input);
    rc = o.scopes ? flame_draw_scopes(&o, &in, least, &err) : flame_draw(&o, &in, least, &err);
    input_done(&in);
    return rc == 0 ? EXIT_OK : command_fail(&err);
}

const struct command command_flame = {
    .name = "flame",
    .summary = "draw any profile as a flame graph (SVG)",
    .operands = "PROFILE",
    .about = "Draws the stacks of a profile: a frame is as wide as its share of the total, and "
             "hangs below its caller. Frames are sorted by name and coloured by name, so the same "
             "stacks give the same file, whatever their order in the input.\n\n"
             "The SVG is complete in itself. Even as a still picture it shows the numbers of every "
             "frame, and the caption says how the samples were taken and how many there are. "
             "Opened in a browser it fills the window. It can be zoomed (click; Back undoes it), "
             "searched ('/') and walked by keyboard ('?' lists the keys). The View button turns it "
             "upside down, inverts it, folds chains of calls and merges recursion. Pointing at a "
             "frame shows its total and self time with 95% intervals, its module, file and line. A "
             "search shows the same total as 'kelvin report'.\n\n"
             "With the default palette user code is warm, kernel code blue, code compiled at run "
             "time green. Names of inlined functions are in italics.",
    .examples = "kelvin flame profile.folded -o out.svg          # any format, packed or not\n"
                "perf script | kelvin flame - -o out.svg         # from a pipe\n"
                "kelvin flame heap.pb.gz --value inuse_space --colors mem -o heap.svg   # memory\n"
                "kelvin flame cpu.json --reverse -o callers.svg   # callers of what ran\n"
                "kelvin flame app.kelvin --scopes -o app.svg     # below the program's own scopes",
    .opts = flame_table,
    .run = flame_run,
};
