#!/usr/bin/env python3
"""The example programs do what they say: a short training run whose loss falls, files that are there and
whole, a second program that reads them, a run that is killed and goes on, and refusals in words.

    smoke.py DIGITS DIGITS_READ
"""
import json
import os
import subprocess
import sys
import tempfile
import time

digits, read = sys.argv[1:3]
count = {"passed": 0, "failed": 0}


def check(what, ok, words=""):
    count["passed" if ok else "failed"] += 1
    if not ok:
        print(f"FAIL {what}\n{words}")


def run(*command, expect=0):
    r = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    check(f"{' '.join(command[1:])}: status {expect}, was {r.returncode}", r.returncode == expect, r.stdout)
    return r.stdout


def log_of(folder):
    """The loss of each step; of a step done twice the second."""
    rows = [json.loads(line) for line in open(folder + "/log.jsonl")]
    return {row["step"]: row["loss"] for row in rows}


def killed_and_resumed(at, whole):
    """Kills a run with no warning, after its first checkpoints, and lets another go on with it."""
    part = subprocess.Popen([digits, "--smoke", "--out", at], stdout=subprocess.DEVNULL)
    started = time.time()
    while time.time() - started < 100 and part.poll() is None:
        if os.path.exists(at + "/log.jsonl") and open(at + "/log.jsonl").read().count("\n") >= 23:
            break
        time.sleep(0.01)
    part.kill()
    part.wait()
    said = run(digits, "--smoke", "--resume", "--out", at)
    check("it goes on", "going on behind step" in said, said)
    check("killed and resumed, the losses are the same to the last bit", log_of(at) == log_of(whole))


def begins(path, magic):
    with open(path, "rb") as f:
        return f.read(len(magic)) == magic


with tempfile.TemporaryDirectory() as at:
    run(digits, "--smoke", "--out", at)
    model = at + "/digits.safetensors"
    check("there is a model", os.path.getsize(model) > 100000)
    for name in ("digits.png", "loss.png"):
        check(f"{name} is a PNG", begins(f"{at}/{name}", b"\x89PNG"))
    said = run(read, "--model", model, "--count", "300", "--picture", at + "/read.png")
    check("it reads most digits", " of 300 read right" in said
          and int(said.split(" of 300")[0].split()[-1]) > 150, said)
    check("read.png is a PNG", begins(at + "/read.png", b"\x89PNG"))

    killed_and_resumed(at + "/killed", at)

    with open(at + "/broken", "wb") as f:
        f.write(open(model, "rb").read()[:-1])
    check("a broken model is named", "broken" in run(read, "--model", at + "/broken", expect=1))
    check("no model", "not/there" in run(read, "--model", "not/there", expect=1))
    check("no data", "not/there" in run(digits, "--data", "not/there", "--out", at, expect=1))
    check("help", "--epochs" in run(digits, "--help"))
    for wrong in (["--lr", "nan"], ["--batch", "0"], ["--epochs", "-1"], ["--nonsense"], ["--steps"]):
        run(digits, *wrong, expect=2)

print(f"{count['passed']} passed, {count['failed']} failed, 0 skipped")
sys.exit(count["failed"] > 0)
