"""Training steps beside busy processes, as many as processors, Egret's and PyTorch's: `compare.py beside`.

For each side the median step of --rounds turns of --round-ms while the machine is quiet, then of as many beside
processes that only count; its quotient says how many times longer a step takes. With every thread on a processor half
the time, two is what a fair share would give a step whose threads never waited for each other.
"""
import json
import re
import subprocess
import sys

import steps
from child import geometric_mean

MODELS = ["mlp", "cnn", "ptb-small", "resnet20"]


def busy(options):
    return [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(options.threads)]


def turns(side, options):
    """The median step; the first turn finds out how things are."""
    side.run(options.round_ms)
    side.times.clear()
    for _ in range(options.rounds):
        side.run(options.round_ms)
    return side.median() / 1000


def measure(model, options):
    sides, _, _ = steps.sides_of(model, options)
    row = {"name": f"beside/{model}"}
    for side in (sides[0], sides[1]):
        quiet = turns(side, options)
        others = busy(options)
        try:
            beside = turns(side, options)
        finally:
            for other in others:
                other.kill()
                other.wait()
        name = side.name.split()[0]
        row |= {f"{name}_quiet_ms": quiet, f"{name}_beside_ms": beside, f"{name}_times": beside / quiet}
    for side in sides:
        side.child.close()
    return row


def compare(options):
    rows = []
    print(f"{'model':16} {'egret ms':>9} {'beside':>9} {'times':>6} {'torch ms':>9} {'beside':>9} {'times':>6}")
    for model in [m for m in MODELS if re.search(options.only, m)]:
        row = measure(model, options)
        rows.append(row)
        print(f"{row['name']:16} " + " ".join(
            f"{row[f'{side}_quiet_ms']:9.2f} {row[f'{side}_beside_ms']:9.2f} {row[f'{side}_times']:6.2f}"
            for side in ("egret", "torch")), flush=True)
    print("geometric mean of times longer: " + ", ".join(
        f"{side} {geometric_mean([row[f'{side}_times'] for row in rows]):.2f}" for side in ("egret", "torch")))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump(rows, out, indent=1)
    return 0
