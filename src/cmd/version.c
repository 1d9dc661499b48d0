#include "cmd/version.h"
#include "base/text.h"

#include <capstone/capstone.h>
#include <elfutils/libdwfl.h>
#include <elfutils/version.h>
#include <gnu/libc-version.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <xxhash.h>
#include <zlib.h>
#include <zstd.h>

#define TEXT_OF(x) #x
#define NUMBER(x) TEXT_OF(x)
#define DOTTED(a, b) NUMBER(a) "." NUMBER(b)

#if defined __clang__
#define COMPILER "clang " __clang_version__
#elif defined __GNUC__
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown"
#endif

#if defined __x86_64__
#define MACHINE "x86-64"
#elif defined __aarch64__
#define MACHINE "AArch64"
#else
#define MACHINE "another machine"
#endif

#if defined __SANITIZE_ADDRESS__
#define SANITIZED true
#elif defined __has_feature
#define SANITIZED __has_feature(address_sanitizer)
#else
#define SANITIZED false
#endif

/* "zstd 1.5.4", and what is in use now where that is another: libraries are replaced under
 * programs. */
static void print_library(FILE *out, const char *name, const char *built, const char *now)
{
    fprintf(out, " %s %s", name, built);
    if (strcmp(built, now) != 0)
        fprintf(out, " (now %s)", now);
}

static void print_libraries(FILE *out)
{
    char capstone[32], xxhash[32];
    int major, minor;
    cs_version(&major, &minor);
    snprintf(capstone, sizeof capstone, "%d.%d", major, minor);
    unsigned x = XXH_versionNumber();
    snprintf(xxhash, sizeof xxhash, "%u.%u.%u", x / 10000, x / 100 % 100, x % 100);
    fprintf(out, "libraries:");
    print_library(out, "glibc", DOTTED(__GLIBC__, __GLIBC_MINOR__), gnu_get_libc_version());
    fputc(',', out);
    print_library(out, "elfutils", "0." NUMBER(_ELFUTILS_VERSION), dwfl_version(NULL));
    fputc(',', out);
    print_library(out, "capstone", DOTTED(CS_API_MAJOR, CS_API_MINOR), capstone);
    fputc(',', out);
    print_library(out, "sqlite", SQLITE_VERSION, sqlite3_libversion());
    fputc(',', out);
    print_library(out, "zstd", ZSTD_VERSION_STRING, ZSTD_versionString());
    fputc(',', out);
    print_library(out, "zlib", ZLIB_VERSION, zlibVersion());
    fputc(',', out);
    print_library(out, "xxhash",
                  DOTTED(XXH_VERSION_MAJOR, XXH_VERSION_MINOR) "." NUMBER(XXH_VERSION_RELEASE),
                  xxhash);
    fputc('\n', out);
}

/* What depends on how it was built. What this machine allows is `kelvin doctor`. */
static void print_features(FILE *out)
{
#if defined __x86_64__
    fprintf(out, "features: record (perf, timer)");
#else
    fprintf(out, "features: record (timer; perf was never tried on this processor)");
#endif
#if defined KELVIN_STATIC
    fprintf(out, ", static, no debuginfod");
#else
    fprintf(out, ", debuginfod (when libdebuginfod is installed)");
#endif
    if (SANITIZED)
        fprintf(out, ", sanitized");
    fputc('\n', out);
}

void version_print(FILE *out)
{
    fprintf(out, "kelvin %s\n", KELVIN_VERSION);
    fprintf(out, "built with %s for %s\n", COMPILER, MACHINE);
    print_libraries(out);
    print_features(out);
}
