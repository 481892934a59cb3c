#!/usr/bin/env python3
"""Files as PyTorch writes them, small, and what is in them as safetensors: tests/golden/torch_files/NAME.pt (the form of
a zip archive), NAME.legacy.pt (the older one) and NAME.safetensors, whose metadata are the plain values.

    python3 torch_files.py [--out DIR]

Needs PyTorch (CPU) and safetensors, and is needed only to change the files.
"""
import argparse
import collections
import os
import zipfile

import torch
from safetensors.torch import save_file
from torch import nn

# Of which safetensors has the values only in a wider type, as Egret has them.
WIDER = {torch.int8: torch.int32, torch.int16: torch.int32, torch.uint16: torch.int32, torch.uint32: torch.int64,
         torch.uint64: torch.int64, torch.float8_e4m3fn: torch.float16, torch.float8_e5m2: torch.float16,
         torch.float8_e4m3fnuz: torch.float16, torch.float8_e5m2fnuz: torch.float16,
         torch.float8_e8m0fnu: torch.float32}


def names(value, name, tensors, texts):
    """What a value is in Egret: names of tensors and texts."""
    if isinstance(value, torch.Tensor):
        value = value.detach()
        if value.is_complex():
            value = torch.view_as_real(value)
        tensors[name or "tensor"] = value.to(WIDER.get(value.dtype, value.dtype)).contiguous().clone()
    elif isinstance(value, dict):
        for key, item in value.items():
            names(item, f"{name}.{key}" if name else str(key), tensors, texts)
    elif isinstance(value, (list, tuple, set)):
        for i, item in enumerate(value):
            names(item, f"{name}.{i}" if name else str(i), tensors, texts)
    elif not isinstance(value, bytes):
        texts[name or "value"] = str(value)


def dtypes():
    numbers = torch.arange(-3, 9).reshape(3, 4)
    made = {str(t)[6:]: numbers.to(t) for t in (
        torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
        torch.complex64, torch.complex128)}
    made |= {str(t)[6:]: numbers.abs().to(t) for t in (torch.uint8, torch.bool)}
    return made


def new_dtypes():
    numbers = torch.arange(-3, 9).reshape(3, 4)
    made = {str(t)[6:]: numbers.abs().to(t) for t in (torch.uint16, torch.uint32, torch.uint64)}
    made |= {str(t)[6:]: (numbers / 2).to(t) for t in (
        torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz)}
    made["float8_e8m0fnu"] = torch.tensor([0.5, 1, 4096]).to(torch.float8_e8m0fnu)
    made["float8_transposed"] = made["float8_e4m3fn"].t()
    return made


def views():
    base = torch.arange(60.).reshape(3, 4, 5)
    return {"base": base, "transposed": base.transpose(0, 2), "sliced": base[1:, ::2, 1:4], "row": base[2, 1],
            "expanded": base[:1, :, :1].expand(6, 4, 2), "last": base[2, 3, 4], "channels_last":
            torch.arange(48.).reshape(1, 3, 4, 4).to(memory_format=torch.channels_last),
            "none": torch.zeros(0, 3), "none_of_base": base[3:], "scalar": torch.tensor(2.5),
            "i16": torch.arange(12, dtype=torch.int16).reshape(3, 4).t()[1:],
            "complex": (torch.arange(6.) + 1j).reshape(2, 3).t()}


def checkpoint():
    torch.manual_seed(7)
    net = nn.Sequential(collections.OrderedDict(fc=nn.Linear(4, 3), norm=nn.BatchNorm1d(3), out=nn.Linear(3, 2)))
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, [3, 7])
    for _ in range(2):
        net(torch.randn(5, 4)).sum().backward()
        optimizer.step()
        schedule.step()
    return {"model": net.state_dict(), "optimizer": optimizer.state_dict(), "schedule": schedule.state_dict(),
            "epoch": 12, "best": 0.1 + 0.2, "seed": 2 ** 62, "below": -2 ** 40, "name": "größer", "done": False,
            "nothing": None, "infinite": float("-inf"), "raw": b"\0\1", "big": 2 ** 70, "size": torch.Size([2, 3]),
            "device": torch.device("cuda", 1), "dtype": torch.bfloat16, "set": {5}, "empty": {}, 5: [1, (2, "x")]}


def parameters():
    with_state = nn.Parameter(torch.arange(3.))
    with_state.note = "kept"
    tensor_with_state = torch.arange(4.)
    tensor_with_state.note = 1
    shared = torch.arange(2.)
    return {"p": nn.Parameter(torch.ones(2, 2)), "frozen": nn.Parameter(torch.ones(2), requires_grad=False),
            "state": with_state, "attributes": tensor_with_state, "twice": {"a": shared, "b": shared},
            "list": [torch.zeros(1), torch.ones(1, dtype=torch.float64)]}


class Whatever:
    def __init__(self):
        self.epoch = 3


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_files"))
    out = parser.parse_args().out
    os.makedirs(out, exist_ok=True)

    def save(value, name, expect=True, legacy=True, **options):
        torch.save(value, os.path.join(out, name + ".pt"), **options)
        if legacy:
            torch.save(value, os.path.join(out, name + ".legacy.pt"), _use_new_zipfile_serialization=False, **options)
        if expect:
            tensors, texts = {}, {}
            names(torch.load(os.path.join(out, name + ".pt"), weights_only=False), "", tensors, texts)
            texts.pop("big", None)
            save_file(tensors, os.path.join(out, name + ".safetensors"), texts)

    save(dtypes(), "dtypes")
    save(new_dtypes(), "new_dtypes")
    save(views(), "views")
    save(checkpoint(), "checkpoint")
    save(checkpoint(), "checkpoint5", pickle_protocol=5)
    save(parameters(), "parameters")
    save(torch.arange(5), "tensor")
    save([torch.ones(2), "a", 3], "list")
    save(nn.Linear(2, 2), "module", expect=False, legacy=False)
    save({"args": Whatever()}, "class", expect=False, legacy=False)
    save({"x": torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.quint8)}, "quantized", expect=False)
    save({"x": torch.eye(2).to_sparse()}, "sparse", expect=False)
    save({"x": torch.zeros(2, device="meta")}, "meta", expect=False)
    save({"x": torch.tensor([1 + 2j]).conj()}, "conjugated", expect=False)
    torch.jit.script(nn.Linear(2, 2)).save(os.path.join(out, "script.pt"))
    # As other programs pack archives: deflated.
    with zipfile.ZipFile(os.path.join(out, "views.pt")) as plain, \
            zipfile.ZipFile(os.path.join(out, "packed.pt"), "w", zipfile.ZIP_DEFLATED) as packed:
        for info in plain.infolist():
            packed.writestr(zipfile.ZipInfo(info.filename), plain.read(info), zipfile.ZIP_DEFLATED)


main()
