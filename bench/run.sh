#!/bin/sh
# Speed and memory next to other tools, in one run, as ratios. Run by `make bench`.
#
# FLAMEGRAPH names a folder with stackcollapse-perf.pl and flamegraph.pl to measure against; they
# are not part of this project. inferno is used where it is installed. Data goes to build/bench.
set -eu
cd "$(dirname "$0")/.."
python3 bench/formats.py
python3 bench/record.py
python3 bench/understand.py
python3 bench/start.py
python3 bench/heap.py
python3 bench/scopes.py
python3 bench/locks.py
