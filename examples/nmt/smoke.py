#!/usr/bin/env python3
"""The translator does what it says: a short run whose loss falls, attention maps, a sentence translated with a
checkpoint, runs that are killed or stopped and go on, files of sentences good and bad, a download right and wrong,
refusals in words.

    smoke.py NMT
"""
import gzip
import hashlib
import os
import sys
import tempfile
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../common"))
from checking import (aliases_of, check, finish, is_png, kill, logged, needs, runner, served, skip,  # noqa: E402
                      stopped_and_resumed)

program = sys.argv[1]
run = runner(program)
ARCHIVE = 2638744  # bytes that the archive of the tutorial has


def train(*words, expect=0):
    return run("--smoke", "--threads", "1", *words, expect=expect)


# ---- training and translating -----------------------------------------------------------------------------

def killed_and_resumed(at, whole):
    """Kills a run with no warning, in the middle of its third epoch, and lets another go on with it."""
    kill(32, program, "--smoke", "--threads", "1", out=at)
    said = train("--resume", "--out", at)
    check("it goes on", "going on behind step" in said, said)
    is_the_same(at, whole)
    stopped_and_resumed(12, program, "--smoke", "--threads", "1", out=at + "/stopped")
    is_the_same(at + "/stopped", whole)


def is_the_same(at, whole):
    for field in ("loss", "test loss"):
        check(f"gone on with, {field} is the same to the last bit", logged(at, field) == logged(whole, field))


def translations(at):
    said = run("--infer", "¿Ven los NIÑOS la casa?", "--out", at)
    check("it reads as it was taught", "¿ ven los ninos la casa ? -> " in said, said)
    check("it leaves the run alone", sorted(logged(at, "loss")) == list(range(1, 81)))
    check("it draws what it looked at", is_png(at + "/attention.png"))
    latest = at + "/checkpoint-0000000080.safetensors"
    there = run("--infer", "¿Ven los niños la casa?", "--model", latest, "--out", at + "/elsewhere")
    check("a checkpoint is enough", there.split("\n")[0] == said.split("\n")[0], there)
    said = run("--infer", "Ven la luna.", "--out", at, expect=1)
    check("an unknown word is named", '"luna"' in said, said)
    said = run("--infer", "ven " * 30, "--out", at, expect=1)
    check("a long sentence is refused", "30 words" in said, said)
    check("nothing to translate with", "no checkpoint" in run("--infer", "ven", "--out", at + "/new", expect=1))
    said = run("--infer", "ven", "--device", "cuda:99", "--out", at, expect=1)
    check("a device that is not there", "--device cuda:99: " in said, said)
    with open(latest, "rb") as file:
        data = bytearray(file.read())
    data[-1] ^= 1
    with open(at + "/damaged", "wb") as file:
        file.write(data)
    said = run("--infer", "ven", "--model", at + "/damaged", "--out", at, expect=1)
    check("damage is told", "damaged" in said, said)
    said = train("--pairs", "999", "--resume", "--out", at, expect=1)
    check("a run with other sentences does not go on", "words" in said, said)


# ---- sentences --------------------------------------------------------------------------------------------

LINES = "".join(f"I see {n} cats!\tVeo {n} \"gatos\", ¿eh?\tnobody\n" for n in ("one", "two", "Zoë's")) * 30


def sentences(at):
    os.mkdir(at)
    with gzip.open(at + "/spa.txt.gz", "wt", encoding="utf8") as file:
        file.write(LINES)
    said = train("--data", at, "--batch", "8", "--out", at + "/out")
    check("sentences are cleaned",
          "Spanish of 10 words and marks at most, 12 different ones; English of 8, 10" in said, said)
    check("sentences with words that are not in the vocabulary are not shown", '"hace"' not in said
          and "hace mucho" not in said, said)
    for what, data, words in (("no tab", b"one\tuno\ntwo dos\n", "line 2"), ("no UTF-8", b"one\tun\xff\n", "UTF-8"),
                              ("nothing", b"", "not a single pair"),
                              ("few", b"a\tb\n" * 20, "16 training samples are not enough for a batch of 64: use a smaller --batch")):
        with open(at + "/spa.txt", "wb") as file:
            file.write(data)
        check(f"{what} is told", words in (said := train("--data", at, "--out", at + "/out", expect=1)), said)


def published(at):
    """A command line of tensorflow/nmt: its flags are names of ours or cost a warning; two files, a file translated."""
    os.mkdir(at)
    source, target = [f"Veo {n} gatos y {m} casas." for n in ("un", "dos", "tres") for m in ("una", "cuatro")], [
        f"I see {n} cats and {m} houses." for n in ("one", "two", "three") for m in ("one", "four")]
    for name, lines in (("es", source), ("en", target)):
        with open(f"{at}/train.{name}", "w", encoding="utf8") as file:
            file.write("\n".join(lines * 20) + "\n")
    usual = ["--src=es", "--tgt=en", f"--train_prefix={at}/train", "--batch_size=8"]
    names, ignored = aliases_of(run("--help"))
    said = train(*usual, "--num_train_steps=40.0", "--num_units=32", f"--out_dir={at}/plain", "--random_seed=3")
    check("two files", said.startswith("120 pairs (") and len(logged(at + "/plain", "loss")) == 40, said)
    told = train(*usual, "--num_train_steps=40", "--num_units=32", f"--out_dir={at}/out", "--random_seed=3",
                 *[name + "=1" for name in ignored])
    check("what is ignored changes nothing", logged(at + "/plain", "loss") == logged(at + "/out", "loss"), told)
    check("each costs a warning", all(told.count(f"warning: {name} is ignored: ") == 1 for name in ignored)
          and len(ignored) > 50 and names["--num_units"] == ["--units", None], told)
    other = train(*usual, "--num_train_steps=40", f"--out_dir={at}/sgd", "--optimizer=SGD", "--learning_rate=1.0",
                  "--decay_scheme=luong234", "--warmup_steps=4", "--max_gradient_norm=5", "--num_keep_ckpts=1")
    check("another optimizer", logged(at + "/sgd", "loss") != logged(at + "/out", "loss"), other)
    check("one checkpoint", len([n for n in os.listdir(at + "/sgd") if n.startswith("checkpoint")]) == 1)
    with open(at + "/in", "w", encoding="utf8") as file:
        file.write("Veo dos gatos y una casas.\nVeo TRES gatos.\n")
    run(f"--out_dir={at}/out", f"--inference_input_file={at}/in", f"--inference_output_file={at}/translated")
    lines = open(at + "/translated", encoding="utf8").read().splitlines()
    check("a translation per line", len(lines) == 2 and all("<" not in line and not line.endswith(" ") for line in lines)
          and set(" ".join(lines).split()) <= set("i see one two three four cats and houses .".split()), lines)
    check("the run is left alone", len(logged(at + "/out", "loss")) == 40)
    run(f"--out_dir={at}/out", f"--inference_input_file={at}/in", expect=2)
    check("both endings", "--src and --tgt" in run(f"--train_prefix={at}/train", "--src=es", "--out", at + "/x", expect=2))
    check("no such files", "train.de" in run(f"--train_prefix={at}/train", "--src=es", "--tgt=de", "--out", at + "/x",
                                             expect=1))


# ---- downloads --------------------------------------------------------------------------------------------

def archive(path, size):
    """A zip of exactly that size, filled up with a member nobody wants."""
    fill = 0
    for _ in range(2):
        with zipfile.ZipFile(path, "w") as z:
            z.writestr("spa-eng/spa.txt", LINES)
            z.writestr("spa-eng/_about.txt", "who wrote it")
            z.writestr("spa-eng/fill", bytes(fill))
        fill += size - os.path.getsize(path)


def downloads(at):
    os.makedirs(at + "/served/short")
    name = "/spa-eng.zip"
    archive(at + "/served" + name, ARCHIVE)
    check("the archive of the test has the right size", os.path.getsize(at + "/served" + name) == ARCHIVE)
    archive(at + "/served/short" + name, ARCHIVE - 1)
    with served(at + "/served") as url:
        right = hashlib.sha256(LINES.encode()).hexdigest()
        said = run("get-data", "--data", at + "/got", "--url", url + name, "--sha256", right)
        text = at + "/got/unpacked/spa-eng/spa.txt"
        check("what it was", open(text, encoding="utf8").read() == LINES, said)
        said = train("--data", at + "/got", "--batch", "8", "--out", at + "/out")
        check("it is where training looks", said.startswith("90 pairs"), said)
        said = run("get-data", "--data", at + "/other", "--url", url + name, expect=1)
        check("other sentences are refused", right in said and not os.path.exists(at + "/other/unpacked"), said)
        os.remove(at + "/served" + name)
        run("get-data", "--data", at + "/got", "--url", url + name)  # nothing is fetched twice
        said = run("get-data", "--data", at + "/short", "--url", f"{url}/short{name}", expect=1)
        check("another size is refused", f"{ARCHIVE - 1} bytes, not {ARCHIVE}" in said, said)
        check("what is wrong does not stay", not os.listdir(at + "/short"))
        said = run("get-data", "--data", at + "/none", "--url", url + "/nowhere", expect=1)
        check("what is not there is named", "404" in said, said)


with tempfile.TemporaryDirectory() as at:
    needs("utf8proc", program, "--smoke", "--steps", "1", "--out", at + "/first")
    said = train("--out", at)
    check("every pair counts", said.startswith("1000 pairs"), said)
    for picture in ("attention-1.png", "attention-4.png", "losses.png"):
        check(f"{picture} is a PNG", is_png(f"{at}/{picture}"))
    check("a row for each step", sorted(logged(at, "loss")) == list(range(1, 81)))
    check("the pairs kept back are looked at", len(logged(at, "test loss")) == 7)
    killed_and_resumed(at + "/killed", at)
    translations(at)
    sentences(at + "/sentences")
    published(at + "/published")
    said = run("--data", "not/there", "--out", at + "/x", expect=1)
    check("no data", "not/there" in said and "get-data" in said, said)
    check("help", "--infer" in run("--help"))
    run("fetch", expect=2)
    for wrong in (["--pairs", "-1"], ["--batch", "0"], ["--units", "x"], ["--nonsense"], ["--infer"],
                  ["--infer", ""], ["get-data", "more"]):
        run(*wrong, expect=2)
    if "lacks" in run("get-data", "--data", at + "/dead", "--url", "http://127.0.0.1:1/x", expect=1):
        skip("this build cannot download")
    else:
        downloads(at + "/get")

finish()
