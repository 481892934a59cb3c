"""Whole training steps on a CUDA device, Egret's and PyTorch's in turn: `compare.py steps --device cuda`.

The models of steps.py, and two with the batches that a large card is trained with: resnet50-train, 128 images, and
bert-train, 32 texts of 128 words, both with the update. Each is run in the precisions of --precision: f32; tf32,
products of f32 on tensor cores; bf16, autocast. The ways:
    eager       both libraries, op by op
    captured    Egret's step as a graph (eg_step)
    compile     PyTorch's torch.compile of forward and loss
    graphs      the same with mode="reduce-overhead", which makes CUDA graphs of it
PyTorch is tuned as torch_device_steps.py says. A figure is the median over all steps of --rounds turns of --round-ms,
in alternating order, of device time between events before and behind a step; steps are queued some at a time, so a
library that cannot queue as fast as the device computes is timed at its own pace.

First all models are measured eagerly and captured, then, as time is left (--seconds), compiled; that takes PyTorch up
to minutes for a model. Columns of the JSON file: name "step/MODEL/PRECISION"; per way egret_eager_us,
egret_captured_us, torch_eager_us, torch_compile_us, torch_graphs_us, or ..._error, why there is none; egret_us and
torch_us, the least of each side; ratio_eager, PyTorch's eager time by Egret's least, ratio_compiled, that of its
compiled ways, ratio = torch_us / egret_us; per_second, images or texts of Egret's least; egret_mib and torch_mib, the
most device memory. The file is written after each model."""
import json
import os
import re
import statistics
import time

from child import geometric_mean
from gpu import Side

HERE = os.path.dirname(os.path.abspath(__file__))
# Those first that matter most if time ends. In units of which a step has so many.
MODELS = {"resnet50-train": 128, "bert-train": 32, "mlp": 128, "cnn": 64, "resnet20": 128, "dcgan": 256, "cvae": 100,
          "pix2pix": 1, "ptb-small": 400, "ptb-medium": 700, "ptb-large": 700, "nmt": 64, "transformer": 32, "resnet50": 8,
          "bert": 4}
PASSES = [("eager", "captured"), ("compile", "graphs")]
LATE = "no time was left"


class Runner:
    """One library in one precision and way. Egret's process is one model's, PyTorch's goes from one to the next."""

    def __init__(self, library, way, precision, options):
        self.library, self.way, self.precision, self.options = library, way, precision, options
        self.key = f"{library}_{way}"
        self.side = self.model = None

    def begin(self, model):
        if self.library == "egret" or not self.side:
            self.end()
            self.side = Side(self.library, self.command(model))
        self.model = model

    def command(self, model):
        o = self.options
        if self.library == "egret":
            return [o.egret_bench, "step", model, "--device", o.device, "--precision", self.precision, "--smoke",
                    str(int(o.smoke)), "--threads", str(o.threads),
                    *(["--captured", "1"] if self.way == "captured" else [])]
        return [o.torch_python, os.path.join(HERE, "torch_device_steps.py"), o.torch_device or o.device,
                self.precision, self.way, *(["smoke"] if o.smoke else [])]

    def run(self, microseconds):
        return self.side.ask(f"run {microseconds}" if self.library == "egret" else f"run {self.model} {microseconds}")

    def end(self):
        if self.side:
            self.side.close()
            self.side = None


def measure(row, runners, options):
    """Adds the figures of these to the row of a model."""
    taken = {}
    for runner in runners:
        runner.begin(runner.model)
    for number in range(-1, options.rounds):  # the first turn warms up
        for runner in runners if number % 2 == 0 else runners[::-1]:
            if runner.key + "_error" in row:
                continue
            answer = runner.run(options.round_ms * 1000 if number >= 0 else 1)
            if "error" in answer:
                row[runner.key + "_error"] = answer["error"]
                row["no_kernel"] = row.get("no_kernel", False) or answer.get("no_kernel", False)
            elif number >= 0:
                taken.setdefault(runner.key, []).extend(answer["steps_us"])
                row[runner.library + "_mib"] = max(row.get(runner.library + "_mib", 0), answer.get("device_mib", 0))
                row[runner.key + "_variant"] = answer.get("variant", "")
    for runner in runners:
        if runner.library == "egret":
            runner.end()
        if runner.key in taken and runner.key + "_error" not in row:
            row[runner.key + "_us"] = statistics.median(taken[runner.key])


def least(row, library, ways):
    return min((row[f"{library}_{way}_us"] for way in ways if f"{library}_{way}_us" in row), default=None)


def conclude(row, count):
    egret = least(row, "egret", ("eager", "captured"))
    beside = {"ratio_eager": least(row, "torch", ("eager",)), "ratio_compiled": least(row, "torch", ("compile", "graphs")),
              "ratio": least(row, "torch", ("eager", "compile", "graphs"))}
    if egret:
        row["egret_us"], row["per_second"] = egret, count / egret * 1e6
        row.update({key: torch / egret for key, torch in beside.items() if torch})
    if beside["ratio"]:
        row["torch_us"] = beside["ratio"]


def figure(row, key):
    return f"{row[key] / 1000:10.3f}" if key in row else f"{'-':>10}"


def print_row(row):
    words = "no kernel" if row.get("no_kernel") else "; ".join(
        [f"{key[:-6]}: {value}" for key, value in row.items() if key.endswith("_error")]
        + [row["egret_captured_variant"]] * bool(row.get("egret_captured_variant")))
    print(f"{row['name']:28}" + "".join(figure(row, key) for key in (
        "egret_eager_us", "egret_captured_us", "torch_eager_us", "torch_compile_us", "torch_graphs_us"))
        + "".join(f"{row[key]:8.2f}" if key in row else f"{'-':>8}" for key in ("ratio_eager", "ratio_compiled"))
        + (f"{row['per_second']:10.0f}" if "per_second" in row else f"{'-':>10}") + f"  {words}", flush=True)


def write(path, about, rows):
    if path:
        with open(path, "w", encoding="utf-8") as out:
            json.dump({"about": about, "steps": list(rows.values())}, out, indent=1)


def mean_of(rows, key):
    ratios = [row[key] for row in rows if key in row]
    return f"{geometric_mean(ratios):.2f} ({len(ratios)})" if ratios else "-"


def summary(rows):
    """0 unless Egret failed where it has all kernels."""
    failed = [row["name"] for row in rows if not row.get("no_kernel")
              and any(row.get(f"egret_{way}_error", LATE) != LATE for way in ("eager", "captured"))]
    none = [row["name"] for row in rows if row.get("no_kernel")]
    print(f"\n{len(rows)} rows; geometric mean of torch/egret: eager {mean_of(rows, 'ratio_eager')}, compiled "
          f"{mean_of(rows, 'ratio_compiled')}, the best of each {mean_of(rows, 'ratio')}")
    print(f"no kernel: {len(none)} {' '.join(none)}")
    print(f"failed: {len(failed)} {' '.join(failed)}")
    return 1 if failed else 0


def introduce(options):
    """What the libraries say of themselves; those that are there."""
    egret = Side("egret", [options.egret_bench, "step", "mlp", "--device", options.device, "--smoke", "1"])
    about = {"egret": egret.ask("about")}
    egret.close()
    if options.torch_python != "none":
        torch = Runner("torch", "eager", "f32", options)
        torch.begin("mlp")
        about["torch"] = torch.side.ask("about")
        torch.end()
    for name, words in about.items():
        print(f"{name}: {json.dumps(words)}")
    return about


def compare(options):
    chosen = [model for model in MODELS if re.search(options.only, model)]
    precisions = options.precision.split(",")
    if not chosen:
        raise SystemExit(f"no model matches {options.only}")
    about = introduce(options)
    if "error" in about["egret"] and not about["egret"].get("no_kernel"):
        raise SystemExit(f"Egret does not run on {options.device}: {about['egret']['error']}")
    libraries = [name for name in ("egret", "torch") if name == "egret" or "error" not in about.get(name, {"error": 1})]
    print(f"{'milliseconds':28}" + "".join(f"{word:>10}" for word in ("egret", "captured", "torch", "compile", "graphs"))
          + f"{'/eager':>8}{'/comp.':>8}{'per s':>10}")
    rows, end = {}, time.monotonic() + options.seconds
    for ways in PASSES:
        ways = [way for way in ways if way in options.ways.split(",")]
        for precision in precisions:
            runners = [Runner(*which, precision=precision, options=options) for which in runners_of(libraries, ways, about)]
            for model in chosen if runners else []:
                name = f"step/{model}/{precision}"
                row = rows.setdefault(name, {"name": name})
                if time.monotonic() > end:
                    row.update({runner.key + "_error": LATE for runner in runners})
                else:
                    for runner in runners:
                        runner.model = model
                    measure(row, runners, options)
                    conclude(row, MODELS[model])
                    print_row(row)
                write(options.json, about, rows)
            for runner in runners:
                runner.end()
    return summary(list(rows.values()))


def runners_of(libraries, ways, about):
    """Libraries with the ways they have."""
    has = {"egret": ("eager", *(("captured",) if about["egret"].get("captured") else ())),
           "torch": ("eager", "compile", "graphs")}
    return [(library, way) for library in libraries for way in ways if way in has[library]]
