#!/usr/bin/env python3
"""A program that learns to make digits does what it says: a short run whose loss falls, pictures, a film, new
digits from a checkpoint, a run that is killed and goes on, a download whose sum is wrong, refusals in words.

    generators.py PROGRAM FIELD       FIELD: a loss in its log
"""
import functools
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "common"))
from checking import check, finish, runner  # noqa: E402

program, field = sys.argv[1:3]
run = runner(program)


def losses(folder):
    """Of a step done twice the second."""
    rows = [json.loads(line) for line in open(folder + "/log.jsonl")]
    return {row["step"]: row[field] for row in rows if field in row}


def killed_and_resumed(at, whole):
    part = subprocess.Popen([program, "--smoke", "--out", at], stdout=subprocess.DEVNULL)
    started = time.time()
    while time.time() - started < 100 and part.poll() is None:
        if os.path.exists(at + "/log.jsonl") and open(at + "/log.jsonl").read().count("\n") >= 8:
            break
        time.sleep(.01)
    part.kill()
    part.wait()
    said = run("--smoke", "--resume", "--out", at)
    check("it goes on", "going on behind step" in said, said)
    check("killed and resumed, the losses are the same to the last bit", losses(at) == losses(whole))


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass


def download(at):
    os.mkdir(at + "/served")
    with open(at + "/served/train-images-idx3-ubyte.gz", "wb") as file:
        file.write(b"not what it should be")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0),
                                             functools.partial(Quiet, directory=at + "/served"))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    said = run("get-data", "--data", at + "/got", "--url", url, expect=1)
    check("a wrong sum is named", "train-images" in said and "SHA-256" in said, said)
    check("what is wrong does not stay", not os.path.exists(at + "/got/train-images-idx3-ubyte.gz"))
    said = run("get-data", "--data", at + "/none", "--url", url + "/nowhere", expect=1)
    check("what is not there is named", "404" in said, said)
    server.shutdown()


def magic(path):
    with open(path, "rb") as file:
        return file.read(6)


with tempfile.TemporaryDirectory() as at:
    run("--smoke", "--out", at)
    check("a sheet of the start and of the end", all(
        magic(f"{at}/epoch-000{k}.png")[1:4] == b"PNG" for k in (0, 1)))
    check("curves", magic(at + "/losses.png")[1:4] == b"PNG")
    check("a film", not os.path.exists(at + "/epochs.gif") or magic(at + "/epochs.gif") == b"GIF89a")
    run("--sample", "--out", at)
    check("new digits", magic(at + "/sample.png")[1:4] == b"PNG")
    check("sampling leaves the run alone", os.path.exists(at + "/log.jsonl"))
    killed_and_resumed(at + "/killed", at)
    check("nothing to sample from", "checkpoint" in run("--sample", "--out", at + "/new", expect=1))
    check("no data", "not/there" in run("--data", "not/there", "--out", at, expect=1))
    check("help", "get-data" in run("--help"))
    run("fetch", expect=2)
    for wrong in (["--lr", "nan"], ["--batch", "0"], ["--epochs", "-1"], ["--nonsense"], ["--steps"]):
        run(*wrong, expect=2)
    download(at)

finish()
