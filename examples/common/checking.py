"""What the test scripts of the example programs share: checks that are counted, and the program run with words.

    sys.path.insert(0, FOLDER OF THIS FILE)
    from checking import check, count, finish, runner
    run = runner(program)
"""
import os
import subprocess
import sys

count = {"passed": 0, "failed": 0, "skipped": 0}


def check(what, ok, words=""):
    count["passed" if ok else "failed"] += 1
    if not ok:
        print(f"FAIL {what}\n{words}")


def runner(program):
    """A function that runs it and gives what it said; another exit status than expected is a failure."""
    def run(*words, expect=0):
        r = subprocess.run([program, *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           env={**os.environ, "no_proxy": "*"})
        check(f"{' '.join(words)}: status {expect}, was {r.returncode}", r.returncode == expect, r.stdout)
        return r.stdout
    return run


def finish():
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    sys.exit(count["failed"] > 0)
