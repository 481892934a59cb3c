#!/usr/bin/env python3
"""Runs the tests of a build, then small builds of their own kind, and counts everything.

Every test program closes with a line "N passed, N failed, N skipped"; one that does not, or whose
exit status says otherwise, counts as one failure. The last line is the sum.
"""
import argparse
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

SUM = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$")
LEAN = ["-Dbench=false", "-Dexamples=disabled", "-Dgpu_archs="]
PLAIN = ["-Disa=", *LEAN]  # the kernels of one instruction set
SANITIZERS = ["-Db_lundef=false", "-Doptimization=1"]
BOTH = ["-Db_sanitize=address,undefined", *SANITIZERS]
SUPPRESSIONS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tsan.supp")
BOTH_SAY = {"UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
            # Of thread-local memory of libraries opened later it guesses the size, and follows what it guessed.
            "ASAN_OPTIONS": "allocator_may_return_null=1:intercept_tls_get_addr=0"}

# name: what it is for, minutes on two processors, the compiler, what configures it, which tests it runs (none: all;
# "-NAME": all but these; "NAME*": all that begin so), environment
VARIANTS = {
    # AVX2 and oneDNN are in: vectors that read or write past an end are found here or nowhere.
    "asan": ("address and undefined-behaviour sanitizers", 20, "gcc",
             [*BOTH, "-Disa=avx2", *LEAN, "-Dcuda=disabled"], [], BOTH_SAY),
    "asan_cuda": ("the same over the emulated device", 25, "gcc",
                  [*BOTH, "-Dauto_features=disabled", "-Dcuda=enabled", *PLAIN], ["cuda_*"], BOTH_SAY),
    "tsan": ("thread sanitizer", 4, "gcc", ["-Db_sanitize=thread", *SANITIZERS, *PLAIN],
             ["workers", "data", "chain", "links", "distribute", "comm", "parallel", "parallel_layers", "run_ranks",
              "origin", "files", "lines", "embedding", "profile", "program_train", "cuda_streams",
              "cuda_memory_order"], {"TSAN_OPTIONS": "halt_on_error=1:suppressions=" + SUPPRESSIONS}),
    # Calls from Lua are swept in the main build, and under the sanitizers of C's.
    "tiny": ("small limits, so that rare paths are common", 7, "gcc", ["-Dtiny_limits=true", *PLAIN], ["-lua_ops"], {}),
    "clang": ("the other compiler, all instruction sets", 5, "clang", [*LEAN, "-Dcuda=disabled"], ["-lua_ops"], {}),
    "minimal": ("nothing optional", 4, "gcc", ["-Dauto_features=disabled", *PLAIN], [], {}),
    "valgrind": ("memory of the tape and of embedding programs, in the main build", 1, "valgrind", None,
                 ["tape", "embedding", "unload", "program_tensor", "program_train"], {"EG_DEBUG": "nocache"}),
}
CHECKED = ["valgrind", "--quiet", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite",
           "--trace-children=yes"]


class Count:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def add(self, passed=0, failed=0, skipped=0):
        self.passed += passed
        self.failed += failed
        self.skipped += skipped

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


total = Count()


def say(text):
    print(f"==> {text}", flush=True)


def judge(name, output, errors, status, seconds):
    """Counts one program's run; shows what went wrong or was left out."""
    lines = output.splitlines()
    found = SUM.match(lines[-1]) if lines else None
    count = Count()
    if found:
        count.add(*map(int, found.groups()))
    if not found or (status != 0) != (count.failed > 0):
        count.add(failed=1)
        lines.append(f"ended with status {status}" + ("" if found else " and without its count"))
    total.add(count.passed, count.failed, count.skipped)
    print(f"  {name:24} {count}  ({seconds:.1f} s)", flush=True)
    if count.failed:
        print("\n".join("    " + line for line in lines[-60:] + errors.splitlines()[-40:]))
    elif count.skipped:
        print("\n".join("    " + line for line in lines if line.startswith("SKIP")))


def there(build, names):
    """The names without those of tests the build has none of, for want of a toolkit or of Lua; of "-NAME" all others,
    of "NAME*" those that begin so, but the long ones."""
    listed = json.loads(subprocess.check_output(["meson", "introspect", build, "--tests"]))
    known = {test["name"]: test["suite"] for test in listed}
    short = [name for name, suites in known.items() if not any(suite.split(":")[-1] == "long" for suite in suites)]
    but = {name[1:] for name in names if name.startswith("-")}
    if but:
        return [name for name in short if name not in but]
    if any(name.endswith("*") for name in names):
        return [name for name in short if any(fnmatch.fnmatch(name, pattern) for pattern in names)]
    return [name for name in names if name in known or not name.startswith(("cuda_", "program_"))]


def results(meson, log):
    """What meson writes of each test, when it has: a line."""
    begun, done = "", False
    while not os.path.exists(log) and meson.poll() is None:
        time.sleep(0.2)
    if not os.path.exists(log):
        return
    with open(log) as lines:
        while not done:
            done = meson.poll() is not None  # looked at before the last lines are read
            for line in lines:
                begun += line
                if begun.endswith("\n"):
                    yield json.loads(begun)
                    begun = ""
            time.sleep(0.2)


def run_tests(build, names, wrapper=(), env=None):
    """Each test program of a build, through meson, which knows their order, places and limits. Most keep one processor
    busy, so as many run at a time as there are."""
    command = ["meson", "test", "-C", build, "--no-rebuild", "--quiet", "--num-processes",
               str(len(os.sched_getaffinity(0))), *names]
    name = "testlog.json"
    if wrapper:
        command += ["--wrapper", " ".join(wrapper), "--timeout-multiplier", "10"]
        name = f"testlog-{os.path.basename(wrapper[0])}.json"
    log = os.path.join(build, "meson-logs", name)
    if os.path.exists(log):
        os.remove(log)
    with tempfile.TemporaryFile("w+") as said:
        meson = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, env={**os.environ, **(env or {})})
        for r in results(meson, log):
            judge(re.split("[/:]", r["name"])[-1].strip(), r.get("stdout", ""), r.get("stderr", ""), r["returncode"],
                  r["duration"])
        if not os.path.exists(log):
            said.seek(0)
            total.add(failed=1)
            print(f"  FAIL no test of {build} ran\n" + "\n".join("    " + s for s in said.read().splitlines()[-9:]))


def make(name, compiler, options):
    """Configures and builds a variant beside the main build; its folder, or None."""
    build = f"build-{name}"
    env = {**os.environ, "CC": compiler}
    steps = [["ninja", "-C", build]]
    if not os.path.exists(os.path.join(build, "build.ninja")):
        steps.insert(0, ["meson", "setup", build, "--werror", *options])
    for step in steps:
        r = subprocess.run(step, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if r.returncode:
            total.add(failed=1)
            print(f"  FAIL {' '.join(step)}\n" + "\n".join("    " + s for s in r.stdout.splitlines()[-30:]))
            return None
    return build


def run_variant(name, main_build):
    purpose, _, tool, options, tests, env = VARIANTS[name]
    say(f"{name}: {purpose}")
    if not shutil.which(tool):
        total.add(skipped=1)
        print(f"  SKIP {tool} is not installed")
    elif options is None:
        run_tests(main_build, there(main_build, tests), CHECKED, env)
    elif build := make(name, tool, options):
        run_tests(build, there(build, tests) or ["--no-suite", "long"], env=env)


def in_turn(until):
    """The variants from the one on whose turn it is, as this commit's number says, while there is time for the next."""
    names = list(VARIANTS)
    commits = subprocess.run(["git", "rev-list", "--count", "HEAD"], stdout=subprocess.PIPE, text=True).stdout
    first = int(commits or 0) % len(names)
    late = []
    for name in names[first:] + names[:first]:
        if time.time() + 60 * VARIANTS[name][1] <= until:
            yield name
        else:
            late.append(name)
    if late:
        say("no time in this run for " + ", ".join(late))


def parse():
    names = "\n".join(f"  {name:10}{v[1]:3} min  {v[0]}" for name, v in VARIANTS.items())
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"names:\n  main       12 min  the tests of BUILD\n{names}\n"
               "  all                all of these\n"
               "  turn               those for which there is time, beginning with another one at each commit\n"
               "Minutes are those of two processors without ccache's help.")
    p.add_argument("build", metavar="BUILD", help="folder of the main build, which is made")
    p.add_argument("names", metavar="NAME", nargs="*", default=["all"], choices=["main", *VARIANTS, "all", "turn"],
                   help="what to run, in this order; all, if nothing is said")
    p.add_argument("--until", metavar="TIME", type=float, default=time.time() + 30 * 60,
                   help="seconds since 1970 until which `turn` may take, else half an hour")
    return p.parse_args()


def main():
    options = parse()
    os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    start = time.time()
    for asked in options.names:
        if asked in ("main", "all"):
            say(f"{options.build}: everything")
            run_tests(options.build, [])
        for name in in_turn(options.until) if asked == "turn" else VARIANTS if asked == "all" else [asked]:
            if name != "main":
                run_variant(name, options.build)
    say(f"{time.time() - start:.0f} s in all")
    print(total)
    return 1 if total.failed else 0


sys.exit(main())
