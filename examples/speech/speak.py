#!/usr/bin/env python3
"""Has espeak-ng say the words of Speech Commands in many voices, in that data set's layout, with noises behind them.

    speak.py DIR [--voices 60] [--takes 3] [--seed 1]

DIR/WORD/VOICE_nohash_TAKE.wav are a second of 22,050 Hz, 16 bits; a take has a speed and a place in its second of its
own. speech splits by VOICE, as it does by speaker. DIR/_background_noise_ gets a minute each of white, pink and humming
noise.
"""
import argparse
import array
import concurrent.futures
import math
import os
import random
import subprocess
import sys
import wave

RATE = 22050
WORDS = ("yes no up down left right on off stop go bed bird cat dog happy house marvin sheila tree wow "
         "zero one two three four five six seven eight nine").split()
ACCENTS = "en-us en-gb en-gb-x-rp en-gb-scotland en-gb-x-gbclan en-gb-x-gbcwmd en-029".split()
VARIANTS = "m1 m2 m3 m4 m5 m6 m7 m8 f1 f2 f3 f4 f5 croak klatt klatt2 klatt3".split()


def write(path, samples):
    with wave.open(path, "wb") as file:
        file.setparams((1, 2, RATE, len(samples), "NONE", ""))
        file.writeframes(samples.tobytes())


def say(word, voice, speed, pitch, lead, path):
    """The word as espeak-ng says it, behind so much silence, a second in all."""
    subprocess.run(["espeak-ng", "-v", voice, "-s", str(speed), "-p", str(pitch), "-w", path, word], check=True,
                   stderr=subprocess.DEVNULL)
    with wave.open(path) as file:
        assert file.getframerate() == RATE and file.getsampwidth() == 2
        said = array.array("h", file.readframes(file.getnframes()))
    lead = int(lead * max(RATE - len(said), 0))
    write(path, (array.array("h", bytes(2 * lead)) + said + array.array("h", bytes(2 * RATE)))[:RATE])


def noise(kind, chance):
    sums, samples = [0.0] * 16, array.array("h")
    for i in range(60 * RATE):
        if kind == "pink":  # a sum of noises, each drawn anew half as often as the one before (Voss)
            k = (i & -i).bit_length() if i else 0
            sums[min(k, 15)] = chance.uniform(-1, 1)
            v = sum(sums) / 8
        elif kind == "hum":
            v = sum(math.sin(2 * math.pi * 50 * k * i / RATE) / k for k in (1, 2, 3, 5)) / 3 + chance.uniform(-.1, .1)
        else:
            v = chance.uniform(-1, 1)
        samples.append(int(16000 * max(-1, min(1, v))))
    return samples


def main():
    p = argparse.ArgumentParser()
    p.add_argument("folder")
    for name, default in (("voices", 60), ("takes", 3), ("seed", 1)):
        p.add_argument("--" + name, type=int, default=default)
    o = p.parse_args()
    chance, work = random.Random(o.seed), []
    kinds = [f"{accent}+{variant}" for accent in ACCENTS for variant in VARIANTS]
    chance.shuffle(kinds)
    if o.voices > len(kinds):
        sys.exit(f"there are {len(kinds)} voices")
    for word in WORDS + ["_background_noise_"]:
        os.makedirs(os.path.join(o.folder, word), exist_ok=True)
    for i, voice in enumerate(kinds[:o.voices]):
        pitch = chance.randint(30, 70)
        for word in WORDS:
            for take in range(o.takes):
                path = os.path.join(o.folder, word, f"{voice.replace('+', '-')}_nohash_{take}.wav")
                work.append((word, voice, chance.randint(120, 200), pitch, chance.random(), path))
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for i, _ in enumerate(pool.map(lambda row: say(*row), work)):
            if sys.stdout.isatty():
                print(f"\r{i + 1}/{len(work)}", end="", flush=True)
    for kind in ("white", "pink", "hum"):
        write(os.path.join(o.folder, "_background_noise_", kind + ".wav"), noise(kind, chance))
    print(f"\n{len(work)} clips of {o.voices} voices in {o.folder}")


main()
