#!/usr/bin/env python3
"""cvt does what it says: a short run whose loss falls, runs that are killed or stopped and go on, with marks alone and
with texts without, files of CoNLL-2000 and of CoNLL-U, vectors, words that are read by a checkpoint, refusals in words.

    check.py CVT
"""
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../common"))
from checking import check, finish, is_png, kill, logged, needs, runner, stopped_and_resumed  # noqa: E402

program = sys.argv[1]
run = runner(program)
SMALL = ["--smoke", "--threads", "1"]
TAGS = {"the": ("DET", "B-NP", "det"), "dog": ("NOUN", "I-NP", "nsubj"), "boat": ("NOUN", "I-NP", "obj"),
        "sees": ("VERB", "B-VP", "root"), ".": ("PUNCT", "O", "punct")}


def last(at, field):
    values = logged(at, field)
    return values[max(values)]


def killed_and_resumed(at, whole):
    kill(25, program, *SMALL, "--save-every", "10", out=at)
    said = run(*SMALL, "--save-every", "10", "--resume", "--out", at)
    check("it goes on", "going on behind step" in said, said)
    for field in ("loss", "views", "valid f1", "valid labelled", "test f1"):
        check(f"gone on with, {field} is the same to the last bit", logged(at, field) == logged(whole, field))
    stopped_and_resumed(20, program, *SMALL, out=at + "/stopped")
    check("stopped too", logged(at + "/stopped", "views") == logged(whole, "views"))


def reading(at):
    words = "the old dog sees 2 boats .".split()
    said = run("--read", " ".join(words), "--out", at)
    rows = [line.split(" ") for line in said.rstrip("\n").split("\n")]
    check("a line for each word", [row[1] for row in rows] == words and [int(row[0]) for row in rows] == [*range(1, 8)])
    check("chunk, head and relation", all(len(row) == 5 and re.fullmatch("[BIES]-[A-Z]+|O", row[2]) and
                                          0 <= int(row[3]) <= 7 for row in rows), said)
    with open(at + "/texts", "w", encoding="utf8") as file:
        file.write(" ".join(words) + "\n\nthe dog\n")
    check("of a file too", run("--read-file", at + "/texts", "--out", at).startswith(said + "\n"))
    check("nothing to read with", "no checkpoint" in run("--read", "a", "--out", at + "/new", expect=1))


def write_2000(folder):
    os.makedirs(folder)
    for name, count in (("train.txt", 60), ("test.txt", 9)):
        with open(f"{folder}/{name}", "w", encoding="utf8") as file:
            for i in range(count):
                words = ["the", "dog", "sees", "the", "boat", "."][:6 if i % 2 else 5]
                file.writelines(f"{w} {TAGS[w][0]} {TAGS[w][1]}\n" for w in words)
                file.write("\n")


def write_u(folder):
    os.makedirs(folder)
    for name, count in (("a-train.conllu", 60), ("a-dev.conllu", 6), ("a-test.conllu", 9)):
        with open(f"{folder}/{name}", "w", encoding="utf8") as file:
            for i in range(count):
                words, heads = ["the", "dog", "sees", "the", "boat", "."], [2, 3, 0, 5, 3, 3]
                for k, (w, head) in enumerate(zip(words, heads)):
                    file.write(f"{k + 1}\t{w}\t{w}\t{TAGS[w][0]}\t_\t_\t{head}\t{TAGS[w][2]}\t_\t_\n")
                file.write("\n")


def files(at):
    write_2000(at + "/2000")
    words = ["--data", at + "/2000", "--size", "tiny", "--warm-up", "10", "--averaging", "0.9", "--batch", "8", "--threads",
             "1", "--steps", "60"]
    said = run(*words, "--out", at + "/a")
    check("chunks of files", "54 sentences with marks, none without" in said, said)
    check("they are learned", last(at + "/a", "test f1") == 100, said)
    check("tags too", "tags 100.00 %; chunks" in run(*words, "--tasks", "tags,chunks", "--out", at + "/b"))
    said = run(*words, "--tasks", "arcs", "--out", at + "/x", expect=1)
    check("tasks that are not there are named", "have no arcs" in said, said)
    for tasks, why in (("tags,chunk", '"chunk" is none of tags'), (",", "names none")):
        check(f"tasks there are not: {tasks}", why in run(*words, "--tasks", tasks, "--out", at + "/x", expect=1))
    with open(at + "/more", "w", encoding="utf8") as file:
        file.write("the boat sees the dog .\n" * 40)
    with open(at + "/vectors", "w", encoding="utf8") as file:
        file.writelines(f"{w} {' '.join(str(i % 3 / 4) for i in range(16))}\n" for w in ("the", "dog"))
    said = run(*words, "--unmarked", at + "/more", "--vectors", at + "/vectors", "--out", at + "/c")
    check("other texts", "54 sentences with marks, those of files without" in said, said)
    check("views learn of them", last(at + "/c", "views") < logged(at + "/c", "views")[1])
    check("a file that is not there", "nowhere" in run(*words, "--unmarked", at + "/nowhere", "--out", at + "/x", expect=1))
    check("vectors of another size", "16" in run(*words, "--vectors", at + "/more", "--out", at + "/x", expect=1))
    write_u(at + "/u")
    words[1], words[-1] = at + "/u", "200"
    said = run(*words, "--out", at + "/d")
    check("arcs of files", "60 sentences with marks" in said and last(at + "/d", "test labelled") > 80, said)
    with open(at + "/u/a-train.conllu", "a", encoding="utf8") as file:
        file.write("1\tdog\n\n")
    check("a bad file is named", "a-train.conllu" in run(*words, "--out", at + "/x", expect=1))


with tempfile.TemporaryDirectory() as at:
    needs("utf8proc", program, *SMALL, "--steps", "1", "--out", at + "/first")
    said = run(*SMALL, "--out", at + "/whole")
    check("the tiny one", "1000 sentences with marks, the others without" in said and "tiny: " in said, said)
    check("it says how it does", "the test: chunks F1" in said and "labelled" in said, said)
    check("curves", is_png(at + "/whole/losses.png") and is_png(at + "/whole/judged.png"))
    rates = logged(at + "/whole", "rate")
    check("the rate rises and falls", rates[1] < rates[51] > rates[60], rates)
    reading(at + "/whole")
    killed_and_resumed(at + "/killed", at + "/whole")
    said = run(*SMALL, "--supervised", "--out", at + "/supervised")
    check("marks alone", "none without" in said and not logged(at + "/supervised", "views"), said)
    files(at)
    check("no data", "not/there" in run("--data", "not/there", "--out", at + "/x", expect=1))
    for wrong in (["--size", "huge"], ["--dropout", "2"], ["--share", "2"], ["--nonsense"]):
        run(*wrong, expect=2)

finish()
