#!/usr/bin/env python3
"""The prompt of egret as one sees it, in a terminal of tmux: keys go in, the screen is read.

    prompt.py EGRET [plain]    plain: this build has no line editor
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/common"))
from checking import check, finish, has_terminals, skip  # noqa: E402
from pixels import read_blocks  # noqa: E402

program = os.path.abspath(sys.argv[1])


class Terminal:
    """A server of tmux of our own with one window of 90 x 40 characters, where egret runs."""
    made = 0

    def __init__(self, at, more="", **env):
        Terminal.made += 1
        env = {"HOME": at, "XDG_STATE_HOME": at + "/state", "COLORTERM": "truecolor", "TMUX_TMPDIR": at, "TMPDIR": at,
               **env}
        self.tmux = ["tmux", "-S", f"{at}/socket{Terminal.made}", "-f", "/dev/null"]
        self.env = {k: v for k, v in os.environ.items() if k not in ("TMUX", "NO_COLOR", "EGRET_SHOW")}
        self.env.update(env)
        words = [f"{k}={v}" for k, v in env.items()]
        self.run("new-session", "-d", "-x", "90", "-y", "40", "-s", "egret", "env", *words, "sh", "-c",
                 f"trap : INT; '{program}' {more}; echo left with $?; sleep 100")

    def run(self, *words):
        return subprocess.run([*self.tmux, *words], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True).stdout

    def screen(self, *how):
        return self.run("capture-pane", "-p", "-t", "egret", *how).rstrip("\n")

    def wait(self, what, text, seconds=20):
        """Until the screen matches; a check of its own."""
        end = time.time() + seconds
        while not re.search(text, self.screen(), re.M) and time.time() < end:
            time.sleep(.05)
        screen = self.screen()
        check(what, re.search(text, screen, re.M), f"no {text!r} in\n{screen}")
        return screen

    def type(self, text):
        self.run("send-keys", "-t", "egret", "-l", text)

    def key(self, *names):
        self.run("send-keys", "-t", "egret", *names)

    def enter(self, text, *, until=r"^>>?$"):
        """What is typed before the next prompt is there would be echoed by the terminal itself."""
        self.type(text)
        self.key("Enter")
        end = time.time() + 20
        while until and not re.search(until, self.screen().split("\n")[-1]) and time.time() < end:
            time.sleep(.02)

    def clear(self):
        self.key("C-l")
        time.sleep(.2)

    def close(self):
        self.run("kill-server")


def typing(t):
    t.wait("the prompt", r"^Egret .*\n>$")
    t.enter("x = eg.ones{2, 3}")
    t.enter("x")
    t.wait("a value", r"^> x\n\[\[1\. 1\. 1\.\]\n \[1\. 1\. 1\.\]\]\n>$")
    t.clear()
    t.enter("for i = 1, 2 do")
    t.wait("a second prompt", r"^>>$")
    t.enter("print('line', i)")
    t.enter("end")
    t.wait("it runs when it is whole", r"^line\s+1\nline\s+2\n>$")
    t.enter("'häßlich' .. 'ö'")
    t.wait("letters beyond ASCII", '^"häßlichö"$')


def completion(t):
    t.clear()
    t.type("eg.conv2")
    t.key("Tab")
    t.wait("the rest of a name", r"^> eg\.conv2d$")
    t.key("C-u")
    t.type("x:resh")
    t.key("Tab")
    t.wait("a method", r"^> x:reshape$")
    t.key("C-u")
    t.type("eg.optim.ad")
    t.key("Tab")
    t.key("Tab")
    t.wait("a choice", r"^adadelta +adagrad +adam +adamax\n> eg\.optim\.ad")
    t.key("C-u")
    t.enter("settings = {rate = 1, rates = {deep = {er = 2}}}")
    t.type("settings.rates['deep'].e")
    t.key("Tab")
    t.wait("keys of tables", r"^> settings\.rates\['deep'\]\.er$")
    t.key("C-u")
    t.type("func")
    t.key("Tab")
    t.wait("keywords", r"^> function$")
    t.key("C-u")
    t.type("eg.zeros({2}, \"bf")
    t.key("Tab")
    t.wait("dtypes in strings", r'^> eg\.zeros\(\{2\}, "bf16$')
    t.key("C-u")
    t.type("nothing.at.al")
    t.key("Tab")
    t.key("C-u")
    t.enter("1 + 2")
    t.wait("what is not there does no harm", r"^3$")


def interrupts(t):
    t.clear()
    t.type("never meant")
    t.key("C-c")
    t.enter("'after'")
    t.wait("Ctrl-C clears the line", r'^> never meant\n> \'after\'\n"after"\n>$')
    t.clear()
    t.enter("while true do end", until=None)
    time.sleep(.3)
    t.key("C-c")
    t.wait("Ctrl-C stops a loop", r"^(\^C)?interrupted$")
    t.enter("coroutine.wrap(function() while true do end end)()", until=None)
    time.sleep(.3)
    t.key("C-c")
    t.wait("and one in a coroutine", r"interrupted\n(.*\n)*.*interrupted$")
    t.clear()
    t.enter("x:sum()")
    t.wait("everything is still there", r"^6\.")
    t.enter("for i = 1, 3 do")
    t.key("C-c")
    t.enter("'out again'")
    t.wait("Ctrl-C leaves several lines", r'^"out again"$')


def pictures(t):
    t.clear()
    t.enter("eg.show(eg.tensor({{0, 100, 255}, {50, 60, 70}, {1, 2, 3}}, 'u8'), {scale = 1})")
    t.wait("a picture", "▀▀▀")
    rows = read_blocks(t.screen("-e"))
    check("its colours", rows == [[(v,) * 3 for v in row] for row in [[0, 100, 255], [50, 60, 70], [1, 2, 3]]], str(rows))
    t.clear()
    t.enter("eg.plot({1, 4, 9, 16}, {title = 'Squares'})")
    t.wait("a curve", r"Squares\n(.*\n)*.*[⠁-⣿]")
    t.clear()
    t.enter("local s = os.clock() while os.clock() - s < 0.2 do end")
    t.wait("what took long tells its time", r"^  (\d+ ms|\d\.\d\d s), cpu: [\d.]+ MiB of tensors")


def history(t, at):
    t.clear()
    t.key("C-d")
    t.wait("Ctrl-D leaves", "^left with 0$")
    t.close()
    path = at + "/state/egret/history"
    lines = open(path).read().splitlines()
    check("chunks are lines of the history", "for i = 1, 2 do print('line', i) end" in lines, str(lines))
    check("what was thrown away is not", "never meant" not in lines, str(lines))
    check("for nobody else to read", os.stat(path).st_mode & 0o777 == 0o600 and os.listdir(at + "/state/egret") == ["history"])
    t = Terminal(at, NO_COLOR="1")
    t.wait("it starts again", r"^>$")
    t.key("Up")
    t.wait("the arrow brings back the last line", r"^> local s = os\.clock\(\)")
    t.key("C-c")
    t.enter("eg.nn")
    t.wait("a table", r"conv2d = function")
    screen = t.screen("-e")
    check("NO_COLOR", "\x1b[" not in screen, screen)
    t.key("C-r")
    t.type("Squa")
    t.wait("Ctrl-R looks for one", r"eg\.plot\(\{1, 4, 9, 16\}")
    t.close()


def errors_elsewhere(at):
    """Standard error in a file, and a history that cannot be read."""
    place = at + "/elsewhere/egret/history"
    os.makedirs(os.path.dirname(place))
    os.symlink("history", place)
    t = Terminal(at, f"2> {at}/errors", XDG_STATE_HOME=at + "/elsewhere")
    t.wait("the prompt once more", r"^Egret .*\n>$")
    t.enter("error 'in a file'")
    t.enter("'typed'")
    t.wait("and it answers", '^"typed"$')
    t.key("C-d")
    t.wait("and it leaves", "^left with 0$")  # a terminal that goes away under it is an error that is said, too
    t.close()
    with open(at + "/errors") as file:
        said = file.read()
    check("no colours in files", said == "stdin:1: in a file\n", repr(said))
    check("a history that cannot be read is left",
          os.path.islink(place) and os.listdir(os.path.dirname(place)) == ["history"])


lacking = ("this build has no libedit" if "plain" in sys.argv else "tmux is not installed" if not shutil.which("tmux")
           else "" if has_terminals() else "this system has no pseudo-terminals")
if lacking:
    skip(lacking)
    finish()
with tempfile.TemporaryDirectory() as folder:
    terminal = Terminal(folder)
    try:
        typing(terminal)
        completion(terminal)
        interrupts(terminal)
        pictures(terminal)
        history(terminal, folder)
        errors_elsewhere(folder)
    finally:
        terminal.close()
finish()
