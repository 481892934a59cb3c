#!/usr/bin/env python3
"""Every public header compiles alone, as C11, C++17 and C++20, without a warning, with the compilers given and
the others there are; so does the program in C++. Options without a name do not compile.

    headers.py INCLUDE_DIR PROGRAM CC [CXX]
"""
import os
import shlex
import shutil
import subprocess
import sys

include, program, given = sys.argv[1], sys.argv[2], [shlex.split(c) for c in sys.argv[3:]]
count = {"passed": 0, "failed": 0, "skipped": 0}
# Neither optimisation nor warnings have to be asked for.
UNNAMED = ["eg_sum(x, 0)", "eg_sum(x, 1)", "eg_conv2d_new(3, 8, 3, 1, 1)", "eg_sgd_new(p, 0.1, 0.9)",
           "eg_tape_open(1)", "eg_scaler_new(n)", "EG_SCHEDULE(n)", "eg_max_pool2d_new(2)"]
NAMED = ["eg_sum(x)", "eg_sum(x, .keepdim = 1)", "eg_conv2d_new(3, n, .kernel = 3)", "eg_tape_open()", "EG_SCHEDULE()"]


def compilers():
    """What compiles C, and what C++."""
    for number, (language, names) in enumerate({"c": ["gcc", "clang"], "c++": ["g++", "clang++"]}.items()):
        there = given[number:number + 1] + [[name] for name in names if shutil.which(name)]
        for compiler in {os.path.realpath(shutil.which(c[-1]) or c[-1]): c for c in reversed(there)}.values():
            for standard in ["-std=c11"] if language == "c" else ["-std=c++17", "-std=c++20"]:
                yield [*compiler, "-x", language, standard, "-fsyntax-only", "-I", include], language


def tried(command, text):
    """Whether it compiles, and what was said."""
    r = subprocess.run([*command, "-"], input=text, text=True, capture_output=True)
    return r.returncode == 0, r.stderr


def tell(good, what, command, errors):
    count["passed" if good else "failed"] += 1
    if not good:
        print(f"FAIL {what}: {' '.join(command)}\n{errors}")


headers = sorted(os.path.relpath(os.path.join(folder, name), include)
                 for folder, _, names in os.walk(include) for name in names if name.endswith(".h"))
languages = set()
for command, language in compilers():
    languages.add(language)
    strict = [*command, "-Wall", "-Wextra", "-pedantic", "-Werror",
              *({"c": ["-Wstrict-prototypes"], "c++": ["-Wold-style-cast"]}[language])]
    for header in headers:
        # Twice: the guard works.
        good, errors = tried(strict, f"#include <{header}>\n#include <{header}>\nint main(void) {{ return 0; }}\n")
        tell(good, header, strict, errors)
    for call in NAMED + UNNAMED:
        good, errors = tried(command, "#include <egret/egret.h>\nint n; eg_tensor *x; eg_parameters p;\n"
                                      f"void f(void); void f(void) {{ (void){call}; }}\n")
        tell(good if call in NAMED else not good and "options are given by name" in errors, call, command, errors)
    if language == "c++":
        with open(program) as text:
            good, errors = tried(strict, text.read())
        tell(good, program, strict, errors)
if "c++" not in languages:
    print("SKIP headers in C++: no C++ compiler")
    count["skipped"] = 1
print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
sys.exit(count["failed"] > 0)
