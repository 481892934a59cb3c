#!/usr/bin/env python3
"""The name under which programs that link a library ask the loader for it: libpng16.so.16 for -lpng16. On the next line
the flags with which they are compiled.

    soname.py PACKAGE CC...     PACKAGE as pkg-config knows it; of several libraries the first is meant
"""
import os
import re
import subprocess
import sys
import tempfile


def ask(*command):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


package, *cc = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    program = os.path.join(folder, "needs")
    ask(*cc, "-shared", "-nostdlib", "-Wl,--no-as-needed", "-o", program, *ask("pkg-config", "--libs", package).split())
    needed = re.search(r"\(NEEDED\).*\[(.*)\]", ask("readelf", "--dynamic", "--wide", program))
    if not needed:
        sys.exit(f"{package} is not a shared library")
    print(needed[1], ask("pkg-config", "--cflags", package), sep="\n")
