"""Nets as ONNX models, run by Egret and by onnxruntime in turn: `compare.py graphs`.

Egret makes the net with weights by chance, writes it (eg_onnx_save), reads it again (eg_onnx_load, frozen) and runs it;
onnxruntime runs the same file on the same input with all its optimizations; both say how far their result is from that
of the net itself. One image of the net's own size, or what graphs.c says. A figure is the median of the rounds' medians."""
import json
import os
import re
import statistics
import tempfile
import time

from child import Child, geometric_mean

HERE = os.path.dirname(os.path.abspath(__file__))
NETS = ["vgg_16", "resnet18", "resnet50", "inception_v3", "mobilenet_v2", "efficientnet_b0", "convnext_tiny", "vit_b_16",
        "nasnet_mobile", "unet", "lstm", "transformer", "generator"]
OTHER = os.path.join(HERE, "ort_graph.py")
APART = 1e-4  # of the largest number


def measure(net, folder, options):
    egret = Child([options.egret_bench, "--threads", str(options.threads), "graph", folder, net], {})
    own = egret.ask("about")  # the file is there then
    other = Child([options.ort_python, OTHER, folder, net, str(options.threads)], {})
    about, times = other.ask("about"), {egret: [], other: []}
    for number in range(options.rounds + 1):  # the first turn warms up
        for child in (egret, other) if number % 2 else (other, egret):
            answer = child.ask(f"run {options.round_ms * 1000}")
            if number:
                times[child].append(answer["median_ms"])
            time.sleep(.01)
    egret.close()
    other.close()
    row = {"name": f"graph/{net}", "egret_ms": statistics.median(times[egret]), "ort_ms": statistics.median(times[other]),
           "apart": max(own["apart"], about["apart"])}
    row["ratio"] = row["ort_ms"] / row["egret_ms"]
    return row, about["library"]


def compare(options):
    rows, wrong = [], 0
    print(f"{'graph':24} {'egret ms':>10} {'ort ms':>10} {'ratio':>7} {'apart':>9}")
    for net in NETS:
        if not re.search(options.only, net):
            continue
        with tempfile.TemporaryDirectory() as folder:
            row, library = measure(net, folder, options)
        rows.append(row)
        wrong += row["apart"] > APART
        print(f"{row['name']:24} {row['egret_ms']:10.2f} {row['ort_ms']:10.2f} {row['ratio']:7.2f} {row['apart']:9.1e}"
              f"{'  WRONG' if row['apart'] > APART else ''}", flush=True)
    print(f"{library}: geometric mean {geometric_mean([row['ratio'] for row in rows]):.2f}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump(rows, out, indent=1)
    return wrong != 0
