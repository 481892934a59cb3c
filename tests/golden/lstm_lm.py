"""Small language models of LSTM layers and three steps of SGD each, by PyTorch: what tests/test_language.c compares
eg_lstm_lm_new with.

    python3 lstm_lm.py [--out DIR]

Weights are drawn, windows follow each other with their states, the cost is the sum over time of the mean over rows, and
gradients are clipped by their global norm. Per case: weights/NAME before, step/N/{x,y,logits,loss,norm} of step N, step
0's grads/NAME, after/NAME, and h and c behind the last window; names are eg_lstm_lm_new's. All in f64, the weights
exact in f32."""
import argparse
import os
import re

import torch
import torch.nn.functional as F

from recorder import write_safetensors

WORDS, WIDTH, STEPS, ROWS = 11, 5, 4, 3
CASES = {"plain": (2, False, False, .1), "tied": (1, True, False, .1), "two": (3, False, True, 100.)}


def ours(name):
    return re.sub(r"lstm\.(\w+)_l(\d+)", r"layers.\2.rnn.\1_l0", name)


class Net(torch.nn.Module):
    def __init__(self, layers, tied, two_biases):
        super().__init__()
        self.embedding, self.logits = torch.nn.Embedding(WORDS, WIDTH), torch.nn.Linear(WIDTH, WORDS)
        self.lstm = torch.nn.LSTM(WIDTH, WIDTH, layers)
        if tied:
            self.logits.weight = self.embedding.weight
        for name, p in self.double().named_parameters():
            p.data = torch.zeros_like(p) if "bias_hh" in name and not two_biases else \
                ((torch.rand(p.shape) - .5) * 1.2).double()
            p.requires_grad_("bias_hh" not in name or two_biases)

    def forward(self, x, states):
        y, states = self.lstm(self.embedding(x), states)
        return self.logits(y), [s.detach() for s in states]


def run(case, layers, tied, two_biases, clip, tensors):
    net, states = Net(layers, tied, two_biases), None
    learns = {ours(name): p for name, p in net.named_parameters() if p.requires_grad}
    tensors.update({f"{case}/weights/{name}": p.detach().clone() for name, p in learns.items()})
    text = torch.randint(WORDS, (3 * STEPS + 1, ROWS))
    for step in range(3):
        x, y = (text[step * STEPS + k:(step + 1) * STEPS + k] for k in (0, 1))
        logits, states = net(x, states)
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten()) * STEPS
        grads = torch.autograd.grad(loss, learns.values())
        norm = torch.sqrt(sum((g ** 2).sum() for g in grads))
        if step == 0:
            tensors.update({f"{case}/grads/{name}": g for name, g in zip(learns, grads)})
        with torch.no_grad():
            for p, g in zip(learns.values(), grads):
                p -= g * min(1., clip / norm.item())
        for what, value in (("x", x), ("y", y), ("logits", logits), ("loss", loss), ("norm", norm)):
            tensors[f"{case}/step/{step}/{what}"] = value.detach().clone()
    tensors.update({f"{case}/after/{name}": p.detach() for name, p in learns.items()})
    tensors.update({f"{case}/{name}": s for name, s in zip("hc", states)})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=os.path.dirname(os.path.abspath(__file__)))
    torch.manual_seed(14)
    tensors = {}
    for case, options in CASES.items():
        run(case, *options, tensors)
    write_safetensors(os.path.join(parser.parse_args().out, "lstm_lm.safetensors"), tensors, {})


if __name__ == "__main__":
    main()
