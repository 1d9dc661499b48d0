#include "view/viewer.h"

#include "base/publish.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "view/document.h"
#include "view/report.h"
#include "wire/recording.h"

#include <errno.h>

#include "kelvin_wasm.h"
#include "web_explore_js.h"
#include "web_view_about_js.h"
#include "web_view_charts_js.h"
#include "web_view_compare_js.h"
#include "web_view_core_js.h"
#include "web_view_css.h"
#include "web_view_events_js.h"
#include "web_view_flame_js.h"
#include "web_view_js.h"
#include "web_view_lanes_js.h"
#include "web_view_menu_js.h"
#include "web_view_rows_js.h"
#include "web_view_source_js.h"
#include "web_view_stories_js.h"
#include "web_view_table_js.h"
#include "web_view_text_js.h"
#include "web_view_trees_js.h"
#include "web_view_wasm_js.h"
#include "web_view_worker_js.h"

struct viewer_module {
    const char *name, *text;
};

/* What others import comes first. */
static const struct viewer_module page_modules[] = {
    {"view_text.js", web_view_text_js},
    {"view_core.js", web_view_core_js},
    {"view_charts.js", web_view_charts_js},
    {"view_menu.js", web_view_menu_js},
    {"view_rows.js", web_view_rows_js},
    {"view_lanes.js", web_view_lanes_js},
    {"view_flame.js", web_view_flame_js},
    {"view_table.js", web_view_table_js},
    {"view_trees.js", web_view_trees_js},
    {"view_source.js", web_view_source_js},
    {"view_stories.js", web_view_stories_js},
    {"view_events.js", web_view_events_js},
    {"view_compare.js", web_view_compare_js},
    {"view_about.js", web_view_about_js},
    {"view.js", web_view_js},
    {NULL, NULL},
};
static const struct viewer_module worker_modules[] = {
    {"view_wasm.js", web_view_wasm_js},
    {"view_worker.js", web_view_worker_js},
    {NULL, NULL},
};

struct viewer_bytes {
    char *at;
    size_t n;
};

struct viewer {
    size_t n;
    struct viewer_bytes data[VIEWER_FILES], code[VIEWER_FILES], body, index, still;
    char *title, *start;
    const char *arguments;
};

bool viewer_is_built(void)
{
    return sizeof kelvin_wasm > 1;
}

static struct text core_bytes(void)
{
    return (struct text){(const char *)kelvin_wasm, sizeof kelvin_wasm - 1};
}

static void viewer_put(FILE *out, const char *text)
{
    autobuf struct buf b = {0};
    utf8_xml(&b, text_of(text));
    fwrite(b.at ? b.at : "", 1, b.n, out);
}

/* --- the profiles --- */

static int viewer_pack(struct viewer_bytes *ret, const struct profile *p, struct err *err)
{
    if (viewer_check_size(p, VIEWER_BYTES_MAX, err) != 0)
        return -1;
    FILE *packed = open_memstream(&ret->at, &ret->n);
    if (!packed)
        return err_set_errno(err, errno, "cannot hold the page");
    FILE *out = publish_gzip(packed);
    int rc = recording_write(out, p, true, err);
    fclose(out);
    fclose(packed);
    return rc;
}

static int viewer_pack_code(struct viewer_bytes *ret, struct text json, struct err *err)
{
    if (!json.n)
        return 0;
    FILE *packed = open_memstream(&ret->at, &ret->n);
    if (!packed)
        return err_set_errno(err, errno, "cannot hold the page");
    FILE *out = publish_gzip(packed);
    fwrite(json.at, 1, json.n, out);
    fclose(out);
    fclose(packed);
    return 0;
}

/* --- the still picture --- */

static int print_still_body(struct viewer *v, const struct selection *s, struct err *err)
{
    struct report r;
    int rc = report_build(&r, s, &(struct report_opts){.top = 30}, err);
    FILE *out = open_memstream(&v->body.at, &v->body.n);
    if (rc == 0 && out) {
        v->title = report_title(&r);
        report_print_still(out, &r);
    }
    if (out)
        fclose(out);
    report_done(&r);
    return rc;
}

static void put_head(FILE *out, const struct viewer *v)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<link rel=\"icon\" href=\"data:,\">\n<title>",
          out);
    viewer_put(out, v->title);
    fputs("</title>\n", out);
}

static void put_body_tag(FILE *out, const struct viewer *v)
{
    fprintf(out, "<body data-files=\"%zu\" data-code=\"%d%d\" data-start=\"", v->n,
            v->code[0].n > 0, v->code[1].n > 0);
    viewer_put(out, v->start);
    if (v->arguments)
        fprintf(out, "\" data-arguments=\"%s", v->arguments);
    fputs("\">\n", out);
}

static void print_still(struct viewer *v)
{
    FILE *out = open_memstream(&v->still.at, &v->still.n);
    if (!out)
        return;
    put_head(out, v);
    fputs("<style>", out);
    document_print_style(out);
    fputs("</style>\n</head>\n<body>\n", out);
    fwrite(v->body.at, 1, v->body.n, out);
    fputs("</body>\n</html>\n", out);
    fclose(out);
}

static void print_index(struct viewer *v)
{
    FILE *out = open_memstream(&v->index.at, &v->index.n);
    if (!out)
        return;
    put_head(out, v);
    fputs("<link rel=\"stylesheet\" href=\"view.css\">\n"
          "<script type=\"module\" src=\"view.js\"></script>\n</head>\n",
          out);
    put_body_tag(out, v);
    fputs("<noscript>Scripts are switched off: see the <a href=\"still.html\">still picture and "
          "tables</a>.</noscript>\n</body>\n</html>\n",
          out);
    fclose(out);
}

struct viewer *viewer_new(const struct viewer_opts *o, struct err *err)
{
    struct viewer *v = mem_new(struct viewer);
    int rc = 0;
    v->n = o->n;
    v->start = mem_strdup(o->start);
    v->arguments = o->arguments;
    for (size_t i = 0; i < o->n && rc == 0; i++)
        if ((rc = viewer_pack(&v->data[i], o->profiles[i], err)) == 0)
            rc = viewer_pack_code(&v->code[i], o->code[i], err);
    if (rc == 0)
        rc = print_still_body(v, o->still, err);
    if (rc != 0) {
        viewer_free(v);
        return NULL;
    }
    print_still(v);
    print_index(v);
    return v;
}

void viewer_free(struct viewer *v)
{
    if (!v)
        return;
    for (size_t i = 0; i < VIEWER_FILES; i++)
        free(v->data[i].at), free(v->code[i].at);
    free(v->body.at);
    free(v->index.at);
    free(v->still.at);
    free(v->title);
    free(v->start);
    free(v);
}

/* --- parts --- */

static const char script_type[] = "text/javascript; charset=utf-8";
static const char page_type[] = "text/html; charset=utf-8";
static const char bytes_type[] = "application/octet-stream";

static size_t add_modules(const struct viewer_module *m, struct viewer_part *ret, size_t n)
{
    for (; m->name; m++)
        ret[n++] = (struct viewer_part){m->name, script_type, text_of(m->text)};
    return n;
}

bool viewer_has_code(const struct viewer *v)
{
    return v->code[0].n || v->code[1].n;
}

size_t viewer_parts(const struct viewer *v, struct viewer_part *ret)
{
    static const char *const data_names[VIEWER_FILES] = {"data0.gz", "data1.gz"};
    static const char *const code_names[VIEWER_FILES] = {"code0.gz", "code1.gz"};
    size_t n = 0;
    ret[n++] = (struct viewer_part){"", page_type, {v->index.at, v->index.n}};
    ret[n++] = (struct viewer_part){"still.html", page_type, {v->still.at, v->still.n}};
    ret[n++] = (struct viewer_part){"view.css", "text/css; charset=utf-8", text_of(web_view_css)};
    ret[n++] = (struct viewer_part){"core.wasm.gz", bytes_type, core_bytes()};
    for (size_t i = 0; i < v->n; i++)
        ret[n++] = (struct viewer_part){data_names[i], bytes_type, {v->data[i].at, v->data[i].n}};
    for (size_t i = 0; i < v->n; i++)
        if (v->code[i].n)
            ret[n++] =
                (struct viewer_part){code_names[i], bytes_type, {v->code[i].at, v->code[i].n}};
    n = add_modules(page_modules, ret, n);
    return add_modules(worker_modules, ret, n);
}

/* --- one file --- */

static void put_base64(FILE *out, struct text bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *at = (const unsigned char *)bytes.at;
    for (size_t i = 0; i < bytes.n; i += 3) {
        size_t left = bytes.n - i;
        unsigned v = (unsigned)at[i] << 16 | (left > 1 ? (unsigned)at[i + 1] << 8 : 0) |
                     (left > 2 ? at[i + 2] : 0u);
        char four[4] = {digits[v >> 18], digits[v >> 12 & 63], left > 1 ? digits[v >> 6 & 63] : '=',
                        left > 2 ? digits[v & 63] : '='};
        fwrite(four, 1, 4, out);
    }
}

static void put_bytes(FILE *out, const char *id, struct text bytes)
{
    fprintf(out, "<script type=\"text/plain\" id=\"%s\">", id);
    put_base64(out, bytes);
    fputs("</script>\n", out);
}

/* The modules as one script: what they import from each other is in it. */
static void put_modules(FILE *out, const struct viewer_module *m)
{
    for (; m->name; m++)
        for (struct text rest = text_of(m->text); rest.n;) {
            struct text line = text_cut(&rest, '\n');
            static const char word[] = "export ";
            if (text_starts(line, "import "))
                continue;
            if (text_starts(line, word))
                line = (struct text){line.at + sizeof word - 1, line.n - (sizeof word - 1)};
            fwrite(line.at, 1, line.n, out);
            putc('\n', out);
        }
}

/* Runs as soon as it is read: the still picture is not seen before the page is. */
static const char first_script[] = "document.documentElement.className='scripted'";

static void put_hash(FILE *out, struct text script)
{
    uint8_t hash[SHA256_BYTES];
    sha256(script, hash);
    fputs(" 'sha256-", out);
    put_base64(out, (struct text){(const char *)hash, sizeof hash});
    putc('\'', out);
}

/* Scripts are named by their hashes: no name in a recording can be taken for one of them, and the
 * same profiles give the same bytes, which a random nonce would not. */
static void put_policy(FILE *out, struct text script)
{
    fputs("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src",
          out);
    put_hash(out, text_of(first_script));
    put_hash(out, script);
    fputs(" 'wasm-unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:; worker-src blob:; "
          "base-uri 'none'; form-action 'none'\">\n",
          out);
}

static void print_main_script(struct viewer_bytes *ret)
{
    FILE *out = open_memstream(&ret->at, &ret->n);
    if (!out)
        return;
    fputs("(()=>{'use strict';\n", out);
    put_modules(out, page_modules);
    fputs("})()", out);
    fclose(out);
}

void viewer_print(FILE *out, const struct viewer *v)
{
    struct viewer_bytes script = {0};
    print_main_script(&script);
    put_head(out, v);
    put_policy(out, (struct text){script.at, script.n});
    fprintf(out,
            "<style>%s</style>\n<script>%s</script>\n<style>html:not(.scripted){overflow:auto}"
            "</style>\n</head>\n",
            web_view_css, first_script);
    put_body_tag(out, v);
    fputs("<div id=\"still\"><style>", out);
    document_print_style(out);
    fputs("</style>\n", out);
    fwrite(v->body.at, 1, v->body.n, out);
    fputs("</div>\n", out);
    put_bytes(out, "core", core_bytes());
    fputs("<script type=\"text/plain\" id=\"worker\">'use strict';\n", out);
    put_modules(out, worker_modules);
    fputs("</script>\n<script>", out);
    fwrite(script.at ? script.at : "", 1, script.n, out);
    fputs("</script>\n", out);
    free(script.at);
    /* Behind the script, which has the core compiled meanwhile. */
    for (size_t i = 0; i < v->n; i++)
        put_bytes(out, i ? "data1" : "data0", (struct text){v->data[i].at, v->data[i].n});
    for (size_t i = 0; i < v->n; i++)
        if (v->code[i].n)
            put_bytes(out, i ? "code1" : "code0", (struct text){v->code[i].at, v->code[i].n});
    fputs("</body>\n</html>\n", out);
}

void viewer_print_packed(FILE *out, const void *v)
{
    autofree char *at = NULL;
    size_t n = 0;
    FILE *packed = open_memstream(&at, &n);
    if (!packed)
        return;
    FILE *page = publish_gzip(packed);
    viewer_print(page, v);
    fclose(page);
    fclose(packed);
    put_bytes(out, "explore", (struct text){at, n});
    fprintf(out, "<script>%s</script>\n", web_explore_js);
}
