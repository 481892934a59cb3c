#!/usr/bin/env python3
"""What the notebook kernel is sent that no frontend should send, frontends that go away, and its memory.

    kernel_frames.py PROGRAM
"""
import contextlib
import hashlib
import hmac
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

from kernel_client import PATIENCE, Kernel, check, finish, gone, installed, skip, zmq
from checking import runner

program = os.path.abspath(sys.argv[1])
egret = runner(program)
DELIMITER = b"<IDS|MSG>"


class Raw:
    """A socket of our own at one of a kernel's."""

    def __init__(self, kernel, channel, kind=zmq.DEALER):
        info = kernel.manager.get_connection_info()
        self.key = info["key"]
        self.socket = zmq.Context.instance().socket(kind)
        self.socket.linger = 0
        if kind == zmq.SUB:
            self.socket.subscribe(b"")
        self.socket.connect(f"ipc://{info['ip']}-{info[channel + '_port']}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def signed(self, *parts):
        parts = [p if isinstance(p, bytes) else json.dumps(p).encode() for p in parts]
        return [DELIMITER, hmac.new(self.key, b"".join(parts), hashlib.sha256).hexdigest().encode(), *parts]

    def request(self, kind, content):
        header = {"msg_id": os.urandom(8).hex(), "session": "raw", "username": "raw", "version": "5.3",
                  "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "msg_type": kind}
        return self.signed(header, {}, {}, content)

    def send(self, frames):
        self.socket.send_multipart(frames)

    def quiet(self):
        return not self.socket.poll(300)

    def answer(self):
        """Header and content of the next message."""
        if not self.socket.poll(1000 * PATIENCE):
            return {"msg_type": "nothing"}, {}
        frames = self.socket.recv_multipart()
        at = frames.index(DELIMITER)
        return json.loads(frames[at + 2]), json.loads(frames[at + 5])


def check_signatures(kernel):
    with Raw(kernel, "shell") as raw:
        raw.send(raw.request("kernel_info_request", {}))
        check("a signed request is answered", raw.answer()[0]["msg_type"] == "kernel_info_reply")
        good = raw.request("execute_request", {"code": "spoiled = true"})
        for i in range(1, 6):
            for damaged in (good[i][:-1], good[i] + b" ", bytes([good[i][0] ^ 1]) + good[i][1:], b""):
                raw.send(good[:i] + [damaged] + good[i + 1:])
        raw.key = b"another"
        raw.send(raw.request("execute_request", {"code": "spoiled = true"}))
        check("a wrongly signed one is not", raw.quiet())
    check("nor obeyed", kernel.value("spoiled") == "nil")


WRONG_CONTENTS = [
    ("execute_request", {}), ("execute_request", {"code": 5}), ("execute_request", {"code": None, "silent": "x"}),
    ("execute_request", {"code": "1", "user_expressions": 3, "silent": 7}),
    ("execute_request", {"code": "1", "user_expressions": {"a": None, "b": [], "": "1", "c": "\0"}}),
    ("execute_request", {"code": "x = '\0 a'"}), ("complete_request", {}), ("complete_request", {"code": "eg."}),
    ("complete_request", {"code": "eg.", "cursor_pos": -5}), ("complete_request", {"code": "é.", "cursor_pos": 99}),
    ("complete_request", {"code": "", "cursor_pos": 1e300}), ("complete_request", {"code": [], "cursor_pos": {}}),
    ("inspect_request", {}), ("inspect_request", {"code": "((((", "cursor_pos": 4}),
    ("inspect_request", {"code": "...:::.", "cursor_pos": 4}), ("inspect_request", {"code": "", "cursor_pos": 0}),
    ("is_complete_request", {}), ("is_complete_request", {"code": {"a": 1}}), ("history_request", {}),
    ("comm_info_request", {}), ("kernel_info_request", {"more": [1, 2]}),
]


def check_contents(kernel):
    with Raw(kernel, "shell") as raw:
        for kind, content in WRONG_CONTENTS:
            raw.send(raw.request(kind, content))
            header, answer = raw.answer()
            check(f"{kind} {content} is answered", header["msg_type"] == kind.replace("request", "reply")
                  and answer["status"] in ("ok", "error", "unknown", "complete", "invalid"), (header, answer))
            check("a cell has its number", kind != "execute_request" or "execution_count" in answer, answer)
        for parts in ([b"{", {}, {}, {}], [[], {}, {}, {}], [{}, {}, {}, {}], [{"msg_type": 5}, {}, {}, {}],
                      [{"msg_type": "execute_request"}, [], {}, {}], [{"msg_type": "execute_request"}, {}, {}, b"[1"],
                      [{"msg_type": "no_such_request"}, {}, {}, {}], [b"[" * 100000, {}, {}, {}],
                      [{"msg_type": "\0", "msg_id": []}, {}, {}, {}], [b"", b"", b"", b""], [b"\xff", {}, {}, {}]):
            raw.send(raw.signed(*parts))
        check("signed nonsense is not answered", raw.quiet())
        raw.send(raw.signed({"msg_type": "kernel_info_request"}, {}, {}, {}) + [os.urandom(100)] * 40)
        check("data behind a message do no harm", raw.answer()[0]["msg_type"] == "kernel_info_reply")
    kernel.alive("after wrong contents")


def random_frames(chance, good):
    """A message of random frames, or a good one with something wrong about it."""
    if chance.random() < .5:
        return [chance.randbytes(chance.choice((0, 1, 9, 64, 200, 5000))) for _ in range(chance.randrange(1, 20))]
    frames = list(good)
    for _ in range(chance.randrange(1, 4)):
        i = chance.randrange(len(frames))
        what = chance.randrange(4)
        if what == 0:
            frames.insert(i, chance.choice((DELIMITER, b"", chance.randbytes(8))))
        elif what == 1 and len(frames) > 1:
            del frames[i]
        elif what == 2:
            frames[i] = frames[i][:chance.randrange(len(frames[i]) + 1)]
        else:
            frames[i] = chance.randbytes(len(frames[i]))
    return frames


def check_random(kernel, count):
    chance = random.Random(5)
    for channel in ("shell", "control", "stdin", "hb"):
        kind = zmq.REQ if channel == "hb" else zmq.DEALER
        with Raw(kernel, channel, kind) as raw:
            if kind == zmq.REQ:
                raw.send([b"a", b"", b"c"])
                check("heartbeats come back whole", raw.socket.poll(1000 * PATIENCE)
                      and raw.socket.recv_multipart() == [b"a", b"", b"c"])
                continue
            good = raw.request("execute_request", {"code": "spoiled = 1"})
            for _ in range(count):
                raw.send(random_frames(chance, good))
            # Sent last: when it is answered, all before it has been looked at.
            if channel != "stdin":
                raw.send(raw.request("kernel_info_request", {}))
                check(f"{channel}: the kernel goes on", raw.answer()[0]["msg_type"].endswith("_reply"))
    kernel.alive("after random frames")


def check_lost(kernel):
    """Frontends that go away in the middle of an answer, or never read one."""
    with Raw(kernel, "iopub", zmq.SUB) as deaf:
        deaf.socket.rcvhwm = 1
        for _ in range(3):
            with Raw(kernel, "shell") as raw:
                raw.send(raw.request("execute_request", {"code": "for i = 1, 20000 do print(i) end"}))
                time.sleep(.05)
        kernel.alive("frontends lost")
        with Raw(kernel, "shell") as raw:
            raw.send(raw.request("execute_request", {"code": "io.read()", "allow_stdin": True,
                                                     "stop_on_error": False}))
            time.sleep(.2)
        kernel.manager.interrupt_kernel()
        kernel.alive("a question to nobody")


@contextlib.contextmanager
def bare(folder, channel, **env):
    """A kernel that no manager looks after, and a socket at one of its channels."""
    at = {f"{name}_port": i + 1 for i, name in enumerate(("shell", "control", "stdin", "iopub", "hb"))}
    with open(folder + "/connection.json", "w") as f:
        json.dump({**at, "ip": folder + "/bare", "transport": "ipc", "key": "k"}, f)
    with zmq.Context.instance().socket(zmq.DEALER) as socket:
        socket.linger, socket.reconnect_ivl = 0, 1
        socket.connect(f"ipc://{folder}/bare-{at[channel + '_port']}")
        raw = Raw.__new__(Raw)
        raw.key, raw.socket = b"k", socket
        kernel = subprocess.Popen([program, "kernel", folder + "/connection.json"], env={**os.environ, **env})
        yield kernel, raw
        kernel.kill()


def check_early(folder):
    """Interrupts while the kernel starts."""
    for _ in range(5):
        with bare(folder, "control") as (kernel, raw):
            count, end = 0, time.time() + PATIENCE
            while count < 50 and kernel.poll() is None and time.time() < end:
                raw.send(raw.request("interrupt_request", {}))
                count += raw.socket.poll(.2) and raw.answer()[0]["msg_type"] == "interrupt_reply"
            raw.send(raw.request("shutdown_request", {"restart": False}))
            check("interrupted before it begins", count == 50 and kernel.wait(PATIENCE) == 0, (kernel.poll(), count))


def check_end(folder):
    """A kernel that has loaded other libraries while a frontend was served ends in peace."""
    product = "eg = require 'egret'; eg.randn{512, 512}:matmul(eg.randn{512, 512}):sum()"
    tunables = {"MALLOC_PERTURB_": "90", "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}  # what is freed is lost
    with bare(folder, "shell", **tunables) as (kernel, raw):
        raw.send(raw.request("execute_request", {"code": product}))
        content = raw.answer()[1]
        check("a product", content.get("status") == "ok", content)
        raw.send(raw.request("shutdown_request", {"restart": False}))
        check("and the end", kernel.wait(PATIENCE) == 0, kernel.poll())


def check_connections(folder):
    """Connection files that are none."""
    good = {"shell_port": 1, "control_port": 1, "stdin_port": 1, "iopub_port": 1, "hb_port": 1, "ip": "127.0.0.1",
            "transport": "tcp", "key": "", "signature_scheme": "hmac-sha256"}
    for wrong in ({"shell_port": "x"}, {"shell_port": 70000}, {"hb_port": 0}, {"transport": "pigeon"}, {"ip": 5},
                  {"ip": "x" * 300}, {"key": 5}, {"key": "k" * 2000}, {"key": "k", "signature_scheme": "md5"},
                  {"ip": "not an address"}):
        with open(folder + "/connection.json", "w") as f:
            json.dump({**good, **wrong}, f)
        said = egret("kernel", folder + "/connection.json", expect=1)
        check(f"{str(wrong)[:40]} is refused in words", said.startswith("egret kernel: ") and said.count("\n") == 1,
              said)
    for text in ("", "[", "[]", "{}", "5"):
        with open(folder + "/connection.json", "w") as f:
            f.write(text)
        said = egret("kernel", folder + "/connection.json", expect=1)
        check("so is no connection", said.startswith("egret kernel: "), said)


def check_memory(folder):
    """A short session under valgrind."""
    if not shutil.which("valgrind") or b"libasan" in subprocess.check_output(["ldd", program]) \
            or b"libtsan" in subprocess.check_output(["ldd", program]):
        skip("no valgrind, or no program for it")
        return
    r = subprocess.run(["valgrind", "--quiet", program, "--version"], text=True, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT)
    if "debuginfo reader" in r.stdout:  # an older valgrind, and what a newer clang writes
        skip("valgrind cannot read this program")
        return
    log = folder + "/valgrind.%p"
    os.environ["EG_DEBUG"] = "nocache"
    with Kernel(["valgrind", "--quiet", "--leak-check=full", "--errors-for-leak-kinds=definite",
                 f"--log-file={log}"]) as kernel:
        kernel.run("x = 1; print(x); io.stderr:write('e')\nx")
        kernel.run("error('e')")
        kernel.run("x = = 1")
        kernel.run("io.read()", allow_stdin=True, stdin_hook=lambda _: kernel.client.input("line"))
        kernel.run("y = eg.ones{2, 3} + 1\neg.show(y)\ny")
        kernel.ask("complete", "eg.conv", 7)
        kernel.ask("inspect", "eg.matmul", 5)
        request = kernel.client.execute("while true do end")
        time.sleep(1)
        kernel.manager.interrupt_kernel()
        check("interrupted", kernel.wait(request)["ename"] == "interrupted")
        check_random(kernel, 30)
        pid = kernel.manager.provisioner.pid
        kernel.manager.shutdown_kernel()
        check("it ends", gone(pid, PATIENCE))
        with open(log.replace("%p", str(pid))) as f:
            words = f.read()
        check("nothing is wrong with its memory", not words.strip(), words)


def main():
    with installed(egret) as folder, tempfile.TemporaryDirectory() as place:
        check_connections(place)
        check_early(place)
        check_end(place)
        with Kernel() as kernel:
            check_signatures(kernel)
            check_contents(kernel)
            check_random(kernel, 2000)
            check_lost(kernel)
        check_memory(place)


main()
finish()
