"""Files of GGUF: tensors of every type, keys of every kind, and what ggml's own package makes of the tensors.

    python3 gguf_files.py [--out DIR]      writes gguf/*; needs gguf, safetensors and NumPy

Blocks are quantised by the package where it can, and random bytes with scales that are numbers. What it cannot
dequantise (Q8_1, Q8_K, Q1_0, Q2_0) is computed here. Run twice, it writes the same bytes twice."""
import argparse
import os

import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf import GGUFEndian, GGUFValueType, GGUFWriter, constants, quants
from safetensors.numpy import save_file

# Where the f16 scales of a block are.
SCALES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q8_1": [0, 2], "Q2_K": [80, 82],
          "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0], "TQ1_0": [52],
          "TQ2_0": [64], "MXFP4": [], "NVFP4": [], "Q1_0": [0], "Q2_0": [0], "Q8_K": []}
BYTES = ["IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ3_S", "IQ2_S", "IQ1_M"]
Q2_0 = 42  # which the package does not know yet
constants.GGML_QUANT_SIZES[Q2_0] = (64, 18)
constants.GGML_QUANT_SIZES[Type.Q8_1] = (32, 36)  # as ggml has it since scale and sum are f16


def number_of(name):
    return Q2_0 if name == "Q2_0" else Type[name]


def random_blocks(r, name, rows, elements):
    size, block = constants.GGML_QUANT_SIZES[number_of(name)]
    raw = r.integers(0, 256, (rows * elements // size, block), dtype=np.uint8)
    for at in SCALES.get(name, []):
        raw[:, at:at + 2] = r.normal(0, .1, len(raw)).astype(np.float16).reshape(-1, 1).view(np.uint8)
    if name == "Q8_K":
        raw[:, :4] = r.normal(0, .1, len(raw)).astype(np.float32).reshape(-1, 1).view(np.uint8)
    return raw.reshape(rows, -1)


def own_values(name, raw):
    size, block = constants.GGML_QUANT_SIZES[number_of(name)]
    b = raw.reshape(-1, block)
    if name == "Q8_K":
        scale, q = b[:, :4].copy().view(np.float32), b[:, 4:260].view(np.int8)
    else:
        scale = b[:, :2].copy().view(np.float16).astype(np.float32)
        q = {"Q8_1": lambda: b[:, 4:].view(np.int8),
             "Q1_0": lambda: np.unpackbits(b[:, 2:], axis=1, bitorder="little").astype(np.int8) * 2 - 1,
             "Q2_0": lambda: np.stack([b[:, 2:] >> s & 3 for s in (0, 2, 4, 6)], -1).reshape(-1, 64).astype(np.int8) - 1,
             }[name]()
    return (scale * q.astype(np.float32)).reshape(len(raw), -1)


def blocks(folder):
    r = np.random.default_rng(3)
    writer, values = GGUFWriter(os.path.join(folder, "blocks.gguf"), "none"), {}
    for name in SCALES:
        raw = random_blocks(r, name, 2, 256)
        if name in ("Q8_1", "Q8_K", "Q1_0", "Q2_0"):
            values[name] = own_values(name, raw)
        else:
            try:
                line = r.normal(0, 1, (1, 256)).astype(np.float32)
                raw = np.concatenate([quants.quantize(line, Type[name]), raw])
            except NotImplementedError:
                pass
            values[name] = quants.dequantize(raw, Type[name])
        writer.add_tensor(name, raw, raw_dtype=number_of(name))
    cube = r.normal(0, 1, (2, 3, 64)).astype(np.float32)
    raw = quants.quantize(cube, Type.Q8_0)
    writer.add_tensor("cube", raw, raw_dtype=Type.Q8_0)
    values["cube"] = quants.dequantize(raw, Type.Q8_0)
    for name in BYTES:
        values[name] = random_blocks(r, name, 2, 512)
        writer.add_tensor(name, values[name], raw_dtype=Type[name])
    plain = r.normal(0, 100, (3, 5))
    for name in ("float32", "float16", "float64", "int8", "int16", "int32", "int64"):
        x = plain.astype(name)
        writer.add_tensor(name, x)
        values[name] = x.astype(np.int32) if x.itemsize < 4 and x.dtype.kind == "i" else x
    raw = quants.quantize(plain.astype(np.float32), Type.BF16)
    writer.add_tensor("bfloat16", raw, raw_dtype=Type.BF16)
    values["bfloat16"] = quants.dequantize(raw, Type.BF16)
    values["scalar"] = np.array(2.5, np.float32)
    writer.add_tensor("scalar", values["scalar"])
    close(writer)
    save_file(values, os.path.join(folder, "blocks.safetensors"))


def keys(folder):
    writer = GGUFWriter(os.path.join(folder, "keys.gguf"), "none")
    kinds = GGUFValueType
    for kind, values in {kinds.UINT8: [0, 255], kinds.INT8: [-128, 127], kinds.UINT16: [65535], kinds.INT16: [-32768],
                         kinds.UINT32: [4294967295, 7], kinds.INT32: [-2147483648], kinds.UINT64: [2**64 - 1],
                         kinds.INT64: [-2**63, 2**63 - 1], kinds.BOOL: [True, False],
                         kinds.FLOAT32: [.1, -1e-40, 3e38, float("inf"), float("nan"), -0.0, 16777216.0],
                         kinds.FLOAT64: [.1, 1 / 3, 5e-324, float("-inf")],
                         kinds.STRING: ["caf\u00e9", "two\nlines", "back\\slash\0zero", ""]}.items():
        name = kind.name.lower()
        writer.add_key_value("list." + name, values, kinds.ARRAY, sub_type=kind)
        writer.add_key_value("one." + name, values[0], kind)
    writer.add_string("lines", "a\\b\nc")
    writer.add_key_value("bytes", b"\xff\xfe", kinds.STRING)
    writer.add_key_value("tokenizer.ggml.tokens", [f"token{i}" for i in range(400)], kinds.ARRAY,
                         sub_type=kinds.STRING)
    writer.add_custom_alignment(64)
    writer.add_tensor("a", np.arange(3, dtype=np.float32))
    writer.add_tensor("b", np.arange(5, dtype=np.float32).reshape(1, 5))
    close(writer)


def big(folder):
    writer = GGUFWriter(os.path.join(folder, "big_endian.gguf"), "none", endianess=GGUFEndian.BIG)
    writer.add_tensor("a", np.arange(3, dtype=np.float32))
    close(writer)


def close(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=os.path.dirname(os.path.abspath(__file__)))
    folder = os.path.join(parser.parse_args().out, "gguf")
    os.makedirs(folder, exist_ok=True)
    for make in (blocks, keys, big):
        make(folder)


if __name__ == "__main__":
    main()
