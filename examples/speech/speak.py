#!/usr/bin/env python3
"""Has espeak-ng say the words of Speech Commands in many voices, in that data set's layout, with noises behind them.

    speak.py DIR [--voices 60] [--takes 3] [--seed 1]

DIR/WORD/VOICE_nohash_TAKE.wav are a second of 22,050 Hz, 16 bits; a take has a speed and a place in its second of its
own. speech splits by VOICE, as it does by speaker. DIR/_background_noise_ gets a minute each of white, pink and humming
noise.
"""
import argparse
import array
import math
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../common"))
from voices import RATE, say, say_all, voices, write  # noqa: E402

WORDS = ("yes no up down left right on off stop go bed bird cat dog happy house marvin sheila tree wow "
         "zero one two three four five six seven eight nine").split()


def say_word(word, voice, speed, pitch, lead, path):
    """Behind so much silence, a second in all."""
    said = say(word, voice, speed, pitch, path)
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
    for word in WORDS + ["_background_noise_"]:
        os.makedirs(os.path.join(o.folder, word), exist_ok=True)
    for voice in voices(o.voices, chance):
        pitch = chance.randint(30, 70)
        for word in WORDS:
            for take in range(o.takes):
                path = os.path.join(o.folder, word, f"{voice.replace('+', '-')}_nohash_{take}.wav")
                work.append((word, voice, chance.randint(120, 200), pitch, chance.random(), path))
    say_all(work, say_word)
    for kind in ("white", "pink", "hum"):
        write(os.path.join(o.folder, "_background_noise_", kind + ".wav"), noise(kind, chance))
    print(f"{len(work)} clips of {o.voices} voices in {o.folder}")


main()
