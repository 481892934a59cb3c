#!/usr/bin/env python3
"""Nets as ONNX models give in onnxruntime what they give here: those of `compare.py graphs`, once each.

    check_graphs.py EGRET_BENCH [WORD]

Without onnxruntime all are skipped; EGRET_ORT_PYTHON is the program of a Python that has it, if this one has not."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import graphs  # noqa: E402
from child import Child  # noqa: E402

BESIDE = os.environ.get("EGRET_ORT_PYTHON", sys.executable)


def main():
    nets = [net for net in graphs.NETS if len(sys.argv) < 3 or sys.argv[2] in net]
    there = subprocess.run([BESIDE, "-c", "import numpy, onnxruntime"], capture_output=True, check=False)
    if there.returncode:
        print(f"SKIP {' '.join(nets)}: no onnxruntime here\n0 passed, 0 failed, {len(nets)} skipped")
        return 0
    failed = 0
    for net in nets:
        with tempfile.TemporaryDirectory() as folder:
            egret = Child([sys.argv[1], "graph", folder, net], {})
            apart = [egret.ask("about")["apart"]]
            egret.close()
            other = Child([BESIDE, graphs.OTHER, folder, net, "2"], {})
            apart.append(other.ask("about")["apart"])
            other.close()
        if not max(apart) <= graphs.APART:
            print(f"FAIL {net}: read again {apart[0]:g} of the largest number apart, in onnxruntime {apart[1]:g}")
            failed += 1
    print(f"{len(nets) - failed} passed, {failed} failed, 0 skipped")
    return failed != 0


sys.exit(main())
