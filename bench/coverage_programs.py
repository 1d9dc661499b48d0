"""How many 95 % intervals of one recording hold the share that many recordings agree on.

Records each of twelve real programs RUNS times. For every function of 2 % or more, the interval from
each recording is held against the mean share of the others; the width that recordings differ by is
printed beside the width that one recording claims.

Usage: bench/coverage_programs.py [RUNS [PROGRAM... | others]]; KELVIN names the program to measure. "others" are twelve
that the intervals were not made with. The load is printed with each.
"""
import array
import json
import math
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import wave

KELVIN = os.path.abspath(os.environ.get("KELVIN", "build/kelvin"))
LEAST = 0.02

PROGRAMS = {
    "gzip": "gzip -9c numbers",
    "bzip2": "bzip2 -kc numbers",
    "xz": "xz -1kc numbers",
    "sort": "sort -R numbers",
    "sha256sum": "sha256sum numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers numbers",
    "awk": "awk '{ n[$1 % 1000] += length($1) } END { for (k in n) s += n[k]; print s }' numbers",
    # Its output is a file: when that is /dev/null, it ends at the first line that matches.
    "grep": "grep -cE '([0-9])([0-9]).*\\2\\1' numbers >counted",
    "sed": "sed -E 's/([0-9])1/one\\1/g' numbers",
    "python3": "python3 -c 'd = {}\nfor i in range(700000): d[i % 999] = d.get(i % 999, 0) + i'",
    "perl": "perl -e 'for (1..1700000) { $h{$_ % 999} .= \"x\" if $_ % 7 } print scalar keys %h'",
    "sqlite3": "sqlite3 :memory: 'with recursive n(i) as (select 1 union all select i+1 from n where i<400000)"
               " select sum(length(hex(i))) from n'",
    "gcc": "gcc -O2 -c -x c source.c -o /dev/null",
}

OTHERS = {
    "lzip": "lzip -1 -c numbers",
    "brotli": "brotli -q 6 -c numbers",
    "oggenc": "oggenc -Q -q 5 -o /dev/null tone.wav",
    "lame": "lame -S -h tone.wav /dev/null",
    "optipng": "optipng -o3 -force -simulate -quiet picture.pnm",
    "gp": "gp -q -f factor.gp",
    "glpsol": "glpsol -m assign.mod",
    "lua5.4": "lua5.4 -e 'local t={} for i=1,4000000 do local k=i%997 t[k]=(t[k] or 0)+#tostring(i) end print(t[3])'",
    "ruby": "ruby -e 'h=Hash.new(0); 2500000.times{|i| h[(i%997).to_s]+=i}; puts h.size'",
    "tclsh": "tclsh fibonacci.tcl",
    "gforth": "gforth -e ': f dup 2 < if else dup 1- recurse swap 2 - recurse + then ; 36 f . bye'",
    "sox": "sox tone.wav -n reverb",
}


def make_sound(path):
    """Two tones that wander, with noise."""
    noise = random.Random(1)
    frames = array.array("h")
    for i in range(44100 * 50):
        for channel in range(2):
            value = 9000 * math.sin(i * (0.03 + channel * 0.01) + 3 * math.sin(i / 9000)) + noise.gauss(0, 1500)
            frames.append(max(-32000, min(32000, int(value))))
    with wave.open(path, "wb") as out:
        out.setnchannels(2)
        out.setsampwidth(2)
        out.setframerate(44100)
        out.writeframes(frames.tobytes())


def make_other_inputs(folder):
    """What the programs of OTHERS read."""
    make_sound(os.path.join(folder, "tone.wav"))
    noise = random.Random(2)
    with open(os.path.join(folder, "picture.pnm"), "wb") as out:
        out.write(b"P6\n300 300\n255\n")
        for i in range(90000):
            x, y = i % 300, i // 300
            out.write(bytes([x * y // 300 % 256, (x + noise.randrange(9)) % 256, y * 2 % 256]))
    texts = {
        "factor.gp": "for(i=1,120,factor(10^40+2*i+1));quit\n",
        "fibonacci.tcl": "proc f n {if {$n < 2} {return $n}; expr {[f [expr {$n-1}]]+[f [expr {$n-2}]]}}; puts [f 30]\n",
        "assign.mod": "set I:=1..170; set J:=1..170; param c{i in I,j in J}:=(i*7919+j*104729) mod 97;\n"
                      "param d{i in I,j in J}:=(i*31+j*17) mod 23+1; var x{I,J},>=0,<=1; minimize z:sum{i in I,j in J} c[i,j]*x[i,j];\n"
                      "s.t. a{i in I}: sum{j in J} x[i,j]=1; s.t. b{j in J}: sum{i in I} d[i,j]*x[i,j] <= 6; solve; end;\n",
    }
    for name, text in texts.items():
        with open(os.path.join(folder, name), "w", encoding="ascii") as out:
            out.write(text)


def make_inputs(folder):
    """What the programs read."""
    with open(os.path.join(folder, "numbers"), "w", encoding="ascii") as out:
        out.writelines("%d\n" % (i * 7919 % 1000003) for i in range(700000))
    with open(os.path.join(folder, "source.c"), "w", encoding="ascii") as out:
        for i in range(900):
            out.write("int f%d(int *a, int n) { int s = %d; for (int i = 0; i < n; i++)"
                      " s += a[i] * %d; return s; }\n" % (i, i, i + 3))


def shares_of(folder, command):
    """Record COMMAND once: the self share and interval of each function, by name."""
    recording = os.path.join(folder, "r.kelvin")
    subprocess.run([KELVIN, "record", "-q", "-o", recording, "--", "sh", "-c", "exec " + command],
                   cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    report = json.loads(subprocess.run([KELVIN, "report", "--format", "json", "--top", "40", recording],
                                       check=True, stdout=subprocess.PIPE).stdout)
    if report["samples"] < 100:
        raise RuntimeError("only %d samples" % report["samples"])
    return {row["name"]: row["self"] for row in report["by_self"]}


def measure(name, folder, runs):
    """Print how many intervals hold; returns (held, all)."""
    found = [shares_of(folder, {**PROGRAMS, **OTHERS}[name]) for _ in range(runs)]
    names = {n for f in found for n, s in f.items() if s["share"] >= LEAST}
    held = count = 0
    ratios = []
    for function in names:
        shares = [f.get(function, {"share": 0.0})["share"] for f in found]
        if statistics.mean(shares) < LEAST:
            continue
        halves = []
        for i, one in enumerate(found):
            if function not in one or one[function].get("low") is None:
                continue
            truth = (sum(shares) - shares[i]) / (runs - 1)
            # The mean of the others has an error of its own.
            wider = (1 + 1 / (runs - 1)) ** 0.5
            share = one[function]["share"]
            held += (share - wider * (share - one[function]["low"]) <= truth
                     <= share + wider * (one[function]["high"] - share))
            halves.append((one[function]["high"] - one[function]["low"]) / 2)
            count += 1
        spread = 1.96 * statistics.stdev(shares)
        if halves and spread > 0:
            ratios.append(statistics.mean(halves) / spread)
    print("%-10s %3d of %3d hold (%5.1f %%), claimed width / width between recordings: %.2f; load %.0f"
          % (name, held, count, 100 * held / max(count, 1), statistics.median(ratios or [0]), os.getloadavg()[0]),
          flush=True)
    return held, count


def main():
    """All programs that are installed, or those that are named."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    held = count = 0
    with tempfile.TemporaryDirectory() as folder:
        make_inputs(folder)
        make_other_inputs(folder)
        for name in OTHERS if sys.argv[2:] == ["others"] else sys.argv[2:] or PROGRAMS:
            if not shutil.which(name):
                print("%-10s is not installed" % name)
                continue
            try:
                one = measure(name, folder, runs)
            except RuntimeError as err:
                print("%-10s %s" % (name, err))
                continue
            held, count = held + one[0], count + one[1]
    print("all        %3d of %3d hold (%.1f %%)" % (held, count, 100 * held / max(count, 1)))


if __name__ == "__main__":
    main()
