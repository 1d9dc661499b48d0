#include "symbol/debugdata.h"

#include "base/mem.h"
#include "symbol/elffile.h"

#include <lzma.h>

enum { LEAST_BYTES = 1 << 20, TIMES = 100, MOST_BYTES = 512 << 20, DICTIONARY_BYTES = 128 << 20 };

static size_t limit_of(size_t packed_bytes)
{
    size_t most = MOST_BYTES;
    if (packed_bytes < (most - LEAST_BYTES) / TIMES)
        return packed_bytes * TIMES + LEAST_BYTES;
    return most;
}

enum debugdata_end debugdata_open(struct debugdata *d, Elf *main)
{
    *d = (struct debugdata){0};
    Elf_Scn *scn = elffile_named_section(main, ".gnu_debugdata");
    Elf_Data *data = scn ? elf_rawdata(scn, NULL) : NULL;
    if (!data || !data->d_buf)
        return DEBUGDATA_NONE;
    size_t in = 0, out = 0;
    uint64_t memory = DICTIONARY_BYTES;
    /* Memory that is not written to costs nothing. */
    d->image_bytes = limit_of(data->d_size);
    d->image = mem_table(d->image_bytes);
    lzma_ret rc = lzma_stream_buffer_decode(&memory, 0, NULL, data->d_buf, &in, data->d_size,
                                            d->image, &out, d->image_bytes);
    if (rc == LZMA_OK)
        d->elf = elf_memory(d->image, out);
    if (d->elf && elf_kind(d->elf) == ELF_K_ELF)
        return DEBUGDATA_OPEN;
    debugdata_close(d);
    return rc == LZMA_BUF_ERROR || rc == LZMA_MEMLIMIT_ERROR ? DEBUGDATA_TOO_BIG : DEBUGDATA_BAD;
}

void debugdata_close(struct debugdata *d)
{
    if (d->elf)
        elf_end(d->elf);
    mem_table_free(d->image, d->image_bytes);
    *d = (struct debugdata){0};
}
