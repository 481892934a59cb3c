"""Records golden cases and writes them as safetensors. The format is described in README.md."""
import json
import struct

import torch

NAMES = {torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16",
         torch.int64: "I64", torch.int32: "I32", torch.uint8: "U8", torch.bool: "BOOL"}


def raw_bytes(tensor):
    flat = tensor.detach().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""


def write_safetensors(path, tensors, metadata):
    """Wide dtypes first, so that every tensor starts at a multiple of its item size."""
    order = sorted(tensors, key=lambda name: (-tensors[name].element_size(), name))
    header, offset = {"__metadata__": dict(sorted(metadata.items()))}, 0
    for name in order:
        tensor = tensors[name]
        end = offset + tensor.numel() * tensor.element_size()
        header[name] = {"dtype": NAMES[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name in order:
            file.write(raw_bytes(tensors[name]))


def option_text(value):
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, (list, tuple)):
        return ",".join(option_text(item) for item in value)
    return repr(value) if isinstance(value, float) else str(value)


class Recorder:
    """The cases of one family. Inputs are drawn from one generator per family, so a family's file
    does not depend on the others. Floats are f32 values stored as f64: a test may read them as
    either without rounding."""

    def __init__(self, family):
        self.family, self.tensors, self.metadata, self.counts = family, {}, {}, {}
        self.generator = torch.Generator().manual_seed(sum(family.encode()) * 7919)

    def normal(self, *shape, dtype=torch.float64):
        values = torch.randn(shape, generator=self.generator, dtype=torch.float32)
        return values.to(dtype)

    def uniform(self, *shape, lo=0.0, hi=1.0, dtype=torch.float64):
        values = torch.rand(shape, generator=self.generator, dtype=torch.float32) * (hi - lo) + lo
        return values.to(dtype)

    def integers(self, *shape, lo=0, hi=10, dtype=torch.int64):
        return torch.randint(lo, hi, shape, generator=self.generator).to(dtype)

    def bools(self, *shape):
        return self.integers(*shape, hi=2).bool()

    def add(self, name, options, tensors):
        """One case from tensors computed elsewhere: {role: tensor}."""
        number = self.counts.get(name, 0)
        self.counts[name] = number + 1
        key = f"{name}/{number}"
        self.metadata[key] = ";".join(f"{k}={option_text(v)}" for k, v in options.items()
                                      if v is not None)
        for role, tensor in tensors.items():
            self.tensors[f"{key}/{role}"] = tensor.detach().clone()

    def case(self, name, function, *inputs, diff=None, **options):
        """Runs function on inputs; records the value and, unless diff=(), the gradients with
        respect to the inputs numbered in diff (all floating ones by default)."""
        leaves = [x.clone() for x in inputs]
        wanted = [i for i, x in enumerate(leaves)
                  if x.is_floating_point() and (diff is None or i in diff)]
        for i in wanted:
            leaves[i].requires_grad_(True)
        result = function(*leaves)
        single = not isinstance(result, (tuple, list))
        outputs = [result] if single else list(result)
        roles = {f"x{i}": x for i, x in enumerate(inputs)}
        seeds = {}
        for i, y in enumerate(outputs):
            roles["y" if single else f"y{i}"] = y
            if y.requires_grad:
                seeds["dy" if single else f"dy{i}"] = (y, self.normal(*y.shape, dtype=y.dtype))
        if seeds and wanted:
            grads = torch.autograd.grad([y for y, _ in seeds.values()], [leaves[i] for i in wanted],
                                        [dy for _, dy in seeds.values()], allow_unused=True)
            roles.update({role: dy for role, (_, dy) in seeds.items()})
            roles.update({f"g{i}": g for i, g in zip(wanted, grads) if g is not None})
        self.add(name, options, roles)

    def write(self, folder):
        path = f"{folder}/{self.family}.safetensors"
        write_safetensors(path, self.tensors, self.metadata)
        return path
