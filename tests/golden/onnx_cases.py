"""The node cases of the installed onnx package, as files for test_onnx_cases:

    python3 -m pip install onnx ml_dtypes pillow
    python3 tests/golden/onnx_cases.py FOLDER && build/tests/test_onnx_cases FOLDER

Newer than those of Debian's libonnx-testdata. Cases with inputs or outputs that are no tensors are left out. A case
with tolerances of its own has them in a file of two numbers, "tolerance"."""
import os
import sys

import onnx.backend.test.case.node as node_test
from onnx import TensorProto, numpy_helper

USUAL = (1e-3, 1e-7)


def write(path, message):
    with open(path, "wb") as out:
        out.write(message.SerializeToString())


def write_tensors(folder, what, values, arrays):
    for i, (value, array) in enumerate(zip(values, arrays)):
        tensor = array if isinstance(array, TensorProto) else numpy_helper.from_array(array, value.name)
        write(f"{folder}/{what}_{i}.pb", tensor)


def main():
    written = left = 0
    for case in node_test.collect_testcases(None):
        graph = case.model.graph
        if any(not v.type.HasField("tensor_type") for v in [*graph.input, *graph.output]):
            left += 1
            continue
        folder = os.path.join(sys.argv[1], "node", case.name)
        for number, (inputs, outputs) in enumerate(case.data_sets):
            data = f"{folder}/test_data_set_{number}"
            os.makedirs(data, exist_ok=True)
            write_tensors(data, "input", graph.input, inputs)
            write_tensors(data, "output", graph.output, outputs)
        write(f"{folder}/model.onnx", case.model)
        if (case.rtol, case.atol) != USUAL:
            with open(f"{folder}/tolerance", "w", encoding="ascii") as out:
                print(case.rtol, case.atol, file=out)
        written += 1
    print(f"{written} cases written, {left} left out")


main()
