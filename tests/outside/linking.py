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
reach = os.path.join(source, "tests/outside/reach.c")  # of all libraries and modules
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
    others = {word for word in found if word.startswith("-l")} - {"-legret", "-l:libegret.a", "-lm", "-ldl", "-legret-models", "-legret-run",
                                                                  "-lgif"}
    check("pkg-config " + " ".join(options), r.returncode == 0 and not others, r.stdout)
    return found


def all_static(at, folder, source, packages, name, *arguments, env=None):
    """A program without any shared library."""
    out = f"{at}/{name}"
    r = run([*words, "-static", source, "-o", out, *flags(at, folder, "--static", *packages)])
    lacking = re.findall(r"cannot find -l([\w.+-]+)", r.stdout)
    if lacking:
        return skip(f"{name} without shared libraries: the system has no static " + ", ".join(sorted(set(lacking))))
    if check(f"{name} has all libraries inside", r.returncode == 0, r.stdout):
        attempt(f"{name} runs without shared libraries", [out, *arguments], "", env=env)


def modules(at):
    """Variables by which a program finds the modules that were installed."""
    found = {m.group(1).upper(): file for file in glob.glob(at + "/**/libegret-*.so.0", recursive=True)
             if (m := re.search(r"libegret-(\w+)\.so", file)) and m.group(1) not in ("models", "run")}
    return {**os.environ, **{f"EGRET_{name}_MODULE": file for name, file in found.items()},
            "LD_LIBRARY_PATH": ":".join(sorted({os.path.dirname(file) for file in found.values()}))}


def static(at, folder):
    out = at + "/inside"
    if attempt("a program has the library inside", [*words, inside, "-o", out, *flags(at, folder, "egret-static")]):
        attempt("and runs", [out], "4 passed")
    if any(word.startswith("-fsanitize") for word in words):
        return skip("no shared library at all: sanitizers have theirs")
    all_static(at, folder, inside, ["egret"], "inside")
    all_static(at, folder, reach, ["egret-models", "egret-run"], "reach", "static", env=modules(at))


def archives(at):
    """No symbol is defined by two archives: a program may link all of them."""
    where = {}
    for file in glob.glob(at + "/**/libegret*.a", recursive=True):
        for line in run(["nm", "-g", "--defined-only", file]).stdout.splitlines():
            parts = line.split()
            if len(parts) == 3:
                where.setdefault(parts[2], []).append(os.path.basename(file))
    twice = {name: files for name, files in where.items() if len(files) > 1}
    check("no symbol is defined twice", where and not twice, str(twice))


def all_shared(at, folder):
    """A program with all shared libraries, by itself and where it finds the modules."""
    out = at + "/shared_reach"
    if attempt("a program has all libraries", [*words, reach, "-o", out,
                                               *flags(at, folder, "egret-models", "egret-run")]):
        beside = {**os.environ, "LD_LIBRARY_PATH": os.path.dirname(folder)}
        attempt("it runs", [out], "9 passed", env=beside)
        attempt("it runs with the modules given", [out], "9 passed", env={**modules(at), **beside})


def uninstalled():
    """Programs beside the build: what pkg-config says without an installation."""
    env = {**os.environ, "PKG_CONFIG_PATH": build + "/meson-uninstalled"}
    with tempfile.TemporaryDirectory() as at:
        for package in ("egret", "egret-static"):
            r = run(["pkg-config", "--cflags", "--libs", package], env=env)
            if attempt(package + " without an installation", [*words, inside, "-o", at + "/a", *shlex.split(r.stdout)]):
                linked = run([at + "/a"], env={**os.environ, "LD_LIBRARY_PATH": build}).stdout
                check("and runs", package == "egret" or linked.startswith("4 passed"), linked)


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
    archives(at)
    if shutil.which("pkg-config"):
        all_shared(at, os.path.dirname(files[0]))
        static(at, os.path.dirname(files[0]))
        uninstalled()
    else:
        skip("static linking: pkg-config is not installed")
    if shutil.which("cmake") and shutil.which("pkg-config"):
        cmake(at, at + prefix, version)
    else:
        skip("find_package: cmake or pkg-config is not installed")
finish()
