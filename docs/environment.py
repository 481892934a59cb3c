#!/usr/bin/env python3
"""Compares the variables that sources read with those that environment.md lists.

    environment.py ROOT
"""
import os
import re
import sys

READ = re.compile(r'\b(?:getenv|eg__getenv|setting|number_of)\(\s*"([A-Z][A-Z_0-9]+)"')
MODULE = re.compile(r'\beg__module_open\("(\w+)"')  # whose file a variable gives
ASKED = re.compile(r'environ(?:\.get\(|\[)\s*"((?:EGRET|EGT)_[A-Z_0-9]+)"')
FOLDERS = ("lib", "autograd", "nn", "optim", "data", "run", "draw", "lua", "examples", "tests", "tools", "bench")
FAKES = re.compile(r'"(EG_(?:FAKE|EMU)_[A-Z_0-9]+)"')


def read_by_sources(root):
    """Each name, with a file that reads it."""
    found = {}
    for folder in FOLDERS:
        for at, _, names in os.walk(os.path.join(root, folder)):
            for name in names:
                rule = {".c": READ, ".h": READ, ".cu": READ, ".cc": READ, ".py": ASKED}.get(os.path.splitext(name)[1])
                if not rule:
                    continue
                path = os.path.join(at, name)
                with open(path, encoding="utf8") as file:
                    text = file.read()
                modules = [f"EGRET_{name.upper()}_MODULE" for name in MODULE.findall(text)]
                for word in modules + rule.findall(text) + (FAKES.findall(text) if rule is READ and folder in ("tests", "tools") else []):
                    found.setdefault(word, path)
    return found


def bare(root):
    """Files of the library that ask for a variable although the program may have more rights than its user."""
    for folder in ("lib", "autograd", "nn", "optim", "data", "run"):
        for at, _, names in os.walk(os.path.join(root, folder)):
            for name in names:
                path = os.path.join(at, name)
                if name.endswith((".c", ".h")) and name != "environment.h":
                    with open(path, encoding="utf8") as file:
                        if re.search(r"(?<![\w])getenv\(", file.read()):
                            yield path


def main():
    root = sys.argv[1]
    with open(os.path.join(root, "docs", "environment.md"), encoding="utf8") as page:
        rows = [line.split("|")[1] for line in page if line.startswith("| `")]
    listed = {word for row in rows for word in re.findall(r"`([A-Z_0-9]+)`", row)}
    read = read_by_sources(root)
    wrong = [f"{read[name]} reads {name}, which environment.md does not list" for name in sorted(set(read) - listed)]
    wrong += [f"environment.md lists {name}, which nothing reads" for name in sorted(listed - set(read))]
    wrong += [f"{path} calls getenv instead of eg__getenv" for path in bare(root)]
    for line in wrong:
        print("FAIL " + line)
    print(f"{len(listed & set(read))} passed, {len(wrong)} failed, 0 skipped")
    return 1 if wrong else 0


sys.exit(main())
