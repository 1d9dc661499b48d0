#!/usr/bin/env bats
# Files of other tools, made by those tools where they are installed.
# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers

@test "text that is not folded stacks is refused, though a line or two end in a number" {
    { yes 'a line of prose' | head -n 282; echo 'chapter 3'; } >prose.txt
    kelvin fold prose.txt
    exits 5
    complains 'not a profile'
    kelvin fold --from folded prose.txt
    exits 5
    complains '282 of 283 lines'
    # Stacks at the start do not make the rest folded.
    { yes 'main;a 1' | head -n 60; yes 'log: nothing' | head -n 90; } >mixed.txt
    kelvin fold mixed.txt
    exits 5
    complains '90 of 150 lines'
}

@test "a folded stack may have 100,000 frames, and no more" {
    { yes 'f;' | head -n 100000 | tr -d '\n' | sed 's/;$/ 1\n/'; echo 'main 2'; } >deep.folded
    kelvin info deep.folded
    exits 0
    [ -z "$stderr" ] || fail "$stderr"
    { yes 'f;' | head -n 100001 | tr -d '\n' | sed 's/;$/ 1\n/'; echo 'main 2'; } >deeper.folded
    kelvin fold deeper.folded
    prints 'main 2'
    complains 'skipped 1 flaw' 'more than 100000 frames'
}

@test "xz, bzip2, UTF-16 and a UTF-8 mark are undone" {
    printf 'main;größe;😀 7\nmain 2\n' >plain.folded
    local want=$'main 2\nmain;größe;😀 7'
    xz -k plain.folded
    bzip2 -k plain.folded
    cat plain.folded.bz2 plain.folded.bz2 >twice.bz2
    cat plain.folded.xz plain.folded.xz >twice.xz
    iconv -t UTF-16 plain.folded >little.txt
    { printf '\376\377'; iconv -t UTF-16BE plain.folded; } >big.txt
    { printf '\357\273\277'; cat plain.folded; } >mark.txt
    for file in plain.folded.xz plain.folded.bz2 little.txt big.txt mark.txt; do
        kelvin fold "$file"
        prints "$want"
        [ -z "$stderr" ] || fail "$file: $stderr"
        kelvin fold - <"$file"
        prints "$want"
    done
    for file in twice.bz2 twice.xz; do
        kelvin fold "$file"
        prints $'main 4\nmain;größe;😀 14'
    done
}

@test "xz and bzip2 that are cut or damaged are an error" {
    seq -f 'main;f%g 3' 20000 >plain.folded
    xz -k plain.folded
    bzip2 -k plain.folded
    for file in plain.folded.xz plain.folded.bz2; do
        head -c -20 $file >cut
        kelvin fold cut
        exits 5
        complains 'is cut off at byte'
        { head -c 5000 $file; echo damage; tail -c +5008 $file; } >bad
        kelvin fold --from folded bad
        exits 5
        complains 'is damaged near byte'
    done
}
