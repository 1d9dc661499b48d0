#include "model/meta_program.h"
#include "base/words.h"

/* A process may have called itself "app: worker". */
bool meta_program(const struct meta *m, struct buf *b)
{
    struct words w = {0};
    struct err ignored = {0};
    const char *command = meta_find(m, META_COMMAND);
    bool known =
        command && words_split(&w, text_of(command), WORDS_BLANKS, &ignored) == 0 && w.at.n;
    const char *slash = known ? strrchr(w.at.at[0], '/') : NULL;
    struct text name = text_of(!known ? "" : slash ? slash + 1 : w.at.at[0]);
    if (name.n > 1 && name.at[name.n - 1] == ':')
        name.n--;
    known = name.n && !(name.n == 4 && memcmp(name.at, "perf", 4) == 0);
    if (known)
        buf_printf(b, "%.*s", TEXT_ARG(name));
    words_done(&w);
    return known;
}
