#!/usr/bin/env python3
"""cvae.lua learns what cvae.c learns: of the same files both log the same numbers, to the last bit.

    twin.py CVAE EGRET
"""
import os
import struct
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "../common"))
from checking import check, finish, logged, runner  # noqa: E402

program, egret = sys.argv[1:]


def write_digits(folder, part, count):
    """Files as MNIST has them: diamonds in ten places."""
    os.makedirs(folder, exist_ok=True)
    pixels = b"".join(bytes(255 * (abs(y - 14) + abs(x - 9 - k % 10) < 4 + k % 7) for y in range(28) for x in range(28))
                      for k in range(count))
    with open(f"{folder}/{part}-images-idx3-ubyte", "wb") as file:
        file.write(struct.pack(">4i", 0x803, count, 28, 28) + pixels)
    with open(f"{folder}/{part}-labels-idx1-ubyte", "wb") as file:
        file.write(struct.pack(">2i", 0x801, count) + bytes(k % 10 for k in range(count)))


with tempfile.TemporaryDirectory() as at:
    write_digits(at + "/data", "train", 60)
    write_digits(at + "/data", "t10k", 20)
    words = ("--data", at + "/data", "--batch", "10", "--steps", "9")
    runner(program)(*words, "--out", at + "/c")
    runner(egret)(here + "/cvae.lua", *words, "--out", at + "/lua")
    for field, count in (("loss", 9), ("elbo", 2)):
        c, lua = (logged(f"{at}/{language}", field) for language in ("c", "lua"))
        check(f"{field}: the same in C and in Lua", len(c) == count and c == lua, f"{c}\n{lua}")

finish()
