# How far numbers can be trusted: intervals belong to what they stand beside, depth counts every line.
# shellcheck disable=SC2154  # kelvin sets output, status, stderr
load ../lib/helpers

# 1000 samples in an order without a rhythm: main calls half (500) and fifth (200), which calls
# tenth (100); the rest is main's own.
make_script() {
    python3 - >app.txt <<'PYTHON'
import random
kinds = ([["half", "main"]] * 500 + [["fifth", "main"]] * 100 + [["tenth", "fifth", "main"]] * 100 +
         [["main"]] * 300)
random.Random(1).shuffle(kinds)
place = {"main": 0x1000, "half": 0x2000, "fifth": 0x3000, "tenth": 0x4000}
for i, stack in enumerate(kinds):
    print("app 1 %d.%06d: 1 cycles:" % (i // 1000, i % 1000 * 1000))
    for name in stack:
        print("\t    %x %s+0x1 (/bin/app)" % (place[name], name))
    print()
PYTHON
}

@test "each hot path has the interval of its own share" {
    make_script
    kelvin report app.txt --format json
    exits 0
    echo "$output" | python3 -c '
import json, math, sys
want = {"main": 1, "half": 0.5, "fifth": 0.2, "tenth": 0.1}
paths = json.load(sys.stdin)["paths"]
assert sorted(p["name"] for p in paths) == sorted(want), paths
for p in paths:
    share, t = want[p["name"]], p["total"]
    low, high = t["low"], t["high"]
    assert abs(t["share"] - share) < 1e-9, p
    assert low <= share <= high, p
    if share < 1:  # within a fifth of what as many independent samples give
        half = 1.96 * math.sqrt(share * (1 - share) / 1000)
        assert 0.8 < (high - low) / 2 / half < 1.25, (p, half)' || fail "$output"
}

@test "the text puts the same interval beside the path" {
    make_script
    kelvin report app.txt --width 120
    exits 0
    local text=$output
    kelvin report app.txt --format json
    echo "$output" | python3 -c '
import json, re, sys
text = sys.argv[1].split("Hot paths")[1].split("\n\n")[0]
for p in json.load(sys.stdin)["paths"]:
    row = re.search(r"([0-9.]+)% +(?:±([0-9.]+))?[^\n]* " + p["name"] + "\n", text)
    low, high = p["total"]["low"], p["total"]["high"]
    assert row and float(row[1]) == round(100 * p["total"]["share"], 1), (p, row)
    if row[2]:
        assert abs(float(row[2]) - 50 * (high - low)) < 0.051, (p, row[0])' "$text" || fail "$text"
    [ "$(sed -n '/Hot paths/,/^$/p' <<<"$text" | grep -c '±')" -ge 3 ] || fail "$text"
}

@test "depth counts functions that were inlined into a frame" {
    printf 'app 1 1.0: 1 cycles:\n\t 1010 outer->middle->deep+0x4 (/bin/app)\n\t 2000 main+0x1 (/bin/app)\n\n' >inlined.txt
    printf 'app 1 1.0: 1 cycles:\n\t 1010 deep+0x4 (/bin/app)\n\t 2000 main+0x1 (/bin/app)\n\n' >plain.txt
    kelvin info inlined.txt
    exits 0
    [[ $output == *"depth 4.0 on average, 4 at most"* ]] || fail "$output"
    kelvin info plain.txt
    [[ $output == *"depth 2.0 on average, 2 at most"* ]] || fail "$output"
}
