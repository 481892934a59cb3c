#!/usr/bin/env python3
"""The training programs on a CUDA device, the emulated one of the environment: the losses of the CPU, runs that one
began and the other goes on with, every precision, rows of the log that are read later and are all there.

    device.py COMMON_CHECK PROGRAM...
"""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "common"))
from checking import check, finish, logged, runner, skip  # noqa: E402

# A net that looks, cut short.
SHORT = ["--trunk", "resnet_cifar_20", "--style-layers", "conv1,block1_unit1", "--content-layer", "block2_unit1"]
# The smallest sizes that still are the model, the fields that are compared, and how near they are to be. pix2pix
# is none of them: the emulated device would need minutes.
SIZES = {
    "digits": (["--drawn", "8", "--batch", "2"], ["loss"], 2e-3),
    "dcgan": (["--drawn", "6", "--batch", "2"], ["generator", "discriminator"], 2e-3),
    "cvae": (["--drawn", "12", "--batch", "4"], ["loss"], 2e-3),
    "cifar10": (["--num-layers", "8", "--drawn", "100", "--batch", "2", "--eval-batch-size", "20"], ["loss"], 2e-3),
    "segmentation": (["--side", "32", "--width", "0.0625", "--drawn", "6", "--batch", "2"], ["loss"], 2e-3),
    "nmt": (["--pairs", "200", "--batch", "8", "--units", "16", "--embedding", "8"], ["loss"], 1e-4),
    "ptb": (["--model", "test", "--width", "8", "--sentences", "60"], ["loss"], 1e-4),
    "speech": (["--model-architecture", "tiny_conv", "--voices", "12", "--batch", "4", "--silence-percentage", "0",
                "--eval-step-interval", "1000"], ["loss"], 2e-3),
    "deepspeech": (["--made", "10", "--batch", "2", "--filters", "2", "--rnn-hidden-size", "8", "--rnn-hidden-layers", "1"],
                   ["loss"], 2e-3),
    "quickdraw": (["--drawn", "50", "--batch-size", "2", "--num-nodes", "8", "--num-layers", "1", "--num-conv", "8",
                   "--conv-len", "3", "--eval-batches", "1"], ["loss"], 2e-3),
    "neural_gpu": (["--maps", "4", "--relaxed", "2", "--max-length", "3", "--test-length", "2", "--batch", "2"], ["loss"],
                   2e-3),
    "detect": (["--width", "8", "--hidden", "8", "--shorter", "32", "--longer", "32", "--drawn", "8", "--batch", "2",
                "--proposals", "8"], ["loss", "objectness"], 2e-3),
    "keypoints": (["--side", "16", "--filters", "4", "--keypoints", "4", "--shapes", "2", "--others", "1", "--each", "2",
                   "--batch", "2"], ["loss", "pose", "consistency"], 2e-3),
    "depth": (["--width", "8", "--frame-height", "24", "--frame-width", "32", "--drawn", "2", "--batch", "2"],
              ["loss", "warp"], 2e-3),
    "ocr": (["--side", "43", "--views", "1", "--length", "8", "--width", "0.0625", "--units", "8", "--drawn", "32", "--others",
             "2", "--batch", "2", "--untold", "0"], ["loss"], 2e-3),
    "cvt": (["--size", "tiny", "--batch", "2"], ["loss", "views"], 1e-3),
    "style": (["--size", "32", *SHORT], ["loss", "style"], 2e-2),  # a line search branches on the last bits
    "fast_style": (["--side", "32", "--size", "32", "--width", "0.125", "--drawn", "6", "--batch", "2",
                    *SHORT], ["loss"], 2e-3),
}
ALSO = {"style": ["--optimizer", "lbfgs"]}  # run once more with this
NEAR = {"f32": 1, "tf32": 1, "bf16": 40, "f16": 40}  # times that


def no_kernel(said):
    return "no kernel for it" in said


def same(name, a, b, near):
    """Whether two folders hold the same losses, as near as that."""
    for field in SIZES[name][1]:
        x, y = logged(a, field), logged(b, field)
        check(f"{name}: {field} of as many steps", x.keys() == y.keys() and x, f"{sorted(x)} {sorted(y)}")
        for step in x.keys() & y.keys():
            check(f"{name}: {field} of step {step}: {x[step]:.7g} and {y[step]:.7g}",
                  abs(x[step] - y[step]) <= near * max(1, abs(x[step])))


def train(path, name, at, *words, steps):
    """Its status and what it said; not a smoke run, of which the loss would have to fall."""
    r = subprocess.run([path, *SIZES[name][0], "--steps", str(steps), "--out", at, *words], text=True,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return r.returncode, r.stdout


def program(path, at):
    name = os.path.basename(path)
    near = SIZES[name][2]
    status, said = train(path, name, at + "/there", "--device", "cuda", steps=2)
    if no_kernel(said):
        return skip(f"{name}: {said.strip().splitlines()[-1]}")
    check(f"{name} on the device", status == 0, said)
    check(f"{name} on the CPU", train(path, name, at + "/here", steps=2)[0] == 0)
    same(name, at + "/there", at + "/here", near)
    for device, folder in (("cpu", "/there"), ("cuda", "/here")):
        status, said = train(path, name, at + folder, "--device", device, "--resume", steps=3)
        check(f"{name} goes on on {device}", status == 0 and "going on behind step 2" in said, said)
    same(name, at + "/there", at + "/here", near)
    if name in ALSO:
        for device in ("cuda", "cpu"):
            status, said = train(path, name, f"{at}/also-{device}", "--device", device, *ALSO[name], steps=2)
            check(f"{name} {' '.join(ALSO[name])} on {device}", status == 0, said)
        same(name, at + "/also-cuda", at + "/also-cpu", near)
    for precision in ("tf32", "bf16", "f16") if name in ("nmt", "digits") else ():
        out = f"{at}/{precision}"
        status, said = train(path, name, out, "--device", "cuda", "--precision", precision, steps=2)
        check(f"{name} in {precision}", status == 0, said)
        first, there = logged(at + "/there", SIZES[name][1][0])[1], logged(out, SIZES[name][1][0])[1]
        check(f"{name} in {precision}: {first} and {there}", abs(first - there) <= NEAR[precision] * near * first)


def notes(path, at):
    run = runner(path)
    run("note", "--device", "cuda", "--steps", "50", "--save-every", "7", "--out", at)
    check("every row is there", logged(at, "half") == {i: i / 2 for i in range(1, 51)})
    check("and its other fields", logged(at, "step again") == {i: i for i in range(1, 51)})
    said = run("note", "--device", "cuda:99", "--out", at + "/none", expect=1)
    check("no such device", "--device cuda:99: " in said and len(said.splitlines()) == 1, said)


def classified(path, at):
    """The trainer: a net with convolutions and norms, learning on the device and judged on each there is."""
    run = runner(path)
    words = ["--model_name", "resnet_cifar_20", "--num_classes", "5", "--batch_size", "2", "--image_size", "8",
             "--optimizer", "momentum", "--stop_at_step", "2"]
    for name, more in (("here", ["--no-use_fp16"]), ("there", ["--no-use_fp16", "--device", "cuda"]),
                       ("half", ["--use_fp16", "--device", "cuda"])):
        said = run(*words, *more, "--output_dir", f"{at}/{name}")
        if not os.path.exists(f"{at}/{name}/log.jsonl"):
            check(f"the trainer {name}", False, said)
    here, there = logged(at + "/here", "loss"), logged(at + "/there", "loss")
    check("the trainer's losses", here.keys() == there.keys() and all(abs(here[k] - there[k]) < 2e-3 for k in here),
          f"{here} {there}")
    os.environ["EG_FAKE_DEVICES"] = "2"
    said = {device: run("--task_type", "evaluate", *words, "--no-use_fp16", "--device", device, "--num_preprocessing_threads",
                        "0", "--mock_batches", "2", "--model_dir", at + "/there", "--output_dir", at + "/judged").splitlines()[-1]
            for device in ("cuda:0", "cuda:1")}
    check("judged alike on every device", len(set(said.values())) == 1 and "accuracy @ 1" in said["cuda:0"], said)


def measured(path, at):
    """The benchmark: a step's loss in both layouts and in halves, and what is judged on each device there is."""
    run = runner(path)
    words = ["--data_name", "cifar10", "--model", "resnet20", "--image_size", "8", "--batch_size", "2", "--num_batches",
             "2", "--num_warmup_batches", "2", "--optimizer", "momentum"]
    cuda = ["--device", "cuda"]
    for name, more in (("here", []), ("there", cuda), ("last", [*cuda, "--data_format", "NHWC"]),
                       ("half", [*cuda, "--use_fp16"])):
        said = run(*words, *more, "--train_dir", f"{at}/{name}")
        check(f"the benchmark {name}", "total images/sec" in said, said)
    here = logged(at + "/here", "loss")
    for name in ("there", "last"):
        there = logged(f"{at}/{name}", "loss")
        check(f"the benchmark's losses {name}", here.keys() == there.keys() and
              all(abs(here[k] - there[k]) < 2e-3 for k in here), f"{here} {there}")
    os.environ["EG_FAKE_DEVICES"] = "2"
    virtual = [f"cuda --gpu-memory {cap}MB" for cap in (40, 90, 300)]
    said = {where: run(*words, "--eval", "--device", *where.split(), "--train_dir", at + "/there").splitlines()[-4]
            for where in ("cpu", "cuda:0", "cuda:1", *virtual, virtual[1] + " --num_gpus 2", virtual[2] + " --num_gpus 4")}
    check("its net is judged alike on every device, however much of it there is, and on several",
          len(set(said.values())) == 1 and "Accuracy @ 1" in said["cpu"], said)


with tempfile.TemporaryDirectory() as at:
    notes(sys.argv[1], at + "/notes")
    for path in sys.argv[2:]:
        if os.path.basename(path) == "egret-classify":
            classified(path, at + "/classify")
        elif os.path.basename(path) == "egret-cnn-bench":
            measured(path, at + "/cnn-bench")
        else:
            program(path, f"{at}/{os.path.basename(path)}")

finish()
