#include "cmd/annotate.h"

#include <sys/stat.h>

enum { SOURCE_MAX_BYTES = 64 << 20 };

static void split_rows(struct annotate_file *f)
{
    struct text rest = f->text;
    while (rest.n)
        *vec_push(&f->rows) = text_cut(&rest, '\n');
}

static void read_source(struct annotate_file *f, const char *binary)
{
    struct stat st, made;
    autofclose FILE *in =
        stat(f->path.at, &st) == 0 && S_ISREG(st.st_mode) ? fopen(f->path.at, "re") : NULL;
    if (!in || st.st_size > SOURCE_MAX_BYTES) {
        f->note = "not here; lines are shown by number";
        return;
    }
    char *text = mem_calloc((size_t)st.st_size + 1, 1);
    f->text = (struct text){text, fread(text, 1, (size_t)st.st_size, in)};
    split_rows(f);
    if (stat(binary, &made) == 0 && st.st_mtime > made.st_mtime)
        f->note = "newer than the program; lines may not be the ones that ran";
}

static struct annotate_file *file_of(struct annotate *a, struct text path)
{
    for (size_t i = 0; i < a->n_files; i++)
        if (a->files[i].path.at == path.at)
            return &a->files[i];
    a->files = mem_realloc(a->files, (a->n_files + 1) * sizeof *a->files);
    a->files[a->n_files] = (struct annotate_file){.path = path};
    return &a->files[a->n_files++];
}

static int by_line(const void *a, const void *b)
{
    const struct annotate_line *x = a, *y = b;
    return x->line < y->line ? -1 : x->line > y->line;
}

static void merge_lines(struct annotate_file *f)
{
    size_t n = 0;
    qsort(f->lines.at, f->lines.n, sizeof *f->lines.at, by_line);
    for (size_t i = 0; i < f->lines.n; i++) {
        struct annotate_line *l = &f->lines.at[i];
        if (!n || f->lines.at[n - 1].line != l->line) {
            f->lines.at[n++] = *l;
            continue;
        }
        f->lines.at[n - 1].self += l->self;
        f->lines.at[n - 1].inlined &= l->inlined;
    }
    f->lines.n = n;
}

void annotate_files_build(struct annotate *a, const char *binary)
{
    struct annotate_place at;
    for (size_t i = 0; i < a->listing->insns.n; i++) {
        const struct listing_insn *n = &a->listing->insns.at[i];
        if (annotate_place(a, n, &at))
            *vec_push(&file_of(a, at.file)->lines) =
                (struct annotate_line){at.line, n->self, at.inlined};
    }
    for (size_t i = 0; i < a->n_files; i++) {
        merge_lines(&a->files[i]);
        read_source(&a->files[i], binary);
    }
}

void annotate_files_done(struct annotate *a)
{
    for (size_t i = 0; i < a->n_files; i++) {
        free((char *)a->files[i].text.at);
        vec_done(&a->files[i].rows);
        vec_done(&a->files[i].lines);
    }
    free(a->files);
}
