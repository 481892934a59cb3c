"""What torch.nn.utils.prune leaves of weights, and training with its masks: what tests/test_pruning.c compares
egret/pruning.h with.

    python3 pruning.py [--out DIR]

weight.I, and alone.SHARE.I, together.SHARE.I what is left of them: that share (in percent) of each, and of all three
together; two_of_four.I along axis 1, one_of_three along axis 0 of the first. RULE.loss.STEP and RULE.I: nine steps of a
net of two layers from first.I on, on x and y, with 70, 40 and 20 percent of its weights left from steps 0, 3 and 6 on.
All f64."""
import argparse
import os

import torch
from torch.nn.utils import prune

from recorder import write_safetensors

torch.manual_seed(5)
torch.set_default_dtype(torch.float64)
golden = {}

# ---- what is left ----------------------------------------------------------------------------------

weights = [torch.randn(6, 8, 3, 3), torch.randn(10, 12), torch.randn(7, 4)]
for i, w in enumerate(weights):
    golden[f"weight.{i}"] = w.clone()
for share in (25, 60, 93):
    for i, w in enumerate(weights):
        module = torch.nn.Module()
        module.weight = torch.nn.Parameter(w.clone())
        prune.l1_unstructured(module, "weight", amount=1 - share / 100)
        golden[f"alone.{share}.{i}"] = module.weight.detach().clone()
    modules = [torch.nn.Module() for _ in weights]
    for module, w in zip(modules, weights):
        module.weight = torch.nn.Parameter(w.clone())
    prune.global_unstructured([(m, "weight") for m in modules], prune.L1Unstructured, amount=1 - share / 100)
    for i, module in enumerate(modules):
        golden[f"together.{share}.{i}"] = module.weight.detach().clone()


def n_of_m(w, n, m, axis):
    rows = w.movedim(axis, -1)
    groups = rows.reshape(-1, m)
    kept = torch.zeros_like(groups).scatter(1, groups.abs().topk(n, 1).indices, 1)
    return (groups * kept).reshape(rows.shape).movedim(-1, axis).contiguous()


for i, w in enumerate(weights):
    golden[f"two_of_four.{i}"] = n_of_m(w, 2, 4, 1)
golden["one_of_three.axis0"] = n_of_m(weights[0], 1, 3, 0)

# ---- training: pruned before steps 0, 3 and 6 ------------------------------------------------------

x, y = torch.randn(20, 8), torch.randn(20, 3)
golden["x"], golden["y"] = x, y
first = [torch.randn(16, 8) / 3, torch.randn(16) / 3, torch.randn(3, 16) / 4, torch.randn(3) / 4]
for i, p in enumerate(first):
    golden[f"first.{i}"] = p.clone()
RULES = {
    "sgd": lambda p: torch.optim.SGD(p, lr=.05, momentum=.9, weight_decay=.01, nesterov=True),
    "adam": lambda p: torch.optim.Adam(p, lr=.02, weight_decay=.01),
    "adamw": lambda p: torch.optim.AdamW(p, lr=.02, weight_decay=.1),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=.01, momentum=.9, weight_decay=.01),
}
for name, rule in RULES.items():
    net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))
    with torch.no_grad():
        for p, value in zip(net.parameters(), first):
            p.copy_(value)
    for module in (net[0], net[2]):
        prune.identity(module, "weight")
    optimizer = rule(net.parameters())
    for step in range(9):
        if step % 3 == 0:
            for module in (net[0], net[2]):
                keep = round({0: .7, 3: .4, 6: .2}[step] * module.weight.numel())
                prune.l1_unstructured(module, "weight", amount=int(module.weight_mask.sum()) - keep,
                                      importance_scores=module.weight_orig)  # module.weight is of the last forward
        optimizer.zero_grad()
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        golden[f"{name}.loss.{step}"] = loss.detach().reshape(1)
        optimizer.step()
    with torch.no_grad():
        for i, p in enumerate((net[0].weight_orig * net[0].weight_mask, net[0].bias,
                               net[2].weight_orig * net[2].weight_mask, net[2].bias)):
            golden[f"{name}.{i}"] = p.clone()

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--out", default=os.path.dirname(os.path.abspath(__file__)))
write_safetensors(os.path.join(p.parse_args().out, "pruning.safetensors"), golden, {})
