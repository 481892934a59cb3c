#!/usr/bin/env python3
"""The notebook kernel as frontends see it: a notebook run from its beginning to its end, and a client that asks,
interrupts and restarts.

    kernel.py PROGRAM
"""
import base64
import contextlib
import json
import os
import queue
import subprocess
import sys
import time

from kernel_client import PATIENCE, Kernel, check, finish, gone, installed, jupyter_client, nbclient, sockets, streams
from checking import runner
from pixels import read_png
import nbformat.v4

program = os.path.abspath(sys.argv[1])
egret = runner(program)

PICTURE = """
local rows = {}
for c = 1, 3 do
    rows[c] = {}
    for y = 1, 4 do
        rows[c][y] = {}
        for x = 1, 5 do
            rows[c][y][x] = 80 * (c - 1) + 16 * (y - 1) + x
        end
    end
end
eg.show(eg.tensor(rows, "u8"), {scale = 1})
"""

NOTEBOOK = [
    "print('one')\nio.stderr:write('two\\n')\nio.write('three')\nos.execute('echo; echo four')\n"
    "io.stderr:write('five')",
    "x = 6\n\nlocal double = 2 * x -- a comment\ndouble, 'text'",
    "for i = 1, 3 do\n    print(i)\nend",
    PICTURE,
    "local function inner()\n    error('gone wrong')\nend\n\ninner()",
    "x = = 3",
    "'\\xe2\\x82', x",
    "eg.plot({3, 1, 4, 1, 5})",
    "eg.tensor({{1, 2}, {3, 4}}, 'f32') * 2",
]


class Manager(jupyter_client.AsyncKernelManager):
    def __init__(self, **more):
        super().__init__(**sockets(), **more)


def run_notebook():
    """Outputs of its cells."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in NOTEBOOK])
    nbclient.NotebookClient(book, kernel_name="egret", kernel_manager_class=Manager, allow_errors=True,
                            timeout=PATIENCE).execute()
    check("its language is noted", book.metadata.language_info.name == "lua", book.metadata)
    check("its cells are counted", [cell.execution_count for cell in book.cells]
          == list(range(1, len(NOTEBOOK) + 1)))
    return [cell.outputs for cell in book.cells]


def check_texts(outputs):
    written = [(o.name, o.text) for o in outputs[0]]
    check("output comes in its order", "".join(text for _, text in written) == "one\ntwo\nthree\nfour\nfive", written)
    check("each on its stream", all((name == "stderr") == (text in ("two\n", "five")) for name, text in written),
          written)
    check("the last expression is shown", outputs[1][0].data["text/plain"] == '12  "text"', outputs[1])
    check("a loop is no expression", "".join(o.get("text", "?") for o in outputs[2]) == "1\n2\n3\n", outputs[2])
    check("what is no UTF-8 is shown", "6" in outputs[6][0].data["text/plain"], outputs[6])


def check_errors(outputs):
    error = outputs[4][0]
    check("an error is one", error.output_type == "error" and error.evalue == "In[5]:2: gone wrong", error)
    way = "\n".join(error.traceback)
    check("with the way it came", "In[5]:2" in way and "inner" in way and "In[5]:5" in way, way)
    check("what does not compile is one", outputs[5][0].evalue.startswith("In[6]:1: unexpected symbol"), outputs[5])


def check_pictures(outputs):
    seen = outputs[3][0]
    check("a picture is shown", seen.output_type == "display_data" and "image/png" in seen.data, seen)
    rows = read_png(base64.b64decode(seen.data["image/png"]))
    check("its pixels are the tensor's", rows == [[tuple(80 * c + 16 * y + x + 1 for c in range(3)) for x in range(5)]
                                                  for y in range(4)], rows)
    check("words stand for it", seen.data["text/plain"], seen)
    plot = read_png(base64.b64decode(outputs[7][0].data["image/png"]))
    check("a plot is a picture", len(plot) > 100 and len({pixel for row in plot for pixel in row}) > 10)
    check("a tensor is shown", "2" in outputs[8][0].data["text/plain"] and "8" in outputs[8][0].data["text/plain"])


def check_installed(folder):
    with open(folder + "/kernel.json") as f:
        spec = json.load(f)
    check("it starts this program", spec["argv"] == [program, "kernel", "{connection_file}"], spec)
    for size in (32, 64):
        with open(f"{folder}/logo-{size}x{size}.png", "rb") as f:
            logo = read_png(f.read())
        check("a logo has its size", len(logo) == size and len(logo[0]) == size)
        check("and a bird", min(logo[size // 4][size // 2]) > 200 and max(logo[0][0]) == 0)
    egret("kernel", expect=2)
    egret("kernel", "--install", "--nonsense", expect=2)
    check("help", "--install" in egret("kernel", "--help"))
    check("a missing file is named", "not/there" in egret("kernel", "not/there", expect=1))
    check("so is a folder one may not write to", "/proc" in egret("kernel", "--install", "--prefix", "/proc", expect=1))


def check_questions(kernel):
    kernel.run("t = {alpha = 1, alphabet = 2}; function greet(name) return name end")
    answer = kernel.ask("complete", "é = t.alp", 9)
    check("completion", answer["matches"] == ["alpha", "alphabet"], answer)
    check("it counts characters", (answer["cursor_start"], answer["cursor_end"]) == (6, 9), answer)
    check("of our names", "conv2d" in kernel.ask("complete", "eg.conv2", 8)["matches"])
    check("of none", kernel.ask("complete", "no.such.thing", 13)["matches"] == [])
    kernel.run("list = {{gamma = 1}, [2.5] = {delta = 1}}; debug.sethook(function() end, 'l')\n"
               "odd = setmetatable({gamma = 1}, setmetatable({}, {__index = function() error('asked') end}))")
    check("behind numbers", kernel.ask("complete", "list[1].ga", 10)["matches"] == ["gamma"]
          and kernel.ask("complete", "list[2.5].de", 12)["matches"] == ["delta"])
    check("of a metatable with a metatable", kernel.ask("complete", "odd.ga", 6)["matches"] == ["gamma"])
    check("it leaves hooks where they are", kernel.value("debug.gethook() ~= nil") == "true")
    kernel.run("debug.sethook()")
    answer = kernel.ask("inspect", "eg.matmul(a, b)", 5)
    check("inspection", answer["found"] and "matmul" in answer["data"]["text/plain"], answer)
    same = kernel.ask("inspect", "y = eg.matmul(a, (b), ", 22)
    check("inside a call of it too", same["data"] == answer["data"], same)
    answer = kernel.ask("inspect", "greet", 2)
    check("of a cell's function", "defined at In[" in answer["data"].get("text/plain", ""), answer)
    check("of nothing", not kernel.ask("inspect", "no.such.thing", 4)["found"])
    kernel.run("kind = 'conv'")
    answer = kernel.ask("inspect", "kind", 4)
    check("a text is not looked up", answer["data"].get("text/plain") == 'string "conv"', answer)
    for code, status in (("x = 1", "complete"), ("for i = 1, 2 do", "incomplete"), ("x = = 1", "invalid"),
                         ("x = 1\nx", "complete"), ("local y = 1\ny + 1", "complete"), ("x = 1\nf(", "incomplete")):
        check(f"{code} is {status}", kernel.ask("is_complete", code)["status"] == status)
    check("the next line is indented", kernel.ask("is_complete", "  if x then")["indent"] == " " * 6)
    check("history is empty", kernel.ask("history")["history"] == [])
    check("there are no comms", kernel.ask("comm_info")["comms"] == {})
    info = kernel.ask("kernel_info")
    check("info", info["language_info"]["name"] == "lua" and info["protocol_version"] == "5.3", info)


def check_execution(kernel):
    reply, put_out = kernel.run("print('quiet'); 5", silent=True)
    check("silent cells show no value", [kind for kind, _ in put_out] == ["stream"], put_out)
    before = kernel.run("1")[0]["execution_count"]
    check("and are not counted", kernel.run("2", store_history=False)[0]["execution_count"] == before)
    reply, _ = kernel.run("x = 2", user_expressions={"y": "x + 1", "n": "nothing()"})
    check("expressions", reply["user_expressions"]["y"]["data"]["text/plain"] == "3", reply)
    check("that fail", reply["user_expressions"]["n"]["status"] == "error", reply)
    check("x = f, then (g) on a line of its own, is Lua's call", kernel.value(
        "function f(v) return v end\ny = f\n(7)\ny") == "7")
    check("a semicolon ends a statement", kernel.value("y = 8; y + 1") == "9")
    check("what returns early shows that", kernel.value("if y then return 1, 2 end\ny") == "1  2")
    check("os.exit", "kernel" in kernel.run("os.exit()")[0]["evalue"])
    statuses = [reply["status"] for reply in kernel.run_all("error('first')", "x = 99", "x = 98")]
    check("what was sent before an error was known is not run", statuses == ["error", "aborted", "aborted"], statuses)
    check("but what is sent then is", kernel.value("x") == "2")
    statuses = [reply["status"] for reply in kernel.run_all("error('first')", "x = 99", stop_on_error=False)]
    check("unless wanted", statuses == ["error", "ok"], statuses)
    statuses = [reply["status"] for reply in kernel.run_all("error('first')", "x = 99", silent=True)]
    check("nor behind one that is silent", statuses == ["error", "ok"], statuses)
    reply, put_out = kernel.run("for i = 1, 200000 do print(i) end")
    lines = "".join(text for _, text in streams(put_out)).split()
    check("much output", lines == [str(i) for i in range(1, 200001)], len(lines))
    check("in few messages", len(put_out) < 2000, len(put_out))


def check_input(kernel):
    asked = []

    def answer(message):
        asked.append(message)
        kernel.client.input(("blue", "42\n43")[len(asked) - 1])
    code = "io.write('colour? ')\ncolour = io.read()\nn = io.read('n')\nreturn colour, n"
    _, put_out = kernel.run(code, allow_stdin=True, stdin_hook=answer)
    check("io.read asks", put_out[-1][1]["data"]["text/plain"] == '"blue"  42', put_out)
    check("once for each line", len(asked) == 2)
    long = "x" * 10000
    _, put_out = kernel.run("#io.read(4097)", allow_stdin=True, stdin_hook=lambda _: kernel.client.input(long))
    check("a part of a long line", put_out[-1][1]["data"]["text/plain"] == "4097")
    _, put_out = kernel.run("#io.read()", allow_stdin=True, stdin_hook=lambda _: kernel.client.input(long))
    check("the rest is forgotten behind its cell", put_out[-1][1]["data"]["text/plain"] == "10000", put_out)
    _, put_out = kernel.run("return io.read()", allow_stdin=False)
    check("or says that it cannot", "no input" in streams(put_out)[0][1] and "nil" in str(put_out[-1]), put_out)
    _, put_out = kernel.run("io.read()", allow_stdin=True, stdin_hook=lambda _: kernel.client.input("a\0b"))
    check("zeros are read", put_out[-1][1]["data"]["text/plain"] == '"a\\0b"', put_out)
    request = kernel.client.execute("io.read()", allow_stdin=True)
    kernel.client.get_stdin_msg(timeout=PATIENCE)
    kernel.manager.interrupt_kernel()
    check("a question can be interrupted", kernel.wait(request).get("ename") == "interrupted")


def wait_for_output(kernel, word):
    end = time.time() + PATIENCE
    while time.time() < end:
        message = kernel.client.get_iopub_msg(timeout=PATIENCE)
        if word in message["content"].get("text", ""):
            return


def check_interrupts(mode):
    with Kernel(mode=mode) as kernel:
        kernel.run("kept = 'kept'")
        for code in ("while true do end", "coroutine.wrap(function() while true do end end)()",
                     "while true do pcall(function() while true do end end) end"):
            request = kernel.client.execute("print('begun')\n" + code)
            wait_for_output(kernel, "begun")
            check("beats while it runs", kernel.client.hb_channel.is_beating())
            kernel.manager.interrupt_kernel()
            if "pcall" in code:  # which took the first for an error of its own
                time.sleep(.2)
                kernel.manager.interrupt_kernel()
            check(f"{mode}: {code} ends", kernel.wait(request).get("ename") == "interrupted")
        check("and nothing else is lost", kernel.value("kept") == "'kept'" or kernel.value("kept") == '"kept"')
        if mode == "signal":  # a signal is for children too
            request = kernel.client.execute("print('begun')\nfor i = 1, 2 do os.execute('sleep 20') end")
            wait_for_output(kernel, "begun")
            time.sleep(.2)
            kernel.manager.interrupt_kernel()
            check("a child that was interrupted ends its cell", kernel.wait(request).get("ename") == "interrupted")
        kernel.manager.interrupt_kernel()  # of nothing
        kernel.alive("interrupted at rest")


def check_restart():
    with Kernel(tcp=True) as kernel:
        kernel.run("x = 5")
        kernel.manager.restart_kernel()
        kernel.client.wait_for_ready(timeout=PATIENCE)
        check("a restarted kernel knows nothing", kernel.value("x") == "nil")
        pid = kernel.manager.provisioner.pid
        kernel.run("last = {}\nfor i = 1, 5 do\n    last[i] = setmetatable({}, {__gc = function()\n"
                   "        print('bye', i)\n        local t = os.clock()\n        while os.clock() < t + .003 do end\n"
                   "    end})\nend")
        kernel.manager.request_shutdown()
        check("it ends", gone(pid, 10))
        said = ""
        with contextlib.suppress(queue.Empty):
            while said.count("bye") < 5:
                said += kernel.client.get_iopub_msg(timeout=2)["content"].get("text", "")
        check("its last words are heard", said.count("bye") == 5, said)
        kernel.manager.start_kernel(stderr=sys.stdout)
        kernel.client.wait_for_ready(timeout=PATIENCE)
        pid = kernel.manager.provisioner.pid
        kernel.client.execute("while true do end")
        kernel.manager.shutdown_kernel()
        check("a busy kernel can be shut down", gone(pid, 10))


def check_orphan():
    """The frontend ends without a word."""
    code = ("import os, jupyter_client\n"
            f"m = jupyter_client.KernelManager(kernel_name='egret', **{sockets()})\n"
            "m.start_kernel()\nc = m.client()\nc.start_channels()\nc.wait_for_ready(timeout=60)\n"
            "print(m.provisioner.pid, flush=True)\nos._exit(0)\n")
    pid = int(subprocess.check_output([sys.executable, "-c", code], timeout=2 * PATIENCE))
    check("a kernel ends with its frontend", gone(pid, 20))


def main():
    with installed(egret) as folder:
        check_installed(folder)
        outputs = run_notebook()
        check_texts(outputs)
        check_errors(outputs)
        check_pictures(outputs)
        with Kernel() as kernel:
            check_questions(kernel)
            check_execution(kernel)
            check_input(kernel)
        check_interrupts("signal")
        check_interrupts("message")
        check_restart()
        check_orphan()


main()
finish()
