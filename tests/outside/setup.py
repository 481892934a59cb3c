#!/usr/bin/env python3
"""setup.sh install puts everything where a shell that was told what it prints finds it, without root where none is
needed; uninstall takes all of it away. The demo says where it is, and a build that fails ends all.

    setup.py SOURCE BUILD enabled|disabled     whether there is a Lua
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from trying import attempt, check, finish, run, skip

source, build, with_lua = sys.argv[1:4]
# The quickest build there is; install keeps these options.
QUICK = ["-Doptimization=0", "-Ddebug=false", "-Dauto_features=disabled", f"-Dlua={with_lua}", "-Disa="]
# Packages are there, nobody asks for root.
PRETENDED = {"apt-get": "echo apt-get was called; exit 1", "sudo": "echo sudo was called; exit 1",
             "dpkg-query": "echo install ok installed"}


def block(language):
    with open(os.path.join(source, "README.md")) as file:
        return re.search(rf"```{language}\n(.*?)```", file.read(), re.S)[1]


def checkout(at):
    """A copy of this one that is links, with a build that was configured before."""
    os.mkdir(at)
    for name in os.listdir(source):
        if not name.startswith((".", "build")):
            os.symlink(os.path.join(source, name), os.path.join(at, name))
    return attempt("meson setup", ["meson", "setup", at + "/build-install", at, *QUICK])


def tree(at):
    return sorted(os.path.join(folder, name) for folder, _, names in os.walk(at) for name in names)


def compiles(at, lines):
    """README's command works in a shell that was told the lines."""
    with open(at + "/program.c", "w") as file:
        file.write(block("c"))
    with open(os.path.join(source, "README.md")) as file:
        command = re.search(r"^    (cc program\.c .*)", file.read(), re.M)[1]
    attempt("README's program", ["sh", "-c", f"{lines}\n{command} && ./a.out"], "1.414214", cwd=at, env=plain)


def lua(lines):
    code = block("lua")
    for program in ["egret", "lua5.4"]:
        if shutil.which("lua5.4") or program == "egret":
            attempt(f"README's Lua by {program}", ["sh", "-c", f'{lines}\n{program} -e "$0"', code], "1.41421",
                    env=plain)
        else:
            skip("README's Lua by lua5.4: that is not installed")


def pretend(folder, programs):
    """An environment in which they are found in the folder."""
    os.mkdir(folder)
    for name, text in programs.items():
        with open(f"{folder}/{name}", "w") as file:
            file.write(f"#!/bin/sh\n{text}\n")
        os.chmod(f"{folder}/{name}", 0o755)
    return {**plain, "PATH": f"{folder}:{plain['PATH']}"}


def demo(at, own, env):
    if not os.path.exists(build + "/examples/digits/digits"):
        return skip("the demo is not built")
    os.symlink(build, own + "/build")
    r = run([own + "/setup.sh", "demo", "--smoke", "--out", at + "/digits"], env=env)
    check("the demo", r.returncode == 0 and os.path.exists(at + "/digits/digits.png"), r.stdout)
    check("tells its stages", re.findall(r"==> (. of .): ", r.stdout) == ["1 of 3", "2 of 3", "3 of 3"], r.stdout)


def main(at):
    own = at + "/checkout"
    if not checkout(own):
        return
    env = {**pretend(at + "/pretended", PRETENDED), "DESTDIR": at + "/elsewhere"}
    demo(at, own, env)
    failing = {"ninja": '[ "$1" != --version ] || exec echo 1.11\necho "@ 47%@"; echo FAILED: a.o; exit 1'}
    r = run([own + "/setup.sh", "install", "--prefix", at + "/failed"],
            env=pretend(at + "/failing", {**PRETENDED, **failing}))
    check("a build that fails ends the install", r.returncode == 1 and "FAILED: a.o" in r.stdout and
          "installing" not in r.stdout and "47 %" in r.stdout and not os.path.exists(at + "/failed"), r.stdout)
    r = run([own + "/setup.sh", "uninstall"], env=env)
    check("there is nothing to uninstall", r.returncode == 1 and "nothing" in r.stdout, r.stdout)
    for wrong in (["--without", "nonsense"], ["--without"], ["--prefix"], ["somewhere"], ["--prefix", at, "more"], ["--prefix", at + "/a b"]):
        r = run([own + "/setup.sh", "install", *wrong], env=env)
        check(f"install {' '.join(wrong)} is refused", r.returncode in (1, 2) and "building" not in r.stdout, r.stdout)
    # From another folder, into one that is named from there.
    r = subprocess.run([own + "/setup.sh", "install", "--prefix", "deep/prefix", "--without", "mpi,zlib"], cwd=at, env=env,
                       text=True, capture_output=True)
    if not check("setup.sh install", r.returncode == 0, r.stdout[-3000:] + r.stderr[-3000:]):
        return
    prefix, lines = at + "/deep/prefix", r.stdout
    options = json.loads(subprocess.check_output(["meson", "introspect", own + "/build-install", "--buildoptions"]))
    disabled = {option["name"] for option in options if option["value"] == "disabled"}
    check("--without disables features", {"mpi", "zlib"} <= disabled and "cuda" not in disabled, str(disabled))
    check("only lines for a shell are on standard output",
          lines and all(re.fullmatch(r'export [A-Z_]+="[^"]*"', line) for line in lines.splitlines()), lines)
    percents = [int(share) for share in re.findall(r"==> (\d+) %", r.stderr)]
    check("without a terminal each percent is reported once", len(percents) > 30 and percents[-1] == 100 and
          percents == sorted(set(percents)), r.stderr)
    check("nothing is installed elsewhere", not os.path.exists(at + "/elsewhere"))
    compiles(at, lines)
    if with_lua == "enabled":
        lua(lines)
    else:
        skip("README's Lua: there is none")
    with open(prefix + "/lib/other", "w"):
        pass
    attempt("setup.sh uninstall", [own + "/setup.sh", "uninstall"], env=env)
    check("it leaves what others have put there", tree(at + "/deep") == [prefix + "/lib/other"], tree(at + "/deep"))
    check("and no folder of its own", sorted(os.listdir(prefix)) == ["lib"], os.listdir(prefix))


plain = {name: os.environ[name] for name in ("PATH", "HOME", "CC") if name in os.environ}
with tempfile.TemporaryDirectory() as at:
    main(at)
finish()
