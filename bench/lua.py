#!/usr/bin/env python3
"""Egret from Lua and from C, in turn: single calls on tiny tensors, and a training step of DCGAN.

    lua.py EGRET_BENCH EGRET [--rounds 101] [--calls 20000] [--steps 31] [--threads 2]

Two processes take turns, the first one every other round. Of calls the processor's time is counted, that of the
collector with it, on one thread; of a step the time from the question to the answer. Figures are medians over the
rounds, behind them the least, which is what the machine can do when it is left alone. Prints the rows of
docs/performance.md.
"""
import argparse
import os
import statistics
import time

from child import Child, Foreign

HERE = os.path.dirname(os.path.abspath(__file__))
CALLS = {"add": "`eg.add(a, b)`", "plus": "`a + b`", "relu": "`a:relu()`", "sum": "`a:sum{axes = 0}`",
         "conv2d": "`eg.conv2d(x, w, nil, {stride = 2, padding = eg.SAME})`"}


def in_turn(sides, rounds, figure):
    """For each side the median of figure(side) over the rounds, and the least."""
    found = {side: [] for side in sides}
    for number in range(rounds):
        for side in sides if number % 2 == 0 else sides[::-1]:
            found[side].append(figure(side))
    return [(statistics.median(found[side]), min(found[side])) for side in sides]


def measure_calls(sides, options):
    print("| call | C, ns | Lua, ns | more | C, least | Lua, least | more |\n|---|---|---|---|---|---|---|")
    for name, words in CALLS.items():
        def nanoseconds(side):
            return side.ask(f"run {name} {options.calls}")["seconds"] * 1e9 / options.calls
        for side in sides:
            nanoseconds(side)
        (c, c_least), (lua, lua_least) = in_turn(sides, options.rounds, nanoseconds)
        print(f"| {words} | {c:.0f} | {lua:.0f} | {lua - c:.0f} | {c_least:.0f} | {lua_least:.0f} | "
              f"{lua_least - c_least:.0f} |", flush=True)


def measure_steps(sides, options):
    def milliseconds(side):
        start = time.perf_counter()
        side.ask("run 1")
        return (time.perf_counter() - start) * 1e3
    for side in sides:
        for _ in range(3):
            milliseconds(side)
    (c, c_least), (lua, lua_least) = in_turn(sides, options.steps, milliseconds)
    print(f"| a training step of DCGAN, 256 images, ms | {c:.0f} | {lua:.0f} | {lua / c - 1:+.1%} | {c_least:.0f} | "
          f"{lua_least:.0f} | {lua_least / c_least - 1:+.1%} |")


parser = argparse.ArgumentParser()
parser.add_argument("bench")
parser.add_argument("egret")
for option, usual in (("rounds", 101), ("calls", 20000), ("steps", 31), ("threads", 2)):
    parser.add_argument("--" + option, type=int, default=usual)
options = parser.parse_args()
script = os.path.join(HERE, "lua.lua")

for verbs, threads, measure in (["calls"], 1, measure_calls), (["step", "dcgan"], options.threads, measure_steps):
    environment = {"OMP_NUM_THREADS": str(threads)}
    sides = [Child([options.bench, *verbs, "--threads", str(threads)], environment),
             Child([options.egret, script, verbs[-1], str(threads)], environment)]
    foreign = Foreign(*sides)
    measure(sides, options)
    print(f"(other processes had {foreign.share():.0%} of the processors)")
    for side in sides:
        side.close()
