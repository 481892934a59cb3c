"""What the scripts of this folder share: commands that are run, checks that are counted.

    from trying import attempt, check, finish, run, skip
"""
import subprocess
import sys

count = {"passed": 0, "failed": 0, "skipped": 0}


def check(what, ok, words=""):
    count["passed" if ok else "failed"] += 1
    if not ok:
        print(f"FAIL {what}\n{words}")
    return ok


def skip(why):
    count["skipped"] += 1
    print(f"SKIP {why}")


def run(command, **more):
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)


def attempt(what, command, says="", **more):
    """Whether a command ends well, and what it says begins with the words."""
    r = run(command, **more)
    return check(what, r.returncode == 0 and r.stdout.startswith(says), f"{command}: {r.returncode}\n{r.stdout}")


def finish():
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    sys.exit(count["failed"] > 0)
