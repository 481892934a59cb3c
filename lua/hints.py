#!/usr/bin/env python3
"""Writes the names of PyTorch and Keras, and what is used here instead, from the tables of docs/names.md.

    hints.py NAMES.md OUT.c
"""

import json
import re
import sys

CODE = re.compile(r"`([^`]+)`")
# The name in code of theirs: torch.nn.Linear(in, out) is Linear.
THEIRS = re.compile(r"(?:with )?(?:\w+\.)*(?P<name>[A-Za-z_]\w+|(?<=\.)[A-Za-z])(?P<call>\(?)")
# Code at the beginning of an item of a list, perhaps behind whose it is: torchvision's `nms`.
ITEM = re.compile(r"(?:[\w.` ]+(?:'s|:) )?`([^`]+)`")
WORDS = {"for", "the", "and", "or", "not", "if", "in", "to"}


def rows(path):
    """The three cells of every row."""
    with open(path, encoding="utf8") as file:
        for line in file:
            cells = re.split(r"\s*(?<!\\)\|\s*", line.strip())[1:-1]
            if len(cells) == 3 and cells[0] != "theirs" and not cells[0].startswith("---"):
                yield cells


def plain(text):
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).replace("`", "").replace("\\|", "|")


def hint(theirs, c, lua, at):
    """What stands for the at-th name of a row; a row of as many names here as there has them in pairs."""
    text = c if lua in ("the same", "the same names") else lua
    ours = CODE.findall(text)
    if len(ours) == len(theirs) and ";" not in text and not re.sub(r"`[^`]+`|[,; ]|\band\b", "", text):
        text = ours[at]
    if text.startswith("not needed"):
        return plain(text)
    if text == "missing":
        return "there is none" + (f": in C {plain(c)}" if not c.startswith("missing") else f"; {plain(c[9:])}" * (c != "missing"))
    if text.startswith("missing: "):
        return "there is none; nearest: " + plain(text.removeprefix("missing: "))
    return ("there is none; nearest: " if c.startswith("missing") else "use ") + plain(text)


def hints(path):
    """{name: (hint, whether it is written as a call)}; the first row that has a name counts."""
    found = {}
    for first, c, lua in rows(path):
        theirs = [m[1] for m in map(ITEM.match, re.split(r"[,;] (?=(?:[^`]*`[^`]*`)*[^`]*$)", first)) if m]
        if lua.startswith("`{"):  # options of a function
            continue
        for at, code in enumerate(theirs):
            for part in re.split(r",\s+(?![^(]*\))", code):
                m = THEIRS.match(part)
                if m and m["name"] not in WORDS:
                    found.setdefault(m["name"], (hint(theirs, c, lua, at), m["call"] == "("))
    return found


def main():
    path, out = sys.argv[1:]
    lines = [f"    {{{json.dumps(name)}, {json.dumps(text, ensure_ascii=False)}, {str(call).lower()}}},"
             for name, (text, call) in sorted(hints(path).items())]
    with open(out, "w", encoding="utf8") as file:
        file.write("/* Made by lua/hints.py from docs/names.md. */\n#include \"lua/bind.h\"\n\n"
                   "const eg__lua_hint eg__lua_hints[] = {\n" + "\n".join(lines) + "\n    {0}\n};\n")


if __name__ == "__main__":
    main()
