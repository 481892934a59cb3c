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

    said = weights("list", a)
    check("list", "fc.weight" in said and "[2, 3]" in said and "text made: here" in said
          and "2 tensors of 8 numbers, 32 bytes, safetensors" in said, said)
    said = weights("list", a, "--only", "bias")
    check("only", "1 tensors of 2 numbers" in said and "fc.weight" not in said, said)
    said = weights("show", a, "--only", "fc.bias")
    check("show", "0.5" in said and "-1" in said, said)

    said = weights("diff", a, b, expect=1)
    check("diff", "! fc.weight: up to 0.25 apart" in said and "- fc.bias" in said and "+ more" in said, said)
    said = weights("diff", a, b, "--only", "weight", "--tolerance", "0.05")
    check("tolerance", "1 tensors are the same" in said, said)

    sums = sorted(weights("sum", a).splitlines()[:-1])
    for ending in ("npz", "gguf", "safetensors", "safetensors.index.json", "ckpt"):
        to = f"{folder}/to.{ending}"
        said = weights("convert", a, to)
        check(f"convert to {ending}", "has 2 tensors" in said, said)
        said = weights("sum", to)
        check(f"back from {ending}", sorted(said.splitlines()[:-1]) == sums, said)
    weights("convert", a, f"{folder}/half.safetensors", "--dtype", "f16")
    said = weights("list", f"{folder}/half.safetensors")
    check("dtype", " F16 " in said and " F32 " not in said, said)

    with open(f"{folder}/map", "w") as f:
        f.write("fc.*  head.{1}\n")
    said = weights("list", a, "--map", f"{folder}/map")
    check("map", "head.weight" in said and "head.bias" in said, said)

    for status, args, word in (
            (1, ("list", f"{folder}/none"), "No such file"), (2, ("look", a), "there is no look"),
            (2, ("diff", a), "takes 2 files"), (1, ("list", a, "--format", "xml"), "safetensors"),
            (1, ("convert", a, f"{folder}/x.doc"), "ending"), (1, ("list", a, "--net", "x"), "no net"),
            (2, ("list", a, "--net", "lenet", "--map", "x"), "two maps")):
        said = weights(*args, expect=status)
        check(" ".join(args), word in said, said)

finish()
