# tools/check-layers.sh: what of the plan of the house it finds broken.
# shellcheck disable=SC2154  # run sets output, status
load ../lib/helpers

# A house of three rooms, and the check in it.
setup() {
    cd "$BATS_TEST_TMPDIR" || return
    mkdir -p house/tools house/src/{model,view,cmd} house/lib/bench
    cp "$ROOT/tools/check-layers.sh" house/tools/
    cat >house/DESIGN.md <<'PLAN'
| room | may include | what it holds |
|---|---|---|
| model | base | the profile |
| view | base model | what a person looks at |
| cmd | all | commands |
| lib | base | agents |
| lib/bench | base | benchmarks |
PLAN
    echo '    {0, "top", OPT_INT, "N", "rows"},' >house/src/cmd/report.c
    touch house/lib/agent.c house/lib/bench/bench.c
    room view '#include "model/profile.h"'
    room model 'if (text_is(profile_str(p, s->event), "heap"))'
}

# One more file of a room, with the line that is on trial.
room() { # ROOM LINE
    printf '%s\n' "$2" >"house/src/$1/trial.c"
}

finds() { # WORDS
    run house/tools/check-layers.sh
    exits 1
    [[ $output == *"$1"* ]] || fail "not found: $1" "$output"
}

@test "a house that is as its plan says passes" {
    run house/tools/check-layers.sh
    exits 0
    [ -z "$output" ] || fail "$output"
}

@test "a room that includes what it may not is found" {
    room model '#include "view/report.h"'
    finds 'src/model/trial.c:1: model may not include view'
}

@test "a room below cmd that names an option is found" {
    room view 'puts("see --top");'
    finds 'src/view/trial.c:1: view names an option: see --top'
}

@test "a name of an event, a column or a unit that decides what it means is found outside of the model" {
    while read -r line; do
        room view "$line"
        finds "src/view/trial.c:1: view decides by a name what a stream or column means: $line"
    done <<'CODE'
bool is_heap = text_is(profile_str(o->p, s->event), "heap");
if (text_is(profile_str(p, s->types[k].name), column))
if (text_is(profile_str(o->p, profile_value(o->p, value)->name), names[i][0]))
int stream = profile_find_stream(p, event);
s->sampled = profile_find_column(p, s->stream, VALUE_SAMPLES) >= 0;
if (profile_pick_value(p, "Ir", NULL, &value, &err) != 0)
else if (strcmp(unit, UNIT_COUNT) == 0)
if (strcmp(unit, "nanoseconds") == 0)
if (strcmp(c->unit, "bytes") == 0)
bool wall = text_is(profile_str(s->profile, s->stream->event), WALL_VALUE);
CODE
}

@test "names that are printed, and those that a user chose, are no fault" {
    while read -r line; do
        room view "$line"
        run house/tools/check-layers.sh
        exits 0
    done <<'CODE'
json_text(j, profile_str(p, s->event));
if (profile_pick_value(p, q->event, q->value, &value, err) != 0)
profile_add_value(p, stream, "wall", UNIT_TIME);
CODE
}
