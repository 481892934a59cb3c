#!/usr/bin/env python3
"""neural_gpu does what it says: every task makes what it is called, a short run whose loss falls, pictures, runs that are
killed or stopped and go on, sets of parameters that come together, refusals in words.

    check.py NEURAL_GPU TASKS         TASKS: prints tapes of each task
"""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../common"))
from checking import check, finish, is_png, kill, logged, runner, stopped_and_resumed  # noqa: E402

program, tasks = sys.argv[1:3]
run = runner(program)
SMALL = ["--smoke", "--threads", "1"]
BASES = {"badd": 2, "bmul": 2, "qadd": 4}


def number(digits, base):
    return sum((d - 1) * base ** i for i, d in enumerate(digits))


def pairs(tape):
    return [tuple(tape[i:i + 2]) for i in range(0, len(tape), 2)]


def wanted(task, tape, n):
    """What the task makes of a tape, blanks left out."""
    base = BASES.get(task, 10)
    if task in ("add", "badd", "qadd", "mul", "bmul"):
        a, b = number(tape[:n], base), number(tape[n + 1:], base)
        value, length = (a * b, 2 * n) if "mul" in task else (a + b, n + 1)
        return [value // base ** i % base + 1 for i in range(length)]
    if task == "incr":
        return [(number(tape, 10) + 1) // 10 ** i % 10 + 1 for i in range(n)]
    if task == "kvsort":
        return [v for pair in sorted(pairs(tape), key=lambda p: p[0]) for v in pair]
    if task == "rev2":
        return [v for pair in pairs(tape)[::-1] for v in pair]
    if task == "search":
        return [next(v for k, v in pairs(tape[:-1]) if k == tape[-1])]
    return {"sort": sorted(tape), "id": tape, "rev": tape[::-1], "dup": tape + tape, "left": tape[:1], "right": tape[-1:],
            "left-shift": tape[1:] + tape[:1], "right-shift": tape[-1:] + tape[:-1]}[task]


def algorithms():
    lines = [line.split() for line in runner(tasks)().splitlines()]
    wrong = []
    for task, n, *numbers in lines:
        tape, made = numbers[:len(numbers) // 2], numbers[len(numbers) // 2:]
        tape, made = [int(v) for v in tape if int(v)], [int(v) for v in made]
        want = wanted(task, tape, int(n))
        if made != want + [0] * (len(made) - len(want)):
            wrong.append((task, tape, made, want))
    check("tapes of every task", len({line[0] for line in lines}) == 17 and len(lines) >= 17 * 50, len(lines))
    check("are what it makes of them", not wrong, wrong[:3])


with tempfile.TemporaryDirectory() as at:
    algorithms()
    said = run(*SMALL, "--out", at + "/whole")
    check("it says how far it goes", "it learned from up to" in said, said)
    for name in ("states.png", "right.png", "loss.png", "digits.png"):
        check(f"{name} is a PNG", is_png(f"{at}/whole/{name}"))
    apart = [row["apart"] for row in logged(at + "/whole").values() if "apart" in row]
    check("sets of parameters come nearer to each other", len(apart) == 6 and apart[-1] < apart[0], apart)
    kill(20, program, *SMALL, "--save-every", "7", out=at + "/killed")
    run(*SMALL, "--save-every", "7", "--resume", "--out", at + "/killed")
    check("killed and resumed, all is the same to the last bit", logged(at + "/killed", "loss") == logged(at + "/whole", "loss"))
    stopped_and_resumed(10, program, *SMALL, out=at + "/stopped")
    check("stopped and resumed, too", logged(at + "/stopped", "loss") == logged(at + "/whole", "loss"))
    noisy = logged((run(*SMALL, "--noise", "1", "--out", at + "/noise", expect=None), at + "/noise")[1], "loss")
    check("noise changes what is learned", noisy[1] == logged(at + "/whole", "loss")[1] and noisy[60] != logged(
        at + "/whole", "loss")[60])
    check("noise is not for f16", "--noise" in run("--noise", "1", "--precision", "f16", "--out", at + "/x", expect=2))
    said = run("--smoke", "--threads", "1", "--task", "id", "--relaxed", "1", "--max-length", "2", "--steps", "400", "--lr",
               "0.01", "--dropout", "0", "--out", at + "/id")
    check("a task is learned", "   2 digits: 100.00 % right" in said, said)
    said = run("--examine", *SMALL[1:], "--task", "id", "--maps", "8", "--relaxed", "1", "--max-length", "2", "--test-length",
               "3", "--out", at + "/id")
    check("and examined again", "   2 digits: 100.00 % right" in said and "   3 digits" in said, said)
    check("nothing to examine", "checkpoint" in run("--examine", "--out", at + "/none", expect=1))
    for wrong in (["--task", "none"], ["--batch", "0"], ["--max-length", "201"], ["--nonsense"]):
        run(*wrong, expect=2)

finish()
