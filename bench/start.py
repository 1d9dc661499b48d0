#!/usr/bin/env python3
"""What starting a command costs: kelvin bench beside hyperfine -N, in turns, on `true`."""
import json
import os
import statistics
import subprocess
import tempfile

KELVIN = os.environ.get("KELVIN", "build/kelvin")
ROUNDS, RUNS = 7, 300


def kelvin():
    out = subprocess.run([KELVIN, "bench", "-q", "--runs", str(RUNS), "true", "--format", "json"],
                         check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    times = json.loads(out)["benchmarks"][0]["measures"]["time"]["runs"]
    return statistics.median(times) / 1e3, min(times) / 1e3


def hyperfine():
    with tempfile.NamedTemporaryFile() as f:
        subprocess.run(["hyperfine", "-N", "--style", "none", "-w", "1", "-r", str(RUNS),
                        "--export-json", f.name, "true"], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        times = json.load(f)["results"][0]["times"]
    return statistics.median(times) * 1e6, min(times) * 1e6


def main():
    ratios = []
    for _ in range(ROUNDS):
        ours, theirs = kelvin(), hyperfine()
        ratios.append(ours[0] / theirs[0])
        print(f"`true`: kelvin median {ours[0]:.0f} us, least {ours[1]:.0f}; hyperfine -N median "
              f"{theirs[0]:.0f} us, least {theirs[1]:.0f}", flush=True)
    print(f"kelvin / hyperfine: {statistics.median(ratios):.2f} (median of {ROUNDS} rounds)")


if __name__ == "__main__":
    main()
