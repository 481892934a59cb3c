#!/usr/bin/env python3
"""Every block of C, C++ and Lua in the documents compiles, runs and prints what its page says.

    snippets.py SOURCE BUILD CC            all pages, with what was built in BUILD
    snippets.py PAGE c|lua [> start.c]     the program that the blocks of a page are

The blocks of a language are the parts of one program, in their order; one with a main() of its own is a program alone.
Of C, blocks that begin with #include, static or typedef stand before main(), the others in it. Blocks of `cpp` are one
program as they are. A block of `text` is
what the blocks since the one before it print, those of Lua the same as those of C. A block without a name that begins
with "> " is what a prompt of egret shows. Lua that never asks for the module is a notebook's cells, which have it.
"""
import difflib
import glob
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile

PAGES = ["*.md", "docs/*.md", "examples/*/*.md"]
NEEDS_A_CARD = ["gpu.md"]  # without one: an error in words
# What a reader's compiler could warn of is an error here.
STRICT = ["-std=c11", "-Wall", "-Wextra", "-Werror"]
CPP = {"gcc": "g++", "cc": "c++", "clang": "clang++"}
OUTSIDE = re.compile(r"#include|static|typedef")


class Program:
    """Parts of one language, each the number of its first line and its text, and what they print in all."""

    def __init__(self, page, language):
        self.page, self.language, self.parts, self.prints = page, language, [], ""

    def marked(self):
        """Each part, in C behind words that tell the compiler where it is from."""
        for line, text in self.parts:
            yield text, f'#line {line} "{self.page}"\n{text}' if self.language in ("c", "cpp") else text

    def source(self, marks=False):
        if self.language == "lua" and marks:  # the lines have the page's numbers
            lines = []
            for line, text in self.parts:
                lines += [""] * (line - 1 - len(lines)) + text.splitlines()
            return "\n".join(lines) + "\n"
        parts = list(self.marked()) if marks else [(text, text) for _, text in self.parts]
        if self.language in ("lua", "cpp") or any("int main(" in text for text, _ in parts):
            return "\n".join(shown for _, shown in parts)
        outside = [shown for text, shown in parts if OUTSIDE.match(text)]
        inside = [shown for text, shown in parts if not OUTSIDE.match(text)]
        return "\n".join(["#include <egret/egret.h>\n", *outside, "int main(void)\n{", *inside]) + "}\n"


def fences(text):
    """Every fenced block: its name, the number of its first line, its text."""
    name, first, block = None, 0, []
    for number, line in enumerate(text.splitlines(), 1):
        fence = re.match(r"\s*```+\s*(.*?)\s*$", line)
        if not fence:
            block.append(line)
        elif name is None:
            name, first, block = fence[1], number + 1, []
        else:
            yield name, first, "\n".join(block) + "\n"
            name = None
    if name is not None:
        raise ValueError(f"the block of line {first} has no end")


def programs(path):
    """The programs of a page, those of prompts among them. ValueError for a block that is none of the known kinds."""
    joined, found, pending = {}, [], []
    page = os.path.basename(path)
    with open(path, encoding="utf8") as file:
        text = file.read()
    for name, line, block in fences(text):
        if name in ("c", "cpp", "lua"):
            program = Program(page, name) if name == "c" and "int main(" in block else joined.setdefault(name, Program(page, name))
            program.parts.append((line, block))
            found += [program] if program not in found else []
            pending.append(program)
        elif name == "text":
            if not pending:
                raise ValueError(f"nothing prints the text of line {line}")
            for program in set(pending):
                program.prints += block
            pending = []
        elif name == "" and block.startswith("> "):
            typed = Program(page, "prompt")
            typed.parts.append((line, block))
            found.append(typed)
        elif name:
            raise ValueError(f"the block of line {line} is of an unknown kind: {name}")
    return found


def program_of(path, language):
    """The one program of that language on a page."""
    found = [program for program in programs(path) if program.language == language]
    if len(found) != 1:
        raise ValueError(f"{path} has {len(found)} programs in {language}")
    return found[0]


def run(command, errors=subprocess.PIPE, **more):
    return subprocess.run(command, text=True, encoding="utf8", stdout=subprocess.PIPE, stderr=errors, timeout=600,
                          **more)


def same(said, page):
    """Nothing, or where what was said and what the page says part; blanks at ends of lines do not count."""
    ours, its = ([line.rstrip() for line in text.rstrip().splitlines()] for text in (said, page))
    return "\n".join(difflib.unified_diff(its, ours, "the page", "the program", lineterm=""))


def digits_in(folder, count=128):
    """What stands for the files of MNIST that programs of pages read."""
    os.mkdir(folder)
    with open(folder + "/train-images-idx3-ubyte", "wb") as file:
        file.write(struct.pack(">4I", 2051, count, 28, 28) + bytes(i * 7 % 256 for i in range(count * 784)))
    with open(folder + "/train-labels-idx1-ubyte", "wb") as file:
        file.write(struct.pack(">2I", 2049, count) + bytes(i % 10 for i in range(count)))


class Tests:
    def __init__(self, source, build, cc):
        self.source, self.build, self.cc = source, build, shlex.split(cc)
        self.count = {"passed": 0, "failed": 0, "skipped": 0}
        # As for a reader who has set nothing, on a machine without a card, which may be busy.
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("EG_", "EGRET_", "EGT_", "LUA_"))}
        self.env.update(CUDA_VISIBLE_DEVICES="", NO_COLOR="1")
        self.egret = os.path.join(build, "lua/program/egret")

    def check(self, what, ok, words=""):
        self.count["passed" if ok else "failed"] += 1
        if not ok:
            print(f"FAIL {what}\n{words}")
        return ok

    def skip(self, why):
        self.count["skipped"] += 1
        print(f"SKIP {why}")

    def interpreters(self, cells):
        """How to run a script: with egret, and with the stock interpreter, which cannot hold a sanitizer."""
        yield "egret", [self.egret, *(["-l", "eg=egret"] if cells else [])], {}
        if shutil.which("lua5.4") and not cells and not any("-fsanitize" in word for word in self.cc):
            yield "lua5.4", ["lua5.4"], {"LUA_CPATH": os.path.join(self.build, "lua/?.so"),
                                         "LD_LIBRARY_PATH": self.build}

    def judge(self, what, program, r):
        if program.page in NEEDS_A_CARD and r.returncode == 1:
            self.check(what, r.stderr.startswith("egret: ") and "(no device)" in r.stderr, r.stderr)
            return
        lacks = re.search(r"this build has no (\w+) \(no kernel\)", r.stderr)
        if r.returncode == 1 and lacks:
            self.skip(f"{what}: built without {lacks[1]}")
            return
        self.check(what, r.returncode == 0 and not r.stderr and not same(r.stdout, program.prints),
                   f"status {r.returncode}\n{r.stderr}{same(r.stdout, program.prints)}")

    def try_c(self, what, program, at, compiler=None, suffix=".c"):
        digits_in(at + "/mnist")
        with open(at + "/program" + suffix, "w", encoding="utf8") as file:
            file.write(program.source(marks=True))
        r = run([*(compiler or [*self.cc, *STRICT]), at + "/program" + suffix, "-o", at + "/program", "-I",
                 self.source + "/include", "-L", self.build, "-Wl,-rpath," + self.build, "-Wl,--as-needed",
                 "-legret-run", "-legret-models", "-legret"])
        if self.check(what + " compiles", r.returncode == 0, r.stdout + r.stderr):
            self.judge(what, program, run([at + "/program"], cwd=at, env=self.env))

    def try_cpp(self, what, program, at):
        """With the C++ compiler that belongs to the C compiler, in both standards that the headers support."""
        compiler = [CPP.get(word, word) for word in self.cc]
        if compiler == self.cc or not shutil.which(next(word for word in compiler if word in CPP.values())):
            return self.skip(what + ": no C++ compiler is installed")
        for standard in ("c++17", "c++20"):
            folder = os.path.join(at, standard)
            os.mkdir(folder)
            flags = [f"-std={standard}", "-Wall", "-Wextra", "-Werror"]
            # Clang calls designated initializers in C++17 an extension.
            flags += ["-Wno-c++20-designator"] if "clang++" in compiler and standard == "c++17" else []
            self.try_c(f"{what} as {standard}", program, folder, [*compiler, *flags], ".cpp")

    def try_lua(self, what, program, at):
        if not os.path.exists(self.egret):
            return self.skip(what + ": Lua was not built")
        source = program.source(marks=True)
        with open(at + "/program.lua", "w", encoding="utf8") as file:
            file.write(source)
        for name, command, env in self.interpreters(cells="require" not in source):
            os.mkdir(f"{at}/{name}")
            r = run([*command, "../program.lua"], cwd=f"{at}/{name}", env={**self.env, **env})
            self.judge(f"{what} by {name}", program, r)

    def try_prompt(self, what, program, at):
        """What is typed stands behind "> " or ">> "; the rest is answered."""
        if not os.path.exists(self.egret):
            return self.skip(what + ": Lua was not built")
        lines = program.parts[0][1].splitlines()
        typed = [re.match(r">>? (.*)", line) for line in lines]
        r = run([self.egret, "-i"], cwd=at, env=self.env, errors=subprocess.STDOUT,
                input="\n".join([":time off", *(m[1] for m in typed if m)]) + "\n")
        words = same(r.stdout, "\n".join(line for line, m in zip(lines, typed) if not m))
        self.check(what, r.returncode == 0 and not words, words)

    def try_page(self, path):
        page = os.path.relpath(path, self.source)
        try:
            found = programs(path)
        except ValueError as wrong:
            self.check(page, False, str(wrong))
            return
        tries = {"c": self.try_c, "cpp": self.try_cpp, "lua": self.try_lua, "prompt": self.try_prompt}
        for program in found:
            with tempfile.TemporaryDirectory() as at:
                tries[program.language](f"{page}:{program.parts[0][0]} ({program.language})", program, at)


def main():
    if len(sys.argv) == 3:
        print(program_of(*sys.argv[1:]).source(), end="")
        return 0
    tests = Tests(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3])
    for path in sorted(path for pattern in PAGES for path in glob.glob(os.path.join(tests.source, pattern))):
        tests.try_page(path)
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**tests.count))
    return tests.count["failed"] > 0


if __name__ == "__main__":
    sys.exit(main())
