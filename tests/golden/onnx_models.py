"""Small whole models for tests/fuzz/onnx.c: weights, chains that fuse, subgraphs, functions, shapes that are computed.

    python3 -m pip install onnx
    python3 tests/golden/onnx_models.py tests/fuzz/corpus/onnx"""
import sys

import numpy as np
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper

random = np.random.default_rng(1)


def weight(name, *shape):
    return numpy_helper.from_array(random.standard_normal(shape).astype(np.float32), name)


def ints(name, *values):
    return numpy_helper.from_array(np.array(values, np.int64), name)


def value(name, *shape, type=T.FLOAT):
    return h.make_tensor_value_info(name, type, shape)


def open_value(name, type=T.FLOAT):
    return h.make_tensor_value_info(name, type, None)


def node(op, inputs, outputs, **attributes):
    return h.make_node(op, inputs.split(), outputs.split(), **attributes)


def graph(nodes, inputs, outputs, weights=()):
    return h.make_graph(nodes, "g", inputs, outputs, weights)


def perceptron():
    return graph([node("Flatten", "x", "f"), node("Gemm", "f w1 b1", "a", transB=1), node("Relu", "a", "r"),
                  node("Dropout", "r", "d"), node("MatMul", "d w2", "m"), node("Add", "m b2", "s"),
                  node("Softmax", "s", "y", axis=-1)], [value("x", 2, 3)], [open_value("y")],
                 [weight("w1", 4, 3), weight("b1", 4), weight("w2", 4, 2), weight("b2", 2)])


def convolution():
    return graph([node("Conv", "x w", "c", pads=[1, 1, 1, 1]), node("BatchNormalization", "c s b m v", "n"),
                  node("Sigmoid", "n", "g"), node("Mul", "n g", "a"), node("MaxPool", "a", "p", kernel_shape=[2, 2]),
                  node("GlobalAveragePool", "p", "q"), node("Flatten", "q", "f"), node("Gemm", "f w2", "y")],
                 [value("x", 1, 2, 4, 4)], [open_value("y")],
                 [weight("w", 2, 2, 3, 3), weight("s", 2), weight("b", 2), weight("m", 2),
                  numpy_helper.from_array(np.ones(2, np.float32), "v"), weight("w2", 2, 2)])


def attention():
    return graph([node("LayerNormalization", "x s b", "n"), node("MatMul", "n wq", "q"), node("MatMul", "n wk", "k"),
                  node("MatMul", "n wv", "v"), node("Transpose", "k", "t", perm=[0, 2, 1]), node("MatMul", "q t", "l"),
                  node("Mul", "l half", "h"), node("Softmax", "h", "p"), node("MatMul", "p v", "o"),
                  node("Add", "o x", "r"), node("Gelu", "r", "y")], [value("x", 1, 3, 4)], [open_value("y")],
                 [weight("s", 4), weight("b", 4), weight("wq", 4, 4), weight("wk", 4, 4), weight("wv", 4, 4),
                  numpy_helper.from_array(np.array(0.5, np.float32), "half")])


def recurrent(op, gates):
    return graph([node(op, "x w r b", "y h", hidden_size=2, direction="bidirectional")], [value("x", 3, 1, 2)],
                 [open_value("y"), open_value("h")],
                 [weight("w", 2, gates * 2, 2), weight("r", 2, gates * 2, 2), weight("b", 2, gates * 4)])


def shapes():
    return graph([node("Shape", "x", "s"), node("Gather", "s zero", "n"), node("Concat", "n rest", "t", axis=0),
                  node("Reshape", "x t", "r"), node("Slice", "r zero one one", "p"), node("Tile", "p two", "q"),
                  node("ConstantOfShape", "two", "c"), node("Expand", "q t2", "e"), node("ReduceMean", "e", "y"),
                  node("Pad", "r pads", "z"), node("Split", "z", "u v", axis=1, num_outputs=2)], [value("x", 2, 3)],
                 [open_value("y"), open_value("c"), open_value("u"), open_value("v")],
                 [ints("zero", 0), ints("one", 1), ints("two", 1, 2), ints("rest", 3), ints("t2", 1, 2, 4),
                  ints("pads", 0, 1, 0, 0)])


def branches():
    inner = graph([node("Mul", "t w", "i")], [], [open_value("i")])
    then = graph([node("Identity", "x", "t"), node("If", "c", "o", then_branch=inner, else_branch=inner)], [],
                 [open_value("o")])
    other = graph([node("Add", "x v", "o2")], [], [open_value("o2")], [weight("v", 2)])
    return graph([node("ReduceSum", "x", "s"), node("Cast", "s", "c", to=T.BOOL), node("Reshape", "c one", "k"),
                  node("If", "k", "y", then_branch=then, else_branch=other)], [value("x", 2)], [open_value("y")],
                 [weight("w", 2), ints("one", 1)])


def scan():
    body = graph([node("MatMul", "h w", "m"), node("Add", "m x", "a"), node("Tanh", "a", "n"),
                  node("Identity", "n", "o")], [value("h", 2), value("x", 2)], [open_value("n"), open_value("o")])
    return graph([node("Scan", "h0 xs", "h ys", body=body, num_scan_inputs=1)], [value("h0", 2), value("xs", 3, 2)],
                 [open_value("h"), open_value("ys")], [weight("w", 2, 2)])


def loop():
    body = graph([node("Mul", "s w", "t"), node("Identity", "c", "d"), node("Identity", "t", "o")],
                 [value("i", type=T.INT64), value("c", type=T.BOOL), value("s", 2)],
                 [open_value("d", T.BOOL), open_value("t"), open_value("o")])
    return graph([node("Loop", "n c x", "y all", body=body)],
                 [value("n", type=T.INT64), value("c", type=T.BOOL), value("x", 2)],
                 [open_value("y"), open_value("all")], [weight("w", 2)])


def quantized():
    return graph([node("QuantizeLinear", "x s z", "q"), node("DequantizeLinear", "q s z", "d"),
                  node("DequantizeLinear", "w8 s z", "w"), node("Conv", "d w", "c"),
                  node("DynamicQuantizeLinear", "c", "a b e"), node("DequantizeLinear", "a b e", "y")],
                 [value("x", 1, 1, 3, 3)], [open_value("y")],
                 [numpy_helper.from_array(np.array(0.1, np.float32), "s"),
                  numpy_helper.from_array(np.array(3, np.uint8), "z"),
                  numpy_helper.from_array(np.arange(4, dtype=np.uint8).reshape(1, 1, 2, 2), "w8")])


def places():
    return graph([node("TopK", "x k", "v i"), node("Gather", "x i", "g"), node("NonZero", "x", "n"),
                  node("Transpose", "n", "t"), node("GatherND", "x t", "e"), node("ScatterND", "x t e", "s"),
                  node("OneHot", "i depth two", "o"), node("CumSum", "s zero", "c"), node("ReduceL2", "c", "y"),
                  node("Where", "b x c", "z"), node("Clip", "z lo", "w")], [value("x", 4)],
                 [open_value("y"), open_value("g"), open_value("o"), open_value("w")],
                 [ints("k", 2), numpy_helper.from_array(np.array(3, np.int64), "depth"),
                  numpy_helper.from_array(np.array([0, 1], np.float32), "two"),
                  numpy_helper.from_array(np.array(0, np.int64), "zero"),
                  numpy_helper.from_array(np.array([True, False, True, False]), "b"),
                  numpy_helper.from_array(np.array(-1, np.float32), "lo")])


def images():
    return graph([node("Resize", "x scales", "r", mode="linear"), node("AffineGrid", "theta size", "g"),
                  node("GridSample", "r g", "s"), node("ConvTranspose", "s w", "t"), node("AveragePool", "t", "a",
                                                                                       kernel_shape=[2, 2]),
                  node("LRN", "a", "y", size=2), node("InstanceNormalization", "y is ib", "z"),
                  node("RoiAlign", "x boxes which", "v", output_height=1, output_width=1),
                  node("NonMaxSuppression", "b3 sc k", "n")],
                 [value("x", 1, 1, 3, 3)], [open_value("z"), open_value("v"), open_value("n", T.INT64)],
                 [numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "scales"), weight("theta", 1, 2, 3),
                  ints("size", 1, 1, 3, 3), weight("w", 1, 2, 2, 2), weight("is", 2), weight("ib", 2),
                  weight("boxes", 1, 4), ints("which", 0), weight("b3", 1, 2, 4), weight("sc", 1, 1, 2), ints("k", 2)])


def function():
    f = h.make_function("own", "f", ["a", "b"], ["c"],
                        [node("MatMul", "a b", "m"), h.make_node("LeakyRelu", ["m"], ["c"])],
                        [h.make_opsetid("", 17)])
    g = graph([h.make_node("f", ["x", "w"], ["t"], domain="own"), h.make_node("f", ["t", "w"], ["y"], domain="own")],
              [value("x", 2, 2)], [open_value("y")], [weight("w", 2, 2)])
    return g, [f]


MODELS = {"perceptron": perceptron, "convolution": convolution, "attention": attention, "shapes": shapes,
          "lstm": lambda: recurrent("LSTM", 4), "gru": lambda: recurrent("GRU", 3), "branches": branches, "scan": scan,
          "loop": loop, "quantized": quantized, "places": places, "images": images, "function": function}

for name, make in MODELS.items():
    made = make()
    made, functions = made if isinstance(made, tuple) else (made, [])
    for part in made.node:  # without a region
        if part.op_type == "Resize":
            part.input.insert(1, "")
    model = h.make_model(made, functions=functions, producer_name="",
                         opset_imports=[h.make_opsetid("", 20), h.make_opsetid("own", 1)])
    with open(f"{sys.argv[1]}/whole_{name}.onnx", "wb") as out:
        out.write(model.SerializeToString())
