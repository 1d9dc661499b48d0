/* flamesteps.c - flame graphs to step through; see flamesteps.h. */
#include "view/flamesteps.h"
#include "analysis/calltree.h"
#include "base/buf.h"
#include "base/units.h"
#include "base/utf8.h"
#include "view/flame.h"

static const char steps_style[] =
    ":root{color-scheme:light dark}body{margin:0 auto;padding:1rem;max-width:1240px;"
    "font:15px/1.45 system-ui,sans-serif}h1{font-size:1.4rem;margin:0 0 .5rem}"
    "nav{display:none;gap:.6rem;align-items:center;position:sticky;top:0;background:Canvas;"
    "padding:.4rem 0}.on nav{display:flex}nav input{flex:1}button{font:inherit}"
    "section svg{max-width:100%;height:auto}.on section{display:none}.on section.now{display:block}"
    "h2{font-size:1rem;margin:.6rem 0}";

static const char steps_script[] =
    "(()=>{const all=[...document.querySelectorAll('section')],at=document.querySelector('#at'),"
    "where=document.querySelector('#where');let now=all.length-1;document.body.classList.add('on');"
    "const show=i=>{now=Math.max(0,Math.min(all.length-1,i));"
    "all.forEach((s,k)=>s.classList.toggle('now',k===now));at.value=now;"
    "where.textContent=(now+1)+' of '+all.length};at.max=all.length-1;"
    "at.oninput=()=>show(+at.value);document.querySelector('#back').onclick=()=>show(now-1);"
    "document.querySelector('#on').onclick=()=>show(now+1);"
    "addEventListener('keydown',e=>{if(e.target.closest('svg')||e.target===at)return;"
    "if(e.key==='ArrowLeft')show(now-1);if(e.key==='ArrowRight')show(now+1)});show(now)})()";

static void steps_put(FILE *out, const char *text)
{
    autobuf struct buf b = {0};
    utf8_xml(&b, text_of(text));
    fwrite(b.at ? b.at : "", 1, b.n, out);
}

void flamesteps_begin(struct flamesteps *f, FILE *out, const char *title)
{
    *f = (struct flamesteps){.out = out};
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>", out);
    steps_put(out, title);
    fprintf(out, "</title><style>%s</style></head><body>\n<h1>", steps_style);
    steps_put(out, title);
    fputs("</h1>\n<nav><button id=\"back\">\xe2\x86\x90 before</button><button id=\"on\">after "
          "\xe2\x86\x92</button><input id=\"at\" type=\"range\" min=\"0\" aria-label=\"run\"><span "
          "id=\"where\"></span></nav>\n",
          out);
}

/* "1.21 s of CPU time, 1,204 samples" */
static void steps_figures(FILE *out, const struct selection *s)
{
    uint64_t cpu_ns;
    char text[UNITS_MAX];
    if (meta_find_u64(&s->profile->meta, META_CPU_TIME_NS, &cpu_ns))
        fprintf(out, ": %s of CPU time", units_scaled(text, (double)cpu_ns, SCALED_NS));
    if (s->n_samples)
        fprintf(out, ", %s", units_many(text, (uint64_t)s->n_samples, "sample", "samples"));
}

void flamesteps_add(struct flamesteps *f, const char *name, const struct selection *s)
{
    struct calltree_opts o = {.group = GROUP_COMM, .min_share = 0.001, .keep_rows = true};
    struct calltree *t = calltree_build(s, &o);
    autofree char *id = mem_printf("step%zu", ++f->n);
    fputs("<section><h2>", f->out);
    steps_put(f->out, name);
    steps_figures(f->out, s);
    fputs("</h2>\n", f->out);
    flame_print_selection(
        f->out, s, t,
        &(struct flame_opts){
            .title = name, .id = id, .min_share = 0.001, .hidden = "frames under 0.1% not drawn"});
    fputs("</section>\n", f->out);
    calltree_free(t);
}

void flamesteps_end(struct flamesteps *f)
{
    fprintf(f->out, "<script>%s</script>\n</body></html>\n", steps_script);
}
