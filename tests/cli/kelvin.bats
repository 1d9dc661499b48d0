# Kelvin's own file: a profile goes in and comes out, also when the file was cut.
load ../lib/helpers

make_recording() {
    printf 'main;parse;read 7\nmain;parse 2.5\nmain;write out 4\n' >in.folded
    "$KELVIN" convert in.folded -o app.kelvin
}

@test "a folded file comes back from a recording" {
    make_recording
    kelvin fold app.kelvin
    exits 0
    [ "$output" = "$(LC_ALL=C sort in.folded)" ] || fail "$output"
    [ -z "$stderr" ] || fail "$stderr"
}

@test "the same profile gives the same recording" {
    make_recording
    kelvin convert app.kelvin -o again.kelvin
    exits 0
    kelvin convert again.kelvin -o third.kelvin
    cmp again.kelvin third.kelvin
}

@test "a recording is read from a pipe and packed" {
    make_recording
    gzip -k app.kelvin
    kelvin fold app.kelvin.gz
    exits 0
    [ "$output" = "$(LC_ALL=C sort in.folded)" ] || fail "$output"
    kelvin fold - <app.kelvin
    exits 0
    [ "$output" = "$(LC_ALL=C sort in.folded)" ] || fail "$output"
}

@test "a cut recording gives its samples and says where it was cut" {
    make_recording
    size=$(stat -c %s app.kelvin)
    head -c $((size - 1)) app.kelvin >cut.kelvin
    kelvin fold cut.kelvin
    exits 0
    [ "$output" = "$(LC_ALL=C sort in.folded)" ] || fail "$output"
    complains "cut off at byte $((size - 1))"
    kelvin info cut.kelvin
    exits 0
    [[ $output == *"cut off at byte $((size - 1))"* ]] || fail "$output"
    kelvin fold --strict cut.kelvin
    exits 3
    complains "cut off"
}

@test "every cut of a recording is told, and none crashes" {
    make_recording
    size=$(stat -c %s app.kelvin)
    for ((n = 0; n < size; n += 5)); do
        head -c "$n" app.kelvin >cut.kelvin
        kelvin fold --from kelvin cut.kelvin
        [ "$status" -eq 0 ] || [ "$status" -eq 5 ] || fail "exit code $status at byte $n"
        [ -n "$stderr" ] || fail "nothing said at byte $n"
    done
}

@test "a recording with nothing left in it is an error" {
    make_recording
    head -c 40 app.kelvin >cut.kelvin
    kelvin fold cut.kelvin
    exits 5
    complains "cut off at byte 40"
    kelvin convert cut.kelvin -o out.folded
    exits 5
    no_file out.folded
}

@test "a recording of a newer kelvin is refused" {
    make_recording
    printf '\x03' | dd of=app.kelvin bs=1 seek=12 conv=notrunc status=none
    kelvin fold app.kelvin
    exits 5
    complains "format 3"
}

@test "a recording of the format before is refused in one sentence that says what to do" {
    make_recording
    printf '\x01' | dd of=app.kelvin bs=1 seek=12 conv=notrunc status=none
    kelvin fold app.kelvin
    exits 5
    complains "format 1"
    complains "record it again"
}

@test "a recording that went through a text-mode transfer is named as such" {
    make_recording
    sed 's/\r$//' app.kelvin >text.kelvin
    kelvin fold text.kelvin
    exits 5
    complains "text mode"
}

@test "a limit on the size of files is an error with a message, and the old file stays" {
    printf 'main;a 1\n' >old.folded
    for i in $(seq 3000); do echo "main;function_$i $i"; done >big.folded
    cp old.folded out.folded
    run --separate-stderr bash -c "ulimit -f 1; exec '$KELVIN' fold big.folded -o out.folded"
    exits 1
    complains "out.folded"
    cmp old.folded out.folded || fail "the old file is gone"
    no_litter .
}
