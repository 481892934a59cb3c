#!/usr/bin/env python3
"""Has espeak-ng say sentences of a small grammar in many voices, in the layout of LJ Speech.

    speak.py DIR [--train 1500] [--test 150] [--voices 50] [--seed 1]

DIR/train and DIR/test get metadata.csv and wavs. The sentences of test are none of train's, and its voices, a fifth of
all, none of train's either.
"""
import argparse
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../common"))
from voices import say, say_all, voices  # noqa: E402

WHO = "man woman boy girl teacher doctor king child farmer sailor".split()
HOW = "old young little happy tired quiet strange brave".split()
DOES = "sees finds wants loves buys paints brings forgets".split()
WHAT = "house garden river book horse letter window flower boat stone".split()
LIKE = "red white big small new broken golden heavy".split()
WHEN = ["today", "tonight", "again", "at once", "in the morning", "after dinner", "every day"]


def sentence(chance):
    who = f"{chance.choice(('the', 'a', 'this', 'my'))} {chance.choice(('', chance.choice(HOW) + ' '))}{chance.choice(WHO)}"
    what = f"{chance.choice(('the', 'a', 'her', 'his'))} {chance.choice(('', chance.choice(LIKE) + ' '))}{chance.choice(WHAT)}"
    return f"{who} {chance.choice(DOES)} {what}{chance.choice(('', ' ' + chance.choice(WHEN)))}"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("folder")
    for name, default in (("train", 1500), ("test", 150), ("voices", 50), ("seed", 1)):
        p.add_argument("--" + name, type=int, default=default)
    o = p.parse_args()
    chance, work, said = random.Random(o.seed), [], set()
    all_voices = voices(o.voices, chance)
    held_out = max(o.voices // 5, 1)
    for part, count, some in (("test", o.test, all_voices[:held_out]), ("train", o.train, all_voices[held_out:])):
        folder, rows = os.path.join(o.folder, part), []
        os.makedirs(folder + "/wavs", exist_ok=True)
        while len(rows) < count:
            text = sentence(chance)
            if text in said:
                continue
            said.add(text)
            name, voice = f"{part}{len(rows):05}", chance.choice(some)
            rows.append(f"{name}|{text}|{text}\n")
            work.append((text, voice, chance.randint(130, 190), chance.randint(30, 70), f"{folder}/wavs/{name}.wav"))
        with open(folder + "/metadata.csv", "w") as file:
            file.writelines(rows)
    say_all(work, say)
    print(f"{o.train} sentences to learn from, {o.test} to be judged by, in {o.folder}")


main()
