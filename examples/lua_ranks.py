#!/usr/bin/env python3
"""Training programs in Lua as ranks: they learn what a single process does, one prints and saves, and one that was
stopped goes on with another number of ranks.

    lua_ranks.py MPIRUN EGRET
"""
import glob
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "common"))
from checking import check, finish, let_mpirun_run, logged, runner  # noqa: E402

mpirun, egret = sys.argv[1:]
let_mpirun_run()


def train(ranks, name, out, *words, expect=0):
    return runner(mpirun)("-n", str(ranks), egret, f"{HERE}/{name}/{name}.lua", "--out", out, *words, expect=expect)


def near(what, a, b, most):
    x, y = logged(a, "loss"), logged(b, "loss")
    check(f"{what}: as many steps", x.keys() == y.keys() and x, f"{sorted(x)} {sorted(y)}")
    for step in x.keys() & y.keys():
        check(f"{what}: loss of step {step}: {x[step]:.7g} and {y[step]:.7g}", abs(x[step] - y[step]) <= most)


with tempfile.TemporaryDirectory() as at:
    before = set(glob.glob("/tmp/lua_*"))
    words = ["--batch", "8", "--steps", "8", "--pairs", "200"]
    for ranks in (1, 2, 4):
        said = train(ranks, "nmt", f"{at}/nmt-{ranks}", *words)
        check(f"{ranks} ranks print once", said.count("pairs (") == 1, said)
    for ranks in (2, 4):
        near(f"nmt by {ranks}", f"{at}/nmt-1", f"{at}/nmt-{ranks}", 1e-5)
    check("files are rank 0's", sorted(os.listdir(f"{at}/nmt-2")) == sorted(os.listdir(f"{at}/nmt-1")))
    check("and no others stay", set(glob.glob("/tmp/lua_*")) <= before)
    words = ["--batch", "8", "--sentences", "400", "--width", "16", "--steps"]
    for name, counts in (("one", (1, 1, 1)), ("many", (2, 4, 1))):
        for ranks, steps, more in zip(counts, ("4", "7", "9"), ([], ["--resume"], ["--resume"])):
            train(ranks, "ptb", f"{at}/{name}", *words, steps, *more)
    near("ptb by 2, then 4, then 1", at + "/one", at + "/many", 1e-5)
    said = train(2, "digits", at + "/odd", "--batch", "5", "--drawn", "100", expect=2)
    check("a batch that cannot be shared out", "--batch 5 cannot be shared out among 2 ranks" in said, said)
finish()
