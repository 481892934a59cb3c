"""Nets that PyTorch exports to ONNX, and what it makes of them: outputs, and the weights after a step.

    python3 onnx_nets.py [--out DIR] [NAME ...]

writes NAME.onnx and NAME.safetensors for each net, or those named, into the folder onnx beside it. Needs PyTorch (CPU), onnx and
onnxscript; nets in float32, so the numbers are right to some 1e-6. In the safetensors: x the input, target, y the output
of the net as it trains, eval of the net in eval mode, loss the mean square of y - target, and after/NAME the tensors of
the model after one step of SGD, metadata rate. They are what the net exports after that step, so that they have the
names and the layout of the model, whatever the exporter made of the weights."""
import argparse
import os
import warnings

import onnx
import torch
from torch import nn

from recorder import write_safetensors

RATE = 0.1


class Block(nn.Module):
    """The basic block of a residual net."""

    def __init__(self, ins, outs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(ins, outs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outs)
        self.conv2 = nn.Conv2d(outs, outs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outs)
        self.down = nn.Sequential(nn.Conv2d(ins, outs, 1, stride, bias=False), nn.BatchNorm2d(outs))

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(y)) + self.down(x))


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, 1, 1)
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.blocks = nn.Sequential(Block(8, 8, 1), Block(8, 12, 2))
        self.fc = nn.Linear(12, 5)

    def forward(self, x):
        y = self.blocks(self.pool(torch.relu(self.stem(x))))
        return self.fc(torch.flatten(nn.functional.adaptive_avg_pool2d(y, 1), 1))


class Inverted(nn.Module):
    """The block of MobileNets 2 and 3: wider, by channel, gated, narrower."""

    def __init__(self, ins, wide, stride, act):
        super().__init__()
        self.wide = nn.Sequential(nn.Conv2d(ins, wide, 1, bias=False), nn.BatchNorm2d(wide), act())
        self.each = nn.Sequential(nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False), nn.BatchNorm2d(wide), act())
        self.gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(wide, 4, 1), nn.ReLU(), nn.Conv2d(4, wide, 1),
                                  nn.Hardsigmoid())
        self.narrow = nn.Sequential(nn.Conv2d(wide, ins, 1, bias=False), nn.BatchNorm2d(ins))
        self.whole = stride == 1

    def forward(self, x):
        y = self.each(self.wide(x))
        y = self.narrow(y * self.gate(y))
        return x + y if self.whole else y


def mobile():
    return nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.Hardswish(),
                         Inverted(8, 16, 1, nn.ReLU6), Inverted(8, 24, 2, nn.Hardswish), nn.AdaptiveAvgPool2d(1),
                         nn.Flatten(), nn.Linear(8, 12), nn.Hardswish(), nn.Dropout(0.0), nn.Linear(12, 5))


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.rnn = kind(6, 7, num_layers=2, bidirectional=True)
        self.fc = nn.Linear(14, 4)

    def forward(self, x):
        return self.fc(self.rnn(x)[0])


def encoder():
    return nn.TransformerEncoderLayer(16, 4, 24, dropout=0.0, batch_first=True)


def perceptron():
    return nn.Sequential(nn.Linear(10, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 12), nn.GELU("tanh"),
                         nn.LayerNorm(12), nn.Linear(12, 3))


# Name: the net, its input's shape, the opset, whether by the newer exporter.
NETS = {
    "residual": (Residual, (4, 3, 12, 12), 17, False),
    "mobile": (mobile, (4, 3, 16, 16), 14, False),
    "lstm": (lambda: Recurrent(nn.LSTM), (5, 3, 6), 14, False),
    "gru": (lambda: Recurrent(nn.GRU), (5, 3, 6), 11, False),
    "encoder": (encoder, (2, 5, 16), 18, True),
    "perceptron": (perceptron, (4, 10), 20, True),
    "lstm_new": (lambda: Recurrent(nn.LSTM), (5, 3, 6), 22, True),
}


def export(net, x, path, opset, newer):
    options = {"dynamo": True, "optimize": True, "external_data": False, "verbose": False} if newer else {
        "dynamo": False, "do_constant_folding": True}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(net, (x,), path, opset_version=opset, training=torch.onnx.TrainingMode.TRAINING, **options)
    model = onnx.load(path)
    del model.metadata_props[:]
    model.doc_string = ""
    for node in model.graph.node:
        del node.metadata_props[:]
        node.doc_string = ""
    del model.graph.value_info[:]
    onnx.save(model, path)
    return {t.name: torch.from_numpy(onnx.numpy_helper.to_array(t).copy()) for t in model.graph.initializer}


def make(name, folder):
    kind, shape, opset, newer = NETS[name]
    torch.manual_seed(sum(name.encode()))
    net, x = kind().train(), torch.randn(shape)
    with torch.no_grad(): # equal weights would be one tensor of the model
        for p in net.parameters():
            p += 0.1 * torch.randn(p.shape)
    path = os.path.join(folder, name)
    before = export(net, x, path + ".onnx", opset, newer)
    tensors = {"x": x, "eval": net.eval()(x)}
    y = net.train()(x)
    target = torch.randn(y.shape)
    loss = nn.functional.mse_loss(y, target)
    loss.backward()
    tensors |= {"y": y, "target": target, "loss": loss}
    optimizer = torch.optim.SGD(net.parameters(), lr=RATE)
    optimizer.step()
    after = export(net, x, path + ".after", opset, newer)
    os.remove(path + ".after")
    assert before.keys() == after.keys()
    tensors |= {"after/" + k: v for k, v in after.items() if v.is_floating_point() and v.dim() and "running" not in k}
    write_safetensors(path + ".safetensors", tensors, {"rate": repr(RATE)})
    print(f"{name:14} {os.path.getsize(path + '.onnx')} + {os.path.getsize(path + '.safetensors')} bytes")


def main():
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "onnx")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=here, help="folder to write to (default: onnx, beside this file)")
    parser.add_argument("names", nargs="*", default=[], help="nets to write (default: all)")
    options = parser.parse_args()
    folder = options.out
    os.makedirs(folder, exist_ok=True)
    torch.set_num_threads(1)
    for name in options.names or NETS:
        make(name, folder)


if __name__ == "__main__":
    main()
