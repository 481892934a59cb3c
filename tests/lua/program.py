#!/usr/bin/env python3
"""The program egret without a terminal: scripts, -e, -l, -i, pipes, arguments, exit statuses, what it says.

    program.py EGRET
"""
import fcntl
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/common"))
from checking import check, finish  # noqa: E402

program = sys.argv[1]


def run(*words, text="", expect=0, **env):
    r = subprocess.run([program, *words], input=text, text=True, errors="replace", stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, env={**os.environ, **env}, timeout=120)
    check(f"{words} {text!r}: status {expect}, was {r.returncode}", r.returncode == expect, r.stdout + r.stderr)
    return r.stdout, r.stderr


def options():
    out, err = run("--help")
    check("--help", out.startswith("usage: egret") and not err)
    check("--version", run("--version")[0].startswith("Egret 0.") and "Lua 5.4" in run("-v")[0])
    for bad in (["--absent"], ["-e"], ["-l"], ["-x", "a.lua"]):
        out, err = run(*bad, expect=2)
        check(f"{bad} is told", "usage" in err and not out)
    check("-e, and its order", run("-e", "x = 1", "-e", "print(x + 1)")[0] == "2\n")
    check("-e has eg", run("-e", "print(#eg.zeros{3, 4})")[0] == "3\n")
    check("-l", run("-l", "math", "-l", "s=string", "-e", "print(math.pi > 3, s.rep('x', 3))")[0] == "true\txxx\n")
    check("-l of nothing", "absent" in run("-l", "absent", expect=1)[1])
    check("no kernel is no crash", run("kernel", "--nonsense", expect=2)[1] != "")


def scripts(at):
    def script(text, *words, **more):
        with open(at + "/a.lua", "w") as f:
            f.write(text)
        return run(at + "/a.lua", *words, **more)
    out, _ = script("print(arg[0], arg[1], arg[2], #arg, ...)", "b", "-c")
    check("arg and ...", out == f"{at}/a.lua\tb\t-c\t2\tb\t-c\n", out)
    check("eg is no global of scripts", script("print(eg, package.loaded.egret)")[0] == "nil\tnil\n")
    check("require", script("local eg = require 'egret' print(eg.version())")[0].startswith("0."))
    check("the first line", script("#!/usr/bin/env egret\nprint(2)")[0] == "2\n")
    out, err = script("local function f()\n  error('ouch')\nend\nprint(1)\nf()\nprint(2)", expect=1)
    check("an error and its way", out == "1\n" and "a.lua:2: ouch\n" in err and "in local 'f'" in err
          and "a.lua:5: in the chunk" in err and len(err.splitlines()) == 3, err)
    check("one line for a chunk by itself", script("error('ouch')", expect=1)[1] == f"egret: {at}/a.lua:1: ouch\n")
    check("an error of the library", "matmul" in script("local eg = require 'egret'\neg.matmul(eg.zeros{2, 3}, "
                                                        "eg.zeros{2, 3})", expect=1)[1])
    check("tables as errors", "a table" in script("error{}", expect=1)[1])
    check("__tostring of errors", "egret: mine" in script(
        "error(setmetatable({}, {__tostring = function() return 'mine' end}))", expect=1)[1])
    check("syntax", "a.lua:1:" in script("x = = 1", expect=1)[1])
    check("no file", "absent.lua" in run(at + "/absent.lua", expect=1)[1])
    script("os.exit(7)", expect=7)
    lines, _ = script("local n = 0\nlocal co = coroutine.create(function()\n"
                      "debug.sethook(function() n = n + 1 end, 'l')\ncoroutine.yield()\nlocal a = 1\nlocal b = 2\nend)\ncoroutine.resume(co)\nlocal before = n\n"
                      "coroutine.resume(co)\nprint(n - before)")
    check("a coroutine keeps its hook", lines == "3\n", lines)
    script("os.exit(true, true)")
    deep, = [script("local function f(n) if n == 0 then error('x') end return 1 + f(n - 1) end f(100)", expect=1)[1]]
    check("long ways are cut short", len(deep.splitlines()) < 16 and "and 90 more" in deep, deep)


def pipes():
    check("a script on standard input", run(text="print(1 + 1) print(#arg)")[0] == "2\n0\n")
    check("with arguments", run("-", "a", text="print(...)")[0] == "a\n")
    for words in (["--"], ["-l", "math"], ["-l", "math", "--"]):
        out, _ = run(*words, text="print(arg[0], #arg, select('#', ...), arg[-1])")
        check(f"{words} before one on standard input are none of its arguments", out == f"-\t0\t0\t{words[-1]}\n", out)
    check("nor with -", run("--", "-", "a", text="print(arg[0], ...)")[0] == "-\ta\n")
    check("nothing", run(text="") == ("", ""))
    run(text="error('x')", expect=1)
    for words in (["-e", "print(1)"], ["--help"], ["--version"], ["-e", "eg.plot{1, 2}"]):
        with open("/dev/full", "w") as full:
            r = subprocess.run([program, *words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
        check(f"{words[0]}: what could not be written is told", r.returncode == 1 and "standard output" in r.stderr,
              f"{r.returncode} {r.stderr}")


def prompt(at):
    def typed(text):
        return run("-i", text=text, NO_COLOR="1", XDG_STATE_HOME=at + "/state")
    out, err = typed("1 + 1\nx = 3\nx\nfor i = 1, 2 do\nprint(i)\nend\nnil, false, 's\\n'\nprint()\n")
    check("values, statements, several lines", out == '2\n3\n1\n2\nnil  false  "s\\n"\n\n' and err == "", out + err)
    out, err = typed("error('a')\nx y\n'still here'\n")
    check("errors do not end it", out == '"still here"\n' and "stdin:1: a\n" in err and "syntax" in err, out + err)
    check("tables", typed("{3, 'x', a = {b = {}}, [2.5] = eg.zeros{2}}\n")[0]
          == '{3, "x", [2.5] = [0. 0.], a = {b = {}}}\n', typed("{3, 'x', a = {b = {}}, [2.5] = eg.zeros{2}}\n")[0])
    out = typed("t = {} t.t = t return t, {{{{{{}}}}}}\n")[0]
    check("tables in themselves", out == "{t = {...}}  {{{{{...}}}}}\n", out)
    out = typed("t = {} for i = 1, 100 do t[i] = i end return t\n")[0]
    check("long tables", "... 60 more" in out and max(map(len, out.splitlines())) < 80, out)
    wide = "t = 1 for level = 1, 4 do local n = {} for i = 1, 30 do n[i], n['a' .. i] = t, t end t = n end return t\n"
    out = typed(wide)[0]
    check("tables that are long and deep", "... " in out and len(out) < 200000, len(out))
    out = typed("{['a\\0b'] = 1, c = 2, d = setmetatable({}, {__tostring = function() return 'e\\0f' end})}\n")[0]
    check("names and texts with zeros", out == '{["a\\0b"] = 1, c = 2, d = e\0f}\n', repr(out))
    out = typed("{[('k'):rep(10000)] = 1}\n")[0]
    check("long names", len(out) < 100 and "10000 bytes" in out, out[:200])
    check("names in order", typed("{b = 1, a = 2, ['x y'] = 3}\n")[0] == '{a = 2, b = 1, ["x y"] = 3}\n')
    check("__tostring", typed("setmetatable({}, {__tostring = function() return 'T' end})\n")[0] == "T\n")
    out, err = typed("setmetatable({}, {__tostring = function() error('no') end})\n1\n")
    check("one that raises", out == "1\n" and "no" in err, out + err)
    check("strings", typed("'a\"\\\\\\0\\1\\x80ü'\n")[0] == '"a\\"\\\\\\0\\1\\128ü"\n', typed("'a\"\\\\\\0\\1\\x80ü'\n")[0])
    out = typed("'\\xc2\\x9b31m', '\\xe0\\x80\\x80', '\\xed\\xa0\\x80', '\\xc2\\xa9'\n")[0]
    check("what a terminal would obey, or is no character, is a number", out == '"\\194\\15531m"  "\\224\\128\\128"  '
          '"\\237\\160\\128"  "\u00a9"\n', repr(out))
    out = typed("debug.sethook(function() end, 'l')\ndebug.gethook()\n")[0]
    check("hooks stay", out.startswith("function: "), out)
    check("tensors", typed("eg.ones{2}\n")[0] == "[1. 1.]\n")
    check("the time, when asked for", "ms" in typed(":time on\nx = 1\n")[0] and "ms" not in typed("x = 1\n")[0])
    check("after a script", run("-i", "-e", "y = 4", text="y\n")[0] == "4\n")
    check(":quit", typed("1\n:quit\n2\n")[0] == "1\n")
    check("an end in the middle", "near <eof>" in typed("for i = 1, 2 do\n")[1])
    check("help", "padding" in typed("help(eg.conv2d)\n")[0] and "eg.nn.conv2d" in typed("help'conv2d_new'\nhelp'conv'\n")[0]
          and "ops/conv.h" in typed("help()\n")[0] and "nothing on" in typed("help'zzzz'\n")[0])
    check("help on values", "additive_attention" in typed("help(eg.nn)\n")[0] and "reshape" in typed("help(eg.ones{1})\n")[0]
          and "parameters" in typed("help(eg.nn.linear(1, 2))\n")[0] and "nothing on" in typed("help(1)\n")[0])
    bare = typed(":time off\nfor k, v in pairs(eg) do if type(v) == 'function' and #k > 0 then local s = 0 local p = print print = "
                 "function(t) s = t end help(v) print = p if s:find('nothing on') then print(k) end end end\n")[0]
    check("every function has help", bare == "", bare)
    check("no memory of what nobody typed", not os.path.exists(at + "/state"))
    deep = typed("t = {} for i = 1, 100000 do t = {t} end return t\n")[0]
    check("deep tables", "..." in deep and len(deep) < 100, deep)


def manual(at):
    """help in Lua's words, in lines that fit, found by meaning."""
    def asked(code):
        return run("-i", text=code + "\n", NO_COLOR="1", XDG_STATE_HOME=at + "/state")[0]
    page = asked("help(eg.conv2d)")
    check("a page is Lua's", "eg.conv2d(x, weight, nil, {stride = 2, padding = eg.SAME})" in page.replace("\n", " ")
          and "  stride, dilation: integers; default 1\n" in page and "int64_t" not in page and "eg_" not in page, page)
    page = asked("help(eg.optim.adam)")
    check("a formula once", page.startswith("eg.optim.adam(parameters, {options})\n") and page.count("m = beta1 m") == 1
          and "  decoupled: boolean" in page, page)
    check("results have names", asked("help(eg.sort)").startswith("values, indices = eg.sort(x, axis = -1, descending)\n"))
    check("handles have methods", asked("help(eg.optim.sgd({eg.ones{1}:requires_grad()}).minimize)")
          .startswith("optim:minimize(f | tape, loss)\n"))
    check("words of enums", '"cosine": end + (lr - end)' in asked("help(eg.schedule_at)"))
    check("and functions of Lua alone", "derivative by each x" in asked("help(eg.grad)"))
    all_pages = asked("for name in eg.manual_pages() do help(name) end")
    lines = all_pages.splitlines()
    broad = [line for line in lines if len(line) > 79 and " " in line.strip()]
    check("lines fit", len(lines) > 5000 and not broad, "\n".join(broad[:9]))
    of_c = r"\beg_|\bEG_(?!DEBUG)|NULL|int64_t|\*[a-z]|&[a-z]|tensors_free|\bstatic\b|\[0\.\.n|\{\.[a-z]"
    foreign = [line for line in lines if re.search(of_c, line)]
    check("nothing is C's", not foreign, "\n".join(foreign[:9]))
    dangling = asked("for name in eg.manual_pages() do local text = eg.manual(name).text\n"
                     "if text:find '^The same[ ,]' and not text:find '^The same [eta][lse]' or text:find '^Its ' "
                     "or text:find '^And ' or text:find '^nil ' then print(name) end end")
    check("no page goes on from one that is not there", dangling == "", dangling)
    page = asked("help(eg.box_giou)")
    check("but says from which", page.split("\n")[2].startswith("After eg.box_iou: the same less"), page)
    overview = asked("help()").split("Pages of the manual")[0]
    check("the overview's lines are whole", "  x = eg.randn" in overview
          and not re.search(r"(?m)^ {6}|.{80}", overview), overview)
    page = asked("help(eg.mse_loss)")
    check("formulas have their lines", "\n  l1_loss         |d|\n  mse_loss        d^2\n" in page, page)
    check("each maker is told", "eg.ones 1" in asked("help(eg.ones)"))
    check("not every 0 is a default", "above 0: no chance" in asked("help(eg.image_decode_crop)"))
    check("lists bring their count", "reserved_count" not in asked("help(eg.data.vocabulary)")
          and asked("help(eg.data.vocabulary)").startswith("eg.data.vocabulary(counts, {options})"))
    check("fields have pages", asked('help "x.T"').startswith("x.T\n\nA matrix"))
    for words, wanted in (("cosine", "eg.schedule_at"), ("schedule", "eg.schedule_at"), ("schedules", "eg.schedule_at"),
                          ("learning rate", "optim:set_rate"), ("plotting", "eg.plot"), ("gradient", "eg.grad "),
                          ("Dropout layer", "eg.nn.dropout")):
        found = asked(f'help "{words}"')
        check(f"help finds {words}", wanted in found, found)
    found = asked('help "conv"').splitlines()
    check("names first", all("conv" in line.split()[0] for line in found[1:12]), found[:14])
    check("where else", "See also: eg.nn.dropout" in asked('help "dropout"'))
    check("functions as values", asked("x = eg.ones{2}\nx.shape").startswith("function: x:shape(...)\n")
          and asked("eg.zeros, print").startswith("function: eg.zeros(shape, dtype)  function: 0x")
          and asked("x = eg.ones{2}\nx.requires_grad").startswith("function: x:requires_grad()\n"))
    _, err = run("-e", "local x = eg.ones{2} return x.shape[1]", expect=1)
    check("a function that was meant to be called", "it is to be called, x:shape(...)" in err, err)


def histories(at):
    """Two sessions that write at once lose no line of each other: whoever holds the folder has the file for itself."""
    place = at + "/state/egret"
    os.makedirs(place, exist_ok=True)
    master, slave = pty.openpty()
    folder = os.open(place, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    r = subprocess.Popen([program], stdin=slave, stdout=slave, stderr=slave, env={
        **os.environ, "XDG_STATE_HOME": at + "/state", "NO_COLOR": "1", "TERM": "dumb"})
    os.write(master, b"x = 1\n")
    time.sleep(.7)
    early = os.path.exists(place + "/history")
    with open(place + "/history", "w") as f:
        f.write("y = 2\n")
    os.close(folder)
    os.write(master, b":quit\n")
    reader = threading.Thread(target=lambda: drain(master), daemon=True)
    reader.start()
    check("a session at a terminal ends", r.wait(timeout=30) == 0)
    with open(place + "/history") as f:
        lines = f.read().split("\n")
    check("two sessions keep each other's lines", not early and "y = 2" in lines and "x = 1" in lines, f"{early} {lines}")
    os.close(slave)


def drain(terminal):
    try:
        while os.read(terminal, 4096):
            pass
    except OSError:
        pass


def interrupts(at):
    """Ctrl-C ends a script as a signal would, after saying where it was."""
    for code in ("while true do end", "coroutine.wrap(function() while true do end end)()",
                 "while true do pcall(coroutine.wrap(function() while true do end end)) end",
                 "local co = coroutine.create(function() local x <close> = setmetatable({}, {__close = function() "
                 "while true do end end}) coroutine.yield() end) coroutine.resume(co) coroutine.close(co)",
                 "local eg = require 'egret' for x in eg.data.from(function(i) return eg.scalar(i) end, 4)"
                 ":map(function() while true do end end) do end",
                 "local eg = require 'egret' for x in eg.data.from(function(i) return eg.scalar(i) end, 4)"
                 ":map(function() while true do end end, {workers = 2}) do end"):
        with open(at + "/b.lua", "w") as f:
            f.write("io.stdout:write('on') io.stdout:flush()\n" + code)
        r = subprocess.Popen([program, at + "/b.lua"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        r.stdout.read(2)
        time.sleep(.2)
        r.send_signal(signal.SIGINT)
        try:
            _, err = r.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            r.kill()
            err = "it goes on"
        check(f"{code} is interrupted", r.returncode == -signal.SIGINT and "interrupted" in err and "b.lua:2" in err,
              f"{r.returncode} {err}")


def signals(at):
    """A script may hold signals, ask for them, and let them go."""
    def held(code, number, times=1):
        with open(at + "/c.lua", "w") as f:
            f.write("local signals = require 'egret.signals' signals.hold() signals.hold() print(signals.take()) "
                    "io.stdout:flush() " + code)
        r = subprocess.Popen([program, at + "/c.lua"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        check("none was sent yet", r.stdout.readline() == "nil\n")
        for _ in range(times):
            time.sleep(.1)
            r.send_signal(number)
        try:
            return r.communicate(timeout=20) + (r.returncode,)
        except subprocess.TimeoutExpired:
            r.kill()
            return "", "it goes on", None

    wait = "local number repeat number = signals.take() until number "
    for number in (signal.SIGINT, signal.SIGTERM):
        out, err, status = held(wait + "print(number, signals.take()) signals.release()", number)
        check(f"{number.name} is told once", (out, status) == (f"{int(number)}\tnil\n", 0), f"{out} {err} {status}")
        out, err, status = held("local t = os.clock() while os.clock() < t + .3 do end signals.release() "
                                "while true do end", number)
        check(f"{number.name} comes when they are released", status == -number, f"{out} {err} {status}")
        out, err, status = held("while true do end", number, times=2)
        check(f"a second {number.name} does what it did before", status == -number, f"{out} {err} {status}")
    out, err, status = held("local t = os.clock() while os.clock() < t + .3 do end error('ouch')", signal.SIGINT)
    check("a chunk that fails lets go of them", status == -signal.SIGINT and "ouch" in err, f"{out} {err} {status}")


with tempfile.TemporaryDirectory() as folder:
    options()
    scripts(folder)
    pipes()
    prompt(folder)
    manual(folder)
    histories(folder)
    interrupts(folder)
    signals(folder)
finish()
