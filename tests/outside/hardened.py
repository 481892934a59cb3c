#!/usr/bin/env python3
"""Looks at the library for what makes faults hard to exploit: tables that are read-only once it is loaded, no code on
the stack, canaries.

    hardened.py LIBRARY
"""
import shutil
import subprocess
import sys


def says(*options):
    return subprocess.run(["readelf", "-W", *options, sys.argv[1]], stdout=subprocess.PIPE, text=True,
                          check=True).stdout


def main():
    if not shutil.which("readelf"):
        print("SKIP readelf is not installed\n0 passed, 0 failed, 1 skipped")
        return 0
    segments, dynamic, symbols = says("-l"), says("-d"), says("--dyn-syms")
    stack = [line.split() for line in segments.splitlines() if "GNU_STACK" in line]
    checks = {
        "relocations are read-only": "GNU_RELRO" in segments,
        "all are done when it is loaded": "BIND_NOW" in dynamic or "NOW" in dynamic,
        "the stack holds no code": bool(stack) and not any("E" in word for word in stack[0][6:-1]),
        "readers have canaries": "__stack_chk_fail" in symbols,
    }
    for what, good in checks.items():
        if not good:
            print("FAIL " + what)
    print(f"{sum(checks.values())} passed, {len(checks) - sum(checks.values())} failed, 0 skipped")
    return 0 if all(checks.values()) else 1


sys.exit(main())
