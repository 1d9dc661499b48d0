#include "record/stackfit.h"

enum { NEEDED_FIRST = 64, NEEDED_MOST = 1 << 20 };

void stackfit_init(struct stackfit *f)
{
    *f = (struct stackfit){.needed = NEEDED_FIRST};
}

bool stackfit_asks(struct stackfit *f)
{
    if (f->part || !f->idle)
        return !f->part;
    f->idle--;
    return false;
}

static bool add_whole(struct stackfit *f, bool fits)
{
    f->fits = fits ? f->fits + 1 : 0;
    f->idle = fits ? 0 : f->needed / 4;
    f->part = f->fits >= f->needed;
    return f->part;
}

bool stackfit_add(struct stackfit *f, bool fits)
{
    if (!f->part)
        return add_whole(f, fits);
    if (fits)
        return false;
    f->part = false;
    f->fits = 0;
    f->idle = 0;
    f->needed = f->needed < NEEDED_MOST ? f->needed * 2 : f->needed;
    return true;
}
