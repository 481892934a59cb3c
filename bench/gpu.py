"""Ops on a CUDA device, Egret's and PyTorch's in turn: `compare.py gpu`.

The cases are the lines of gpu.txt. Inputs are made on the device; a sample is some hundred microseconds to
two milliseconds of calls queued at once between two events and then waited for, at most 200 of them, so that
the queue never is full. A figure is the median over --rounds rounds of a round's median. PyTorch's is the
fastest of the ways torch_serve.py knows, with its caching allocator, without autograd where there is nothing
to differentiate; Adam fused or by lists of tensors, capturable or not.

Columns of the JSON file: name, bytes and flops of the case, and per side (egret_, torch_) us, a call's time
where calls follow one another; host_us, the time the host needs to queue one; error, why there is none of
these. no_kernel: Egret has no kernel for it on the device. A library whose process ended begins anew with the
next case. The file is written after each case, so that a run cut short leaves what it had."""
import json
import os
import re
import statistics
import time

from child import Child, geometric_mean
from opsfile import read_cases, work

HERE = os.path.dirname(os.path.abspath(__file__))
FILE = os.path.join(HERE, "gpu.txt")


class Side:
    """A library in a process of its own, begun again after a failure: a fault may have lost it the device."""

    def __init__(self, name, command):
        self.name, self.command, self.child = name, command, None

    def ask(self, request):
        try:
            self.child = self.child or Child(self.command, {})
            answer = self.child.ask(request)
        except SystemExit as words:
            self.child = None
            return {"error": str(words).splitlines()[-1]}
        if "error" in answer and not answer.get("no_kernel"):
            self.close()
        return answer

    def close(self):
        if self.child:
            self.child.close()
            self.child = None


def measure(case, sides, options):
    flops, read, written = work(case)
    scale = .5 if getattr(case, "dtype", "") == "bf16" else 1
    row = {"name": case.name, "bytes": int(scale * (read + written)), "flops": flops}
    taken = {side.name: [] for side in sides}
    for number in range(options.rounds):
        for side in sides if number % 2 == 0 else sides[::-1]:
            if side.name + "_error" in row:
                continue
            answer = side.ask(f"run {case.name} {options.round_ms * 1000}")
            if "error" in answer:
                row[side.name + "_error"] = answer["error"]
                row["no_kernel"] = row.get("no_kernel", False) or answer.get("no_kernel", False)
            else:
                taken[side.name].append(answer)
    for side in sides:
        answers = taken[side.name]
        if answers and not all(answer["median_us"] > 0 for answer in answers):
            row[side.name + "_error"] = "no time passed on the device: nothing was queued"
        if side.name + "_error" not in row:
            row[side.name + "_us"] = statistics.median(answer["median_us"] for answer in answers)
            row[side.name + "_host_us"] = statistics.median(answer["host_us"] for answer in answers)
            row[side.name + "_elements"] = answers[0]["elements"]
            row[side.name + "_variant"] = answers[0].get("variant", "")
    made = [row[side.name + "_elements"] for side in sides if side.name + "_elements" in row]
    if len(set(made)) > 1:
        row["egret_error"] = f"made {row['egret_elements']} elements, PyTorch {row['torch_elements']}"
    return row


def figure(row, key):
    return f"{row[key]:11.2f}" if key in row else f"{'-':>11}"


def print_row(row):
    both = "egret_us" in row and "torch_us" in row
    words = "no kernel" if row.get("no_kernel") else row.get("egret_error") or row.get("torch_error", "")
    print(f"{row['name']:34} {figure(row, 'egret_us')} {figure(row, 'torch_us')} "
          + (f"{row['torch_us'] / row['egret_us']:7.2f}" if both else f"{'-':>7}")
          + f" {figure(row, 'egret_host_us')} {figure(row, 'torch_host_us')}  {words}"
          f"{row.get('torch_variant', '')}", flush=True)


def write(path, about, rows):
    if path:
        with open(path, "w", encoding="utf-8") as out:
            json.dump({"about": about, "cases": rows}, out, indent=1)


def compare(options):
    cases = read_cases(FILE, options.smoke)
    chosen = [case for name, case in cases.items() if re.search(options.only, name)]
    smoke = ["smoke"] if options.smoke else []
    sides = [Side("egret", [options.egret_bench, "serve", "--ops", FILE, "--device", options.device,
                            "--smoke", str(len(smoke))])]
    if options.torch_python != "none":
        sides.append(Side("torch", [options.torch_python, os.path.join(HERE, "torch_serve.py"), FILE,
                                    str(options.threads), options.torch_device or options.device, *smoke]))
    about = {side.name: side.ask("about") for side in sides}
    for side in sides:
        print(f"{side.name}: {json.dumps(about[side.name])}")
    sides = [side for side in sides if "error" not in about[side.name]]
    if not sides or sides[0].name != "egret":
        raise SystemExit(f"Egret does not run on {options.device}")
    print(f"{'case':34} {'egret us':>11} {'torch us':>11} {'ratio':>7} {'egret host':>11} {'torch host':>11}")
    rows, end = [], time.monotonic() + options.seconds
    for case in chosen:
        late = time.monotonic() > end
        rows.append({"name": case.name, "egret_error": "no time was left"} if late
                    else measure(case, sides, options))
        print_row(rows[-1])
        write(options.json, about, rows)
    for side in sides:
        side.close()
    return summary(rows)


def summary(rows):
    """0 unless a case failed that Egret has a kernel for."""
    none = [row["name"] for row in rows if row.get("no_kernel")]
    failed = [row["name"] for row in rows if "egret_error" in row and not row.get("no_kernel")]
    ratios = [row["torch_us"] / row["egret_us"] for row in rows if "egret_us" in row and "torch_us" in row]
    print(f"\n{len(rows)} cases" + (f", geometric mean of torch/egret {geometric_mean(ratios):.2f}" if ratios else ""))
    print(f"no kernel: {len(none)} {' '.join(none)}")
    print(f"failed: {len(failed)} {' '.join(failed)}")
    return 1 if failed else 0
