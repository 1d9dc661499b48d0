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
