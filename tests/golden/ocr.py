"""ocr.safetensors: the net of examples/ocr in PyTorch (examples/ocr/torch_net.py), small: losses of three steps, with
each gradient cut to a norm of its own, and what is read after them.

    python3 ocr.py [FILE]

needs PyTorch and safetensors. Of a net NAME there are NAME/state/..., for each of its parameters which numbers
(`nets.hashed`), around what and how far from it, NAME/losses, one for each step, and NAME/logits of reading in eval mode.
All is computed in f64."""
import os
import sys

import torch
from safetensors.torch import save_file

from nets import hashed

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/ocr"))
from torch_net import Ocr, loss_of, step  # noqa: E402

SIDE, VIEWS, CLASSES, LENGTH, UNITS, WIDTH, N, STEPS, IMAGES = 43, 2, 7, 5, 6, .125, 2, 3, 1000000
torch.set_default_dtype(torch.float64)
out = {}


def about(k, name, weight):
    """The number, the middle and the spread."""
    if weight.ndim > 1:
        fan = weight[0].numel()
        return k, 0., 2 / fan ** .5
    return k, 0., .5 if name == "attend" else .2


def write(name, **options):
    net = Ocr(SIDE, VIEWS, CLASSES, LENGTH, UNITS, WIDTH, .9, **options)
    learned = [(n, p) for n, p in net.named_parameters() if p.requires_grad]
    for k, (part, weight) in enumerate(learned):
        number, low, spread = about(k, part, weight)
        out[f"{name}/state/{part}"] = torch.tensor([number, low, spread])
        with torch.no_grad():
            weight.copy_(torch.from_numpy(low + spread * hashed(number, weight.numel())).reshape(weight.shape))
    images = torch.from_numpy(hashed(IMAGES, N * 3 * SIDE * VIEWS * SIDE)).reshape(N, 3, SIDE, VIEWS * SIDE)
    texts = (3 * torch.arange(N * LENGTH) + 1).reshape(N, LENGTH) % CLASSES
    sgd, losses = torch.optim.SGD([p for _, p in learned], .05, momentum=.9), []
    for _ in range(STEPS):
        loss = loss_of(net(images, texts), texts)
        losses.append(loss.detach())
        step(net, sgd, loss, .01, .5)
    out[f"{name}/losses"] = torch.stack(losses)
    with torch.no_grad():
        out[f"{name}/logits"] = net.eval()(images)
    print(name, [loss.item() for loss in losses])


write("told", coordinates=True)
write("alone", coordinates=False, feedback=False)
save_file(out, sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                                                  "ocr.safetensors"))
