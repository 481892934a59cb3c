#!/usr/bin/env python3
"""The example programs do what they say: a short training run whose loss falls, files that are there and
whole, a second program that reads them, runs that are killed or stopped and go on, and refusals in words.

    smoke.py DIGITS DIGITS_READ
"""
import os
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "common"))
from checking import (check, finish, has_terminals, is_png, kill, logged, runner, skip, started,  # noqa: E402
                      stopped_and_resumed)
from records import scalars  # noqa: E402

program = sys.argv[1]
digits, read = runner(program), runner(sys.argv[2])


def killed_and_resumed(at, whole):
    """Kills a run with no warning, after its first checkpoints, and lets another go on with it."""
    kill(23, program, "--smoke", out=at)
    said = digits("--smoke", "--resume", "--out", at)
    check("it goes on", "going on behind step" in said, said)
    check("killed and resumed, the losses are the same to the last bit", logged(at, "loss") == logged(whole, "loss"))
    if not os.path.exists(at + "/events"):
        return skip("this build has no protobuf-c: no event files")
    shown = scalars(at + "/events", "loss")
    check("TensorBoard shows each step of a resumed run once", [step for step, _ in shown] == sorted(logged(whole)), shown)
    check("and the same losses", shown == scalars(whole + "/events", "loss"), shown)


def stopped(at, whole):
    for number in (signal.SIGINT, signal.SIGTERM):
        out = f"{at}/{number.name}"
        said = stopped_and_resumed(13, program, "--smoke", out=out, number=number)
        check("it goes on", "going on behind step" in said, said)
        check("a stopped run has its pictures", is_png(out + "/digits.png") and is_png(out + "/loss.png"))
        check("stopped and resumed, the rows are the same to the last bit", logged(out) == logged(whole))


def other_precision(at):
    """A checkpoint with loss scales cannot be resumed without: the words name the precision, and nothing is lost."""
    digits("--smoke", "--steps", "4", "--precision", "f16", "--out", at)
    said = digits("--steps", "6", "--resume", "--out", at, expect=1)
    check("the precision is named", "written with --precision f16, this run has --precision f32" in said, said)
    digits("--steps", "6", "--resume", "--out", at, "--precision", "f16")
    digits("--smoke", "--steps", "4", "--precision", "bf16", "--out", at + "-bf16")
    said = digits("--steps", "6", "--resume", "--out", at + "-bf16", "--precision", "f16", expect=1)
    check("the other way too", "written without --precision f16, this run has --precision f16" in said, said)


def stopped_at_a_terminal(at):
    """The bar is wiped off before anything is said."""
    if not has_terminals():
        return skip("this system has no pseudo-terminals")
    terminal, end = os.openpty()
    part = started(13, program, "--smoke", out=at, stdout=subprocess.DEVNULL, stderr=end,
                   env={**os.environ, "TERM": "xterm"})
    os.close(end)
    part.send_signal(signal.SIGINT)
    told = b""
    try:
        while piece := os.read(terminal, 65536):
            told += piece
    except OSError:
        pass
    os.close(terminal)
    check("at a terminal the status is 130 too", part.wait() == 130, told)
    bars, _, words = told.rpartition(b"\r\x1b[K")
    check("there was a bar", b"training" in bars, told)
    check("and it is gone", words.startswith(b"stopped at step ") and words.count(b"\n") == 1, told)


with tempfile.TemporaryDirectory() as at:
    digits("--smoke", "--out", at)
    model = at + "/digits.safetensors"
    check("there is a model", os.path.getsize(model) > 100000)
    for name in ("digits.png", "loss.png"):
        check(f"{name} is a PNG", is_png(f"{at}/{name}"))
    said = read("--model", model, "--count", "300", "--picture", at + "/read.png")
    check("it reads most digits", " of 300 read right" in said
          and int(said.split(" of 300")[0].split()[-1]) > 150, said)
    check("read.png is a PNG", is_png(at + "/read.png"))

    killed_and_resumed(at + "/killed", at)
    stopped(at + "/stopped", at)
    stopped_at_a_terminal(at + "/terminal")
    other_precision(at + "/f16")

    with open(at + "/broken", "wb") as f:
        f.write(open(model, "rb").read()[:-1])
    check("a broken model is named", "broken" in read("--model", at + "/broken", expect=1))
    check("no model", "not/there" in read("--model", "not/there", expect=1))
    check("no data", "not/there" in digits("--data", "not/there", "--out", at, expect=1))
    check("help", "--epochs" in digits("--help"))
    for wrong in (["--lr", "nan"], ["--batch", "0"], ["--epochs", "-1"], ["--nonsense"], ["--steps"]):
        digits(*wrong, expect=2)

finish()
