#!/bin/bash
# Everything that can be said about the source without running it. Shows all that is wrong.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
B=${B:-build}
jobs=$(nproc)
failed=0

# Run a check; the words after its name are the command.
check() {
    local name=$1 said
    shift
    if said=$("$@" 2>&1); then
        echo "lint: $name: fine"
    else
        failed=1
        echo "lint: $name: FAILED"
        echo "$said"
    fi
}

mapfile -t c_files < <(git ls-files --cached --others --exclude-standard '*.c' '*.h')
mapfile -t scripts < <(git ls-files --cached --others --exclude-standard '*.sh' '*.bats' '*.bash' .ci/run)

# In a folder of its own: objects that are there already would keep their warnings to themselves. With WERROR=1 in the
# environment they are known to have none, for then all of them were made with it. Only gcc: the sanitized build of `make check-all`
# is clang's, with warnings as errors too.
built=$B/lint
[ -z "${WERROR:-}" ] || built=$B
builds() {
    make --no-print-directory -s -j"$jobs" CC=gcc WERROR=1 B="$built" all unit
}

# The checks are named in .clang-tidy, the flags in compile_flags.txt. The embedded files are those of builds(). The analyzer
# stays within a function and what it calls that is tiny: a fifth of the time. DEEP=1 lets it follow every call.
clang_tidy() {
    local depth=()
    [ -n "${DEEP:-}" ] || depth=(--extra-arg={-Xclang,-analyzer-config,-Xclang,mode=shallow})
    printf '%s\n' "${c_files[@]}" | grep '^src/.*\.c$' |
        xargs -P"$jobs" -n4 clang-tidy --quiet --warnings-as-errors='*' --extra-arg="-I$built/gen" "${depth[@]}" 2>/dev/null
}

# Words that mean unfinished work, and paths and names of the machine it was written on.
tell_tales() {
    ! git grep -nIE '\b(TODO|FIXME|XXX|HACK)\b|/work/(main|shared)|/tmp/(peer|wt-|b-)|/home/[a-z]+/' -- \
        ':!tools/lint.sh' ':!tests/golden' ':!tests/fuzz/seeds' ':!examples'
}

check formatting clang-format --dry-run -Werror "${c_files[@]}"
check layers tools/check-layers.sh
check "names that grep can find" tools/list-same-names.py
check "faults stand in the code" tools/mutate.py --faults --list
check "gcc, warnings as errors" builds
check clang-tidy clang_tidy
check shellcheck shellcheck -x -S warning -e SC1090,SC1091,SC2030,SC2031,SC2034 "${scripts[@]}"
check "plain English" tools/check-english.py
check "tell-tale words" tell_tales
exit $failed
