#!/usr/bin/env python3
"""egret-weights lists, shows, sums, compares and converts files made here, and refuses what it must.

    check.py EGRET_WEIGHTS
"""
import json
import os
import struct
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from checking import check, finish, runner  # noqa: E402

weights = runner(sys.argv[1])


def safetensors(path, tensors, texts=None):
    """Of f32, {name: (shape, numbers)}."""
    header, data = ({"__metadata__": texts} if texts else {}), b""
    for name, (shape, numbers) in tensors.items():
        more = struct.pack(f"<{len(numbers)}f", *numbers)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(more)]}
        data += more
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


with tempfile.TemporaryDirectory() as folder:
    a, b = f"{folder}/a.safetensors", f"{folder}/b.safetensors"
    safetensors(a, {"fc.weight": ([2, 3], [1, 2, 3, 4, 5, 6]), "fc.bias": ([2], [0.5, -1])}, {"made": "here"})
    safetensors(b, {"fc.weight": ([2, 3], [1, 2, 3, 4, 5, 6.25]), "more": ([1], [0])})

    r = weights("list", a)
    check("list", r.returncode == 0 and "fc.weight" in r.stdout and "[2, 3]" in r.stdout and "text made: here" in r.stdout
          and "2 tensors of 8 numbers, 32 bytes, safetensors" in r.stdout, r)
    r = weights("list", a, "--only", "bias")
    check("only", r.returncode == 0 and "1 tensors of 2 numbers" in r.stdout and "fc.weight" not in r.stdout, r)
    r = weights("show", a, "--only", "fc.bias")
    check("show", r.returncode == 0 and "0.5" in r.stdout and "-1" in r.stdout, r)

    r = weights("diff", a, b)
    check("diff", r.returncode == 1 and "! fc.weight: up to 0.25 apart" in r.stdout and "- fc.bias" in r.stdout
          and "+ more" in r.stdout, r)
    r = weights("diff", a, b, "--only", "weight", "--tolerance", "0.05")
    check("tolerance", r.returncode == 0 and "1 tensors are the same" in r.stdout, r)

    sums = weights("sum", a).stdout
    for ending in ("npz", "gguf", "safetensors", "safetensors.index.json", "ckpt"):
        to = f"{folder}/to.{ending}"
        r = weights("convert", a, to)
        check(f"convert to {ending}", r.returncode == 0 and "has 2 tensors" in r.stdout, r)
        check(f"back from {ending}", sorted(weights("sum", to).stdout.splitlines()[:-1]) ==
              sorted(sums.splitlines()[:-1]), weights("sum", to))
    r = weights("convert", a, f"{folder}/half.safetensors", "--dtype", "f16")
    check("dtype", r.returncode == 0 and " F16 " in weights("list", f"{folder}/half.safetensors").stdout, r)

    with open(f"{folder}/map", "w") as f:
        f.write("fc.*  head.{1}\n")
    r = weights("list", a, "--map", f"{folder}/map")
    check("map", r.returncode == 0 and "head.weight" in r.stdout and "head.bias" in r.stdout, r)

    for name, args, word in (
            ("no file", ("list", f"{folder}/none"), "none"), ("no command", ("look", a), "no look"),
            ("one file for two", ("diff", a), "takes 2 files"), ("no format", ("list", a, "--format", "xml"), "safetensors"),
            ("an unknown ending", ("convert", a, f"{folder}/x.doc"), "ending"), ("no net", ("list", a, "--net", "x"), "x"),
            ("two maps", ("list", a, "--net", "lenet", "--map", "x"), "two maps")):
        r = weights(*args)
        check(name, r.returncode != 0 and word in r.stderr and "egret" in r.stderr, r)

finish()
