#!/usr/bin/env python3
"""speech does what it says: a short run whose loss falls, pictures, every net with the published number of parameters,
runs that are killed or stopped and go on, files split as published, words found in a recording, refusals in words.

    check.py SPEECH
"""
import array
import hashlib
import math
import os
import random
import re
import sys
import tempfile
import wave

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../common"))
from checking import check, finish, is_png, kill, logged, runner, served, stopped_and_resumed  # noqa: E402

program = sys.argv[1]
run = runner(program)
SMALL = ["--smoke", "--model-architecture", "tiny_conv", "--learning-rate", "0.02", "--how-many-training-steps", "20",
         "--threads", "1"]
PARAMETERS = {"conv": 926860, "low_latency_conv": 949862, "low_latency_svdf": 751372, "single_fc": 47052, "tiny_conv": 94740}


def part_of(name):
    digest = int(hashlib.sha1(re.sub(r"_nohash_.*$", "", name).encode()).hexdigest(), 16)
    percent = digest % (1 << 27) * (100 / ((1 << 27) - 1))
    return 1 if percent < 10 else 2 if percent < 20 else 0


def write(path, samples, rate=16000):
    with wave.open(path, "wb") as file:
        file.setparams((1, 2, rate, 0, "NONE", ""))
        file.writeframes(array.array("h", [int(32767 * max(-1, min(1, s))) for s in samples]).tobytes())


def tone(hertz, seconds, rate=16000, loud=.5):
    return [loud * math.sin(2 * math.pi * hertz * i / rate) for i in range(int(seconds * rate))]


def nets(at):
    for name, count in PARAMETERS.items():
        said = run("--smoke", "--steps", "1", "--batch", "4", "--voices", "12", "--model-architecture", name, "--threads",
                   "1", "--out", f"{at}/{name}", expect=None)
        check(f"{name} has {count} parameters", f"{name}: {count} parameters" in said, said)


def files(at):
    """Three words of tones, of as many speakers as it takes for each part to have some."""
    chance, names, counts = random.Random(1), [], [0, 0, 0]
    while min(counts) < 4:
        names.append(f"{chance.randrange(1 << 32):08x}_nohash_0.wav")
        counts[part_of(names[-1])] += 1
    for word, hertz in (("yes", 440), ("no", 880), ("tree", 1500), ("_background_noise_", 0)):
        os.makedirs(f"{at}/data/{word}")
        for name in names if hertz else ["hum.wav"]:
            write(f"{at}/data/{word}/{name}", tone(hertz * chance.uniform(.97, 1.03) or 60, 1 if hertz else 3))
    write(f"{at}/data/yes/{names[0]}", tone(440, .6, 22050), 22050)  # shorter, of another rate
    words = ["--data", at + "/data", "--wanted-words", "yes,no", *SMALL[:3], "--learning-rate", "0.003", *SMALL[5:]]
    said = run(*words, "--steps", "60", "--out", at + "/run")
    want = [2 * n + 2 * math.ceil(n / 5) for n in counts]  # a tenth of both words unknown, a tenth silence
    check("the parts are those that are published", f"{want[0]} clips to learn from, {want[1]} and {want[2]} to be" in said,
          f"{want}\n{said}")
    check("the labels are kept", '"yes"' in open(at + "/run/labels.json").read())
    silence = [random.Random(5).gauss(0, .002) for _ in range(16000)]
    write(at + "/long.wav", silence + tone(440, 1) + silence + tone(880, 1) + silence)
    heard = run(*words, "--listen", at + "/long.wav", "--detection-threshold", "0.4", "--out", at + "/run")
    lines = [line.split() for line in heard.splitlines() if " s  " in line]
    check("both words are heard, where they are", [line[2] for line in lines] == ["yes", "no"]
          and .4 < float(lines[0][0]) < 2.2 and 2.4 < float(lines[1][0]) < 4.2, heard)
    check("a picture of it", is_png(at + "/run/heard.png"))
    said = run(*words, "--test", "--out", at + "/run")
    check("it is tried again", f"(N={want[2]})" in said and "test accuracy" in said, said)
    said = run(*words, "--listen", at + "/data/yes/" + names[1], "--clip-stride-ms", "7", "--out", at + "/run", expect=2)
    check("a stride between frames", "multiple" in said, said)
    with open(f"{at}/data/no/{names[0]}", "wb") as file:
        file.write(b"RIFF what is no sound")
    check("damage is named", names[0] in run(*words, "--steps", "40", "--out", at + "/damaged", expect=1))


def download(at):
    os.mkdir(at + "/served")
    with open(at + "/served/speech.tar.gz", "wb") as file:
        file.write(b"not what it should be")
    with served(at + "/served") as url:
        said = run("get-data", "--data", at + "/got", "--url", url + "/speech.tar.gz", expect=1)
        check("a wrong sum is told", "SHA-256" in said, said)


with tempfile.TemporaryDirectory() as at:
    said = run(*SMALL, "--out", at + "/whole")
    check("what was said and heard", "_silence_" in said and "valid accuracy" in said and "test accuracy" in said, said)
    for name in ("clips.png", "confusion.png", "loss.png", "accuracy.png"):
        check(f"{name} is a PNG", is_png(f"{at}/whole/{name}"))
    check("there is a best one", os.path.exists(at + "/whole/best.safetensors"))
    kill(8, program, *SMALL, "--save-every", "3", out=at + "/killed")
    run(*SMALL, "--save-every", "3", "--resume", "--out", at + "/killed")
    check("killed and resumed, all is the same to the last bit", logged(at + "/killed", "loss") == logged(at + "/whole", "loss"))
    stopped_and_resumed(5, program, *SMALL, out=at + "/stopped")
    check("stopped and resumed, too", logged(at + "/stopped", "loss") == logged(at + "/whole", "loss"))
    run("--smoke", "--model-architecture", "tiny_conv", "--preprocess", "average", "--steps", "2", "--threads", "1", "--out",
        at + "/average", expect=None)
    check("means of spectra", len(logged(at + "/average", "loss")) == 2)
    run(*SMALL[:3], "--how-many-training-steps", "15000,3000", "--learning-rate", "0.02,0.004", "--steps", "12", "--threads",
        "1", "--out", at + "/rates", expect=None)
    rates = logged(at + "/rates", "rate")
    check("the rates have their shares of the steps", [rates[i] for i in (1, 10, 11, 12)] == [.02, .02, .004, .004], rates)
    nets(at + "/nets")
    files(at)
    download(at)
    check("no data", "not/there" in run("--data", "not/there", "--out", at + "/x", expect=1))
    check("nothing to listen with", "best" in run("--listen", "x.wav", "--out", at + "/none", expect=1))
    check("as many rates as steps", "as many" in run("--learning-rate", "1", "--smoke", "--out", at + "/x", expect=2))
    for wrong in (["--model-architecture", "none"], ["--batch", "0"], ["--time-shift-ms", "-1"], ["--nonsense"]):
        run(*wrong, expect=2)
    check("help", "get-data" in run("--help"))

finish()
