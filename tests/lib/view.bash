# shellcheck shell=bash
# What the tests of `kelvin view` share. Load it after helpers.

need_page() {
    kelvin view --no-open
    # shellcheck disable=SC2154
    [[ $stderr != *"built without the page"* ]] || skip "this build has no page ('tools/setup.sh page' installs what it needs)"
}

# A program of two functions, one inlined into the other, in a project's folder.
recorded_program() {
    mkdir -p project
    touch project/kelvin.conf
    cat >project/hot.c <<'END'
#include <stdio.h>
static inline unsigned mix(unsigned h, unsigned c)
{
    return h * 33 ^ c;
}
__attribute__((noinline)) unsigned hash(const unsigned char *p, int n)
{
    unsigned h = 5381;
    for (int i = 0; i < n; i++)
        h = mix(h, p[i]); /* </script><img src=x onerror=alert(1)> */
    return h;
}
int main(void)
{
    static unsigned char b[65536] = "abc";
    unsigned h = 0;
    for (int i = 0; i < 6000; i++)
        b[i] = (unsigned char)(h += hash(b, sizeof b));
    printf("%u\n", h);
}
END
    gcc -O2 -g -o project/hot project/hot.c
    "$KELVIN" record -q -o hot.kelvin -- project/hot >/dev/null || skip "cannot record here"
}
