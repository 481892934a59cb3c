#!/usr/bin/env python3
"""Sentences and what KenLM says of them under tests/golden/ngram.arpa, for tests/test_ngram.c.

    ngram.py > tests/golden/ngram.txt

Lines are "log10 p, tab, sentence". KenLM is on PyPI: kenlm.
"""
import os

import kenlm

HERE = os.path.dirname(os.path.abspath(__file__))
SENTENCES = ["the cat sat on the mat", "the dog sat", "", "mat the on sat", "a zebra sat on the dog", "the the the the",
             "the cat sat on a zebra", "on the mat the cat sat"]
model = kenlm.Model(HERE + "/ngram.arpa")
for sentence in SENTENCES:
    print(f"{model.score(sentence):.6f}\t{sentence}")
