#!/usr/bin/env python3
"""deepspeech does what it says: the published number of parameters, a short run that learns letters, pictures, runs that
are killed or stopped and go on, files in the layouts of LJ Speech and LibriSpeech, a language that beams listen to, a
file written down, refusals in words.

    check.py DEEPSPEECH
"""
import array
import math
import os
import sys
import tempfile
import wave

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../common"))
from checking import check, finish, is_png, kill, logged, runner, stopped_and_resumed  # noqa: E402

program = sys.argv[1]
run = runner(program)
SMALL = ["--smoke", "--threads", "1"]
NET = ["--filters", "4", "--rnn-hidden-size", "24", "--rnn-hidden-layers", "1", "--batch-norm-decay", "0.8"]


def write(path, text, rate=22050):
    """Letters as tones, one behind the other."""
    samples = [0] * (rate // 20)
    for letter in text:
        hertz = 0 if letter == " " else 300 + 90 * (ord(letter) - ord("a"))
        samples += [int(9000 * math.sin(2 * math.pi * hertz * i / rate)) for i in range(rate // 12)]
    with wave.open(path, "wb") as file:
        file.setparams((1, 2, rate, 0, "NONE", ""))
        file.writeframes(array.array("h", samples).tobytes())


def files(at):
    os.makedirs(at + "/lj/wavs")
    texts = ["a bad dad", "a cab", "dad had a bag", "a bad cab", "he had a cab", "a bag"]
    with open(at + "/lj/metadata.csv", "w") as file:
        for i, text in enumerate(texts):
            write(f"{at}/lj/wavs/LJ{i}.wav", text)
            file.write(f"LJ{i}|{text.upper()}!|{text.capitalize()}.\n")
    words = ["--data", at + "/lj", "--held-out", "0", *NET, "--threads", "1", "--batch", "3", "--learning-rate", "0.01"]
    said = run(*words, "--epochs", "60", "--out", at + "/learned")
    check("six utterances, all to be judged by", "6 utterances to learn from, 6 to be judged by" in said, said)
    errors = logged(at + "/learned", "valid/wer")
    check("they are learned by heart", min(errors.values()) < .2, errors)
    out = run(*NET, "--listen", at + "/lj/wavs/LJ1.wav", "--out", at + "/learned")
    check("a file is written down", out.startswith("a ") and 3 < len(out) < 12, out)
    check("with a picture of when", is_png(at + "/learned/letters.png"))
    said = run(*words, "--epochs", "1", "--beams", "8", "--lm-order", "2", "--out", at + "/beams")
    check("with and without beams", "without beams" in said, said)
    check("the n-grams are kept", "a bad" in open(at + "/beams/words.arpa").read())
    again = run(*words, "--epochs", "1", "--beams", "8", "--lm", at + "/beams/words.arpa", "--out", at + "/file")
    check("and are the same from a file", [line for line in again.splitlines() if "wrong" in line]
          == [line for line in said.splitlines() if "wrong" in line], again)
    open(at + "/bad.arpa", "w").write("\\data\\\nngram 1=2\n")
    check("damaged n-grams", "line" in run(*words, "--beams", "4", "--lm", at + "/bad.arpa", "--out", at + "/x", expect=1))
    chapter = at + "/libri/train/19/198"
    os.makedirs(chapter)
    for i, text in enumerate(texts):
        write(f"{chapter}/19-198-{i}.flac", text)  # what it is, its first bytes say
    open(chapter + "/19-198.trans.txt", "w").write("".join(f"19-198-{i} {text.upper()}\n" for i, text in enumerate(texts)))
    said = run("--data", at + "/libri/train", "--test-data", at + "/lj", *NET, "--threads", "1", "--batch", "3", "--steps",
               "2", "--out", at + "/libri-out")
    check("LibriSpeech's layout", "6 utterances to learn from, 6 to be judged by" in said, said)
    os.remove(chapter + "/19-198-3.flac")
    check("what is missing is named", "19-198-3.flac" in run("--data", at + "/libri/train", "--out", at + "/x", expect=1))
    check("what has neither layout", "metadata.csv" in run("--data", at + "/lj/wavs", "--out", at + "/x", expect=1))
    open(at + "/lj/wavs/LJ2.wav", "wb").write(b"RIFF")
    check("damage is told", "LJ2" in run(*words, "--out", at + "/x", expect=1))


with tempfile.TemporaryDirectory() as at:
    said = run("--steps", "1", "--made", "10", "--batch", "2", "--out", at + "/one")
    check("62,699,133 parameters", "62699133 parameters" in said, said)
    run(*SMALL, "--out", at + "/whole")
    for name in ("loss.png", "errors.png"):
        check(f"{name} is a PNG", is_png(f"{at}/whole/{name}"))
    kill(12, program, *SMALL, "--save-every", "5", out=at + "/killed")
    run(*SMALL, "--save-every", "5", "--resume", "--out", at + "/killed")
    check("killed and resumed, all is the same to the last bit", logged(at + "/killed", "loss") == logged(at + "/whole", "loss"))
    stopped_and_resumed(6, program, *SMALL, out=at + "/stopped")
    check("stopped and resumed, too", logged(at + "/stopped", "loss") == logged(at + "/whole", "loss"))
    files(at)
    check("nothing to listen with", "best" in run(*NET, "--listen", "x.wav", "--out", at + "/none", expect=1))
    for wrong in (["--rnn-type", "none"], ["--batch", "0"], ["--beams", "0"], ["--nonsense"]):
        run(*wrong, expect=2)

finish()
