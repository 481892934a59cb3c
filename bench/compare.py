"""Measures Egret and PyTorch side by side, in turn, in one run.

    python3 bench/compare.py ops [--only REGEX] [--json FILE] ...
    python3 bench/compare.py steps [--device cuda] [--only REGEX] [--json FILE] ...
    python3 bench/compare.py pictures|sounds --data FOLDER [--json FILE] ...
    python3 bench/compare.py recipes --data FOLDER [--tf-python PROGRAM] [--json FILE] ...
    python3 bench/compare.py texts --data FOLDER [--only REGEX] [--json FILE] ...
    python3 bench/compare.py graphs [--ort-python PROGRAM] [--only REGEX] [--json FILE] ...
    python3 bench/compare.py gpu [--only REGEX] [--json FILE] ...

ops are single operations, the rest of this text is about them; steps are whole training steps of the
models in steps.py, on a CUDA device those in device_steps.py; pictures and sounds are files made ready
for training, pictures.py, recipes photos as slim and others do it, recipes.py, texts are lines beside other tokenizers,
texts.py, graphs are nets as ONNX models beside onnxruntime, graphs.py, gpu are operations on a CUDA device, gpu.py:
these files say how they are measured.

Both libraries run in child processes of their own, one at a time: a child that is not asked sleeps
on its stdin, its threads idle. The cases are the lines of ops.txt, which both children read. Per
case the two are timed in turn for --rounds rounds, and the least time of each is kept: a machine
that others use only ever adds time. A case during which other processes took more than a tenth of
the processors is measured again, up to --patience times, and marked ! if it never was alone. ratio =
torch / egret, so above 1 Egret is faster.

roof_us is what the machine allows: the larger of the case's flops over the measured FMA peak and
the bytes it must move over the bandwidth measured at that size. Peaks are taken before and after
the run by egret-bench; the better of the two holds.

Line protocol of the children (egret-bench serve, torch_serve.py): a request per line on stdin, an
answer per line on stdout, JSON.
    about        {"library": "...", "threads": n, "device": "..."} and more about that
    run NAME US  prepares case NAME unless it is the current one (freeing the one before), warms up,
                 measures for about US microseconds:
                 {"min_us": .., "median_us": .., "host_us": the host's part, "calls": samples,
                  "elements": elements of the result; "variant": which way was fastest}
    peaks        egret-bench only: {"fma_gflops": .., "copy": [[bytes touched, GB/s], ...],
                 "read": [[bytes, GB/s], ...]}, sizes rising
    anything that fails: {"error": "words"}; egret-bench adds "no_kernel": true or false
"""
import argparse
import json
import math
import os
import re
import subprocess
import sys
import time

import beside
import device_steps
import gpu
import graphs
import pictures
import recipes
import steps
import texts
from child import KEPT, Child, Foreign, geometric_mean
from opsfile import read_cases, work

HERE = os.path.dirname(os.path.abspath(__file__))


def at_size(curve, size):
    """GB/s at a number of bytes, between the measured sizes on a logarithmic scale."""
    if size <= curve[0][0]:
        return curve[0][1]
    for (low, slow), (high, fast) in zip(curve, curve[1:]):
        if size <= high:
            part = math.log(size / low) / math.log(high / low)
            return slow + (fast - slow) * part
    return curve[-1][1]


def roof_us(case, peaks):
    flops, read, written = work(case)
    curve = peaks["read"] if written * 8 < read else peaks["copy"]
    moved = read + written
    return max(flops / peaks["fma_gflops"], moved / at_size(curve, moved)) * 1e-3


def better(a, b):
    """The higher of two measurements of the peaks."""
    curves = {key: [[size, max(x, y)] for (size, x), (_, y) in zip(a[key], b[key])]
              for key in ("copy", "read")}
    return {"fma_gflops": max(a["fma_gflops"], b["fma_gflops"]), **curves}


def rounds(case, egret, torch, options, best):
    """Lowers best[side] to the least microseconds of some rounds; words of whoever failed, or None."""
    made = {}
    for number in range(options.rounds):
        turn = [("egret", egret), ("torch", torch)]
        for side, child in turn if number % 2 == 0 else turn[::-1]:
            answer = child.ask(f"run {case.name} {options.round_ms * 1000}")
            if "error" in answer:
                return f"{side}: {answer['error']}"
            best[side] = min(best[side], answer["min_us"])
            made[side] = answer["elements"]
            best["variant"] = answer.get("variant") or best["variant"]
            time.sleep(.005)  # lets the other side's threads stop spinning
    if made["egret"] != made["torch"]:
        return f"egret made {made['egret']} elements, torch {made['torch']}"
    return None


def measure(case, egret, torch, options):
    """A row, or the words of whoever failed."""
    best = {"egret": math.inf, "torch": math.inf, "variant": ""}
    for _ in range(options.patience):
        foreign = Foreign(egret, torch)
        words = rounds(case, egret, torch, options, best)
        disturbed = foreign.share() > .1
        if words or not disturbed:
            break
    if words:
        return None, words
    return {"name": case.name, "egret_us": best["egret"], "torch_us": best["torch"],
            "ratio": best["torch"] / best["egret"], "torch_variant": best["variant"],
            "disturbed": disturbed}, None


def print_row(row, roof):
    note = f" {'!' if row['disturbed'] else ' '} {row['torch_variant']}".rstrip()
    print(f"{row['name']:40} {row['egret_us']:11.2f} {row['torch_us']:11.2f} {row['ratio']:7.2f} "
          f"{roof:11.2f} {100 * roof / row['egret_us']:5.0f} %{note}", flush=True)


def summary(rows, failures):
    families = {}
    for row in rows:
        families.setdefault(row["name"].split("/")[0], []).append(row["ratio"])
    print()
    for family, ratios in families.items():
        print(f"{family:12} {len(ratios):4} cases, geometric mean of torch/egret {geometric_mean(ratios):6.2f}, "
              f"least {min(ratios):6.2f}")
    slow = [row for row in rows if row["ratio"] < .95]
    if slow:
        print("slower than PyTorch by more than 5 %: "
              + ", ".join(f"{row['name']} ({row['ratio']:.2f})" for row in slow))
    for name, words in failures:
        print(f"not measured: {name}: {words}")
    if rows:
        print(f"{len(rows)} cases, geometric mean of torch/egret "
              f"{geometric_mean([row['ratio'] for row in rows]):.3f}")


def ops(options):
    cases = read_cases(os.path.join(HERE, "ops.txt"))
    chosen = [case for name, case in cases.items() if re.search(options.only, name)]
    if not chosen:
        raise SystemExit(f"no case matches {options.only}")
    threads = {"OMP_NUM_THREADS": str(options.threads), "MKL_NUM_THREADS": str(options.threads)}
    file = os.path.join(HERE, "ops.txt")
    egret = Child([options.egret_bench, "serve", "--ops", file, "--threads", str(options.threads)],
                  threads)
    torch = Child([options.torch_python, os.path.join(HERE, "torch_serve.py"), file,
                   str(options.threads)],
                  {**threads, **(KEPT if options.torch_malloc == "kept" else {})})
    print(f"{egret.ask('about')['library']} and {torch.ask('about')['library']}, "
          f"{options.threads} threads, torch malloc {options.torch_malloc}, {len(chosen)} cases")
    peaks = egret.ask("peaks")
    print(f"{'case':40} {'egret us':>11} {'torch us':>11} {'ratio':>7} {'roof us':>11} {'roof':>7}")
    rows, failures = [], []
    for case in chosen:
        row, words = measure(case, egret, torch, options)
        if row is None:
            failures.append((case.name, words))
            continue
        rows.append(row)
        print_row(row, roof_us(case, peaks))
    peaks = better(peaks, egret.ask("peaks"))
    for row in rows:
        row["roof_us"] = roof_us(cases[row["name"]], peaks)
    egret.close()
    torch.close()
    print(f"\nFMA peak {peaks['fma_gflops']:.1f} GFLOP/s; copy "
          + ", ".join(f"{size >> 10} KiB {speed:.0f}" for size, speed in peaks["copy"]) + " GB/s")
    summary(rows, failures)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump(rows, out, indent=1)
    return 1 if failures else 0


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return number


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("verb", choices=["ops", "steps", "beside", "pictures", "sounds", "recipes",
                                         "texts", "graphs", "gpu"])
    parser.add_argument("--data", metavar="FOLDER",
                        help="pictures, sounds, recipes: a folder of files per class; texts: of tokenizers")
    parser.add_argument("--json", metavar="FILE", help="write the rows as a JSON list")
    parser.add_argument("--only", metavar="REGEX", default="", help="cases whose name matches")
    parser.add_argument("--rounds", type=positive, default=5, help="turns each side gets (default 5)")
    parser.add_argument("--round-ms", type=positive,
                        help="length of a turn (default 60, of steps and pictures 1500, of steps on a device 400)")
    parser.add_argument("--patience", type=positive, default=3, metavar="N",
                        help="attempts at a case while others use the machine (default 3)")
    parser.add_argument("--device", help="gpu, steps: where Egret computes (default cuda, of steps cpu)")
    parser.add_argument("--torch-device", metavar="DEVICE", help="on a device: where PyTorch does, if elsewhere")
    parser.add_argument("--compiled", action="store_true", help="steps on the CPU: beside torch.compile too")
    parser.add_argument("--precision", default="tf32,bf16", metavar="LIST",
                        help="steps on a device: of f32, tf32, bf16 (default tf32,bf16)")
    parser.add_argument("--ways", default="eager,captured,compile,graphs", metavar="LIST",
                        help="steps on a device: of eager, captured, compile, graphs (default all)")
    parser.add_argument("--seconds", type=positive, default=600, metavar="N",
                        help="on a device: cases not begun by then are listed as not measured (default 600)")
    parser.add_argument("--smoke", action="store_true",
                        help="on a device: tiny sizes, only to see that all cases work")
    parser.add_argument("--threads", type=positive, default=os.cpu_count())
    parser.add_argument("--torch-malloc", choices=["default", "kept"], default="default",
                        help="kept: glibc keeps freed memory in PyTorch's process")
    parser.add_argument("--torch-python", default=sys.executable, metavar="PROGRAM",
                        help="a Python that has PyTorch (default: this one; on a device \"none\" leaves it out)")
    parser.add_argument("--tf-python", default=sys.executable, metavar="PROGRAM",
                        help="recipes: a Python that has TensorFlow (default: this one; \"none\" leaves it out)")
    parser.add_argument("--ort-python", default=sys.executable, metavar="PROGRAM",
                        help="graphs: a Python that has onnxruntime (default: this one)")
    parser.add_argument("--egret-bench", metavar="PROGRAM",
                        default=os.path.join(HERE, "..", "build", "bench", "egret-bench"))
    options = parser.parse_args()
    options.device = options.device or ("cpu" if options.verb == "steps" else "cuda")
    there = options.verb == "steps" and options.device != "cpu"
    options.round_ms = options.round_ms or (60 if options.verb in ("ops", "gpu") else 400 if there else 1500)
    verbs = {"ops": ops, "steps": device_steps.compare if there else steps.compare, "beside": beside.compare,
             "pictures": pictures.compare, "sounds": pictures.compare, "recipes": recipes.compare,
             "texts": texts.compare, "graphs": graphs.compare, "gpu": gpu.compare}
    sys.exit(verbs[options.verb](options))


if __name__ == "__main__":
    main()
