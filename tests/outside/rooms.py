#!/usr/bin/env python3
"""Every include lies within what the table of CONTRIBUTING.md allows.

    rooms.py ROOT
"""
import os
import re
import sys

SOURCES = (".c", ".h", ".def", ".cu", ".cuh", ".cc", ".in")
INCLUDE = re.compile(r'^\s*#\s*include "([^"]+)"', re.M)
FOLDER = re.compile(r"`([\w/]+)/`")
UNBUILT = re.compile(r"build|\.")  # folders of builds and of tools


def table_of(page):
    """Each room of the table, in its order, with the rooms it may include: those it names, or all above it."""
    rooms = {}
    for line in page:
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) != 3 or not FOLDER.match(cells[0]):
            continue
        above = [room for room in rooms if room not in FOLDER.findall(cells[2].partition(" but ")[2])]
        may = set(above if cells[2].startswith("all above") else FOLDER.findall(cells[2]))
        for room in FOLDER.findall(cells[0]):
            rooms[room] = may
    return rooms


def room_of(path, rooms):
    """The innermost room that a file lies in, or None."""
    return max((room for room in rooms if path.startswith(room + "/")), key=len, default=None)


def includes(root):
    """Each pair of a source and a file of the project that it names."""
    for at, folders, names in os.walk(root):
        if at == root:
            folders[:] = [folder for folder in folders if not UNBUILT.match(folder)]
        for name in sorted(names):
            if name.endswith(SOURCES):
                path = os.path.relpath(os.path.join(at, name), root)
                with open(os.path.join(at, name), encoding="utf8", errors="replace") as file:
                    text = file.read()
                for named in INCLUDE.findall(text):
                    if os.path.exists(os.path.join(root, named)):
                        yield path, named


def main():
    root = sys.argv[1]
    with open(os.path.join(root, "CONTRIBUTING.md"), encoding="utf8") as page:
        rooms = table_of(page)
    wrong, passed = [], 0
    for path, named in includes(root):
        here, there = room_of(path, rooms), room_of(named, rooms)
        if not here or not there:
            wrong.append(f"{path} includes {named}: the table has no room for {named if here else path}")
        elif here == there or there in rooms[here]:
            passed += 1
        else:
            wrong.append(f"{path} includes {named}: {here} may not include {there}")
    if len(rooms) < 10:
        wrong.append(f"CONTRIBUTING.md has a table of {len(rooms)} rooms only")
    for line in wrong:
        print("FAIL " + line)
    print(f"{passed} passed, {len(wrong)} failed, 0 skipped")
    return 1 if wrong else 0


sys.exit(main())
