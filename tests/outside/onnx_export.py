#!/usr/bin/env python3
"""ONNX models that Egret writes, as others see them.

    onnx_export.py ROOT PROGRAM...

The programs write models of single calls, each with its inputs and outputs beside it, into a folder. onnx.checker checks
every one, and onnxruntime, which has to give the same numbers, runs it. The table of operators that are written is held
against the definitions in the package onnx. Without these packages it is skipped.
"""
import collections
import json
import os
import re
import struct
import sys
import tempfile

import trying

DTYPES = {"F32": "float32", "F64": "float64", "F16": "float16", "I64": "int64", "I32": "int32", "U8": "uint8",
          "BOOL": "bool"}
TOLERANCES = {"float64": 1e-8,  # some of the runtime's formulas are f32's
              "float32": 5e-5, "float16": 1e-2}
NAMES = {"D(F32)": "float", "D(F64)": "double", "D(F16)": "float16", "D(BF16)": "bfloat16", "D(I64)": "int64",
         "D(I32)": "int32", "D(U8)": "uint8", "D(BOOL)": "bool"}
# Reported, not failed: a runtime without a kernel for a dtype that ONNX defines the operator for.
NO_KERNEL = "NOT_IMPLEMENTED"
TOLD = 10  # failures that are printed


def tensors(path):
    """The tensors of a safetensors file; None if one has a dtype that numpy has not."""
    with open(path, "rb") as f:
        data = f.read()
    n = struct.unpack("<Q", data[:8])[0]
    head = json.loads(data[8:8 + n])
    head.pop("__metadata__", None)
    found = {}
    for name, t in head.items():
        if t["dtype"] not in DTYPES:
            return None
        begin, end = (8 + n + at for at in t["data_offsets"])
        found[name] = numpy.frombuffer(data[begin:end], DTYPES[t["dtype"]]).reshape(t["shape"])
    return found


def same(got, wanted, odd):
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return f"{got.dtype} {got.shape}, wanted {wanted.dtype} {wanted.shape}"
    if wanted.dtype.kind != "f":
        return "" if numpy.array_equal(got, wanted) else f"{got.ravel()[:8]}, wanted {wanted.ravel()[:8]}"
    allowed = TOLERANCES[wanted.dtype.name]
    with numpy.errstate(all="ignore"):
        a, b = got.astype("float64"), wanted.astype("float64")
        near = (a == b) | (numpy.isnan(a) & numpy.isnan(b)) | (abs(a - b) <= allowed * (1 + abs(b)))
        big = numpy.isinf(a) != numpy.isinf(b)  # past the range of the dtype in one order of rounding
        limit = float(numpy.finfo(wanted.dtype).max) * (1 - allowed)
        near |= odd & numpy.isnan(b)  # what NaN and infinities make is the runtime's affair
        near |= big & (numpy.sign(a) == numpy.sign(b)) & (numpy.minimum(abs(a), abs(b)) >= limit)
    at = numpy.argmin(near) if near.size else 0
    return "" if near.all() else f"element {at} is {a.ravel()[at]}, wanted {b.ravel()[at]}"


def try_model(path, count):
    """What is wrong with a model; "" if nothing is."""
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    count["checked"] += 1
    beside = tensors(path[:-5] + ".safetensors")
    if beside is None:
        count["of bf16, not run"] += 1
        return ""
    try:
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as e:  # pylint: disable=broad-except
        if NO_KERNEL in str(e):
            count["without a kernel"] += 1
            missing[re.sub(r".*for (\w+).*", r"\1", str(e).replace("\n", " "))] += 1
            return ""
        return str(e)
    given = {i.name: beside[f"in{k}"] for k, i in enumerate(session.get_inputs())}
    results = session.run(None, given)
    count["run"] += 1
    odd = any(t.dtype.kind == "f" and not numpy.isfinite(t).all() for t in given.values())
    return "; ".join(filter(None, (same(numpy.asarray(got), beside[f"out{k}"], odd) for k, got in enumerate(results))))


def check_operators(root):
    """Each row's dtypes are among those of ONNX's definition."""
    with open(os.path.join(root, "nn/onnx/write_operators.def"), encoding="utf-8") as f:
        rows = re.findall(r'^OPERATOR\((\w+), ([^"]+), "(\w+)", "(\w+)"\)', f.read(), re.M)
    with open(os.path.join(root, "nn/onnx/write_node.c"), encoding="utf-8") as f:
        groups = dict(re.findall(r"^    ([A-Z]+) = (.*D\(.*|[A-Z]+ \| .*),$", f.read(), re.M))

    def dtypes(text):
        return {d for part in text.split(" | ") for d in ([part] if part in NAMES else dtypes(groups[part]))}

    for name, types, inputs, _ in rows:
        schema = onnx.defs.get_schema(name, max_inclusive_version=20)
        allowed = {c.type_param_str: set(c.allowed_type_strs) for c in schema.type_constraints}
        of = schema.inputs[inputs.index("T")].type_str
        more = {NAMES[d] for d in dtypes(types)} - {t[7:-1] for t in allowed.get(of, {of})}
        trying.check(f"{name} is defined for what it is written for", not more, f"not for {sorted(more)}")
    trying.check("the table of operators is read", len(rows) > 80, str(len(rows)))


def main():
    root, programs = sys.argv[1], sys.argv[2:]
    check_operators(root)
    count, told = collections.Counter(), 0
    with tempfile.TemporaryDirectory() as folder:
        for program in programs:
            r = trying.run(program.split(), cwd=root, env={**os.environ, "EGT_ONNX": folder})
            trying.check(program, r.returncode == 0, r.stdout[-2000:])
        paths = sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".onnx"))
        trying.check("models are written", bool(paths))
        for path in paths:
            try:
                why = try_model(path, count)
            except Exception as e:  # pylint: disable=broad-except
                why = f"{type(e).__name__}: {e}"
            told += bool(why)
            trying.count["failed" if why else "passed"] += 1
            if why and (told <= TOLD or "ONNX_EXPORT_ALL" in os.environ):
                print(f"FAIL {os.path.basename(path)}: {why[:400]}")
    print(", ".join(f"{n} {what}" for what, n in count.items()))
    if missing:
        print("without a kernel:", ", ".join(f"{name} ({n})" for name, n in missing.most_common()))


try:
    import numpy
    import onnx
    import onnxruntime
except ImportError as missing_package:
    trying.skip(f"models are not run by others: {missing_package}")
else:
    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    # as the nodes are: rewriting them is the runtime's own affair
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    missing = collections.Counter()
    main()
trying.finish()
