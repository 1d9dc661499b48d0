"""Run commands, and tell how long they took and how much memory they used."""
import os
import subprocess
import tempfile
from time import monotonic


class Run:
    """The best wall time, and the peak memory, of a command that was run a few times."""

    def __init__(self):
        self.seconds = []
        self.peak_mb = 0.0

    @property
    def best(self):
        return min(self.seconds)


def run_once(command, run, stdin=None):
    """Run COMMAND (a list), output thrown away, and add the figures to RUN.

    Through time(1): a child's peak memory starts with its parent's, and Python's is not small.
    """
    with open(os.devnull, "wb") as nothing, tempfile.NamedTemporaryFile("r") as figures:
        time = ["/usr/bin/time", "-o", figures.name, "-f", "%e %M"]
        start = monotonic()
        rc = subprocess.run(time + command, stdin=stdin or subprocess.DEVNULL, stdout=nothing,
                            stderr=nothing, check=False).returncode
        run.seconds.append(monotonic() - start)
        if rc != 0:
            raise SystemExit("bench: %s failed with %d" % (" ".join(command), rc))
        run.peak_mb = max(run.peak_mb, int(figures.read().split()[1]) / 1024)


def compare(commands, rounds):
    """Run each of COMMANDS (name -> (list, times)) in turn, so that noise hits all alike."""
    runs = {name: Run() for name in commands}
    for i in range(rounds):
        for name, (command, times) in commands.items():
            if i < times:
                run_once(command, runs[name])
    return runs

