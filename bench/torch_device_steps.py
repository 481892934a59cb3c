"""PyTorch's side of `compare.py steps --device`: the models of torch_steps.py on a device.

    python3 torch_device_steps.py DEVICE PRECISION WAY [smoke]
        PRECISION: f32, tf32, bf16 (autocast)     WAY: eager, compile, graphs (compiled into CUDA graphs)

Answers a line of JSON for each line on stdin:
    about            {"library": ..., "device": ...}
    run MODEL US     {"steps_us": [...], "loss": .., "device_mib": .., "variant": "nhwc"}: steps of the model, made
                     at the first request for it and ready when the answer to it comes; "run MODEL 0" only makes it
    anything that fails: {"error": "words"}

Steps are queued some at a time, each between two events whose distance is its time; on the CPU a clock's. It runs as
well as it can be told to: fused optimizers, cuDNN choosing by trial, of images the faster memory format, of attention
the faster way."""
import json
import sys
import time

import torch

import torch_steps

QUEUED, WARM_UP = 8, 3
COMPILE = {"eager": None, "compile": {}, "graphs": {"mode": "reduce-overhead"}}


def queue(step):
    """Microseconds of some steps, and the loss of the last."""
    times, loss = [], None
    if not torch_steps.DEVICE.startswith("cuda"):
        for _ in range(QUEUED):
            begin = time.perf_counter()
            loss = step()
            times.append((time.perf_counter() - begin) * 1e6)
        return times, loss.item()
    events = [torch.cuda.Event(enable_timing=True) for _ in range(QUEUED + 1)]
    for event in events[:-1]:
        event.record()
        loss = step()
    events[-1].record()
    events[-1].synchronize()
    return [a.elapsed_time(b) * 1e3 for a, b in zip(events, events[1:])], loss.item()


def make(name, form):
    """A model's step in a memory format of images, warm."""
    torch_steps.FORMAT = form
    with torch.device(torch_steps.DEVICE):
        step = torch_steps.MODELS[name]()
    if torch_steps.COMPILE == COMPILE["graphs"]:
        inner = step

        def step():
            torch.compiler.cudagraph_mark_step_begin()
            return inner()
    for _ in range(WARM_UP):
        step()
    return step


def best_of(name):
    """The step in the faster memory format, and that. Compiling takes long: only in the one that suits devices."""
    if name not in torch_steps.IMAGES:
        return make(name, "nchw"), ""
    if torch_steps.COMPILE is not None:
        return make(name, "nhwc"), "nhwc"
    times = {}
    for form in ("nchw", "nhwc"):
        step = make(name, form)
        times[form] = min(torch_steps.timed(step) for _ in range(3))
        del step
    form = min(times, key=times.get)
    return make(name, form), form


def run(step, budget):
    times, loss, start = [], None, time.perf_counter()
    while budget and (not times or (time.perf_counter() - start) * 1e6 < budget):
        more, loss = queue(step)
        times += more
    answer = {"steps_us": times, "loss": loss}
    if torch_steps.DEVICE.startswith("cuda"):
        answer["device_mib"] = torch.cuda.max_memory_reserved() / 2 ** 20
    return answer


def about():
    there = torch_steps.DEVICE.startswith("cuda")
    return {"library": f"PyTorch {torch.__version__}", "device": torch.cuda.get_device_name() if there else "cpu"}


def prepare(device, precision, way, smoke):
    global QUEUED, WARM_UP
    torch_steps.DEVICE, torch_steps.SMOKE = device, smoke
    torch_steps.LOW = torch.bfloat16 if precision == "bf16" else None
    torch_steps.COMPILE = COMPILE[way]
    if way != "eager":
        torch_steps.fastest_attention = lambda make: make()  # the one it has a kernel for
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.benchmark = True
    torch.manual_seed(0)
    if smoke:
        QUEUED, WARM_UP = 2, 1


def main():
    prepare(*sys.argv[1:4], "smoke" in sys.argv[4:])
    current = step = variant = None
    for line in sys.stdin:
        words = line.split()
        try:
            if words[0] == "about":
                answer = about()
            else:
                if words[1] != current:
                    current = step = None
                    if torch_steps.DEVICE.startswith("cuda"):
                        torch.cuda.empty_cache()
                        torch.cuda.reset_peak_memory_stats()
                    torch.compiler.reset()
                    step, variant = best_of(words[1])
                    current = words[1]
                answer = {**run(step, float(words[2])), "variant": variant}
        except Exception as error:  # whatever PyTorch fails with is the answer
            answer = {"error": f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:300]}
        print(json.dumps(answer), flush=True)


main()
