#!/usr/bin/env python3
"""Every name of Egret's that names.md has in its tables is there: of C in the headers, of Lua in the module. And
notebooks.md links all notebooks of the examples, and says how many they are.

    names.py ROOT [EGRET ANNOTATIONS.lua]    without Lua its names are not looked at
"""
import glob
import os
import re
import subprocess
import sys

count = {"passed": 0, "failed": 0, "skipped": 0}
CODE = re.compile(r"`([^`]+)`")


def check(name, ok):
    count["passed" if ok else "failed"] += 1
    if not ok:
        print(f"FAIL names.md has {name}, which is not there")


def columns(root):
    """The code in the second and in the third column of all tables, as one text each."""
    with open(os.path.join(root, "docs", "names.md"), encoding="utf8") as page:
        rows = [re.split(r"\s*(?<!\\)\|\s*", line.strip())[1:-1] for line in page if line.startswith("| ")]
    assert rows and all(len(row) == 3 for row in rows), "every row has three columns"
    return ("\n".join(code for row in rows for code in CODE.findall(row[i])) for i in (1, 2))


def words_of_headers(root):
    words = set()
    for folder, _, names in os.walk(os.path.join(root, "include")):
        for name in names:
            with open(os.path.join(folder, name), encoding="utf8") as file:
                # Without comments, in which names of others stand.
                words.update(re.findall(r"\w+", re.sub(r"/\*.*?\*/|//.*", "", file.read(), flags=re.S)))
    return words


def said_by(egret, code):
    """The words a program in Lua prints."""
    return set(subprocess.run([egret, "-e", code], stdout=subprocess.PIPE, text=True, check=True).stdout.split())


def there_in_lua(egret, names):
    """Those of the names that the module has."""
    return said_by(egret, "for _, name in ipairs {%s} do\n local v = eg\n"
                          " for part in name:gmatch '[^.]+' do v = v and v[part] end\n"
                          " if v ~= nil then print(name) end\nend" % ",".join(f"'{name}'" for name in names))


def methods_in_lua(egret, annotations):
    """Those the headers give, and those the module's own manual has pages for."""
    with open(annotations, encoding="utf8") as file:
        methods = set(re.findall(r"^function \w+:(\w+)", file.read(), re.M))
    pages = said_by(egret, "for name in eg.manual_pages() do\n"
                           " print(eg.manual(name).usage:match '^%w+:([%w_]+)' or '')\nend")
    return methods | pages


def check_notebooks(root):
    there = {os.path.relpath(path, root) for path in glob.glob(os.path.join(root, "examples", "*", "*.ipynb"))}
    with open(os.path.join(root, "docs", "notebooks.md"), encoding="utf8") as file:
        page = file.read()
    linked = set(re.findall(r"\]\(\.\./(examples/\w+/\w+\.ipynb)\)", page))
    said = re.search(r"The notebooks of the examples, (\d+) of", page)
    for path in sorted(there ^ linked):
        count["failed"] += 1
        print(f"FAIL {path} is {'not linked in notebooks.md' if path in there else 'no notebook'}")
    if not said or int(said[1]) != len(there):
        count["failed"] += 1
        print(f"FAIL notebooks.md says {said and said[1]} notebooks, there are {len(there)}")
    count["passed"] += len(there & linked)


def main():
    root = sys.argv[1]
    check_notebooks(root)
    c, lua = columns(root)
    words = words_of_headers(root)
    for name in sorted(set(re.findall(r"\b(?:eg|EG)_\w+", c))):
        check(name, name in words)
    # Options have the same names in both.
    for name in sorted(set(re.findall(r"(?<!\w)\.([a-z_]\w*)", c) + re.findall(r"[{,] ?(\w+) = ", lua))):
        check("the option " + name, name in words)
    if len(sys.argv) < 4:
        count["skipped"] += 1
        print("SKIP names in Lua, which was not built")
    else:
        names = set(re.findall(r"\beg\.(\w+(?:\.\w+)*)", lua))
        for name in sorted(names - there_in_lua(sys.argv[2], names)):
            check("eg." + name, False)
        count["passed"] += len(names)
        methods = methods_in_lua(*sys.argv[2:4])
        for name in sorted(set(re.findall(r"\w:([a-z_]\w*)", lua))):
            check(f"the method {name}", name in methods)
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**count))
    return count["failed"] > 0


sys.exit(main())
