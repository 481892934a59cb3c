#!/usr/bin/env python3
"""Training by two processes, Egret's and PyTorch's in turn: each step forward, loss, backward, gradients averaged, update,
of one model and one batch of random numbers in each process.

    ranks.py --egret-bench build/bench/egret-bench --mpi-module build/libegret-mpi.so [--torch-python PYTHON] [MODEL...]

Egret's processes are started by mpirun, PyTorch's speak by gloo (its wheels have no MPI): DistributedDataParallel, images
as the formats of memory are faster, an allocator that keeps what was freed. Both have one thread a process. In each round
all four are run one after the other, in an order that alternates: two processes of each library, and one. A figure is the
median over the rounds of the median over a run's steps. Columns: milliseconds of a step by two processes, the ratio, and how
much more such a step takes than one of a single process, of each library."""
import argparse
import json
import os
import statistics
import subprocess
import sys

from child import KEPT, geometric_mean

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = {"mlp": 200, "cnn": 30, "resnet20": 8, "ptb-small": 20, "speech": 12, "bert-finetune": 4}
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "PRTE_ALLOW_RUN_AS_ROOT": "1",
        "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def egret(o, model, steps, ranks):
    command = ["mpirun", "-n", str(ranks), o.egret_bench, "ranks", model, str(steps), "--threads", "1"]
    environment = {**os.environ, **ROOT, "EGRET_MPI_MODULE": os.path.abspath(o.mpi_module)}
    said = subprocess.run(command, env=environment, stdout=subprocess.PIPE, timeout=600, check=True).stdout
    return statistics.median(json.loads(said)["steps_us"])


def torch(o, model, steps, ranks, form):
    o.port += 1
    environment = {**os.environ, **KEPT, "OMP_NUM_THREADS": "1"}
    all_of = [subprocess.Popen([o.torch_python, os.path.join(HERE, "torch_ranks.py"), model, str(steps), str(r),
                                str(ranks), str(o.port), "1", form], env=environment, stdout=subprocess.PIPE)
              for r in range(ranks)]
    said = [p.communicate(timeout=600)[0] for p in all_of]
    if any(p.returncode for p in all_of):
        raise SystemExit(f"torch_ranks.py {model} failed")
    return statistics.median(json.loads(said[0])["steps_us"])


def faster_format(o, model):
    return min(("nhwc", "nchw"), key=lambda form: torch(o, model, 3, 1, form))


def measure(o, model):
    steps, form, taken = MODELS[model], faster_format(o, model), {}
    for number in range(o.rounds):
        sides = [(name, ranks) for ranks in (2, 1) for name in ("egret", "torch")]
        for name, ranks in sides if number % 2 == 0 else sides[::-1]:
            us = egret(o, model, steps, ranks) if name == "egret" else torch(o, model, steps, ranks, form)
            taken.setdefault((name, ranks), []).append(us)
    return {side: statistics.median(us) / 1000 for side, us in taken.items()}


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("models", nargs="*", default=list(MODELS), metavar="MODEL")
    p.add_argument("--egret-bench", required=True)
    p.add_argument("--mpi-module", required=True)
    p.add_argument("--torch-python", default=sys.executable)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--json")
    o = p.parse_args()
    o.port, rows = 29600, {}
    print(f"{'model':<14}{'egret ms':>10}{'torch ms':>10}{'ratio':>7}{'egret x':>9}{'torch x':>9}")
    for model in o.models:
        ms = measure(o, model)
        rows[model] = {f"{name}_{ranks}_ms": value for (name, ranks), value in ms.items()}
        ratio = ms["torch", 2] / ms["egret", 2]
        print(f"{model:<14}{ms['egret', 2]:10.2f}{ms['torch', 2]:10.2f}{ratio:7.2f}"
              f"{ms['egret', 2] / ms['egret', 1]:9.2f}{ms['torch', 2] / ms['torch', 1]:9.2f}", flush=True)
    print(f"geometric mean {geometric_mean([r['torch_2_ms'] / r['egret_2_ms'] for r in rows.values()]):.2f}")
    if o.json:
        with open(o.json, "w") as f:
            json.dump(rows, f, indent=1)


main()
