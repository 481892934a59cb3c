#!/usr/bin/env python3
"""Writes the files of odd/: one readable tensor "w" of 0, 1, 2 each, and beside it what readers leave out.

    python3 odd_files.py [--out DIR]

It needs NumPy, h5py and PyTorch; the files here came from NumPy 2.4, h5py 3.16 and PyTorch 2.15.
"""
import argparse
import collections
import os

import h5py
import numpy as np
import torch

W = np.arange(3, dtype=np.float32)


def npz(out):
    structure = np.zeros(2, np.dtype([("a", "<f4"), ("b", "<i4", (2,))]))
    many_fields = np.zeros(1, np.dtype([(f"field_{i:03}", "<f4") for i in range(300)]))  # a header of more than 4 KiB
    arrays = {"w": W, "": W + 10, "text": np.array(["ab", "c"]), "bytes": np.array([b"ab"]), "structure": structure,
              "many": many_fields, "when": np.array(["2020-01-01"], "datetime64[D]"), "long": np.zeros(1, np.longdouble),
              "object": np.array([None, {}], dtype=object), "axes": np.zeros((1,) * 9, np.float32)}
    np.savez(os.path.join(out, "odd.npz"), **arrays)
    np.savez_compressed(os.path.join(out, "packed.npz"), **arrays)


def pt(out):
    w = torch.from_numpy(W)
    inner = collections.defaultdict(list, {"v": w + 1})
    ordered = collections.OrderedDict([("w", w + 2), ("", w + 3)])
    value = {
        "w": w, "": w + 10, "number": 7, "inner": inner, "ordered": ordered, "numpy": np.float64(1.5), "array": np.zeros(2),
        "conj": torch.tensor([1 + 2j]).conj(), "imaginary": torch.tensor([1 + 2j]).conj().imag,
        "sparse": torch.eye(2).to_sparse(), "csr": torch.eye(2).to_sparse_csr(),
        "quantized": torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8), "axes": torch.zeros((1,) * 9),
        "storage": torch.ones(2).untyped_storage(), ("a", 1): w, "fraction": __import__("fractions").Fraction(1, 2),
        "slice": slice(1, 2), "function": torch.relu, "list": [w + 4, {1, 2}, print]}
    torch.save(value, os.path.join(out, "odd.pt"))
    del value["storage"]
    torch.save(value, os.path.join(out, "odd.legacy.pt"), _use_new_zipfile_serialization=False)


def hdf5(out):
    with h5py.File(os.path.join(out, "odd.h5"), "w", libver="latest") as f:
        f["w"] = W
        f["text"] = "a text"
        f["texts"] = [b"ab", b"c"]
        f["empty"] = h5py.Empty("f4")
        f["compound"] = np.zeros(2, np.dtype([("a", "<f4")]))
        f["colour"] = np.array([1], dtype=h5py.enum_dtype({"RED": 1}, basetype="i1"))
        f["object"] = np.array([f["w"].ref], dtype=h5py.ref_dtype)
        f["type"] = np.dtype("<f4")
        f["axes"] = np.zeros((1,) * 9, np.float32)
        f.create_dataset("lzf", data=W, compression="lzf", chunks=(3,))
        f.create_dataset("outside", (4,), "f4", external=[("elsewhere.bin", 0, 16)])
        f["soft"] = h5py.SoftLink("/w")
        f["dangling"] = h5py.SoftLink("/nowhere")
        f["group/v"] = W + 1
        f["alias"] = h5py.SoftLink("/group")
        f["external"] = h5py.ExternalLink("other.h5", "/w")
        layout = h5py.VirtualLayout((3,), "f4")
        layout[:] = h5py.VirtualSource("other.h5", "w", (3,))
        f.create_virtual_dataset("virtual", layout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "odd"))
    out = parser.parse_args().out
    os.makedirs(out, exist_ok=True)
    npz(out)
    pt(out)
    hdf5(out)


main()
