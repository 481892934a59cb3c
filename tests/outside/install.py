#!/usr/bin/env python3
"""The build installs into an empty folder, README's first program compiles with what pkg-config says about it, runs,
and says what README says; and so does its Lua, where that was built, with the stock interpreter.

    install.py SOURCE BUILD CC
"""
import glob
import os
import re
import shlex
import shutil
import sys
import tempfile

import snippets
from trying import check, finish, run, skip

source, build, cc = sys.argv[1:4]


def installed_program(at):
    files = glob.glob(at + "/**/egret.pc", recursive=True)
    if not check("egret.pc is installed", len(files) == 1):
        return
    folder = os.path.dirname(files[0])
    env = {**os.environ, "PKG_CONFIG_PATH": folder, "PKG_CONFIG_SYSROOT_DIR": at,
           "LD_LIBRARY_PATH": os.path.dirname(folder)}
    said = run(["pkg-config", "--cflags", "--libs", "egret"], env=env)
    program = snippets.program_of(os.path.join(source, "README.md"), "c")
    check("README says what its program prints", program.prints)
    with open(os.path.join(at, "hello.c"), "w") as f:
        f.write(program.source())
    r = run([*shlex.split(cc), "-std=c11", "-Wall", "-Werror", at + "/hello.c", "-o", at + "/hello",
             *shlex.split(said.stdout)])
    if check("README's program compiles", r.returncode == 0, said.stdout + r.stdout):
        r = run([at + "/hello"], env=env)
        check("README's program does what README says",
              r.returncode == 0 and not snippets.same(r.stdout, program.prints), r.stdout)


def installed_lua(at):
    module = glob.glob(at + "/**/lib/lua/5.4/egret.so", recursive=True)
    if not module or not shutil.which("lua5.4"):
        skip("README's Lua: no module was built, or lua5.4 is not installed")
        return
    program = snippets.program_of(os.path.join(source, "README.md"), "lua")
    library = os.path.dirname(glob.glob(at + "/**/libegret.so", recursive=True)[0])
    env = {**os.environ, "LUA_CPATH": os.path.dirname(module[0]) + "/?.so", "LD_LIBRARY_PATH": library}
    if "-fsanitize" in cc:  # has to be in the program from its start
        skip("README's Lua with the stock interpreter: it has no sanitizer")
    else:
        r = run(["lua5.4", "-e", program.source()], env=env)
        check("README's Lua works with the stock interpreter",
              r.returncode == 0 and not snippets.same(r.stdout, program.prints), r.stdout)
    egret = glob.glob(at + "/**/bin/egret", recursive=True)[0]
    r = run([egret, "-e", program.source()], env=env)
    check("and with egret", r.returncode == 0 and not snippets.same(r.stdout, program.prints), r.stdout)


def installed_examples(at):
    """The programs for everyday use start, and a tutorial runs from where it was installed."""
    if not os.path.exists(build + "/examples/digits/digits"):
        return skip("no examples were built")
    env = {**os.environ, "LD_LIBRARY_PATH": os.path.dirname(glob.glob(at + "/**/libegret.so", recursive=True)[0])}
    for name in ("onnx", "convert", "weights", "classify", "cnn-bench"):
        r = run([glob.glob(f"{at}/**/bin/egret-{name}", recursive=True)[0], "--help"], env=env)
        check(f"egret-{name} --help", r.returncode == 0 and "--" in r.stdout, r.stdout)
    digits = glob.glob(at + "/**/lib/**/egret/examples/digits", recursive=True)
    r = run([digits[0], "--smoke", "--out", at + "/out"], env=env)
    check("the installed example digits --smoke", r.returncode == 0, r.stdout)
    lua = glob.glob(at + "/**/bin/egret", recursive=True)
    script = glob.glob(at + "/**/share/egret/examples/digits/digits.lua", recursive=True)
    if lua:
        r = run([lua[0], script[0], "--smoke", "--out", at + "/out-lua"], env=env)
        check("the installed example digits.lua --smoke", r.returncode == 0, r.stdout)


def main():
    with tempfile.TemporaryDirectory() as at:
        r = run(["meson", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", at])
        if not check("meson install", r.returncode == 0, r.stdout):
            return
        for folder, _, names in os.walk(os.path.join(source, "include")):
            for name in names:
                if name.endswith(".h"):
                    rel = os.path.relpath(os.path.join(folder, name), os.path.join(source, "include"))
                    check(f"{rel} is installed", glob.glob(f"{at}/**/include/{rel}", recursive=True))
        check("nothing but headers, libraries, programs, examples and what finds them is installed", not [
            f for f in glob.glob(at + "/**", recursive=True) if os.path.isfile(f)
            and not re.search(r"\.h$|libegret(-\w+)?\.(so|a)|egret(-static|-models|-run)?\.pc$|/egretConfig(Version)?\.cmake$"
                              r"|/bin/egret(-devices|-onnx|-convert|-weights|-classify|-cnn-bench)?$"
                              r"|/lib/lua/5\.4/egret\.so$|/lua-types/egret\.lua$"
                              r"|/lib/[^.]*egret/examples/\w[\w-]*$|/share/egret/examples/[^.]+\.(c|h|lua|md|png|jpg|py|ipynb)$",
                              f)])
        installed_examples(at)
        if shutil.which("pkg-config"):
            installed_program(at)
        else:
            skip("README's program: pkg-config is not installed")
        installed_lua(at)


main()
finish()
