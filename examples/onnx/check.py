#!/usr/bin/env python3
"""egret-onnx says what models are, runs, times and writes them, and refuses what it must.

    check.py EGRET_ONNX SOURCE
"""
import os
import struct
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from checking import check, finish, runner  # noqa: E402

onnx = runner(sys.argv[1])
golden = os.path.join(sys.argv[2], "tests", "golden", "onnx")


def npy(path, shape, numbers):
    """Of f32."""
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        f.write(struct.pack(f"<{len(numbers)}f", *numbers))


def numbers_of(path):
    with open(path, "rb") as f:
        data = f.read()
    return data[10 + struct.unpack_from("<H", data, 8)[0]:]


with tempfile.TemporaryDirectory() as folder:
    net, again = f"{folder}/net.onnx", f"{folder}/again.onnx"
    said = onnx("convert", "--net", "lenet", net, "--any_batch", "--beside")
    check("a net as a model", "is lenet" in said and os.path.getsize(net + ".data") > os.path.getsize(net), said)
    said = onnx("check", net)
    check("check", "IR version 9, operators of version 20, made by egret" in said and "input   input: f32 [?, 1, 28, 28]"
          in said and "output  output: f32 [?, 10]" in said and "      2 Conv" in said, said)
    said = onnx("summary", net, "--dim", "3")
    check("summary", "[3, 10]" in said and "[3, 32, 28, 28]" in said and "numbers of parameters" in said, said)

    npy(f"{folder}/x.npy", (2, 1, 28, 28), [i % 7 / 7 for i in range(2 * 28 * 28)])
    said = onnx("run", net, "--input", f"input={folder}/x.npy")
    check("run", "output: f32 [2, 10]" in said and "[[" in said, said)
    onnx("run", net, "--input", f"input={folder}/x.npy", "--out", f"{folder}/a")
    onnx("run", net, "--input", f"input={folder}/x.npy", "--out", f"{folder}/b", "--frozen")
    a, b = (struct.unpack("<20f", numbers_of(f"{folder}/{x}/output.npy")) for x in "ab")
    check("the same numbers again", max(abs(x - y) for x, y in zip(a, b)) < 1e-5 and any(a), (a, b))
    said = onnx("benchmark", net, "--runs", "3", "--warm", "1", "--threads", "1")
    check("benchmark", "the median of 3 runs" in said and "by 1 threads" in said, said)

    for ending in ("safetensors", "npz", "gguf"):
        said = onnx("convert", net, f"{folder}/w.{ending}")
        check(f"weights as {ending}", "has 8 tensors" in said, said)
    onnx("convert", "--net", "lenet", "--weights", f"{folder}/w.safetensors", "--dim", "2", again)
    onnx("run", again, "--input", f"input={folder}/x.npy", "--out", f"{folder}/c")
    c = struct.unpack("<20f", numbers_of(f"{folder}/c/output.npy"))
    check("weights go there and back", max(abs(x - y) for x, y in zip(a, c)) < 1e-5, (a, c))

    said = onnx("check", f"{golden}/gru.onnx")
    check("a model of others", "made by pytorch" in said and "GRU" in said, said)

    with open(f"{folder}/odd.onnx", "wb") as f:  # one node of an operator that is not there
        node = b"\x22\x04Nope"
        graph = b"\x0a" + bytes([len(node)]) + node
        f.write(b"\x08\x08\x3a" + bytes([len(graph)]) + graph + b"\x42\x02\x10\x0d")
    os.remove(net + ".data")
    for status, args, word in (
            (1, ("check", f"{folder}/none.onnx"), "No such file"), (2, ("look", again), "there is no look"),
            (1, ("check", f"{folder}/odd.onnx"), "not known: Nope"), (1, ("check", net), "net.onnx.data"),
            (1, ("run", again, "--input", "y=z.npy"), "name of an input"), (2, ("convert", again), "takes 2 files"),
            (2, ("run", again, again), "takes 1 file"), (1, ("convert", "--net", "lenot", again), "lenet")):
        said = onnx(*args, expect=status)
        check(" ".join(args), word in said, said)

finish()
