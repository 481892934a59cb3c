"""text_nets.safetensors: transformers' BERT and GPT-2, and the translator of TensorFlow's official models written out
with PyTorch's ops, all small: weights under their own names, what the nets make of some ids, losses and gradients.

    python3 text_nets.py [FILE]

needs PyTorch, transformers and safetensors. Of a net NAME there are NAME/weight/..., NAME/in/..., NAME/out/... and
NAME/grad/..., gradients of the loss by weights of their names.
"""
import math
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from transformers import (BertConfig, BertForMultipleChoice, BertForPreTraining, BertForQuestionAnswering,
                          BertForSequenceClassification, BertForTokenClassification, GPT2Config, GPT2LMHeadModel)

torch.manual_seed(7)
torch.set_grad_enabled(True)
out = {}


def spread(net):
    """Weights far enough from their beginnings that every one of them is seen in the result."""
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(torch.randn_like(p) * 0.2 + (1.0 if p.ndim == 1 and p.mean() > 0.5 else 0.0))
    return net.double().eval()


def keep(name, part, **tensors):
    for key, t in tensors.items():
        out[f"{name}/{part}/{key}"] = t.detach().clone().contiguous()


def weights(name, net):
    for key, t in net.state_dict().items():
        if t.is_floating_point():
            out[f"{name}/weight/{key}"] = t.detach().to(torch.float32).contiguous()


def rounded(net):
    """Weights as the file has them."""
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(p.to(torch.float32).double())
    return net


def gradients(name, net, loss, some):
    net.zero_grad()
    loss.backward()
    for key, p in net.named_parameters():
        if any(s in key for s in some):
            out[f"{name}/grad/{key}"] = p.grad.clone().contiguous()


SIZES = dict(vocab_size=37, hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=20,
             max_position_embeddings=9, type_vocab_size=2)
config = BertConfig(**SIZES, hidden_act="gelu_pytorch_tanh", attn_implementation="eager")
ids = torch.randint(1, 37, (3, 7))
types = (torch.arange(7) > 3).long().expand(3, 7).contiguous()
mask = torch.ones(3, 7, dtype=torch.long)
mask[1, 5:] = 0
mask[2, 2:] = 0

net = rounded(spread(BertForPreTraining(config)))
made = net(ids, mask, types, output_hidden_states=True)
labels = torch.where(torch.rand(3, 7) < 0.4, torch.randint(0, 37, (3, 7)), torch.tensor(-100))
follows = torch.tensor([0, 1, 1])
loss = F.cross_entropy(made.prediction_logits.transpose(1, 2), labels) + F.cross_entropy(made.seq_relationship_logits,
                                                                                         follows)
weights("bert", net)
keep("bert", "in", ids=ids, types=types, mask=mask, labels=labels, follows=follows)
keep("bert", "out", hidden0=made.hidden_states[0], hidden1=made.hidden_states[1], hidden2=made.hidden_states[2],
     logits=made.prediction_logits, next=made.seq_relationship_logits, loss=loss)
gradients("bert", net, loss, ["word_embeddings", "position", "token_type", "layer.0.attention.self",
                              "layer.1.output.dense.weight", "LayerNorm.weight", "pooler", "cls.predictions.bias"])

for name, kind in (("classifier", BertForSequenceClassification), ("tagger", BertForTokenClassification),
                   ("spans", BertForQuestionAnswering), ("chooser", BertForMultipleChoice)):
    plain = BertConfig(**SIZES, hidden_act="gelu", num_labels=2 if name == "spans" else 3, attn_implementation="eager")
    net = rounded(spread(kind(plain)))
    weights(name, net)
    if name == "chooser":
        given = [torch.randint(1, 37, (2, 4, 5)), torch.ones(2, 4, 5, dtype=torch.long), torch.randint(0, 2, (2, 4, 5))]
        given[1][0, 1, 3:] = 0
    else:
        given = [ids, mask, types]
    made = net(*given)
    logits = torch.stack([made.start_logits, made.end_logits], -1) if name == "spans" else made.logits
    keep(name, "in", ids=given[0], mask=given[1], types=given[2])
    keep(name, "out", logits=logits)

net = rounded(spread(GPT2LMHeadModel(GPT2Config(vocab_size=37, n_positions=16, n_embd=12, n_layer=2, n_head=3, bos_token_id=36, eos_token_id=36,
                                                attn_implementation="eager"))))
ids = torch.randint(0, 37, (2, 6))
made = net(ids)
loss = F.cross_entropy(made.logits[:, :-1].transpose(1, 2), ids[:, 1:])
weights("gpt2", net)
del out["gpt2/weight/lm_head.weight"]
keep("gpt2", "in", ids=ids)
keep("gpt2", "out", logits=made.logits, loss=loss)
gradients("gpt2", net, loss, ["wte", "wpe", "h.0.attn", "h.1.mlp", "ln_f"])
likeliest = net.generate(ids, max_new_tokens=8, do_sample=False, pad_token_id=0, eos_token_id=36)[:, 6:]
penalised = net.generate(ids, max_new_tokens=8, do_sample=False, pad_token_id=0, eos_token_id=36,
                         repetition_penalty=1.7)[:, 6:]
keep("gpt2", "out", likeliest=likeliest, penalised=penalised)


def norm(w, name, x):
    return F.layer_norm(x, x.shape[-1:], w[name + ".weight"], w[name + ".bias"], 1e-6)


def attend(w, name, x, memory, hidden):
    width = x.shape[-1]
    q = x @ w[name + ".in_proj_weight"][:width].T
    k = memory @ w[name + ".in_proj_weight"][width:2 * width].T
    v = memory @ w[name + ".in_proj_weight"][2 * width:].T

    def split(t):
        return t.unflatten(-1, (HEADS, -1)).transpose(1, 2)
    q, k, v = split(q) * (width // HEADS) ** -0.5, split(k), split(v)
    shares = torch.softmax(q @ k.transpose(-1, -2) + hidden * -1e9, -1)
    return (shares @ v).transpose(1, 2).flatten(2) @ w[name + ".out_proj.weight"].T


def think(w, name, x):
    hidden = torch.relu(x @ w[name + ".linear1.weight"].T + w[name + ".linear1.bias"])
    return hidden @ w[name + ".linear2.weight"].T + w[name + ".linear2.bias"]


def positions(steps, width):
    """By halves, as get_position_encoding of the official models has them."""
    half = width // 2
    rates = torch.exp(torch.arange(half).double() * -(math.log(10000) / (half - 1)))
    angles = torch.arange(steps).double()[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], 1)


def embed(w, ids):
    return w["embedding.weight"][ids] * (ids != 0)[..., None] * WIDTH ** 0.5


def translate(w, source, targets):
    hidden = (source == 0)[:, None, None].double()
    x = embed(w, source) + positions(source.shape[1], WIDTH)
    for i in range(LAYERS):
        y = norm(w, f"encoder.{i}.norm1", x)
        x = x + attend(w, f"encoder.{i}.self_attn", y, y, hidden)
        x = x + think(w, f"encoder.{i}", norm(w, f"encoder.{i}.norm2", x))
    memory = norm(w, "encoder_norm", x)
    x = F.pad(embed(w, targets), (0, 0, 1, 0))[:, :-1] + positions(targets.shape[1], WIDTH)
    steps = targets.shape[1]
    future = torch.triu(torch.ones(steps, steps), 1).double()
    for i in range(LAYERS):
        y = norm(w, f"decoder.{i}.norm1", x)
        x = x + attend(w, f"decoder.{i}.self_attn", y, y, future)
        y = norm(w, f"decoder.{i}.norm2", x)
        x = x + attend(w, f"decoder.{i}.multihead_attn", y, memory, hidden)
        x = x + think(w, f"decoder.{i}", norm(w, f"decoder.{i}.norm3", x))
    return norm(w, "decoder_norm", x) @ w["embedding.weight"].T


WIDTH, HEADS, HIDDEN, LAYERS = 8, 2, 12, 2
shapes = {"embedding.weight": (23, WIDTH)}
for part, attentions in (("encoder", ["self_attn"]), ("decoder", ["self_attn", "multihead_attn"])):
    for i in range(LAYERS):
        for a in attentions:
            shapes[f"{part}.{i}.{a}.in_proj_weight"] = (3 * WIDTH, WIDTH)
            shapes[f"{part}.{i}.{a}.out_proj.weight"] = (WIDTH, WIDTH)
        shapes |= {f"{part}.{i}.linear1.weight": (HIDDEN, WIDTH), f"{part}.{i}.linear1.bias": (HIDDEN,),
                   f"{part}.{i}.linear2.weight": (WIDTH, HIDDEN), f"{part}.{i}.linear2.bias": (WIDTH,)}
        for n in range(len(attentions) + 1):
            shapes |= {f"{part}.{i}.norm{n + 1}.weight": (WIDTH,), f"{part}.{i}.norm{n + 1}.bias": (WIDTH,)}
    shapes |= {f"{part}_norm.weight": (WIDTH,), f"{part}_norm.bias": (WIDTH,)}
w = {name: (torch.randn(shape) * 0.4 + (1 if "norm" in name and "weight" in name else 0)).double().requires_grad_()
     for name, shape in shapes.items()}
source, targets = torch.randint(1, 23, (3, 6)), torch.randint(1, 23, (3, 5))
source[1, 4:] = 0
targets[2, 3:] = 0
logits = translate(w, source, targets)
smooth = torch.full_like(logits, 0.1 / 22).scatter(-1, targets[..., None], 0.9)
each = -(smooth * torch.log_softmax(logits, -1)).sum(-1)
loss = (each * (targets != 0)).sum() / (targets != 0).sum()
loss.backward()
keep("transformer", "weight", **w)
keep("transformer", "in", source=source, targets=targets)
keep("transformer", "out", logits=logits, loss=loss)
for name in ("embedding.weight", "encoder.0.self_attn.in_proj_weight", "decoder.1.multihead_attn.in_proj_weight",
             "encoder_norm.bias"):
    out[f"transformer/grad/{name}"] = w[name].grad.clone()


def beams(step, end, steps, beams, power, best):
    """tensor2tensor's search over one sentence, without its tensors: (score, ids) of those that have ended."""
    alive, ended = [(0.0, [])], []
    for count in range(1, steps + 1):
        more = sorted(((gain + share, ids + [word]) for gain, ids in alive
                       for word, share in enumerate(step(ids))), reverse=True)[:2 * beams]
        ended += [(gain / ((5 + count) / 6) ** power, ids) for gain, ids in more if ids[-1] == end]
        ended = sorted(ended, reverse=True)[:beams]
        alive = [(gain, ids) for gain, ids in more if ids[-1] != end][:beams]
        if len(ended) >= best and ended[-1][0] >= alive[0][0] / ((5 + steps) / 6) ** power:
            break
    ended = ended or [(gain / ((5 + steps) / 6) ** power, ids) for gain, ids in alive]
    return (ended + [(-math.inf, [])] * best)[:best]


with torch.no_grad():
    found = []
    for row in range(3):
        def step(ids):
            read = torch.tensor([ids + [0]])
            return torch.log_softmax(translate(w, source[row:row + 1], read)[0, -1], -1).tolist()
        found.append(beams(step, 1, 12, 3, 0.6, 2))
    longest = max(len(ids) for row in found for _, ids in row)
    keep("transformer", "out", beam_scores=torch.tensor([[s for s, _ in row] for row in found]),
         beams=torch.tensor([[ids + [0] * (longest - len(ids)) for _, ids in row] for row in found]))

save_file(out, sys.argv[1] if len(sys.argv) > 1 else "text_nets.safetensors")
