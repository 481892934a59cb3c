"""PyTorch's side of ranks.py: one of several processes that train one model by DistributedDataParallel over gloo.

    python3 torch_ranks.py MODEL STEPS RANK RANKS PORT THREADS FORMAT      FORMAT: nchw or nhwc

Rank 0 says {"steps_us": [...], "loss": ..}."""
import json
import os
import sys
import time

import torch
import torch.distributed as dist

import torch_steps

WARM_UP = 3


def main():
    model, steps, rank, ranks, port, threads, form = sys.argv[1:]
    torch.set_num_threads(int(threads))
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    torch.manual_seed(1)
    torch_steps.FORMAT = form
    if int(ranks) > 1:
        dist.init_process_group("gloo", rank=int(rank), world_size=int(ranks))
        torch_steps.SPREAD = torch.nn.parallel.DistributedDataParallel
    step = torch_steps.MODELS[model]()
    times = []
    for i in range(WARM_UP + int(steps)):
        begin = time.perf_counter()
        loss = step().item()
        times.append(round((time.perf_counter() - begin) * 1e6, 1))
    if rank == "0":
        print(json.dumps({"steps_us": times[WARM_UP:], "loss": loss}), flush=True)
    if int(ranks) > 1:
        dist.destroy_process_group()


main()
