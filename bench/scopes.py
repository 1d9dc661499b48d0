#!/usr/bin/env python3
"""What a scope of kelvin.h costs: not recorded, and recorded, as ratios to two readings of the CPU's counter."""
import json
import os
import subprocess
import tempfile

KELVIN = os.environ.get("KELVIN", "build/kelvin")
HERE = os.path.dirname(os.path.abspath(__file__))


def run(folder, *command):
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def main():
    kelvin = os.path.abspath(KELVIN)
    with tempfile.TemporaryDirectory() as folder:
        run(folder, "cc", "-O2", os.path.join(HERE, "scopes.c"), "-o", "scopes")
        bare, off = map(float, run(folder, "./scopes").split())
        print(f"not recorded: {off:.1f} ns, {off / bare:.2f} of two readings ({bare:.1f} ns)")
        bare, on = map(float, run(folder, kelvin, "record", "-q", "-o", "r.kelvin", "--", "./scopes").split())
        told = json.loads(run(folder, kelvin, "scopes", "--format", "json", "r.kelvin"))
        size = os.path.getsize(os.path.join(folder, "r.kelvin"))
        print(f"recorded: {on:.1f} ns, {on / bare:.2f} of two readings ({bare:.1f} ns); {told['spans']:,} spans kept, "
              f"{told['lost']:,} lost, {size / max(told['spans'], 1):.1f} bytes per span on disk")


main()
