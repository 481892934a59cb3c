#!/usr/bin/env python3
"""egret-cnn-bench does what each of its flags says: on records made here and batches it makes up, with nets that are
small; its rates are those of formulas.

    check.py EGRET_CNN_BENCH CNN_BENCH_CHECK
"""
import array
import json
import math
import os
import random
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../common"))
from checking import aliases_of, bytes_of, check, finish, let_mpirun_run, logged, runner  # noqa: E402
from records import write  # noqa: E402

program = os.path.abspath(sys.argv[1])
run, print_rates = runner(program), runner(os.path.abspath(sys.argv[2]))


def make_sets(at):
    chance = random.Random(5)
    for name in ("cifar10", "mnist", "flowers", "photos", "beyond"):
        os.makedirs(f"{at}/{name}")
    write(at + "/cifar10/cifar10_train.tfrecord", [i % 10 for i in range(21)], 32, 3, chance)
    write(at + "/cifar10/cifar10_test.tfrecord", [i % 10 for i in range(16)], 32, 3, chance)
    write(at + "/mnist/mnist_train.tfrecord", [i % 10 for i in range(10)], 28, 1, chance)
    write(at + "/flowers/flowers_train_00000-of-00001.tfrecord", [i % 5 for i in range(6)], 24, 3, chance)
    write(at + "/beyond/cifar10_train.tfrecord", [10], 32, 3, chance)
    for k in range(3):
        boxes = [(.1, .2, .7, .9), (.5, .5, 1, 1)][:k]
        write(f"{at}/photos/train-0000{k}-of-00003", [i % 10 + 1 for i in range(5)], 24, 3, chance, boxes)
    write(at + "/photos/validation-00000-of-00001", [i % 10 + 1 for i in range(6)], 24, 3, chance)


FLOWERS = ["--data_name", "flowers", "--model", "trivial", "--image_size", "4", "--batch_size", "400", "--num_batches",
           "20"]  # of 3320: an epoch is 8.3 batches


class Runs:
    """Short runs of a small net, each in a folder of its own."""

    def __init__(self, at, data):
        self.at, self.data, self.count = at, data, 0

    def __call__(self, *words, expect=0, folder=True):
        self.count += 1
        out = f"{self.at}/{self.count}"
        usual = {"data_name": "cifar10", "model": "resnet20", "image_size": "8", "batch_size": "8", "num_batches": "6",
                 "num_warmup_batches": "2", "threads": "2"}
        given = {w[2:].split("=")[0] for w in words if w.startswith("--")}
        if "num_epochs" in given:
            given.add("num_batches")
        kept = [w for name, value in usual.items() if name not in given for w in ("--" + name, value)]
        where = ["--train_dir", out] if folder and "train_dir" not in given else []
        return out, run(*kept, *words, *where, expect=expect)

    def losses(self, *words):
        return list(logged(self(*words)[0], "loss").values())


def tensors(path, of):
    """The numbers of those tensors of a checkpoint whose names are wanted, f32 and f64."""
    data = bytes_of(path)
    size = struct.unpack("<Q", data[:8])[0]
    found = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        kind = {"F32": "f", "F64": "d"}.get(entry.get("dtype"))
        if kind and of(name):
            begin, end = (8 + size + x for x in entry["data_offsets"])
            found[name] = array.array(kind, data[begin:end])
    return found


def checkpoints(folder):
    return sorted(int(name[11:21]) for name in os.listdir(folder) if name.startswith("checkpoint-"))


# ---- what is said -----------------------------------------------------------------------------------------------

HEADER = """Model:       {model}
Dataset:     {data}
Mode:        {mode}
SingleSess:  False
Batch size:  {batch} global
             {batch} per device
Num batches: {batches}
Num epochs:  {epochs}
Devices:     ['/cpu:0']
Data format: {layout}
Optimizer:   {optimizer}
Variables:   {variables}
"""
LINE = r"(\d+)\timages/sec: (\d+\.\d) \+/- (\d+\.\d) \(jitter = (\d+\.\d)\)\t(-?\d+\.\d{3}|nan)"
TOTAL = "-" * 64 + r"\ntotal images/sec: (\d+\.\d\d)\n" + "-" * 64 + r"\n"


def near(a, b, off=.051):
    return abs(a - b) <= off + 1e-3 * abs(b)


def lines(runs):
    out, said = runs("--num_batches", "23", "--display_every", "7", "--print_training_accuracy")
    head = HEADER.format(model="resnet20", data="cifar10 (synthetic)", mode="training", batch=8, batches=23,
                         epochs="0.00", layout="NCHW", optimizer="sgd", variables="parameter_server")
    check("the first lines", said.startswith(head + "Running warm up\nDone warm up\nStep\tImg/sec\ttotal_loss\t"
                                             "top_1_accuracy\ttop_5_accuracy\n1\t"), said)
    found = re.findall("^" + LINE + r"\t([01]\.\d{3})\t([01]\.\d{3})$", said, re.M)
    check("lines at 1 and each 7", [row[0] for row in found] == ["1", "7", "14", "21"], said)
    rows = logged(out)
    check("every step is done, warm-up too", sorted(rows) == list(range(1, 26)), rows.keys())
    for step, mean, uncertainty, jitter, loss, top_1, top_5 in found:
        times = [rows[2 + i]["seconds"] for i in range(1, int(step) + 1)]
        speeds = [8 / t for t in times]
        middle = statistics.median(speeds)
        good = (near(float(mean), 8 / statistics.mean(times)) and
                near(float(uncertainty), statistics.pstdev(speeds) / math.sqrt(len(speeds))) and
                near(float(jitter), 1.4826 * statistics.median(abs(s - middle) for s in speeds)) and
                near(float(loss), rows[2 + int(step)]["loss"], 5.1e-4))
        check(f"the numbers of step {step}", good, said)
        check("accuracies", float(top_1) <= float(top_5) and float(top_1) * 8 % 1 == 0 and
              near(float(top_5), rows[2 + int(step)]["top_5"], 5.1e-4), said)
    total = re.search(TOTAL + "$", said)
    check("the last lines", total, said)
    check("all of it takes longer than the steps", total and
          float(total[1]) <= 23 * 8 / sum(rows[2 + i]["seconds"] for i in range(1, 24)) + .01, said)
    said = runs("--num_warmup_batches", "0", "--optimizer", "momentum", "--data_format", "NHWC", "--variable_update",
                "replicated", "--loss_type_to_report", "base_loss", "--num_epochs", "0.0005")[1]
    head = HEADER.format(model="resnet20", data="cifar10 (synthetic)", mode="training", batch=8, batches=4,
                         epochs="0.00", layout="NHWC", optimizer="momentum", variables="replicated")
    rest = "Running warm up\nDone warm up\nStep\tImg/sec\tbase_loss\n" + LINE + "\n" + TOTAL
    check("other first lines", re.fullmatch(re.escape(head) + rest, said), said)
    said = runs("--num_epochs", "0.3", "--data_name", "flowers", "--model", "trivial", "--batch_size", "200")[1]
    check("epochs", "Num batches: 5\nNum epochs:  0.30\n" in said and "Dataset:     flowers (synthetic)\n" in said,
          said)


def forward(runs):
    out, said = runs("--forward_only", "--display_every", "2", folder=False)
    check("the net alone", "Mode:        forward-only\n" in said and "top_5_accuracy" in said, said)
    found = re.findall("^" + LINE + r"\t([01]\.\d{3})\t([01]\.\d{3})$", said, re.M)
    check("has no loss, and learns nothing", len(found) == 4 and all(row[4] == "0.000" for row in found)
          and len({row[5:] for row in found}) == 1, said)
    check("nor has it checkpoints", not checkpoints("egret-out/egret-cnn-bench"))
    runs(folder=False)
    check("without --train_dir there are none", not checkpoints("egret-out/egret-cnn-bench"))


# ---- what a flag changes, and what it does not --------------------------------------------------------------------

CHANGES = [  # flags whose value the losses show
    (["--weight_decay", "0.5"], []), (["--init_learning_rate", "0.01"], []), (["--tf_random_seed", "5"], []),
    (["--momentum", "0.1"], ["--optimizer", "momentum"]), (["--gradient_clip", "1e-4"], []), (["--use_fp16"], []),
    (["--rmsprop_decay", "0.5"], ["--optimizer", "rmsprop"]), (["--adam_beta1", "0.5"], ["--optimizer", "adam"]),
    (["--rmsprop_momentum", "0.1"], ["--optimizer", "rmsprop"]),
    (["--rmsprop_epsilon", "0.1"], ["--optimizer", "rmsprop"]),
    (["--adam_beta2", "0.5"], ["--optimizer", "adam"]), (["--adam_epsilon", "1e-3"], ["--optimizer", "adam"]),
    (["--no-distortions"], ["--data_dir", "cifar10"]), (["--no-distortions"], ["--data_dir", "photos"]),
    *((["--resize_method", name], ["--data_dir", "photos"]) for name in ("nearest", "bicubic", "area", "round_robin")),
]
SAME = [  # and whose it must not
    ["--no-datasets_use_prefetch"], ["--datasets_prefetch_buffer_size", "3"], ["--datasets_use_caching"],
    ["--datasets_num_private_threads", "1"], ["--datasets_num_private_threads", "5"], ["--display_every", "1"],
    ["--save_model_steps", "1"], ["--num_warmup_batches", "5", "--num_batches", "3"], ["--print_training_accuracy"],
    ["--variable_update", "replicated"], ["--variable_update", "independent"], ["--local_parameter_device", "cpu"],
    ["--job_name", "worker", "--worker_hosts", "a:1", "--server_protocol", "grpc", "--all_reduce_spec", "xring"],
    ["--no-cross_replica_sync"], ["--resize_method", "bilinear"],
]


def changes(runs):
    kept = {}

    def losses(words):
        words = [runs.data + "/" + w if w in ("cifar10", "photos") and i and words[i - 1] == "--data_dir" else w
                 for i, w in enumerate(words)]
        if runs.data + "/photos" in words:
            words += ["--data_name", "imagenet", "--model", "resnet_cifar_20"]
        if tuple(words) not in kept:
            kept[tuple(words)] = runs.losses(*words)
        return kept[tuple(words)]
    for words, around in CHANGES:
        usual, other = losses(around), losses(around + words)
        check(f"{' '.join(around + words)} changes what is learned", len(usual) == len(other) == 8 and usual != other
              and all(abs(x) < 1e6 for x in usual + other), f"{usual}\n{other}")
    around = ["--data_dir", "cifar10"]
    for words in SAME:
        usual, other = losses(around), losses(around + words)
        check(f"{' '.join(words)} leaves it alone", len(usual) == 8 and usual == other, f"{usual}\n{other}")
    usual, other = losses(around), losses(around + ["--data_format", "NHWC"])
    check("nor does another layout", all(abs(a - b) < 1e-3 for a, b in zip(usual, other)), f"{usual}\n{other}")
    kinds = {name: tuple(losses(["--optimizer", name])) for name in ("momentum", "sgd", "rmsprop", "adam")}
    check("optimizers differ", len(set(kinds.values())) == 4, kinds)
    check("and one batch is learned", all(x[-1] < x[0] for x in (kinds["sgd"], kinds["momentum"])), kinds)


def decay(runs):
    def sum_of_squares(out):
        net = tensors(out + "/checkpoint-0000000008.safetensors", lambda n: n.startswith("net/") and "running" not in n)
        return sum(x * x for numbers in net.values() for x in numbers)
    words = ["--weight_decay", "0.1", "--init_learning_rate", "0.01"]
    still = runs("--weight_decay", "0.1", "--init_learning_rate", "1e-30")[0]
    first, base = logged(still, "loss")[1], runs(*words, "--loss_type_to_report", "base_loss")[0]
    want = .5 * .1 * sum_of_squares(still)
    check("decay is of all that learns", near(first - logged(base, "loss")[1], want, 1e-4),
          f"{first} {logged(base, 'loss')[1]} {want}")
    total = runs(*words)[0]
    check("what is told changes nothing", bytes_of(base + "/checkpoint-0000000008.safetensors")
          == bytes_of(total + "/checkpoint-0000000008.safetensors"))
    cut = runs(*words, "--gradient_clip", "1e9")[0]
    usual, other = logged(total, "loss"), logged(cut, "loss")
    check("a limit that is far leaves it alone", all(abs(usual[t] - other[t]) < 1e-4 for t in usual),
          f"{usual} {other}")
    cut = runs(*words, "--gradient_clip", "1e-3")[0]
    moved = [a - b for a, b in zip(*(v for out in (still, cut) for v in tensors(
        out + "/checkpoint-0000000008.safetensors", lambda n: n.startswith("net/") and n.endswith("weight")).values()
        if len(v) == 640))]
    check("a near one limits each step, decay and all", moved and 7e-5 < max(map(abs, moved)) < 8.1e-5,
          max(map(abs, moved)))


# ---- the rate -----------------------------------------------------------------------------------------------------

def pieces(t, bounds, values):
    """tf.train.piecewise_constant."""
    return values[sum(t > b for b in bounds)]


def rate(t, examples, batch, lr=None, piecewise=None, per_decay=0, factor=0, least=0, warm=0):
    """get_learning_rate of the original, where a rate is given."""
    per_epoch = examples / batch
    if piecewise:
        parts = piecewise.split(";")
        lr, now = float(parts[0]), pieces(t, [int(int(e) * per_epoch) - 1 for e in parts[1::2]],
                                          [float(v) for v in parts[::2]])
    else:
        now = lr
        if per_decay:
            now = max(lr * factor ** (t // int(per_epoch * per_decay)), least)
    warm = int(per_epoch * warm)
    return lr * t / warm if t < warm else now


def resnet(t, batch, lr=.128, per=256, warm=5):
    per_epoch, lr = 1281167 / batch, lr * batch / per
    now = pieces(t, [int(per_epoch * e) for e in (30, 60, 80, 90)], [lr * .1 ** k for k in range(5)])
    warm = int(per_epoch * warm)
    return lr * t / warm if t < warm else now


def rates(runs):
    def compare(what, words, want, steps):
        got = [float(x) for x in print_rates(*words, *map(str, steps)).split()]
        off = [(t, x, want(t)) for t, x in zip(steps, got) if abs(x - want(t)) > 1e-9 * want(t)]
        check(f"the rate {what}", len(got) == len(steps) and not off, off)
    bounds = (1, 8, 16, 17, 20, 24, 25, 33, 41, 50, 58, 83, 100)
    steps = sorted({b + k for b in bounds for k in (-1, 0, 1)})
    flowers = ["--data_name", "flowers", "--batch_size", "400"]
    for words, how in (
            (["--init_learning_rate", "0.3"], {"lr": .3}),
            (["--init_learning_rate", "0.3", "--num_learning_rate_warmup_epochs", "2.5"], {"lr": .3, "warm": 2.5}),
            (["--piecewise_learning_rate_schedule", "0.3;2;0.2;5;0.1"], {"piecewise": "0.3;2;0.2;5;0.1"}),
            (["--piecewise_learning_rate_schedule", "0.3;1;1e-3", "--num_learning_rate_warmup_epochs", "2"],
             {"piecewise": "0.3;1;1e-3", "warm": 2}),
            (["--init_learning_rate", "0.4", "--num_epochs_per_decay", "2", "--learning_rate_decay_factor", "0.5"],
             {"lr": .4, "per_decay": 2, "factor": .5}),
            (["--init_learning_rate", "0.4", "--num_epochs_per_decay", "2", "--learning_rate_decay_factor", "0.5",
              "--minimum_learning_rate", "0.08", "--num_learning_rate_warmup_epochs", "3"],
             {"lr": .4, "per_decay": 2, "factor": .5, "least": .08, "warm": 3})):
        compare(" ".join(words), flowers + words, lambda t: rate(t, 3320, 400, **how), steps)
    compare("of trivial", [], lambda t: .005, [0, 100, 100000])
    for batch in (64, 256):
        bounds = [int(1281167 / batch * e) + k for e in (5, 30, 60, 80, 90) for k in (-1, 0, 1)]
        compare("of resnet50", ["--model", "resnet50", "--batch_size", str(batch)], lambda t: resnet(t, batch), bounds)
        compare("of official_resnet50", ["--model", "official_resnet50", "--batch_size", str(batch)],
                lambda t: resnet(t, batch, .0125, 32, 0), bounds)
    cifar, per_epoch = ["--data_name", "cifar10", "--model"], 50000 // 128
    compare("of resnet20", cifar + ["resnet20"],
            lambda t: pieces(t, [per_epoch * e for e in (82, 123, 300)], [.1, .01, .001, .0002]),
            [per_epoch * e + k for e in (1, 82, 123, 300) for k in (-1, 0, 1)])
    compare("of alexnet on cifar10", cifar + ["alexnet"], lambda t: .1 * .1 ** (t // int(100 * 50000 / 128)),
            [0, 39061, 39062, 39063, 78123, 78124])
    out = runs(*FLOWERS, "--piecewise_learning_rate_schedule", "0.3;1;0.2;2;0.1", "--num_learning_rate_warmup_epochs",
               "1")[0]
    got, how = logged(out, "rate"), {"piecewise": "0.3;1;0.2;2;0.1", "warm": 1}
    off = [t for t in range(1, 23) if abs(got.get(t, 9) - rate(t - 1, 3320, 400, **how)) > 1e-12]
    check("steps have these rates", not off, got)


# ---- data, the model ----------------------------------------------------------------------------------------------

def data(runs):
    losses = runs.losses("--data_dir", runs.data + "/cifar10", "--num_batches", "20")
    check("batches are full, and go on behind the last record", len(losses) == 22 and len(set(losses)) == 22, losses)
    said = runs("--data_dir", runs.data + "/cifar10", "--num_batches", "2", "--data_name", "cifar10")[1]
    check("data is named", "Dataset:     cifar10\n" in said, said)
    for name, words in (("mnist", ["lenet"]), ("flowers", ["trivial", "--image_size", "12"]),
                        ("photos", ["trivial", "--image_size", "12"])):
        said = run("--data_dir", f"{runs.data}/{name}", "--model", *words, "--batch_size", "4", "--num_batches", "2",
                   "--num_warmup_batches", "0", "--train_dir", f"{runs.at}/{name}")
        meant = "imagenet" if name == "photos" else name
        check(f"{name}, which its folder says", f"Dataset:     {meant}\n" in said, said)
    said = runs("--data_dir", runs.data + "/nowhere", "--data_name", "cifar10", expect=1)[1]
    check("no files", "cifar10_train.tfrecord" in said, said)
    said = runs("--data_dir", runs.data + "/beyond", expect=1)[1]
    check("a label beyond the classes", "10" in said, said)
    check("unknown data", "imagenet, cifar10, flowers, mnist" in runs("--data_name", "shapes", expect=1)[1])
    check("another way to resize", "bilinear|nearest" in runs("--resize_method", "lanczos", expect=2)[1])


def models(runs):
    for words, side, batch in ((["trivial"], "4", 32), (["resnet20_v2"], "8", 128), (["resnet32_v2"], "8", 128),
                               (["alexnet"], "8", 128), (["mobilenet", "--data_name", "imagenet"], "32", 32),
                               (["official_resnet18", "--data_name", "imagenet"], "32", 32)):
        said = runs("--model", *words, "--image_size", side, "--batch_size", "0", "--num_batches", "1",
                    "--num_warmup_batches", "0", "--forward_only", folder=False)[1]
        check(f"{words[0]} and its batch", f"Model:       {words[0]}\n" in said and
              f"Batch size:  {batch} global" in said, said)
    nasnet = ["--model", "nasnet", "--image_size", "32", "--batch_size", "1", "--num_batches", "1",
              "--num_warmup_batches", "0"]
    one, two = (tensors(runs(*nasnet, *more)[0] + "/checkpoint-0000000001.safetensors", lambda n: n.startswith("net/"))
                for more in ([], ["--auxiliary"]))
    more = set(two) - set(one)
    check("a second head", set(one) < set(two) and all("aux" in name for name in more), more)
    small = ["--image_size", "8", "--batch_size", "2", "--num_batches", "1"]
    said = run(*small, "--model", "resnet_cifar_20", "--train_dir", runs.at + "/library")
    check("a net of the library", "Model:       resnet_cifar_20\n" in said, said)
    check("a net of other data", "--data_name cifar10" in run(*small, "--model", "resnet20", expect=1))
    check("no net", "resnet50" in run(*small, "--model", "resnet5", expect=1))


# ---- judging ------------------------------------------------------------------------------------------------------

def judging(runs):
    where = ["--data_dir", runs.data + "/cifar10"]
    first = runs(*where, "--num_batches", "10", "--init_learning_rate", "0.05", "--optimizer", "momentum")[0]

    def judge(*words):
        said = runs(*where, "--eval", "--train_dir", first, *words)[1]
        check("the mode", "Mode:        evaluation\n" in said, said)
        found = re.search(r"^(Accuracy @ 1 = [01]\.\d{4} Accuracy @ 5 = [01]\.\d{4}) \[(\d+) examples\]\n" + TOTAL
                          + r"\Z", said, re.M)
        check("what is said of it", found, said)
        return found.groups()[:2] if found else said
    usual = judge()
    check("six batches of eight", usual[1] == "48", usual)
    check("a part of them is right", usual[0] != "Accuracy @ 1 = 0.0000 Accuracy @ 5 = 0.0000", usual)
    for words in ([], ["--threads", "1"], ["--threads", "2"], ["--data_format", "NHWC"],
                  ["--no-datasets_use_prefetch"], ["--datasets_num_private_threads", "1"]):
        check(f"judged again {words}", judge(*words) == usual, usual)
    for batch in (1, 2, 4, 16):
        other = judge("--batch_size", str(batch), "--num_batches", str(48 // batch))
        check(f"in batches of {batch}", other == usual, f"{usual} {other}")
    check("and all of it", judge("--num_batches", "2")[1] == "16")
    check("passes", judge("--num_epochs", "0.01")[1] == "104")
    said = runs(*where, "--eval", "--train_dir", first, "--display_every", "2")[1]
    check("how it goes on", re.findall(r"^(\d+)\t\d+\.\d examples/sec$", said, re.M) == ["2", "4", "6"], said)
    said = runs("--eval", "--train_dir", runs.at + "/empty", expect=1)[1]
    check("no checkpoint", "no checkpoint" in said, said)
    check("of another net", "net/" in runs("--eval", "--model", "resnet32", "--train_dir", first, expect=1)[1])


def meanwhile(runs):
    where = ["--data_dir", runs.data + "/cifar10"]
    usual = runs.losses(*where)
    out, said = runs(*where, "--eval_during_training_every_n_steps", "2", "--num_eval_batches", "2")
    check("training is as without", list(logged(out, "loss").values()) == usual, said)
    check("judged behind 2, 4 and all", re.findall(r"Running (\w* ?)evaluation at global_step (\d+)", said)
          == [("", "4"), ("", "6"), ("final ", "8")] and said.count("[16 examples]") == 3
          and said.count("Resuming training\n") == 2 and "Mode:        training + evaluation\n" in said, said)
    flowers = [*FLOWERS, "--num_eval_batches", "1", "--eval_during_training_every_n_epochs"]
    said = runs(*flowers, "1")[1]
    check("judged behind each epoch", re.findall(r"evaluation at global_step (\d+)", said) == ["11", "19", "22"], said)
    out, said = runs(*flowers, "1.5", "--stop_at_top_1_accuracy", "0.01")
    check("good enough", sorted(logged(out)) == list(range(1, 16)) and checkpoints(out) == [15]
          and "Stopping, as eval accuracy at least 0.01 was reached\n" in said, said)


# ---- what is kept -------------------------------------------------------------------------------------------------

def kept(runs):
    check("one at last", checkpoints(runs()[0]) == [8])
    out = runs("--save_model_steps", "2", "--max_ckpts_to_keep", "2", "--num_batches", "7")[0]
    check("the latest two", checkpoints(out) == [8, 9], checkpoints(out))
    out = runs("--save_model_steps", "1", "--max_ckpts_to_keep", "0")[0]
    check("all", checkpoints(out) == [3, 4, 5, 6, 7, 8], checkpoints(out))
    out = runs.at + "/seconds"
    part = subprocess.Popen([program, "--data_name", "cifar10", "--model", "resnet20", "--image_size", "8",
                             "--batch_size", "2", "--num_batches", "100000000", "--save_model_secs", "1", "--train_dir",
                             out], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    since = time.time()
    while part.poll() is None and time.time() - since < 60 and not (os.path.isdir(out) and checkpoints(out)):
        time.sleep(.05)
    check("one a second", part.poll() is None and checkpoints(out) and time.time() - since >= 1)
    part.kill()
    part.wait()
    trace = runs.at + "/trace.json"
    said = runs("--trace_file", trace)[1]
    check("a timeline", f"Dumping trace to {trace}\nDone warm up" in said and
          any("conv" in str(e.get("name")) for e in json.load(open(trace))["traceEvents"]), said)
    where = ["--data_dir", runs.data + "/cifar10"]
    whole, part = runs(*where, "--num_batches", "9")[0], runs(*where, "--num_batches", "4")[0]
    said = runs(*where, "--num_batches", "9", "--train_dir", part, "--resume")[1]
    check("gone on with to the last bit", logged(part, "loss") == logged(whole, "loss") and "\n3\timages" not in said
          and "Done warm up\nStep" in said, said)


def halves(runs):
    for words, want in (([], lambda x: x == 128), (["--fp16_loss_scale", "32"], lambda x: x == 32),
                        (["--fp16_loss_scale", "1e9", "--fp16_enable_auto_loss_scale"], lambda x: x < 1e9),
                        (["--fp16_enable_auto_loss_scale"], lambda x: x == 128),
                        (["--fp16_enable_auto_loss_scale", "--fp16_inc_loss_scale_every_n", "2"], lambda x: x == 2048)):
        out = runs("--use_fp16", *words)[0]
        scale = tensors(out + "/checkpoint-0000000008.safetensors", lambda n: n == "optimizer-scale/scale")
        check(f"the scale with {words}", want(scale["optimizer-scale/scale"][0]), scale)


# ---- several devices ------------------------------------------------------------------------------------------------


def devices(runs):
    """In threads of one process and as processes of MPI: as many images in all learn the same, and one checkpoint is judged
    alike to the last image."""
    records = ["--data_dir", runs.data + "/cifar10", "--data_name", "cifar10", "--model", "resnet20"]
    half = ["--batch_size", "4", "--num_gpus", "2"]
    out, said = runs(*half, "--variable_update", "replicated")
    check("two devices say so", "Batch size:  8 global" in said and "4 per device" in said and "and 1 more" in said, said)
    replicated = logged(out, "loss")
    check("who has the weights does not matter", logged(runs(*half, "--variable_update", "parameter_server")[0], "loss") ==
          replicated)
    out = runs(*records, "--batch_size", "8", "--num_batches", "12")[0]
    judge = [*records, "--eval", "--train_dir", out, "--batch_size", "2", "--num_batches", "8"]
    one = re.search("Accuracy @ 1 = .*", runs(*judge)[1]).group()
    for count in ("2", "4"):
        said = runs(*judge, "--num_gpus", count)[1]
        check(f"{count} devices judge as one", one in said, f"{one}\n{said}")
    mpirun = os.environ.get("EGT_MPIRUN")
    if mpirun:
        let_mpirun_run()
        for count in ("2", "4"):
            words = ["-n", count, program, *judge, "--image_size", "8", "--num_warmup_batches", "2", "--threads", "1"]
            said = runner(mpirun)(*words)
            check(f"{count} processes judge as one", one in said, f"{one}\n{said}")


# ---- command lines of tf_cnn_benchmarks ------------------------------------------------------------------------------

def published(runs):
    usual = runs.losses("--data_format", "NHWC", "--optimizer", "momentum", "--weight_decay", "1e-4")
    other = runs.losses("--data_format=nhwc", "--optimizer=Momentum", "-weight_decay=1e-4", "--use_fp16=False",
                        "--num_batches=6.0", "--nodistortions", "--eval=f", "--device=CPU")
    check("spellings of absl", usual == other and len(usual) == 8, f"{usual}\n{other}")
    names, ignored = aliases_of(run("--help"))
    words = [name + "=True" for name in ignored]
    out, said = runs("--data_format", "NHWC", "--optimizer", "momentum", "--weight_decay", "1e-4", *words)
    check("what is ignored changes nothing", list(logged(out, "loss").values()) == usual and len(words) > 80, said)
    check("each costs a warning", all(said.count(f"warning: {name} is ignored: ") == 1 for name in ignored), said)
    check("other names", names["--num_intra_threads"] == ["--threads", None] and len(names) > 4, names)
    with open(runs.at + "/two.flags", "w") as file:
        file.write("# two devices\n--num_gpus=2\n--batch_size=4\n//--batch_size=5\n--variable_update=replicated\n")
    flags = ["--num_batches", "6"]
    same = [logged(runs(*flags, *words)[0], "loss") for words in (
        ["--batch_size", "4", "--num_gpus", "2", "--variable_update", "replicated"],
        ["--batch_size=4", "-num-gpus=2.0", "--variable_update=replicated"])]
    told = run("--flagfile", runs.at + "/two.flags", "--data_name=cifar10", "--model=resnet20", "--image_size=8",
               "--num_batches=6", "--num_warmup_batches=2", "--threads=2", "--train_dir", runs.at + "/flagged")
    check("flags of a file", same[0] == same[1] == logged(runs.at + "/flagged", "loss") and "8 global" in told, told)


def smoke(runs):
    said = run("--smoke", "--num_gpus=2", "--batch_size=256", "--model=trivial", "--num_epochs=90", "--eval=False",
               "--train_dir", runs.at + "/smoke")
    check("two batches of two images", "Batch size:  4 global" in said and "Num batches: 2\n" in said, said)
    run("--smoke", "--model=trivial", "--eval", "--num_epochs=1", "--train_dir", runs.at + "/smoke")


# ---- what cannot be -----------------------------------------------------------------------------------------------

MISTAKES = [
    (["--worker_hosts", "a:1,b:1"], "--worker_hosts is of several processes: mpirun"),
    (["--job_name", "ps"], "there are no servers"),
    *((["--variable_update", name], f"{name} is of several processes: mpirun")
      for name in ("horovod", "distributed_replicated", "collective_all_reduce", "distributed_all_reduce")),
    (["--num_gpus", "2", "--variable_update", "independent"], "runs of their own"),
    (["--num_gpus", "2", "--no-cross_replica_sync"], "all step together"),
    (["--task_index", "1"], "mpirun"),
    (["--eval", "--forward_only"], "only one"), (["--num_batches", "5", "--num_epochs", "1"], "only one"),
    (["--num_eval_batches", "5", "--num_eval_epochs", "1"], "only one"),
    (["--save_model_secs", "5", "--save_model_steps", "1"], "only one"),
    (["--eval_during_training_every_n_steps", "5", "--eval_during_training_every_n_epochs", "1"], "only one"),
    (["--eval_during_training_every_n_steps", "5", "--eval"], "is of training"),
    (["--stop_at_top_1_accuracy", "0.5"], "eval_during_training"), (["--eval"], "--train_dir"),
    (["--forward_only", "--train_dir", "x"], "--train_dir"), (["--trace_file", "x", "--profile"], "only one"),
    (["--trace_file", "x", "--num_warmup_batches", "1"], "two batches"),
    (["--num_epochs_per_decay", "1"], "go together"),
    (["--learning_rate_decay_factor", "1", "--init_learning_rate", "1"], "go together"),
    (["--init_learning_rate", "1", "--minimum_learning_rate", "1"], "decays"),
    (["--piecewise_learning_rate_schedule", "1;5;2", "--init_learning_rate", "1"], "is all of the rate"),
    (["--model", "resnet50", "--batch_size", "0", "--num_batches", "x"], "whole number"),
]


def mistakes(_):
    for words, want in MISTAKES:
        said = run("--image_size", "4", *words, expect=2)
        check(f"{words} is refused", re.search(want, said), said)
    for text in ("0.1;3", "0.1;x;1", "0.1;3;0.2;2;0.1", ";", "0.1;0;0.2", "0.1;1.5;0.2", "-1;1;1", "1;1;1;"):
        said = run("--piecewise_learning_rate_schedule", text, expect=2)
        check(f"{text} is refused", "rates and whole epochs" in said, said)
    said = run("--image_size", "4", "--data_name", "flowers", "--batch_size", "5000",
               "--piecewise_learning_rate_schedule", "1;1;2", expect=1)
    check("epochs without a batch", "too few batches" in said, said)
    run("--nonsense", expect=2)


with tempfile.TemporaryDirectory() as at:
    os.chdir(at)  # where runs without a folder leave theirs
    make_sets(at + "/data")
    runs = Runs(at + "/runs", at + "/data")
    for part in (lines, forward, changes, decay, rates, data, models, judging, meanwhile, kept, halves, devices, published, smoke, mistakes):
        part(runs)
    check("help has groups", all(f"\n{title}:\n" in run("--help") for title in ("what is run", "the optimizer")))
    os.chdir("/")

finish()
