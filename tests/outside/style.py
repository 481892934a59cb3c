#!/usr/bin/env python3
"""The sources look as .clang-format says, by clang-format 14 where that is installed (versions differ in details), and
keep to what it does not see: how a status is carried. No text has what a merge leaves behind.

    style.py ROOT
"""
import os
import re
import shutil
import subprocess
import sys

FORMATTED = (".c", ".h", ".cu", ".cuh", ".cc")
TEXTS = (*FORMATTED, ".build", ".ipynb", ".lua", ".md", ".py", ".sh", ".txt")
COLUMNS = 120
UNBUILT = re.compile(r"build|\.")
# A single call in a block of its own: st = st ? st : f();
BLOCK = re.compile(r"^( *)if \(!st\) \{\n\s+st = [^;{}]*;\n\1\}$", re.M)
MERGE = re.compile(r"^(<{7}|>{7}) ", re.M)
PRINTS = re.compile(r"^[^\"\n]*\b(?:printf|puts|putchar|eg_print|vprintf)\(|^[^\"\n]*\bstdout\b", re.M)
FREE = re.compile(r"^\s*\S+$|https?://|\"")  # what cannot be broken


def sources(root, ends):
    for at, folders, names in os.walk(root):
        if at == root:
            folders[:] = [folder for folder in folders if not UNBUILT.match(folder)]
        yield from (os.path.join(at, name) for name in sorted(names) if name.endswith(ends))


def prints_by_itself(text):
    """Lines of a program of runs that print without the run: each rank of mpirun would print them."""
    if "eg_run" not in text:
        return []
    return [text[:m.start()].count("\n") + 1 for m in PRINTS.finditer(text)]


def formatter():
    """The name of clang-format 14, or None."""
    for name in ("clang-format-14", "clang-format"):
        if shutil.which(name):
            says = subprocess.run([name, "--version"], capture_output=True, text=True, check=False).stdout
            if "version 14." in says:
                return name
    return None


def main():
    root = sys.argv[1]
    wrong, passed = [], 0
    for path in sources(root, FORMATTED):
        with open(path, encoding="utf8") as file:
            text = file.read()
        bad = [f"{path}:{k}: {len(line)} columns, {COLUMNS} are the most" for k, line in enumerate(text.split("\n"), 1)
               if len(line) > COLUMNS and not FREE.search(line)]
        bad += [f"{path}:{text[:m.start()].count(chr(10)) + 1}: a call in a block of its own, not st = st ? st : f()"
                for m in BLOCK.finditer(text)]
        if os.sep + "examples" + os.sep in path:
            bad += [f"{path}:{line}: prints on every rank: eg_run_say, eg_run_out" for line in prints_by_itself(text)]
        wrong += bad
        passed += not bad
    for path in sources(root, TEXTS):
        with open(path, encoding="utf8", errors="replace") as file:
            text = file.read()
        wrong += [f"{path}:{text[:m.start()].count(chr(10)) + 1}: left by a merge" for m in MERGE.finditer(text)]
    name = formatter()
    if name:
        files = list(sources(root, FORMATTED))
        for k in range(0, len(files), 100):
            run = subprocess.run([name, "--dry-run", "--style=file", *files[k:k + 100]], capture_output=True, text=True,
                                 check=False)
            wrong += sorted({line.split(":")[0] + " is not as clang-format 14 has it" for line in run.stderr.split("\n")
                             if "-Wclang-format-violations" in line})
    for line in wrong:
        print("FAIL " + line)
    if not name:
        print("SKIP clang-format 14 is not installed")
    print(f"{passed} passed, {len(wrong)} failed, {0 if name else 1} skipped")
    return 1 if wrong else 0


sys.exit(main())
