#!/usr/bin/env python3
"""chars does what it says: a short run whose loss falls, letters that it writes, any text file, runs that go on.

    check.py CHARS
"""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../common"))
from checking import check, finish, kill, logged, runner, stopped_and_resumed  # noqa: E402

program = sys.argv[1]
run = runner(program)
SMALL = ["--smoke", "--threads", "1"]

with tempfile.TemporaryDirectory() as at:
    said = run(*SMALL, "--out", at + "/whole")
    check("it writes at 16, 32 and 64 steps", said.count("it writes") == 3, said)
    kill(40, program, *SMALL, "--save-every", "20", out=at + "/killed")
    run(*SMALL, "--save-every", "20", "--resume", "--out", at + "/killed")
    check("killed and resumed, the losses are the same", logged(at + "/killed", "loss") == logged(at + "/whole", "loss"))
    stopped_and_resumed(30, program, *SMALL, out=at + "/stopped")
    check("stopped and resumed too", logged(at + "/stopped", "loss") == logged(at + "/whole", "loss"))
    with open(at + "/text", "wb") as file:
        file.write(b"abc\xff " * 400)
    said = run("--data", at + "/text", "--steps", "64", "--threads", "1", "--out", at + "/own")
    check("any bytes are a text", "abc" in said.split("after 64 steps")[1], said)
    with open(at + "/short", "w") as file:
        file.write("too short")
    check("a text that is too short", "at least 65 are needed" in run("--data", at + "/short", "--out", at + "/x", expect=1))
    check("no text", "not/there" in run("--data", "not/there", "--out", at + "/x", expect=1))
    check("help", "--temperature" in run("--help"))
    for wrong in (["--temperature", "0"], ["--epochs", "2"], ["--nonsense"]):
        run(*wrong, expect=2)

finish()
