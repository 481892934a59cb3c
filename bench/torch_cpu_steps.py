"""PyTorch's side of `compare.py steps`: one model of torch_steps.py in a process of its own.

    python3 torch_cpu_steps.py MODEL THREADS FORMAT [compile]   FORMAT: nchw or nhwc, the memory format of images

Answers a line of JSON for each line on stdin:
    about     {"library": ..., "threads": n, "formats": 2 if the format matters, else 1}
    run US    {"steps_us": [...], "loss": .., "peak_kib": ..}
    work      {"flops": of the matrix products and convolutions of one step; of a convolution only the
               taps that lie inside the image}"""
import json
import math
import resource
import sys
import time

import torch

import torch_steps


def run(step, budget):
    times, start = [], time.perf_counter()
    while not times or (time.perf_counter() - start) * 1e6 < budget:
        begin = time.perf_counter()
        loss = step().item()
        times.append(round((time.perf_counter() - begin) * 1e6, 1))
    return {"steps_us": times, "loss": loss,
            "peak_kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}


def inside(large, kernel, stride, padding, small):
    """The share of a convolution's taps that lie inside the image, per axis multiplied."""
    share = 1
    for axis in range(len(stride)):
        size, k, s, p, out = large.shape[2 + axis], kernel.shape[2 + axis], stride[axis], padding[axis], \
            small.shape[2 + axis]
        share *= sum(max(0, min(k, size - (i * s - p)) - max(0, p - i * s)) for i in range(out)) / (k * out)
    return share


def convolution(small, large, weight, stride, padding):
    places = small.shape[0] * math.prod(small.shape[2:])
    return 2 * places * weight.numel() * inside(large, weight, stride, padding, small)


def flops_of(name, args, out):
    if name.startswith(("mm", "bmm")):
        return 2 * args[0].numel() * args[1].shape[-1]
    if name.startswith(("addmm", "baddbmm")):
        return 2 * args[1].numel() * args[2].shape[-1]
    if name.startswith("convolution."):
        small, large = (args[0], out) if args[6] else (out, args[0])
        return convolution(small, large, args[1], args[3], args[4])
    if name.startswith("convolution_backward"):
        small, large = (args[1], args[0]) if args[7] else (args[0], args[1])
        return convolution(small, large, args[2], args[4], args[5]) * (int(args[10][0]) + int(args[10][1]))
    return 0


def work(name):
    """Flops of a step, with everything that might be fused written out."""
    from torch.utils._python_dispatch import TorchDispatchMode
    total = 0

    class Count(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            nonlocal total
            out = function(*args, **(kwargs or {}))
            total += flops_of(str(function).replace("aten.", ""), args, out)
            return out

    torch_steps.ATTENTION = torch_steps.written_out
    torch_steps.fastest_attention = lambda make: make()
    torch.backends.mkldnn.enabled = False  # or recurrent layers are one op
    step = torch_steps.MODELS[name]()
    with Count():
        step()
    return {"flops": total}


def main():
    name, threads, torch_steps.FORMAT = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    if "compile" in sys.argv[4:]:
        torch_steps.COMPILE = {}
        torch_steps.fastest_attention = lambda make: make()
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    step = None
    for line in sys.stdin:
        words = line.split()
        if words[0] == "work":
            answer = work(name)
        elif words[0] == "about":
            answer = {"library": f"PyTorch {torch.__version__}", "threads": torch.get_num_threads(),
                      "formats": 2 if name in torch_steps.IMAGES else 1}
        else:
            if step is None:
                step = torch_steps.MODELS[name]()
                for _ in range(3):
                    step()
            answer = run(step, float(words[1]))
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
