#!/usr/bin/env python3
"""ptb does what it says: a short run whose loss falls, curves, runs that are killed or stopped and go on, words in the
order that is published, windows of the test of any length, text written by a checkpoint, refusals in words.

    check.py PTB
"""
import json
import os
import re
import struct
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../common"))
from checking import check, finish, is_png, kill, logged, runner, served, skip, stopped_and_resumed  # noqa: E402

program = sys.argv[1]
run = runner(program)
SMALL = ["--smoke", "--threads", "1"]
FIELDS = ("loss", "perplexity", "train perplexity", "valid perplexity")


def last(at, steps):
    return f"{at}/checkpoint-{steps:010}.safetensors"


def tensors(path):
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header, data = json.loads(file.read(size)), file.read()
    return {name: (entry["shape"], data[slice(*entry["data_offsets"])])
            for name, entry in header.items() if name != "__metadata__"}


def is_the_same(at, whole):
    for field in FIELDS:
        check(f"gone on with, {field} is the same to the last bit", logged(at, field) == logged(whole, field))


def killed_and_resumed(at, whole):
    """In the middle of an epoch, where states go from window to window."""
    words = [*SMALL, "--save-every", "20"]
    kill(75, program, *words, out=at)
    said = run(*words, "--resume", "--out", at)
    check("it goes on", "going on behind step" in said, said)
    is_the_same(at, whole)
    stopped_and_resumed(40, program, *SMALL, out=at + "/stopped")
    is_the_same(at + "/stopped", whole)
    said = run(*SMALL, "--seed", "2", "--resume", "--out", at, expect=1)
    check("a run of another text does not go on", "another text" in said, said)


def writing(at):
    words = ["--generate", "the company", "--count", "50", "--out", at]
    said = run(*words)
    check("it goes on with the prompt", said.startswith("the company "), said)
    check("it writes as many words", len(said.replace("\n", " <eos> ").split()) == 53, said)  # with a last end of line
    check("the same seed, the same text", run(*words) == said)
    check("another seed, another", run(*words, "--seed", "5") != said)
    likely = run(*words, "--temperature", "0", "--seed", "5")
    check("always the likeliest", likely == run(*words, "--temperature", "0"))
    check("it leaves the run alone", len(logged(at, "loss")) == 150)
    there = run(*words[:4], "--checkpoint", last(at, 150), "--out", at + "/elsewhere")
    check("a checkpoint is enough", there == said, there)
    said = run("--generate", "the unicorn", "--out", at, expect=1)
    check("a word it does not know is named", '"unicorn" is none of the 132' in said, said)
    check("nothing to write with", "no checkpoint" in run("--generate", "the", "--out", at + "/new", expect=1))
    with open(at + "/damaged", "wb") as file:
        data = bytearray(open(last(at, 150), "rb").read())
        data[-1] ^= 1
        file.write(data)
    said = run("--generate", "the", "--checkpoint", at + "/damaged", "--out", at, expect=1)
    check("damage is told", "damaged" in said, said)


def nets(at):
    """Every flag of the net, its checkpoint, and text from that."""
    plain = None
    for name, words in (("plain", []), ("tied", ["--tied"]), ("two", ["--two-biases"]),
                        ("awd", ["--tied", "--dropout", "0.4", "--variational", "--embedding-dropout", "0.1",
                                 "--weight-dropout", "0.5", "--ar", "2", "--tar", "1"]),
                        ("medium", ["--model", "medium", "--window", "10"]), ("test", ["--model", "test"])):
        out = f"{at}/{name}"
        run("--sentences", "300", "--batch", "4", "--width", "16", "--steps", "3", *words, "--out", out)
        losses = logged(out, "loss")
        check(f"{name} learns otherwise", losses != plain)
        plain = plain or losses
        check(f"{name} writes", run("--generate", "the", "--out", out).startswith("the"))
    there = tensors(last(at + "/awd", 3))
    check("tied is one matrix", "net/logits.weight" not in there and "net/embedding.weight" in there, sorted(there))


TEXT = " no it was <unk> \n aer no was <unk> \n\n" * 60


def from_files(at):
    os.makedirs(at + "/data")
    for name in ("train", "valid", "test"):
        with open(f"{at}/data/ptb.{name}.txt", "w", encoding="utf8") as file:
            file.write(TEXT if name == "train" else TEXT.replace("aer", "unheard"))
    plain = ["--data", at + "/data", "--width", "8", "--steps", "60", "--window", "6", "--threads", "1"]
    words = [*plain, "--batch", "4"]
    said = run(*words, "--out", at + "/out")
    check("words that are not in the first file are left out", "660 words to learn from, 600 and 600" in said, said)
    shape, text = tensors(last(at + "/out", 60))["words/all"]
    check("by falling count, then by their bytes", text == b"<eos> <unk> no was aer it", text)
    one = run(*words, "--test-window", "1", "--out", at + "/one")
    perplexity = [float(re.search(r"test perplexity: ([\d.]+)", text).group(1)) for text in (said, one)]
    check("a test word by word is the same", abs(perplexity[0] - perplexity[1]) < 2e-3, perplexity)
    said = run("--generate", "no", "--count", "300", "--out", at + "/out")
    check("it never writes <unk>", "<unk>" not in said and "aer" in said, said)
    said = run(*plain, "--batch", "400", "--out", at + "/x", expect=1)
    check("a text that is too short", "too short" in said, said)
    with open(at + "/data/ptb.train.txt", "wb") as file:
        file.write(b"one \xff two\n")
    check("no UTF-8 is told", "UTF-8" in run(*words, "--out", at + "/x", expect=1))
    os.remove(at + "/data/ptb.train.txt")
    check("a file that is not there is named", "ptb.train.txt" in run(*words, "--out", at + "/x", expect=1))


def downloads(at):
    os.makedirs(at + "/served")
    with open(at + "/served/ptb.train.txt", "w", encoding="utf8") as file:
        file.write("not what it should be\n")
    with served(at + "/served") as url:
        said = run("get-data", "--data", at + "/got", "--url", url, expect=1)
        check("a wrong sum is named", "ptb.train.txt" in said and "SHA-256" in said, said)
        check("what is wrong does not stay", not os.path.exists(at + "/got/ptb.train.txt"))
        said = run("get-data", "--data", at + "/none", "--url", url + "/nowhere", expect=1)
        check("what is not there is named", "404" in said, said)


with tempfile.TemporaryDirectory() as at:
    said = run(*SMALL, "--out", at + "/whole")
    check("how many numbers it learns", "50052 parameters, 28 windows of 20 words in 20 rows" in said, said)
    check("what the grammar allows", 2 < float(re.search(r"of the test would be ([\d.]+)", said).group(1)) < 3, said)
    check("how fast it is", "words/s" in said, said)
    check("ten reports an epoch", len(logged(at + "/whole", "perplexity")) == 53, logged(at + "/whole", "perplexity"))
    check("it has learned", float(re.search(r"test perplexity: ([\d.]+)", said).group(1)) < 10, said)
    check("curves", is_png(at + "/whole/perplexity.png"))
    check("the best one", os.path.exists(at + "/whole/best.safetensors"))
    rates = logged(at + "/whole", "rate")
    check("the rate falls behind the fourth epoch", [rates[28 * k + 1] for k in range(6)] == [1, 1, 1, 1, .5, .25], rates)
    killed_and_resumed(at + "/killed", at + "/whole")
    writing(at + "/whole")
    nets(at + "/nets")
    from_files(at + "/files")
    check("no data", "not/there" in run("--data", "not/there", "--out", at + "/x", expect=1))
    check("help", "get-data" in run("--help"))
    for wrong in (["--model", "huge"], ["--dropout", "2"], ["--batch", "0"], ["--nonsense"], ["fetch"],
                  ["--generate", ""]):
        run(*wrong, expect=2)
    if "lacks" in run("get-data", "--data", at + "/dead", "--url", "http://127.0.0.1:1/x", expect=1):
        skip("this build cannot download")
    else:
        downloads(at + "/get")

finish()
