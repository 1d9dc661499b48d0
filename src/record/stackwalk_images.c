#include "record/stackwalk_images.h"

/* Of memory that is taken only as far as it is used. */
enum { MODULES_MAX = 1 << 20 };
#define IMAGES_BYTES (UINT64_C(2) << 30)

int stackwalk_images_open(struct stackwalk_images_writer *w, struct err *err)
{
    if (shared_open(&w->memory, "kelvin-images", IMAGES_BYTES, err) != 0)
        return -1;
    struct stackwalk_images *m = w->memory.at;
    m->size_bytes = IMAGES_BYTES;
    m->n_max = MODULES_MAX;
    m->magic = STACKWALK_IMAGES_MAGIC;
    w->rows_end = stackwalk_images_rows_start(MODULES_MAX);
    return 0;
}

void stackwalk_images_close(struct stackwalk_images_writer *w)
{
    shared_close(&w->memory);
    vec_done(&w->files);
}

/* Where the rows of CODE's table are in the images; 0 when there is no room for them. */
static uint64_t place_rows(struct stackwalk_images_writer *w, const struct unwind_code *code)
{
    const struct unwind_table *table = code->table;
    for (size_t i = 0; i < w->files.n; i++)
        if (w->files.at[i].file_id == code->file_id)
            return w->files.at[i].at;
    uint64_t bytes = table->n_rows * sizeof *table->rows, at = w->rows_end;
    if (table->n_rows > UINT32_MAX || bytes > IMAGES_BYTES - at)
        return 0;
    memcpy((char *)w->memory.at + at, table->rows, bytes);
    w->rows_end = (at + bytes + 7) & ~UINT64_C(7);
    *vec_push(&w->files) = (struct stackwalk_rows){code->file_id, at};
    return at;
}

static bool add_module(struct stackwalk_images_writer *w, const struct stackwalk_module *m)
{
    struct stackwalk_images *images = w->memory.at;
    uint32_t n = atomic_load_explicit(&images->n, memory_order_relaxed);
    if (n == MODULES_MAX) {
        atomic_store(&images->full, 1);
        return false;
    }
    *(struct stackwalk_module *)(uintptr_t)stackwalk_images_module(images, n) = *m;
    atomic_store_explicit(&images->n, n + 1, memory_order_release);
    return true;
}

void stackwalk_images_answer(struct stackwalk_images_writer *w, struct processes *ps, int pid,
                             uint64_t ticket)
{
    struct unwind_code code;
    for (size_t i = 0; processes_code(ps, pid, i, &code); i++) {
        struct stackwalk_module m = {.pid = pid, .start = code.start, .end = code.end};
        uint64_t at = code.table && code.table->n_rows ? place_rows(w, &code) : 0;
        m.has_file = code.table != NULL;
        if (at) {
            m.rows = at;
            m.n_rows = (uint32_t)code.table->n_rows;
            m.base = code.bias + code.table->base;
        }
        if (!add_module(w, &m))
            return;
    }
    add_module(w, &(struct stackwalk_module){.pid = pid, .start = ticket});
}
