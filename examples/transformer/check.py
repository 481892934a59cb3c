#!/usr/bin/env python3
"""transformer does what it says: a short run whose loss falls, pictures of all heads, runs that are killed or stopped
and go on, translations of a text and of a file by a checkpoint, BLEU of files, texts of one's own, refusals in words.

    check.py TRANSFORMER
"""
import os
import re
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../common"))
from checking import (check, finish, is_png, kill, logged, needs, output_of, runner, served, skip,  # noqa: E402
                      stopped_and_resumed)

program = sys.argv[1]
run = runner(program)
SMALL = ["--smoke", "--threads", "1"]


def killed_and_resumed(at, whole):
    words = [*SMALL, "--save-every", "20"]
    kill(45, program, *words, out=at)
    said = output_of(program, *words, "--resume", "--out", at)
    check("it goes on", "going on behind step" in said, said)
    check("the speed counts steps, as batches have no fixed size", " steps per second" in said, said)
    for field in ("loss", "valid loss", "valid bleu", "test bleu"):
        check(f"gone on with, {field} is the same to the last bit", logged(at, field) == logged(whole, field))
    stopped_and_resumed(30, program, *SMALL, out=at + "/stopped")
    check("stopped too", logged(at + "/stopped", "loss") == logged(whole, "loss"))


def translating(at):
    words = ["--translate", "forty-two thousand one", "--out", at]
    said = run(*words)
    check("one line", said.count("\n") == 1 and len(said) > 3, said)
    check("the same again", run(*words) == said)
    check("other beams", run(*words, "--beams", "1", "--extra", "2").count("\n") == 1)
    with open(at + "/texts", "w", encoding="utf8") as file:
        file.write("forty-two thousand one\nseven\n\nforty-two thousand one\n")
    lines = run("--translate-file", at + "/texts", "--out", at).split("\n")
    check("a line for each", len(lines) == 5 and lines[0] + "\n" == said and lines[3] == lines[0], lines)
    for name in ("encoder", "decoder", "between"):
        check(f"heads of the {name}", is_png(f"{at}/attention-{name}.png"))
    shutil.copy(at + "/subtokens.txt", at + "/others")
    os.makedirs(at + "/elsewhere")
    said = run(*words[:2], "--checkpoint", f"{at}/checkpoint-0000000080.safetensors", "--vocabulary-file",
               at + "/others", "--out", at + "/elsewhere")
    check("a checkpoint and its subtokens are enough", said == lines[0] + "\n", said)
    with open(at + "/others", "a", encoding="utf8") as file:
        file.write("'more'\n")
    said = run(*words, "--vocabulary-file", at + "/others", expect=1)
    check("other subtokens are refused", "subtokens, the file has" in said, said)
    check("nothing to translate with", "no checkpoint" in run(*words[:2], "--out", at + "/new", expect=1))


def judging(at):
    for name, text in (("a", "The cat sat on the mat .\nIt is so.\n"), ("b", "The cat sat on the mat.\nIt was So.\n"),
                       ("c", "one\n")):
        with open(f"{at}/{name}", "w", encoding="utf8") as file:
            file.write(text)
    same = run("--bleu-source", at + "/a", "--bleu-ref", at + "/a", "--out", at)
    check("BLEU of itself", "BLEU 100.00, with case 100.00, of 2 texts" in same, same)
    two = re.match(r"BLEU ([\d.]+), with case ([\d.]+)", run("--bleu-source", at + "/a", "--bleu-ref", at + "/b", "--out", at))
    check("case counts", two and 100 > float(two[1]) > float(two[2]) > 40, two)
    check("as many lines", "2 lines" in run("--bleu-source", at + "/c", "--bleu-ref", at + "/a", "--out", at, expect=1))


def own_texts(at):
    os.makedirs(at + "/data")
    for name in ("train", "val", "test"):
        for language, text in (("aa", "a b c"), ("bb", "c b a")):
            with open(f"{at}/data/{name}.{language}", "w", encoding="utf8") as file:
                file.writelines(f"{text} {i % 7}\n" for i in range(200 if name == "train" else 10))
    words = ["--data", at + "/data", "--from", "aa", "--to", "bb", "--model", "tiny", "--steps", "8", "--tokens", "256",
             "--threads", "1"]
    said = run(*words, "--out", at + "/out")
    check("it reads them", "200 pairs to learn from, 10 and 10 to be judged by" in said, said)
    said = run(*words, "--longest", "4", "--out", at + "/x", expect=1)
    check("longer ones are left out", "longer than the longest" in said, said)
    with open(at + "/data/train.bb", "a", encoding="utf8") as file:
        file.write("one more\n")
    check("lines must match", "more lines of bb than 200" in run(*words, "--out", at + "/x", expect=1))
    os.remove(at + "/data/val.aa")
    os.remove(at + "/data/train.bb")
    check("a file that is not there is named", "train" in run(*words, "--out", at + "/x", expect=1))


def downloads(at):
    os.makedirs(at + "/served")
    with open(at + "/served/train.en.gz", "w", encoding="utf8") as file:
        file.write("not what it should be\n")
    with served(at + "/served") as url:
        said = run("get-data", "--data", at + "/got", "--url", url, expect=1)
        check("a wrong sum is named", "train.en.gz" in said and "SHA-256" in said, said)


with tempfile.TemporaryDirectory() as at:
    needs("utf8proc", program, *SMALL, "--steps", "1", "--out", at + "/first")
    said = run(*SMALL, "--out", at + "/whole")
    check("the tiny one", "tiny: " in said and "1000 pairs to learn from, 500 and 500" in said, said)
    check("it says how it does", "BLEU" in said and "right to the letter" in said, said)
    check("curves", is_png(at + "/whole/losses.png"))
    check("a word is made of subtokens", "'hundert" in open(at + "/whole/subtokens.txt", encoding="utf8").read())
    rates = logged(at + "/whole", "rate")
    check("the rate rises and falls", rates[1] < rates[30] > rates[80], rates)
    translating(at + "/whole")
    killed_and_resumed(at + "/killed", at + "/whole")
    judging(at)
    own_texts(at + "/own")
    check("no data", "not/there" in run("--data", "not/there", "--out", at + "/x", expect=1))
    check("help", "get-data" in run("--help"))
    for wrong in (["--model", "huge"], ["--dropout", "2"], ["--beams", "0"], ["--nonsense"], ["--bleu-ref", "x"]):
        run(*wrong, expect=2)
    if "lacks" in run("get-data", "--data", at + "/dead", "--url", "http://127.0.0.1:1/x", expect=1):
        skip("this build cannot download")
    else:
        downloads(at + "/get")

finish()
