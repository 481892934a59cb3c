"""All types that elements have in safetensors files, as PyTorch writes them, and their values as PyTorch converts them.

    python3 elements.py [--out DIR]      writes elements.safetensors and elements_values.safetensors; needs PyTorch,
                                         safetensors and ml_dtypes

Of types of 8 bits and less all codes are there. F4 PyTorch cannot convert: its values are those of ml_dtypes, two to a
byte, the first in the lower half, as PyTorch's header for the type says."""
import argparse
import os

import ml_dtypes
import torch
from safetensors.torch import save_file

BYTES = {"I8": torch.int8, "U8": torch.uint8, "F8_E4M3": torch.float8_e4m3fn, "F8_E5M2": torch.float8_e5m2,
         "F8_E4M3FNUZ": torch.float8_e4m3fnuz, "F8_E5M2FNUZ": torch.float8_e5m2fnuz, "F8_E8M0": torch.float8_e8m0fnu}
INTEGERS = {"I16": torch.int16, "U16": torch.uint16, "I32": torch.int32, "U32": torch.uint32, "I64": torch.int64}
FLOATS = {"F16": torch.float16, "BF16": torch.bfloat16, "F32": torch.float32, "F64": torch.float64}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=os.path.dirname(os.path.abspath(__file__)))
    out = parser.parse_args().out
    codes = torch.arange(256, dtype=torch.uint8)
    tensors = {name: codes.clone().view(dtype).reshape(16, 16) for name, dtype in BYTES.items()}
    for name, dtype in INTEGERS.items():
        about = torch.iinfo(dtype)
        edges = [about.min, about.max, about.min + 1, about.max - 1, 0, 1, about.max // 2, about.max // 3]
        tensors[name] = torch.tensor(edges, dtype=dtype)
    tensors["U64"] = torch.tensor([0, 1, 2**63 - 1, 2**62, 2**32], dtype=torch.uint64)
    special = [0.0, -0.0, 1.0, -1 / 3, 1e-5, float("inf"), float("-inf"), float("nan"), 6e-8, 65504.0]
    for name, dtype in FLOATS.items():
        tensors[name] = torch.tensor(special, dtype=torch.float64).to(dtype)
    tensors["BOOL"] = torch.tensor([[True, False], [False, False]])
    tensors["C64"] = torch.view_as_complex(torch.tensor(special, dtype=torch.float32).reshape(5, 2))
    tensors["F4"] = codes.clone().view(torch.float4_e2m1fn_x2).reshape(16, 16)
    values = {}
    for name, t in tensors.items():
        if name == "F4":
            halves = torch.stack([codes & 15, codes >> 4], -1).reshape(16, 32)
            values[name] = torch.from_numpy(halves.numpy().view(ml_dtypes.float4_e2m1fn).astype("float32"))
        elif t.is_complex():
            values[name] = torch.view_as_real(t).clone()
        else:
            values[name] = t.to(torch.float64 if t.is_floating_point() else torch.int64)
    save_file(tensors, os.path.join(out, "elements.safetensors"))
    save_file(values, os.path.join(out, "elements_values.safetensors"))


if __name__ == "__main__":
    main()
