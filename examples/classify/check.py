#!/usr/bin/env python3
"""egret-classify does what each of its flags says: on records made here, with nets that are small.

    check.py EGRET_CLASSIFY
"""
import functools
import json
import math
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../common"))
from checking import aliases_of, check, finish, logged, runner  # noqa: E402
from records import write  # noqa: E402

program = sys.argv[1]
run = runner(program)


# ---- records --------------------------------------------------------------------------------------------------

def make_sets(at):
    chance = random.Random(7)
    os.makedirs(at)
    write(at + "/mnist_train.tfrecord", [i % 10 for i in range(40)], 28, 1, chance)
    write(at + "/mnist_test.tfrecord", [i % 10 for i in range(24)], 28, 1, chance)
    write(at + "/mnist_more.tfrecord", [i % 10 for i in range(16)], 28, 1, chance)
    write(at + "/from_one.tfrecord", [i % 10 + 1 for i in range(20)], 28, 1, chance)
    write(at + "/cifar10_train.tfrecord", [i % 10 for i in range(32)], 32, 3, chance)
    write(at + "/cifar10_test.tfrecord", [i % 10 for i in range(20)], 32, 3, chance)
    for k in range(2):
        write(f"{at}/flowers_train_0000{k}-of-00002.tfrecord", [i % 5 for i in range(6)], 40, 3, chance)
    write(at + "/flowers_validation_00000-of-00001.tfrecord", [i % 5 for i in range(8)], 40, 3, chance)


# ---- runs -----------------------------------------------------------------------------------------------------

class Runs:
    def __init__(self, at, data):
        self.at, self.data, self.count = at, data, 0

    def __call__(self, *words, expect=0, base=None):
        """The folder and the words of a short run of lenet on digits."""
        self.count += 1
        out = f"{self.at}/{self.count}"
        usual = base if base is not None else ["--dataset_name", "mnist", "--dataset_dir", self.data, "--model_name",
                                               "lenet", "--num_classes", "10", "--batch_size", "8", "--no-use_fp16",
                                               "--stop_at_step", "6", "--num_preprocessing_threads", "2"]
        given = {"--" + w.lstrip("-").split("=")[0].replace("no-", "") for w in words if w.startswith("-")}
        given |= {"--stop_at_step"} if "--max_number_of_steps" in given else set()
        kept, skip = [], False
        for word in usual:  # what is said again is said once
            if word.startswith("--"):
                skip = word.split("=")[0].replace("no-", "") in given
            if not skip:
                kept.append(word)
        where = [] if given & {"--train_dir", "--eval_dir"} else ["--output_dir", out]
        return out, run(*kept, *words, *where, "--seed", "3", expect=expect)

    @property
    def small(self):
        """Words of a run that only judges."""
        return ["--dataset_name", "mnist", "--dataset_dir", self.data, "--model_name", "lenet", "--num_classes", "10",
                "--batch_size", "8", "--no-use_fp16"]

    def losses(self, *words):
        return list(logged(self(*words)[0], "loss").values())


def tensor_of(path, name):
    """One number of a checkpoint."""
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    entry = json.loads(data[8:8 + size])[name]
    begin = 8 + size + entry["data_offsets"][0]
    return struct.unpack({"F64": "<d", "F32": "<f", "I64": "<q"}[entry["dtype"]],
                         data[begin:begin + {"F64": 8, "F32": 4, "I64": 8}[entry["dtype"]]])[0]


# ---- what a flag changes, and what it does not ------------------------------------------------------------------

CHANGES = [  # flags whose value the losses show
    (["--weight_decay", "0.5"], []), (["--max_gradient_norm", "1e-4"], []), (["--shuffle_buffer_size", "1"], []),
    (["--learning_rate", "0.02"], []), (["--opt_epsilon", "0.1"], []),
    (["--rmsprop_decay", "0.5"], []), (["--rmsprop_momentum", "0.5"], []),
    (["--adadelta_rho", "0.5"], ["--optimizer", "adadelta", "--learning_rate", "1", "--opt_epsilon", "1e-3"]),
    (["--adagrad_initial_accumulator_value", "1"], ["--optimizer", "adagrad"]),
    (["--adam_beta1", "0.5"], ["--optimizer", "adam", "--opt_epsilon", "1e-3"]),
    (["--adam_beta2", "0.5"], ["--optimizer", "adam", "--opt_epsilon", "1e-3"]),
    (["--opt_epsilon", "0.5"], ["--optimizer", "adamweightdecay"]),
    (["--ftrl_learning_rate_power", "-0.8"], ["--optimizer", "ftrl", "--learning_rate", "0.1"]),
    (["--ftrl_initial_accumulator_value", "1"], ["--optimizer", "ftrl", "--learning_rate", "0.1"]),
    (["--ftrl_l1", "0.1"], ["--optimizer", "ftrl", "--learning_rate", "0.1"]),
    (["--ftrl_l2", "1"], ["--optimizer", "ftrl", "--learning_rate", "0.1"]),
    (["--momentum", "0.1"], ["--optimizer", "momentum"]), (["--use_fp16"], []),
    (["--preprocessing_name", "inception"], []),
]
SAME = [  # and whose it must not
    ["--num_parallel_batches", "1"], ["--prefetch_buffer_size", "0"], ["--prefetch_buffer_size", "2"],
    ["--num_preprocessing_threads", "0"], ["--num_preprocessing_threads", "4"], ["--datasets_use_caching"],
    ["--log_loss_every_n_iters", "1"], ["--save_checkpoints_steps", "1"],
]


def changes(runs):
    def losses(*words):
        """Without checkpoints, which take longer than the steps, unless it is about them."""
        hooks = [] if "--save_checkpoints_steps" in words else ["--hooks", "StopAtStepHook,LoggingTensorHook"]
        return runs.losses(*words, *hooks)
    usual_losses = functools.lru_cache(None)(losses)  # the same run serves several flags
    for words, around in CHANGES:
        usual, other = usual_losses(*around), losses(*around, *words)
        check(f"{' '.join(around + words)} changes what is learned", len(usual) == len(other) == 6 and usual != other
              and all(abs(x) < 1e6 for x in usual + other), f"{usual}\n{other}")
    for words in SAME:
        usual, other = usual_losses("--stop_at_step", "12"), losses("--stop_at_step", "12", *words)
        check(f"{' '.join(words)} leaves it alone", usual == other, f"{usual}\n{other}")
    kinds = {name: tuple(losses("--optimizer", name, "--opt_epsilon", "1e-2")) for name in (
        "adadelta", "adagrad", "adam", "adamweightdecay", "ftrl", "momentum", "sgd", "rmsprop")}
    check("optimizers differ", len(set(kinds.values())) == len(kinds), kinds)
    check("one that is not there", "adadelta|adagrad" in runs("--optimizer", "magic", expect=2)[1])
    held = losses("--max_gradient_norm", "1e-9", "--optimizer", "sgd", "--learning_rate", "1")
    check("the norm of gradients is limited", max(held) - min(held) < max(losses(
        "--optimizer", "sgd", "--learning_rate", "1")) + 1, held)


# ---- the rate -------------------------------------------------------------------------------------------------

def rate(t, steps, lr, kind="exponential", scheme="none", factor=.94, end=1e-4, warm=0, named="t2t"):
    """The card's, before step t."""
    if kind == "fixed":
        return lr
    if warm and named == "t2t" and t < warm:
        lr *= .01 ** ((warm - t) / warm)
    times = {"luong234": 4, "luong5": 5, "luong10": 10}.get(scheme)
    if not times:
        return lr
    start = int(2 * steps / 3) if times == 4 else steps // 2
    period = (steps - start) // times
    if t < start:
        return lr
    if kind == "exponential":
        return lr * factor ** ((t - start) // period)
    return (lr - end) * (1 - min(t - start, period) / period) + end


def rates(runs):
    for flags, how in (
            ([], {}), (["--learning_rate_decay_type", "fixed", "--warmup_steps", "9"], {"kind": "fixed"}),
            (["--decay_scheme", "luong234"], {"scheme": "luong234"}),
            (["--decay_scheme", "luong5", "--learning_rate_decay_factor", "0.5"], {"scheme": "luong5", "factor": .5}),
            (["--decay_scheme", "luong10", "--warmup_steps", "7"], {"scheme": "luong10", "warm": 7}),
            (["--warmup_steps", "7", "--warmup_scheme", "other"], {}),
            (["--learning_rate_decay_type", "polynomial", "--decay_scheme", "luong234", "--end_learning_rate", "0.001",
              "--warmup_steps", "5"], {"kind": "polynomial", "scheme": "luong234", "end": 1e-3, "warm": 5})):
        out, said = runs("--stop_at_step", "40", "--learning_rate", "0.02", "--optimizer", "sgd", *flags)
        got = logged(out, "rate")
        want = {t: rate(t - 1, 40, .02, **how) for t in range(1, 41)}
        off = [t for t in want if abs(got.get(t, 9) - want[t]) > 1e-12]
        check(f"the rate with {' '.join(flags) or 'nothing'}", not off, [(t, got.get(t), want[t]) for t in off])
    said = runs("--decay_scheme", "luong10", "--stop_at_step", "12", expect=2)[1]
    check("too few steps to decay in", "too few to decay" in said, said)


# ---- data, the model ------------------------------------------------------------------------------------------

def data(runs):
    said = runs("--num_epochs", "2", "--stop_at_step", "1000")[1]
    check("it ends after the epochs", "epoch 2:" in said and "epoch 3:" not in said, said)
    check("five batches are an epoch", len(runs.losses("--num_epochs", "1", "--stop_at_step", "1000")) == 5)
    check("the last batch may be small", len(runs.losses("--num_epochs", "1", "--batch_size", "16")) == 3)
    more = runs.losses("--train_files", "mnist_train.tfrecord,mnist_more.tfrecord", "--num_epochs", "1",
                       "--stop_at_step", "99")
    check("files by name", len(more) == 7, more)
    check("files by pattern", len(runs.losses("--train_files", "mnist_*.tfrecord", "--num_epochs", "1",
                                              "--stop_at_step", "99")) == 10)
    said = runs("--train_files", "nothing*", expect=1)[1]
    check("no such file", "nothing*" in said, said)
    said = runs("--train_files", "from_one.tfrecord", expect=1)[1]
    check("labels beyond the classes", "10" in said, said)
    check("unless they count from one", len(runs.losses("--train_files", "from_one.tfrecord", "--labels_offset",
                                                        "1")) == 6)
    said = runs("--log_loss_every_n_iters", "2", "--num_sample_per_epoch", "16")[1]
    check("epochs are counted so", [float(x) for x in re.findall(r"step \d+, epoch ([\d.]+)", said)] == [1, 2, 3], said)
    # An epoch is a pass over the training images in the log, the summary and the schedule alike.
    said = runs("--train_files", "mnist_train.tfrecord", "--dataset_name", "digits", "--num_epochs", "2",
                "--stop_at_step", "99", "--log_loss_every_n_iters", "1")[1]
    passes = [(float(x), int(y)) for x, y in re.findall(r"epoch ([\d.]+)\n(?=epoch (\d):)", said)]
    check("the log and the summary count the same epochs", passes == [(1, 1), (2, 2)], said)
    said = run("--dataset_name", "nothing", "--output_dir", runs.at + "/none", expect=1)
    check("unknown data", "mock, mnist, cifar10, flowers, imagenet, or any name with --train_files" in said, said)
    usual = runs.losses()
    check("any name with files", runs.losses("--dataset_name", "digits", "--train_files", "mnist_train.tfrecord") == usual)
    said = runs("--dataset_name", "digits", "--train_files", "mnist_train.tfrecord", "--task_type", "evaluate",
                "--model_dir", f"{runs.at}/{runs.count}", expect=1)[1]
    check("without files to judge by", "--eval_files" in said, said)
    check("a net's name as a recipe", runs.losses("--preprocessing_name", "resnet_v1_50") == runs.losses(
        "--preprocessing_name", "vgg") != usual)
    check("a split by name", len(runs.losses("--dataset_split_name", "test", "--num_epochs", "1")) == 3)
    check("no folder", "--dataset_dir" in run("--dataset_name", "mnist", "--output_dir", runs.at + "/none", expect=2))
    check("unknown model", "lenet" in runs("--model_name", "lennet", expect=1)[1])
    check("unknown recipe", "inception" in runs("--preprocessing_name", "none", expect=1)[1])
    for name, model, count in (("cifar10", "cifarnet", 4), ("flowers", "mobilenet_v1_025", 2)):
        out, said = runs("--dataset_name", name, "--model_name", model, "--num_epochs", "1", "--image_size",
                         "32", "--stop_at_step", "99")
        check(f"{model} on {name}", len(logged(out, "loss")) == count, said)
    said = run("--model_name", "lenet", "--stop_at_step", "3", "--batch_size", "4", "--output_dir", runs.at + "/mock")
    check("as many as are asked for", len(runs.losses("--mock_batches", "3", "--dataset_name", "mock", "--num_epochs",
                                                      "1", "--stop_at_step", "99")) == 3)
    check("a run of nothing but steps", "epoch" in said and os.path.exists(runs.at + "/mock/loss.png"), said)


def statistics(runs):
    said = runs("--print_model_statistics", "--num_classes", "7", "--train_files", "flowers_train*", "--stop_at_step",
                "1")[1]
    check("layers and weights", "7 x 1024" in said and "parameters learn" in said, said)
    check("and their number", f"{1024 * 7 + 7 + 3274634 - 1024 * 10 - 10:,} parameters learn" in said, said)
    said = runs("--dataset_name", "flowers", "--model_name", "mobilenet_v1_025", "--image_size", "40",
                "--stop_at_step", "1", "--print_model_statistics")[1]
    check("the side is what was asked for", "[1, 8, 20, 20]" in said, said)
    check("where weights are", " f32 cpu" in runs("--log_device_placement", "--stop_at_step", "1")[1])
    check("what the optimizer keeps", "square" in (said := runs("--print_optimizer_statistics", "--stop_at_step",
                                                                "1")[1]) or "ms" in said or "mean" in said, said)


# ---- what is told and kept --------------------------------------------------------------------------------------

def told(runs):
    line = re.compile(r"^\d+\.\d{4} seconds/step, \d+\.\d{4} samples/s, loss \d+\.\d{4}, accuracy [01]\.\d{4}, rate ")
    out, said = runs("--stop_at_step", "9", "--log_loss_every_n_iters", "3")
    check("a line every three steps", sum(bool(line.match(text)) for text in said.splitlines()) == 3, said)
    said = runs("--hooks", "StopAtStepHook,ProfilerHook,CheckpointSaverHook", "--log_loss_every_n_iters", "1")[1]
    check("no hook, no lines", not any(line.match(text) for text in said.splitlines()), said)
    out, said = runs("--hooks", "LoggingTensorHook,CheckpointSaverHook", "--num_epochs", "2")
    check("without StopAtStepHook epochs end it", len(logged(out, "loss")) == 10, said)
    out = runs("--hooks", "StopAtStepHook,LoggingTensorHook", "--save_checkpoints_steps", "1")[0]
    check("without CheckpointSaverHook there is none", not [n for n in os.listdir(out) if "checkpoint" in n])
    out = runs("--save_checkpoints_steps", "2", "--num_epochs", "1")[0]
    check("checkpoints every two steps", {f"checkpoint-000000000{k}.safetensors" for k in (2, 4, 5)}
          == {n for n in os.listdir(out) if n.startswith("checkpoint")}, os.listdir(out))
    out, said = runs("--evaluate_every_n_epochs", "2", "--num_epochs", "4", "--stop_at_step", "99")
    judged_by = logged(out, "valid/accuracy")
    check("judged behind every second epoch", sorted(judged_by) == [10, 20] and "valid/accuracy" in said, said)
    check("and the best is kept", abs(tensor_of(out + "/best.safetensors", "score") - max(judged_by.values())) < 1e-6)
    out = runs("--profile_every_n_iters", "3")[0]
    check("a timeline of every third step", {"timeline-3.json", "timeline-6.json"} == {
        n for n in os.listdir(out) if n.startswith("timeline")} and json.load(open(out + "/timeline-3.json")))
    for words in (["--profile_at_task", "1"], ["--hooks", "StopAtStepHook"]):
        out = runs("--profile_every_n_iters", "3", *words)[0]
        check(f"none with {words}", not [n for n in os.listdir(out) if n.startswith("timeline")])
    usual = ["StopAtStepHook", "LoggingTensorHook"]
    same = [sorted(os.listdir(runs("--hooks", text)[0])) for text in (",".join(usual), " , ".join(usual).lower())]
    check("hooks in any case, with blanks", same[0] == same[1], same)
    check("an unknown hook", "MagicHook" in runs("--hooks", "StopAtStepHook,MagicHook", expect=2)[1])


def halves(runs):
    for words, scale in ((["--loss_scale", "32"], 32), (["--loss_scale", "1e9", "--auto_loss_scale"], None)):
        out = runs("--use_fp16", *words, "--save_checkpoints_steps", "1")[0]
        got = tensor_of(out + "/checkpoint-0000000006.safetensors", "optimizer-scale/scale")
        check(f"the scale with {words}", got == scale if scale else got < 1e9, got)


def machines(runs):
    two = ["--worker_hosts", "a:1,b:1"]
    said = runs(*two, expect=2)[1]
    check("several machines", "mpirun" in said, said)
    check("one is fine", len(runs.losses("--worker_hosts", "a:1")) == 6)
    check("which of one", "--task_index" in runs("--task_index", "1", expect=2)[1])


# ---- from weights -----------------------------------------------------------------------------------------------

def write_zeros(path, shapes):
    """A safetensors file of them."""
    header, end = {}, 0
    for name, shape in shapes.items():
        begin, end = end, end + 4 * math.prod(shape)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + bytes(end))


def weights(runs):
    small = ["--dataset_name", "cifar10", "--dataset_dir", runs.data, "--model_name", "resnet_cifar_20", "--batch_size",
             "8", "--no-use_fp16", "--optimizer", "momentum", "--preprocessing_name", "cifarnet", "--stop_at_step", "8"]

    def again(*words, expect=0):
        return runs(*words, base=small, expect=expect)
    first = again("--num_classes", "10")[0]
    file = first + "/checkpoint-0000000008.safetensors"
    said = again("--task_type", "finetune", "--num_classes", "10", "--ckpt_file_name", file)[1]
    check("all that learns is restored", "passed over" in said and "missing" not in said, said)
    said = again("--task_type", "finetune", "--num_classes", "10", "--model_dir", first, "--ckpt_file_name",
                 "checkpoint-0000000004.safetensors")[1]
    check("a file of a folder", "checkpoint-0000000004" in said, said)
    said = again("--task_type", "finetune", "--num_classes", "10", "--model_dir", first, "--restore_statistics")[1]
    check("and what norms have seen, if asked", "passed over" not in said and "checkpoint-0000000008" in said, said)
    said = again("--task_type", "finetune", "--num_classes", "5", "--model_dir", first, expect=1)[1]
    check("other classes do not fit", "--checkpoint_exclude_scopes" in said
          and "[10, 64] there and [5, 64] here" in said, said)
    last = "logits"
    said = again("--task_type", "finetune", "--num_classes", "12", "--model_dir", first,
                 "--checkpoint_exclude_scopes", last)[1]
    check("unless they are left out", re.search(r"^missing +2$", said, re.M), said)
    said = again("--task_type", "finetune", "--num_classes", "10", "--model_dir", first, "--prefix_map",
                 last + ":" + last.upper())[1]
    check("a name that is nobody's changes nothing", not re.search(r"^  \S+ +from ", said, re.M), said)
    said = again("--task_type", "finetune", "--num_classes", "10", "--model_dir", first, "--prefix_map",
                 "block1_unit2:block1_unit1")[1]
    check("names are renamed", re.search(r"block1_unit1(\.unit\.body\.conv1\.conv\.weight) +from block1_unit2\1", said)
          and "missing" not in said, said)
    check("no checkpoint", "no checkpoint" in again("--task_type", "finetune", "--model_dir", runs.at, expect=1)[1])
    theirs = runs.at + "/slim.safetensors"
    write_zeros(theirs, {"LeNet/conv1/weights": (5, 5, 1, 32), "LeNet/conv1/biases": (32,),
                         "LeNet/conv2/weights": (5, 5, 32, 64), "LeNet/conv2/biases": (64,),
                         "LeNet/fc3/weights": (3136, 1024), "LeNet/fc3/biases": (1024,),
                         "LeNet/fc4/weights": (1024, 10), "LeNet/fc4/biases": (10,), "global_step": ()})
    said = runs("--task_type", "finetune", "--ckpt_file_name", theirs)[1]
    check("TF-Slim's names", re.search(r"conv2\.conv\.weight +from LeNet/conv2/weights", said)
          and re.search(r"^loaded +8$", said, re.M) and "missing" not in said, said)
    said = runs("--task_type", "evaluate", "--ckpt_file_name", theirs)[1]
    check("judged by them", re.search(r"conv1\.conv\.weight +from LeNet/conv1/weights", said)
          and "loss 2.302585" in said, said)
    judged(runs, small, first)


def most_threads(*words):
    """Of a run, as /proc tells."""
    part, most = subprocess.Popen([program, *words], stdout=subprocess.DEVNULL), 0
    while part.poll() is None:
        try:
            most = max(most, len(os.listdir(f"/proc/{part.pid}/task")))
        except OSError:
            pass
        time.sleep(.005)
    return most


def threads(runs):
    words = ["--model_name", "lenet", "--num_classes", "10", "--batch_size", "64", "--stop_at_step", "20", "--no-use_fp16",
             "--num_preprocessing_threads", "0", "--prefetch_buffer_size", "0", "--intra_op_parallelism_threads"]
    one, three = (most_threads(*words, n, "--output_dir", f"{runs.at}/threads-{n}") for n in ("1", "3"))
    check("threads of an op", three > one, f"{one} {three}")


def judged(runs, small, first):
    def judge(*words):
        said = runs("--task_type", "evaluate", "--num_classes", "10", "--model_dir", first, *words, base=small)[1]
        return next((text for text in said.splitlines() if text.startswith("accuracy @ 1")), said)
    said = judge()
    check("it is judged", re.fullmatch(r"accuracy @ 1 = [01]\.\d{4}, accuracy @ 5 = [01]\.\d{4}, loss \d+\.\d+ of 20 "
                                       "examples", said), said)
    check("again, the same", judge() == said)
    for threads in (1, 2):
        check(f"with {threads} threads", judge("--intra_op_parallelism_threads", str(threads)) == said)
    accuracy = said.split(", loss")[0]
    for batch in (1, 4, 5, 10, 20):
        check(f"in batches of {batch}", judge("--batch_size", str(batch)).split(", loss")[0] == accuracy)


# ---- command lines of others --------------------------------------------------------------------------------------

def published(runs):
    usual = runs.losses()
    same = runs.losses("--use_fp16=False", "-batch_size=8.0", "--max_number_of_steps=6", "--optimizer=RMSProp",
                       "--decay_scheme=", "--enable_paisoar=False", "--learning_rate=1e-2", "--dataset_name=MNIST")
    check("spellings of absl", same == usual and len(usual) == 6, f"{usual}\n{same}")
    names, ignored = aliases_of(run("--help"))
    out, said = runs(*[name + "=True" for name in ignored])
    check("what is ignored changes nothing", list(logged(out, "loss").values()) == usual and len(ignored) > 30, said)
    check("each costs a warning", all(said.count(f"warning: {name} is ignored: ") == 1 for name in ignored), said)
    check("other names", names["--train_dir"] == ["--output_dir", None] and len(names) > 12, names)
    check("a server is none", "no servers" in runs("--job_name", "ps", expect=2)[1])
    smoothed = runs.losses("--label_smoothing", "0.2")
    check("labels are smoothed", smoothed != usual and abs(smoothed[0] - usual[0]) < 1, f"{usual}\n{smoothed}")
    out = runs("--num_epochs_per_decay", "2", "--stop_at_step", "24", "--dataset_name", "digits", "--num_sample_per_epoch",
               "40", "--train_files", "mnist_train.tfrecord", "--learning_rate_decay_factor", "0.5")[0]
    want = {t: .01 * .5 ** ((t - 1) // 10) for t in range(1, 25)}
    check("the rate decays by epochs", logged(out, "rate") == want, logged(out, "rate"))
    check("by one plan", "only one" in runs("--num_epochs_per_decay", "2", "--decay_scheme", "luong5",
                                        "--stop_at_step", "40", expect=2)[1])


def slim(runs):
    """TF-Slim's walk: train, judge, train the last layer of another net, then judge again."""
    out, said = runs("--stop_at_step", "6", "--save_checkpoints_steps", "6", "--num_classes", "10")
    file = out + "/checkpoint-0000000006.safetensors"
    usual = re.compile(r"accuracy @ 1 = .* of (\d+) examples")
    judge = [runs("--task_type=evaluate", "--checkpoint_path", path, "--eval_dir", f"{runs.at}/judged-{k}", base=runs.small)[1]
             for k, path in enumerate((out, file))]
    check("judged by a path", usual.search(judge[0])[0] == usual.search(judge[1])[0] and usual.search(judge[0])[1] == "24",
          judge)
    said = runs("--task_type=evaluate", "--checkpoint_path", out, "--max_num_batches=1", base=runs.small)[1]
    check("judged by some", usual.search(said)[1] == "8", said)
    said = runs("--task_type=evaluate", "--checkpoint_path", out, "--dataset_split_name=train", base=runs.small)[1]
    check("judged by what was learned from", usual.search(said)[1] == "40", said)
    tuned, said = runs("--checkpoint_path", file, "--checkpoint_exclude_scopes=fc4", "--trainable_scopes=fc4",
                       "--save_checkpoints_steps", "1", "--stop_at_step=3")
    check("only the last layer learns", kept(file, tuned) == {"fc4.fc.weight", "fc4.fc.bias"}, f"{kept(file, tuned)}\n{said}")
    theirs = runs.at + "/theirs.safetensors"
    write_zeros(theirs, {"LeNet/conv1/weights": (5, 5, 1, 32), "LeNet/conv1/biases": (32,),
                         "LeNet/fc4/weights": (1024, 10), "LeNet/fc4/biases": (10,)})
    tuned, said = runs("--checkpoint_path", theirs, "--checkpoint_exclude_scopes=LeNet/fc4",
                       "--trainable_scopes=LeNet/fc4", "--save_checkpoints_steps", "1", "--stop_at_step=3")
    check("by the file's names", re.search(r"^loaded +2$", said, re.M), said)
    first, last = (f"{tuned}/checkpoint-000000000{k}.safetensors" for k in (1, 3))
    check("too", kept(first, tuned) == {"fc4.fc.weight", "fc4.fc.bias"}, kept(first, tuned))
    check("no such scope", "no weight" in runs("--trainable_scopes=InceptionV3", expect=1)[1])
    check("one way to name it", "only one" in runs("--checkpoint_path", out, "--model_dir", out, expect=2)[1])


def kept(file, folder):
    """The weights of a checkpoint that are not those of the latest one in the folder."""
    data = [open(path, "rb").read() for path in (file, folder + "/checkpoint-0000000003.safetensors")]
    size = [struct.unpack("<Q", d[:8])[0] for d in data]
    entries = [json.loads(d[8:8 + n]) for d, n in zip(data, size)]

    def of(k, name):
        begin, end = entries[k][name]["data_offsets"]
        return data[k][8 + size[k] + begin:8 + size[k] + end]
    return {name[4:] for name in entries[0] if name.startswith("net/") and of(0, name) != of(1, name)}


def smoke(runs):
    said = run("--smoke", "--model_name", "cifarnet", "--batch_size", "256", "--stop_at_step=1000", "--decay_scheme",
               "luong5", "--output_dir", runs.at + "/smoke")
    check("a few steps", sorted(logged(runs.at + "/smoke", "loss")) == list(range(1, 13)), said)
    check("that fail unless the loss falls", "did not fall" in run("--smoke", "--model_name", "cifarnet", "--learning_rate",
                                                                   "1e-9", "--output_dir", runs.at + "/flat", expect=1))


def resumed(runs):
    words = ["--dataset_name", "mnist", "--dataset_dir", runs.data, "--model_name", "lenet", "--num_classes", "10",
             "--batch_size", "8", "--no-use_fp16", "--stop_at_step", "14", "--save_checkpoints_steps", "3"]
    run(*words, "--output_dir", runs.at + "/whole")
    part = runs.at + "/part"
    run(*words[:-4], "--stop_at_step", "8", "--save_checkpoints_steps", "3", "--output_dir", part)
    run(*words, "--resume", "--output_dir", part)
    check("gone on with to the last bit", logged(part, "loss") == logged(runs.at + "/whole", "loss"))


with tempfile.TemporaryDirectory() as at:
    make_sets(at + "/data")
    runs = Runs(at + "/runs", at + "/data")
    for part in (data, changes, rates, statistics, told, halves, machines, threads, weights, published, slim, smoke, resumed):
        part(runs)
    check("help has groups", all(f"\n{title}:\n" in run("--help") for title in ("the data set", "the optimizer")))
    run("--nonsense", expect=2)

finish()
