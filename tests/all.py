#!/usr/bin/env python3
"""Runs the tests of a build, then small builds of their own kind, and counts everything.

    all.py BUILD [NAME ...]     names: main and the variants below; none: all of them

Every test program closes with a line "N passed, N failed, N skipped"; one that does not, or whose
exit status says otherwise, counts as one failure. The last line is the sum.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import time

SUM = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$")
LEAN = ["-Dbench=false", "-Dexamples=disabled", "-Dgpu_archs="]
PLAIN = ["-Disa=", *LEAN]  # the kernels of one instruction set
SANITIZERS = ["-Db_lundef=false", "-Doptimization=1"]

# name: what it is for, the compiler, what configures it, which tests it runs (none: all; "-NAME": all but these),
# environment
VARIANTS = {
    "minimal": ("nothing optional", "gcc", ["-Dauto_features=disabled", *PLAIN], [], {}),
    # Calls from Lua are swept in the main build, and under the sanitizers of C's.
    "clang": ("the other compiler, all instruction sets", "clang", [*LEAN, "-Dcuda=disabled"], ["-lua_ops"], {}),
    "tiny": ("small limits, so that rare paths are common", "gcc", ["-Dtiny_limits=true", *PLAIN], ["-lua_ops"], {}),
    # AVX2 and oneDNN are in: vectors that read or write past an end are found here or nowhere.
    "asan": ("address and undefined-behaviour sanitizers", "gcc",
             ["-Db_sanitize=address,undefined", *SANITIZERS, "-Disa=avx2", *LEAN], [],
             {"UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
              "ASAN_OPTIONS": "allocator_may_return_null=1"}),
    "tsan": ("thread sanitizer", "gcc", ["-Db_sanitize=thread", *SANITIZERS, *PLAIN],
             ["data", "chain", "links", "origin", "files", "lines", "embedding", "profile",
              "program_train", "cuda_streams", "cuda_memory_order"], {"TSAN_OPTIONS": "halt_on_error=1"}),
}
VALGRIND = ["tape", "embedding", "unload", "program_tensor", "program_train"]  # of the main build, run under valgrind too


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
    """The names without those of tests the build has none of, for want of a toolkit or of Lua; of "-NAME" all others
    but the long ones."""
    listed = json.loads(subprocess.check_output(["meson", "introspect", build, "--tests"]))
    known = {test["name"]: test["suite"] for test in listed}
    but = {name[1:] for name in names if name.startswith("-")}
    if but:
        return [name for name, suites in known.items() if name not in but
                and not any(suite.split(":")[-1] == "long" for suite in suites)]
    return [name for name in names if name in known or not name.startswith(("cuda_", "program_"))]


def run_tests(build, names, wrapper=(), env=None, processes=1):
    """Each test program of a build, through meson, which knows their order, places and limits."""
    log = os.path.join(build, "meson-logs", "testlog.json")
    if os.path.exists(log):
        os.remove(log)
    command = ["meson", "test", "-C", build, "--no-rebuild", "--quiet", "--num-processes", str(processes), *names]
    if wrapper:
        command += ["--wrapper", " ".join(wrapper), "--timeout-multiplier", "10"]
        log = os.path.join(build, "meson-logs", "testlog-" + os.path.basename(wrapper[0]) + ".json")
    r = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                       env={**os.environ, **(env or {})})
    if not os.path.exists(log):
        total.add(failed=1)
        print(f"  FAIL no test of {build} ran\n" + "\n".join("    " + s for s in r.stdout.splitlines()[-9:]))
        return
    with open(log) as results:
        for line in results:
            r = json.loads(line)
            name = r["name"].split("/")[-1].split(":")[-1].strip()
            judge(name, r.get("stdout", ""), r.get("stderr", ""), r["returncode"], r["duration"])


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


def main():
    build, wanted = sys.argv[1], sys.argv[2:]
    os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    start = time.time()
    if not wanted or "main" in wanted:
        say(f"{build}: everything")
        run_tests(build, [])
    if not wanted or "valgrind" in wanted:
        say("valgrind: memory of the tape and of embedding programs")
        if shutil.which("valgrind"):
            run_tests(build, there(build, VALGRIND),
                      ["valgrind", "--quiet", "--error-exitcode=9", "--leak-check=full",
                       "--errors-for-leak-kinds=definite", "--trace-children=yes"],
                      {"EG_DEBUG": "nocache"})
        else:
            total.add(skipped=1)
            print("  SKIP valgrind is not installed")
    for name, (purpose, compiler, options, tests, env) in VARIANTS.items():
        if wanted and name not in wanted:
            continue
        say(f"{name}: {purpose}")
        if not shutil.which(compiler):
            total.add(skipped=1)
            print(f"  SKIP {compiler} is not installed")
        elif make(name, compiler, options):
            run_tests(f"build-{name}", there(f"build-{name}", tests) or ["--no-suite", "long"], env=env,
                      processes=2 if name in ALONE else 1)
    say(f"{time.time() - start:.0f} s in all")
    print(total)
    return 1 if total.failed else 0


sys.exit(main())
