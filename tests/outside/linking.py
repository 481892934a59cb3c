#!/usr/bin/env python3
"""Programs of others link with what a build installs: the library inside, as pkg-config says, with shared libraries of
the system or with none; and either library by CMake's find_package.

    linking.py SOURCE BUILD CC
"""
import glob
import os
import re
import shlex
import shutil
import sys
import tempfile

from trying import attempt, check, finish, run, skip

source, build = map(os.path.abspath, sys.argv[1:3])
words = shlex.split(sys.argv[3])
inside = os.path.join(source, "tests/outside/static.c")  # refuses to run with libegret.so
shared = '#include <stdio.h>\n#include <egret/egret.h>\nint main(void) { return puts(eg_version()) < 0; }\n'
nets = '#include <stdio.h>\n#include <egret/models.h>\nint main(void) { return puts(eg_model_at(0).name) < 0; }\n'
project = """cmake_minimum_required(VERSION 3.13)
project(outside C)
find_package(egret 1000 QUIET)
if(egret_FOUND)
  message(FATAL_ERROR "there is no version 1000")
endif()
find_package(egret VERSION REQUIRED)
add_executable(shared shared.c)
target_link_libraries(shared egret::egret)
add_executable(inside "INSIDE")
target_link_libraries(inside egret::static)
add_executable(nets nets.c)
target_link_libraries(nets egret::models)
"""


def flags(at, folder, *options):
    """What pkg-config says of what lies under a folder."""
    r = run(["pkg-config", "--cflags", "--libs", *options],
            env={**os.environ, "PKG_CONFIG_PATH": folder, "PKG_CONFIG_SYSROOT_DIR": at})
    found = shlex.split(r.stdout)
    others = {word for word in found if word.startswith("-l")} - {"-legret", "-l:libegret.a", "-lm", "-ldl"}
    check("pkg-config " + " ".join(options), r.returncode == 0 and not others, r.stdout)
    return found


def static(at, folder):
    out = at + "/inside"
    if attempt("a program has the library inside", [*words, inside, "-o", out, *flags(at, folder, "egret-static")]):
        attempt("and runs", [out], "4 passed")
    if any(word.startswith("-fsanitize") for word in words):
        return skip("no shared library at all: sanitizers have theirs")
    r = run([*words, "-static", inside, "-o", out, *flags(at, folder, "--static", "egret")])
    lacking = re.findall(r"cannot find -l([\w.+-]+)", r.stdout)
    if lacking:
        return skip("no shared library at all: the system has no static " + ", ".join(sorted(set(lacking))))
    if check("a program has all libraries inside", r.returncode == 0, r.stdout):
        attempt("and runs, too", [out], "4 passed")


def cmake(at, prefix, version):
    text = project.replace("VERSION REQUIRED", version + " REQUIRED").replace("INSIDE", inside)
    for name, content in {"CMakeLists.txt": text, "shared.c": shared, "nets.c": nets}.items():
        with open(f"{at}/{name}", "w") as file:
            file.write(content)
    env = {**os.environ, "CMAKE_GENERATOR": "Ninja", "CC": " ".join(word for word in words if not word.startswith("-")),
           "CFLAGS": " ".join(word for word in words if word.startswith("-"))}
    if attempt("CMake finds egret", ["cmake", "-S", at, "-B", at + "/b", "-DCMAKE_PREFIX_PATH=" + prefix], env=env) \
            and attempt("and builds with it", ["cmake", "--build", at + "/b"]):
        attempt("a program with the shared library", [at + "/b/shared"], version)
        attempt("a program with the library of nets", [at + "/b/nets"], "lenet")
        attempt("a program with the static library", [at + "/b/inside"], "4 passed")


with tempfile.TemporaryDirectory() as at:
    attempt("meson install", ["meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", at])
    files = glob.glob(at + "/**/egret.pc", recursive=True)
    if not check("egret.pc is installed", len(files) == 1):
        finish()
    pc = open(files[0]).read()
    version, prefix = re.search(r"^Version: (.*)", pc, re.M)[1], re.search(r"^prefix=(.*)", pc, re.M)[1]
    if shutil.which("pkg-config"):
        static(at, os.path.dirname(files[0]))
    else:
        skip("static linking: pkg-config is not installed")
    if shutil.which("cmake") and shutil.which("pkg-config"):
        cmake(at, at + prefix, version)
    else:
        skip("find_package: cmake or pkg-config is not installed")
finish()
