"""Whole training steps of well-known models, Egret's and PyTorch's in turn: `compare.py steps`.

A model runs in up to four processes at once, of which one works and the others sleep:
    egret     egret-bench step MODEL
    torch     as people run it: PyTorch's default allocator; of images both memory formats are tried and
              the faster one counts
    tuned     as it runs best: glibc keeps freed memory and asks for huge pages, images channels-last
    compiled  the same through torch.compile, with --compiled
Each gets --rounds turns of --round-ms in alternating order; a figure is the median over all its steps.
The data are random and the same shapes on both sides; a step is forward, loss, backward and update
(the nets of torchvision, vgg16 to mobilenet-v2, transformer and bert without the update; of gpt2-says and
gpt2-says-8, 64 ids said behind 64 others by 1 text and by 8, beside generate of `transformers`).

Columns of the JSON file, beside those of ops: tuned_us and tuned_ratio, compiled_us and compiled_ratio; egret_least_us, its fastest step,
which is what is held against the roof, as that is the machine at its best; egret_mib, torch_mib, tuned_mib,
the most memory each process held; roof_us, the flops of the step's matrix products and convolutions (of
these only taps inside the image) over the measured FMA peak."""
import json
import os
import re
import statistics
import time

from child import KEPT, Child, Foreign, geometric_mean

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = ["mlp", "cnn", "dcgan", "cvae", "pix2pix", "resnet20", "vgg16", "resnet50", "resnet152", "inception-v3",
          "mobilenet-v2", "ptb-small", "ptb-medium", "ptb-large", "nmt", "transformer", "transformer-base", "bert",
          "bert-finetune", "gpt2", "gpt2-says", "gpt2-says-8", "speech", "deepspeech", "quickdraw", "neural-gpu",
          "faster-rcnn", "depth", "ocr"]
HUGE = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}


class Side:
    """One process and what it took so far."""

    def __init__(self, name, command, environment):
        self.name, self.child, self.times, self.mib = name, Child(command, environment), [], 0

    def run(self, milliseconds):
        answer = self.child.ask(f"run {milliseconds * 1000}")
        if "error" in answer:
            raise SystemExit(f"{self.name}: {answer['error']}")
        self.times += answer["steps_us"]
        self.mib = answer["peak_kib"] / 1024

    def median(self):
        return statistics.median(self.times)


def sides_of(model, options):
    threads = {"OMP_NUM_THREADS": str(options.threads), "MKL_NUM_THREADS": str(options.threads)}
    torch = [options.torch_python, os.path.join(HERE, "torch_cpu_steps.py"), model, str(options.threads)]
    plain = Side("torch nchw", [*torch, "nchw"], threads)
    about = plain.child.ask("about")
    flops = Child([*torch, "nchw"], threads)
    work = flops.ask("work")["flops"]
    flops.close()
    best = "nhwc" if about["formats"] == 2 else "nchw"
    sides = [Side("egret", [options.egret_bench, "step", model, "--threads", str(options.threads)], threads),
             plain, Side("tuned", [*torch, best], {**threads, **KEPT, **HUGE})]
    if about["formats"] == 2:
        sides.insert(2, Side("torch nhwc", [*torch, "nhwc"], threads))
    if options.compiled:
        sides.append(Side("compiled", [*torch, best, "compile"], {**threads, **KEPT, **HUGE}))
    return sides, work, about["library"]


def measure(model, peak, options):
    sides, flops, library = sides_of(model, options)
    for side in sides:
        side.run(1)  # warms up
        side.times.clear()
    foreign = Foreign(*(side.child for side in sides))
    for number in range(options.rounds):
        for side in sides if number % 2 == 0 else sides[::-1]:
            side.run(options.round_ms)
            time.sleep(.01)
    disturbed = foreign.share() > .1
    egret, compiled = sides[0], sides.pop() if options.compiled else None
    tuned = sides[-1]
    torch = min(sides[1:-1], key=Side.median)
    for side in [*sides, compiled] if compiled else sides:
        side.child.close()
    more = {"compiled_us": compiled.median(), "compiled_ratio": compiled.median() / egret.median()} if compiled else {}
    return {**more, "name": f"step/{model}", "egret_us": egret.median(), "egret_least_us": min(egret.times),
            "torch_us": torch.median(),
            "ratio": torch.median() / egret.median(), "torch_variant": torch.name.split()[1],
            "tuned_us": tuned.median(), "tuned_ratio": tuned.median() / egret.median(),
            "roof_us": flops / peak * 1e-3, "egret_mib": egret.mib, "torch_mib": torch.mib,
            "tuned_mib": tuned.mib, "disturbed": disturbed}, library


def print_row(row):
    print(f"{row['name']:20} {row['egret_us'] / 1000:9.2f} {row['torch_us'] / 1000:9.2f} "
          f"{row['tuned_us'] / 1000:9.2f} {row['ratio']:7.2f} {row['tuned_ratio']:7.2f} "
          f"{100 * row['roof_us'] / row['egret_least_us']:5.0f} % {row['egret_mib']:7.0f} {row['torch_mib']:7.0f} "
          f"{'!' if row['disturbed'] else ' '} {row['torch_variant']}"
          + (f" compiled {row['compiled_us'] / 1000:.2f} {row['compiled_ratio']:.2f}" if "compiled_us" in row else ""),
          flush=True)


def fma_peak(options):
    child = Child([options.egret_bench, "serve", "--ops", os.path.join(HERE, "ops.txt"), "--threads",
                   str(options.threads)], {"OMP_NUM_THREADS": str(options.threads)})
    peak = max(child.ask("peaks")["fma_gflops"] for _ in range(2))
    child.close()
    return peak


def compare(options):
    chosen = [model for model in MODELS if re.search(options.only, model)]
    if not chosen:
        raise SystemExit(f"no model matches {options.only}")
    peak, rows = fma_peak(options), []
    print(f"{options.threads} threads, FMA peak {peak:.1f} GFLOP/s")
    print(f"{'model':20} {'egret ms':>9} {'torch ms':>9} {'tuned ms':>9} {'ratio':>7} {'tuned':>7} "
          f"{'roof':>7} {'MiB':>7} {'torch':>7}")
    for model in chosen:
        row, library = measure(model, peak, options)
        rows.append(row)
        print_row(row)
    print(f"{len(rows)} models, against {library}: geometric mean of torch/egret "
          f"{geometric_mean([row['ratio'] for row in rows]):.2f} as people run it, "
          f"{geometric_mean([row['tuned_ratio'] for row in rows]):.2f} tuned"
          + (f", {geometric_mean([row['compiled_ratio'] for row in rows]):.2f} compiled" if options.compiled else ""))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump(rows, out, indent=1)
    return 0
