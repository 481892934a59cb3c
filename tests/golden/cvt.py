"""A small cross-view encoder with a tagger and a parser (Clark et al. 2018), by PyTorch: what tests/test_cvt.c compares
egret/models/cvt.h with.

    python3 cvt.py [--out DIR]

Weights are drawn: weights/NAME, under the names of eg_module_parameters behind "encoder.", "tagger." and "parser.".
words, letters and lengths are the input; there, back, all, tags and arcs what is made of them without dropout; taught/tags
and taught/arcs probabilities that the views learn, loss/tags and loss/arcs what they lack of them; grads/NAME the gradient
of the sum of both losses and of the cross entropies of the logits with labels/tags and labels/arcs, -1 behind the ends. All
in f64, the weights exact in f32."""
import argparse
import os

import torch
import torch.nn.functional as F

from recorder import write_safetensors

WORDS, LETTERS, WORD, LETTER, FILTERS, NEAR, DEEP, WIDTH, TAGS, RELATIONS, NARROW = 9, 7, 4, 3, 2, 6, 5, 3, 4, 2, 128


class Weights(dict):
    """Tensors drawn when they are first asked for."""

    def of(self, name, *shape):
        if name not in self:
            self[name] = ((torch.rand(shape) - .5) * 1.4).double().requires_grad_()
        return self[name]

    def dense(self, name, x, outputs):
        return F.linear(x, self.of(name + ".weight", outputs, x.shape[-1]), self.of(name + ".bias", outputs))


def lstm(w, name, x, lengths, cells):
    """Both ways, with a projection and one bias."""
    layer = torch.nn.LSTM(x.shape[-1], cells, batch_first=True, bidirectional=True, proj_size=WIDTH).double()
    values = {}
    for key, p in layer.named_parameters():
        values[key] = torch.zeros_like(p) if "bias_hh" in key else w.of(f"{name}.{key}", *p.shape)
    packed = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    y = torch.func.functional_call(layer, values, (packed,))[0]
    return torch.nn.utils.rnn.pad_packed_sequence(y, batch_first=True, total_length=x.shape[1])[0]


def encode(w, words, letters, lengths):
    x = w.of("encoder.letters.weight", LETTERS, LETTER)[letters.flatten(0, 1)].transpose(1, 2)
    parts = [w.of("encoder.words.weight", WORDS, WORD)[words] * w.of("encoder.words.scale", 1)]
    for k in (2, 3, 4):
        name = f"encoder.conv{k}"
        y = F.conv1d(x, w.of(name + ".weight", FILTERS, LETTER, k), w.of(name + ".bias", FILTERS))
        parts.append(F.relu(y).amax(2).reshape(*words.shape, FILTERS))
    near = lstm(w, "encoder.near", torch.cat(parts, 2), lengths, NEAR)
    deep = lstm(w, "encoder.deep", near, lengths, DEEP)
    return near[..., :WIDTH], near[..., WIDTH:], torch.cat([near, deep], 2)


def tags(w, view, x):
    y = w.dense(f"tagger.{view}.hidden", x, WIDTH)
    return w.dense(f"tagger.{view}.tags", y if view == "full" else F.relu(y), TAGS)


def arcs(w, view, word, on, mask):
    name = f"parser.{view}"
    word, on = F.relu(w.dense(name + ".word", word, WIDTH)), F.relu(w.dense(name + ".on", on, WIDTH))
    scale = w.of(name + ".scale", 1)
    side = w.dense(name + ".narrow", word, NARROW) / scale
    form = w.of(name + ".own", RELATIONS, NARROW, WIDTH) + w.of(name + ".every", 1, NARROW, WIDTH)
    scores = torch.einsum("nti,njd,rid->ntjr", side, on, form) / scale
    scores = scores + (mask[:, None, :, None] - 1) * 100
    return torch.cat([w.dense(name + ".root", side, 1), scores.flatten(2, 3)], 2)


def distance(logits, taught, mask):
    return -((taught * F.log_softmax(logits, 2)).sum(2) * mask).sum() / mask.sum()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=os.path.dirname(os.path.abspath(__file__)))
    torch.manual_seed(21)
    w, lengths = Weights(), torch.tensor([5, 2, 4])
    words, letters = torch.randint(WORDS, (3, 5)), torch.randint(LETTERS, (3, 5, 6))
    mask = (torch.arange(5) < lengths[:, None]).double()
    there, back, all_ = encode(w, words, letters, lengths)
    made = {"tags": tags(w, "primary", all_), "arcs": arcs(w, "primary", all_, all_, mask)}
    taught = {what: torch.softmax(torch.randn(logits.shape).double(), 2) for what, logits in made.items()}
    views = [distance(tags(w, view, x), taught["tags"], mask)
             for view, x in (("full", all_), ("forward", there), ("backward", back))]
    views += [distance(tags(w, "future", there)[:, :-1], taught["tags"][:, 1:], mask[:, 1:]),
              distance(tags(w, "past", back)[:, 1:], taught["tags"][:, :-1], mask[:, 1:])]
    sides = (("full", all_, all_), ("there_there", there, there), ("there_back", there, back),
             ("back_there", back, there), ("back_back", back, back))
    losses = {"tags": sum(views), "arcs": sum(distance(arcs(w, view, a, b, mask), taught["arcs"], mask)
                                              for view, a, b in sides)}
    labels = {"tags": torch.randint(TAGS, (3, 5)),
              "arcs": (torch.rand(3, 5) * (1 + RELATIONS * lengths[:, None])).long()}
    labels = {what: torch.where(mask > 0, value, -1) for what, value in labels.items()}
    total = sum(losses.values()) + sum(F.cross_entropy(made[what].flatten(0, 1), labels[what].flatten(), ignore_index=-1)
                                       for what in made)
    grads = torch.autograd.grad(total, w.values())
    tensors = {"words": words, "letters": letters, "lengths": lengths, "there": there, "back": back, "all": all_, **made}
    tensors.update({f"weights/{name}": p for name, p in w.items()})
    tensors.update({f"grads/{name}": g for name, g in zip(w, grads)})
    for kind, values in (("taught", taught), ("loss", losses), ("labels", labels)):
        tensors.update({f"{kind}/{what}": value for what, value in values.items()})
    write_safetensors(os.path.join(parser.parse_args().out, "cvt.safetensors"), tensors, {})


if __name__ == "__main__":
    main()
