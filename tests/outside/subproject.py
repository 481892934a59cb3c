#!/usr/bin/env python3
"""A project of others has this one among its meson subprojects: dependency('egret') finds it, its options are
honoured, and nothing but the library is built. That is configured, and a program compiled, but not the library.

    subproject.py SOURCE CC
"""
import json
import os
import subprocess
import sys
import tempfile

from trying import attempt, check, finish, run

source, cc = sys.argv[1:3]
project = """project('outside', 'c')
executable('asks', 'main.c', dependencies: dependency('egret', fallback: ['egret', 'egret_dep']))
executable('takes', 'main.c', dependencies: subproject('egret').get_variable('egret_dep'))
executable('static', 'main.c', dependencies: dependency('egret', static: true))
"""
program = "#include <egret/egret.h>\nint main(void) { return !eg_version(); }\n"


def introspect(folder, what):
    return json.loads(subprocess.check_output(["meson", "introspect", folder, "--" + what]))


def linked(folder, name):
    """Which kind of our library the program is linked with."""
    with open(folder + "/build.ninja") as file:
        rule = next(line for line in file if line.startswith(f"build {name}: c_LINKER"))
    return [kind for kind in ("so", "a") if f"libegret.{kind}" in rule]


def main(at):
    os.mkdir(at + "/subprojects")
    os.symlink(source, at + "/subprojects/egret")
    for name, text in {"meson.build": project, "main.c": program}.items():
        with open(f"{at}/{name}", "w") as file:
            file.write(text)
    folder = at + "/build"
    if not attempt("it is configured", ["meson", "setup", folder, at, "--force-fallback-for=egret", "-Degret:isa=avx2",
                                                "-Degret:cuda=disabled"],
                   env={**os.environ, "CC": cc}):
        return
    ours = [t for t in introspect(folder, "targets") if t["subproject"]]
    names = {t["name"] for t in ours if "library" in t["type"]}
    others = {t["name"] for t in ours if "library" not in t["type"] and t["type"] != "custom"}
    check("nothing but libraries is built", not others and {"egret"} <= names, sorted(others))
    check("options are honoured", "egret-avx512" not in names, sorted(names))
    check("there are no tests", not introspect(folder, "tests"))
    for name, kind in {"asks": "so", "takes": "so", "static": "a"}.items():
        check(f"{name} is linked with libegret.{kind}", linked(folder, name) == [kind], linked(folder, name))
    r = run(["ninja", "-C", folder, "asks.p/main.c.o", "static.p/main.c.o"])
    check("a program finds the headers", r.returncode == 0, r.stdout)


with tempfile.TemporaryDirectory() as at:
    main(at)
finish()
