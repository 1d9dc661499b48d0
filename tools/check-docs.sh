#!/bin/bash
# Help, man pages, completion, README and doc/formats.md must tell of every command, option and
# format. Prints TAP.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
kelvin=${KELVIN:-build/kelvin}
n=0

# A test: the words after its name are a command that prints what is wrong, or nothing.
holds() {
    local name=$1 said
    shift
    n=$((n + 1))
    said=$("$@" 2>&1)
    if [ -z "$said" ]; then
        echo "ok $n $name"
    else
        echo "not ok $n $name"
        echo "# ${said//$'\n'/$'\n# '}"
    fi
}

commands() {
    "$kelvin" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'
}

formats() {
    "$kelvin" help formats | sed -n 's/^  \([a-z0-9.]*\) .*/\1/p' | sort -u
}

options() { # COMMAND
    "$kelvin" "$1" --help | grep -oE '^  (-[a-zA-Z], )?--[a-z0-9-]+' | grep -oE -- '--[a-z0-9-]+'
}

help_works() {
    "$kelvin" "$1" --help >/dev/null || echo "kelvin $1 --help fails"
    "$kelvin" help "$1" >/dev/null || echo "kelvin help $1 fails"
    # Not grep -q: it ends at the first match, and whoever writes to it fails then.
    [[ $("$kelvin" "$1" --help) = *$'\nExamples:'* ]] || echo "kelvin $1 --help shows no example"
}

man_is_complete() {
    local option
    "$kelvin" help "$1" --as man >"$tmp/man"
    for option in $(options "$1"); do
        [ "$option" = --help ] || grep -qF -- "${option//-/\\-}" "$tmp/man" || echo "no $option in kelvin-$1(1)"
    done
    { groff -man -Tutf8 -ww "$tmp/man" >/dev/null; } 2>&1
}

completes() {
    local option
    "$kelvin" help --as bash >"$tmp/bash"
    "$kelvin" help --as zsh | sed -n "/^  $1)\$/,/;;\$/p" >"$tmp/zsh"
    "$kelvin" help --as fish | grep "'__kelvin_command $1'" >"$tmp/fish"
    bash -n "$tmp/bash"
    for option in $(options "$1"); do
        grep -q -- "^ *$1).*$option\b" "$tmp/bash" || echo "no $1 $option in the completion for bash"
        grep -Eq -- "$option(=-)?['},[]" "$tmp/zsh" || echo "no $1 $option in the completion for zsh"
        grep -q -- " -l ${option#--} " "$tmp/fish" || echo "no $1 $option in the completion for fish"
    done
}

in_readme() {
    grep -q "kelvin $1" README.md || echo "README.md has no example of 'kelvin $1'"
}

overview_is_complete() {
    local command
    "$kelvin" help --as man >"$tmp/man"
    for command in $(commands); do
        grep -q "kelvin.*$command" "$tmp/man" || echo "no $command in kelvin(1)"
    done
    { groff -man -Tutf8 -ww "$tmp/man" >/dev/null; } 2>&1
}

format_has_a_page() {
    grep -qiE "^#+ .*\b$1\b|\`$1\`" doc/formats.md || echo "doc/formats.md does not tell of '$1'"
}

keys_are_told() {
    local key means
    "$kelvin" help suite | awk '/^  [a-z]/ { if (line) print line; line = substr($0, 3) "\t"; between = "" }
        /^      / && line { sub(/^ +/, ""); line = line between $0; between = " " } END { print line }' |
        while IFS=$'\t' read -r key means; do
            grep -qxF "| \`$key\` | $means |" doc/suite.md ||
                echo "doc/suite.md says something else of $key than 'kelvin help suite': $means"
        done
}

# Options that sentences of the program name: of some command, or of another tool.
advice_is_possible() {
    local option of_others="--all-cpus --args --call-graph --no-children --stdio --interpreted-frames-native-stack"
    of_others+=" --max-semi-space-size --perf-basic-prof --perf-basic-prof-only-functions --perf-prof"
    { for option in $(commands); do options "$option"; done; tr ' ' '\n' <<<"$of_others"; } | sort -u >"$tmp/options"
    cat src/analysis/*.c src/cmd/*.c | grep -oE '"([^"\]|\\.)*"' | grep -oE -- "(^|[^a-zA-Z0-9_-])--[a-z][a-z0-9-]+" |
        grep -oE -- '--[a-z0-9-]+' | sort -u | comm -23 - "$tmp/options" | sed 's/$/ is named in src, and no command has it/'
}

version_has_changes() {
    grep -qF "$("$kelvin" --version | sed 's/^kelvin //; q')" CHANGES || echo "CHANGES does not tell of this version"
}

layout_is_complete() {
    local chunk version
    local found=0
    while IFS='"' read -r _ chunk _; do
        found=1
        grep -qF "| \`$chunk\` |" doc/formats.md || echo "doc/formats.md does not describe the chunk $chunk"
    done < <(grep -oE '^ *\{"[A-Z.]{4}", [a-z_]*apply' src/wire/recording_read.c)
    [ "$found" = 1 ] || echo "no chunks found in src/wire/recording_read.c"
    version=$(sed -n 's/.*CHUNK_VERSION = \([0-9]*\).*/\1/p' src/wire/chunk.h)
    grep -q "u32 version, $version " doc/formats.md || echo "doc/formats.md describes another version than $version"
}

links_lead_somewhere() {
    local page link
    for page in ./*.md doc/*.md; do
        grep -ohE '\]\([^)#]+|src="[^"]+' "$page" | sed -E 's/^\]\(|^src="//' | grep -v '^https\?:' | sort -u |
            while read -r link; do
                [ -e "$(dirname "$page")/$link" ] || echo "$page links to $link, which is not there"
            done
    done
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
for command in $(commands); do
    holds "help of $command works" help_works "$command"
    holds "man page of $command has every option" man_is_complete "$command"
    holds "completion of $command has every option" completes "$command"
    holds "README shows $command" in_readme "$command"
done
holds "man page of kelvin has every command" overview_is_complete
for format in $(formats); do
    holds "doc/formats.md tells of $format" format_has_a_page "$format"
done
holds "doc/suite.md says of every key what 'kelvin help suite' says" keys_are_told
holds "doc/formats.md has the layout of recordings as they are" layout_is_complete
holds "sentences name options that there are" advice_is_possible
holds "CHANGES tells of this version" version_has_changes
holds "links in the pages lead somewhere" links_lead_somewhere
echo "1..$n"
