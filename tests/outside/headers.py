#!/usr/bin/env python3
"""Every public header compiles alone, as C11 and as C++17, without a warning.

    headers.py INCLUDE_DIR CC [CXX]
"""
import os
import shlex
import subprocess
import sys

include, compilers = sys.argv[1], sys.argv[2:]
count = {"passed": 0, "failed": 0, "skipped": 0}
strict = ["-fsyntax-only", "-Wall", "-Wextra", "-pedantic", "-Werror", "-I", include]
compilers = [shlex.split(c) for c in compilers]
ways = [[*compilers[0], "-x", "c", "-std=c11", "-Wstrict-prototypes", *strict]]
if len(compilers) > 1:
    ways.append([*compilers[1], "-x", "c++", "-std=c++17", "-Wold-style-cast", *strict])
else:
    print("SKIP headers in C++: no C++ compiler")
    count["skipped"] = 1
headers = sorted(os.path.relpath(os.path.join(folder, name), include)
                 for folder, _, names in os.walk(include) for name in names if name.endswith(".h"))
for way in ways:
    for header in headers:
        # Twice: the guard works.
        text = f"#include <{header}>\n#include <{header}>\nint main(void) {{ return 0; }}\n"
        r = subprocess.run([*way, "-"], input=text, text=True, capture_output=True)
        count["failed" if r.returncode else "passed"] += 1
        if r.returncode:
            print(f"FAIL {header}: {' '.join(way)}\n{r.stderr}")
print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
sys.exit(count["failed"] > 0)
