#!/usr/bin/env python3
"""What all training programs do: runs that are stopped, killed and gone on with; and what the examples share: downloads
from a server of our own that breaks off, forgets ranges, lies about lengths and packs members that lead elsewhere.

    check.py COMMON_CHECK
"""
import gzip
import hashlib
import io
import json
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

from checking import (Files, check, finish, heeds_signals, is_png, logged, runner, served, skip,  # noqa: E402
                      started)

program = sys.argv[1]
run = runner(program)


# ---- downloads ------------------------------------------------------------------------------------------------

def tar(members, mode="w:gz"):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as t:
        for name, data in members:
            m = tarfile.TarInfo(name)
            if isinstance(data, tuple):
                m.type, m.linkname = data
                t.addfile(m)
            else:
                m.size = len(data)
                t.addfile(m, io.BytesIO(data))
    return out.getvalue()


def zipped(members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in members:
            z.writestr(name, data)
    return out.getvalue()


def bomb():
    """A member of 2^31 zeros, most of which the sparse map leaves out."""
    out, sparse = io.BytesIO(), tarfile.TarInfo("zeros")
    sparse.size = 512
    sparse.pax_headers = {"GNU.sparse.major": "0", "GNU.sparse.minor": "1", "GNU.sparse.name": "zeros",
                          "GNU.sparse.size": str(1 << 31), "GNU.sparse.numblocks": "1",
                          "GNU.sparse.map": f"{(1 << 31) - 512},512"}
    with tarfile.open(fileobj=out, mode="w:gz", format=tarfile.PAX_FORMAT) as t:
        t.addfile(sparse, io.BytesIO(bytes(512)))
    return out.getvalue()


noise = hashlib.shake_256(b"egret").digest(300000)
good = [("data/a.txt", b"alpha"), ("data/deep/er/noise", noise), ("data/empty", b"")]
files = {
    "good.tar.gz": tar(good), "good.tar": tar(good, "w"), "good.zip": zipped(good),
    "one.txt.gz": gzip.compress(b"just one"), "noise.bin": noise, "words.txt": b"plain words",
    "up.tar.gz": tar([("data/a", b"1"), ("../up", b"2")]), "up.zip": zipped([("a/../../up", b"2")]),
    "root.tar": tar([("/tmp/egret-must-not-be", b"2")], "w"),
    "link.tar": tar([("l", (tarfile.SYMTYPE, "/tmp")), ("l/egret-must-not-be", b"2")], "w"),
    "hard.tar": tar([("a", b"1"), ("b", (tarfile.LNKTYPE, "a"))], "w"),
    "twice.tar": tar([("a", b"1"), ("a", b"2")], "w"), "cut.tar.gz": tar(good)[:200000],
}
files["bomb.tar.gz"] = bomb()
sums = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
requests, elsewhere = [], ""


class Handler(Files):
    """/plain/NAME, /cut/NAME: breaks off half-way unless asked for a range, /deaf/NAME: knows no ranges,
    /there/NAME: sent on to /plain; /away/NAME: to /plain of a server that is not near."""

    def do_GET(self):
        how, name = self.path.strip("/").split("/")
        data, first = files.get(name), self.headers.get("Range")
        requests.append((how, name, first))
        if data is None:
            return self.send_error(404)
        if how in ("there", "away"):
            self.send_response(302)
            self.send_header("Location", (elsewhere if how == "away" else "") + "/plain/" + name)
            self.send_header("Content-Length", "0")
            return self.end_headers()
        start = int(first.split("=")[1].rstrip("-")) if first and how != "deaf" else 0
        if start >= len(data) > 0:
            return self.send_error(416)
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        self.wfile.write(data[start:len(data) // 2] if how == "cut" and not start else data[start:])
        if how == "cut" and not start:
            self.close_connection = True


def tree(at):
    return sorted(os.path.relpath(os.path.join(d, f), at) for d, _, fs in os.walk(at) for f in fs)


def same(path, data):
    with open(path, "rb") as f:
        return f.read() == data


def downloads(at, base):
    def get(how, name, folder, *unpack, sum=None, expect=0):
        return run("get", f"{base}/{how}/{name}", sum or sums[name], f"{at}/{folder}", *unpack, expect=expect)

    words = get("plain", "noise.bin", "a/b")
    check("the file is there", same(at + "/a/b/noise.bin", noise) and tree(at + "/a") == ["b/noise.bin"], words)
    seen = len(requests)
    get("plain", "noise.bin", "a/b")
    check("what is there is not fetched again", len(requests) == seen)
    get("there", "noise.bin", "moved")
    check("redirections are followed", same(at + "/moved/noise.bin", noise))

    for name in ("good.tar.gz", "good.tar", "good.zip"):
        get("plain", name, name, "out")
        folder = f"{at}/{name}"
        check(f"{name} is unpacked", tree(folder) == sorted([name, "out/data/a.txt", "out/data/deep/er/noise",
                                                             "out/data/empty"])
              and same(folder + "/out/data/deep/er/noise", noise) and same(folder + "/out/data/a.txt", b"alpha"))
    seen = len(requests)
    os.remove(f"{at}/good.zip/good.zip")
    get("plain", "good.zip", "good.zip", "out")
    check("what is unpacked is not fetched again", len(requests) == seen)
    get("plain", "one.txt.gz", "one", "out")
    check("a single file in gzip", same(at + "/one/out/one.txt", b"just one"))

    check("a wrong sum is told", sums["noise.bin"] in get("plain", "noise.bin", "wrong", "out", sum="0" * 64, expect=1))
    check("and leaves nothing", tree(at + "/wrong") == [])
    check("404 is told", "404" in get("plain", "absent.bin", "no", sum="0" * 64, expect=1))
    check("and leaves nothing to be used", not os.path.exists(at + "/no/absent.bin"))

    get("plain", "noise.bin", "sized", sum=f"bytes={len(noise)}")
    check("the right size will do", tree(at + "/sized") == ["noise.bin", "noise.bin.sha256"])
    check("and the sum is recorded", open(at + "/sized/noise.bin.sha256").read() == sums["noise.bin"] + "  noise.bin\n")
    os.remove(at + "/sized/noise.bin")
    files["noise.bin"] = b"!" + noise[1:]
    words = get("plain", "noise.bin", "sized", sum=f"bytes={len(noise)}", expect=1)
    files["noise.bin"] = noise
    check("another file of that size is told", sums["noise.bin"] in words and "first fetched" in words, words)
    check("and not kept", tree(at + "/sized") == ["noise.bin.sha256"])
    words = get("plain", "noise.bin", "long", sum=f"bytes={len(noise) - 1}", expect=1)
    check("a file that is too large is not fetched", "larger than" in words and tree(at + "/long") == [], words)
    words = get("plain", "noise.bin", "short", sum=f"bytes={len(noise) + 1}", expect=1)
    check("a wrong size is told", f"{len(noise)} bytes, not {len(noise) + 1}" in words, words)
    check("and leaves nothing either", tree(at + "/short") == [])
    member = ("out", "data/deep/er/noise")
    get("plain", "good.zip", "member", *member, sums["noise.bin"])
    check("a member with the right sum", "out/data/a.txt" in tree(at + "/member"))
    words = get("plain", "good.zip", "other", *member, "0" * 64, expect=1)
    check("a member's wrong sum is told", sums["noise.bin"] in words, words)
    check("and nothing is unpacked", tree(at + "/other") == ["good.zip"])
    words = get("plain", "good.zip", "lost", "out", "data/b.txt", "0" * 64, expect=1)
    check("a missing member is told", "data/b.txt" in words, words)

    get("cut", "noise.bin", "cut", expect=1)
    check("half a file has no name yet", tree(at + "/cut") == ["noise.bin.part"])
    get("cut", "noise.bin", "cut")
    check("the rest was asked for", requests[-1][2] == f"bytes={len(noise) // 2}-")
    check("and fits", same(at + "/cut/noise.bin", noise) and tree(at + "/cut") == ["noise.bin"])
    for what, part in (("damaged", bytes(1000)), ("too long", noise + b"more"), ("whole", noise)):
        os.makedirs(f"{at}/{what}")
        with open(f"{at}/{what}/noise.bin.part", "wb") as f:
            f.write(part)
        get("plain", "noise.bin", what)
        check(f"a {what} beginning", same(f"{at}/{what}/noise.bin", noise))
    get("cut", "noise.bin", "deaf", expect=1)
    get("deaf", "noise.bin", "deaf")
    check("a server without ranges", same(at + "/deaf/noise.bin", noise))

    for name, word in (("up.tar.gz", "leads out"), ("up.zip", "leads out"), ("root.tar", "leads out"),
                       ("link.tar", "neither"), ("hard.tar", "neither"), ("twice.tar", "exists"),
                       ("cut.tar.gz", "cannot unpack"), ("words.txt", "no archive"),
                       ("bomb.tar.gz", "larger than is unpacked")):
        check(f"{name} is refused", word in get("plain", name, "evil-" + name, "out", expect=1))
        check(f"{name} leaves nothing", tree(f"{at}/evil-{name}") == [name])
    check("nothing outside", not os.path.exists(at + "/up") and not os.path.exists("/tmp/egret-must-not-be"))
    run("get", "file:///etc/hostname", "0" * 64, at + "/file", expect=1)
    run("get", "http://127.0.0.1:1/x", "0" * 64, at + "/dead", expect=1)
    run("get", base + "/", "0" * 64, at + "/nameless", expect=1)
    for host in ("127.0.0.1.example.org", "127.0.0.1:x@127.0.0.2:8765", "127.0.0.1:80@127.0.0.2",
                 "localhost:@127.0.0.2", "127.0.0.1@127.0.0.2", "[::1]:8:9"):
        words = run("get", f"http://{host}/x", "0" * 64, at + "/dead", expect=1)
        check(f"http from {host} is refused", "only https" in words, words)


def redirected(at, base):
    """A server on this machine may lead to another one on it, but not over http to one elsewhere."""
    global elsewhere
    with served(at, Handler, host="127.0.0.2") as elsewhere:
        seen = len(requests)
        words = run("get", f"{base}/away/noise.bin", sums["noise.bin"], at + "/away", expect=1)
        check("http from this machine leads nowhere else", "only https" in words and elsewhere in words
              and len(requests) == seen + 1 and tree(at + "/away") in ([], ["noise.bin.part"]), words)


def records(at, base):
    """The sum of a file without one holds from the first fetch on: a record that is damaged is told."""
    def get(expect=0):
        return run("get", f"{base}/plain/words.txt", f"bytes={len(files['words.txt'])}", at, expect=expect)

    get()
    record, right = at + "/words.txt.sha256", sums["words.txt"] + "  words.txt\n"
    for damage in ("", right[:40], "x" * 64 + "  words.txt\n", "0" + right):
        with open(record, "w") as f:
            f.write(damage)
        seen = len(requests)
        words = get(expect=1)
        check(f"a record of {damage!r} is told", "words.txt.sha256" in words and "no SHA-256" in words, words)
        check("and everything stays as it is", len(requests) == seen and same(at + "/words.txt", files["words.txt"])
              and same(record, damage.encode()))
    os.remove(record)
    get()
    check("without one it is recorded again", same(record, right.encode()))


def secured(at, base):
    """The same over https, with a certificate of our own."""
    key, authority = at + "/key.pem", at + "/authority.pem"
    if not shutil.which("openssl"):
        return skip("openssl is not installed")
    made = subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", key,
                           "-out", authority, "-subj", "/CN=localhost", "-addext",
                           "subjectAltName=DNS:localhost,IP:127.0.0.1"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    check("a certificate is made", made.returncode == 0, made.stdout)

    class Secure(Handler):
        """/down/NAME: sent on to plain http."""

        def do_GET(self):
            if not self.path.startswith("/down/"):
                return super().do_GET()
            self.send_response(302)
            self.send_header("Location", base + "/plain/" + self.path.split("/")[2])
            self.send_header("Content-Length", "0")
            self.end_headers()

    def get(how, folder, expect=0):
        return run("get", f"{address}/{how}/words.txt", sums["words.txt"], f"{at}/{folder}", expect=expect)

    with served(at, Secure, certificate=(authority, key)) as address:
        check("an unknown certificate is refused", "cannot fetch" in get("plain", "unknown", expect=1))
        os.environ["SSL_CERT_FILE"] = authority
        get("plain", "secure")
        check("a known one is not", same(at + "/secure/words.txt", files["words.txt"]))
        get("there", "moved")
        check("https leads to https", same(at + "/moved/words.txt", files["words.txt"]))
        seen = len(requests)
        words = get("down", "down", expect=1)
        check("but not down to http", "cannot fetch" in words and len(requests) == seen, words)
        del os.environ["SSL_CERT_FILE"]


# ---- runs -----------------------------------------------------------------------------------------------------

def runs(at):
    out = at + "/run"
    said = run("run", "--profile", "--threads", "1", "--steps", "3", "--save-every", "1", "--out", out)
    trace = json.load(open(out + "/trace.json"))
    check("the profile tells of the op", "sum 6" in said and "exp" in said
          and any(e["name"] == "exp" for e in trace["traceEvents"]), said)
    kept = tree(out)
    for k in (1, 2):
        said = run("run", "--steps", "3", "--save-every", "1", "--out", out)
        check("no run is lost by mistake", f"earlier-{k}" in said and "sum 6" in said, said)
    check("what was put aside is whole", tree(out + "/earlier-1") ==
          [n for n in kept if n not in ("trace.json", "flags.conf")], kept)
    said = run("run", "--steps", "5", "--save-every", "1", "--resume", "--out", out)
    check("it goes on", "behind step 3" in said and "sum 15" in said, said)
    rows = [json.loads(line) for line in open(out + "/log.jsonl")]
    check("the journal went on", rows == [{"step": i, "half": i / 2, "word": "so", "sum": i * (i + 1) // 2}
                                          for i in range(1, 6)], rows)
    check("three checkpoints", sum(name.startswith("checkpoint-") for name in os.listdir(out)) == 3)
    said = run("run", "--steps", "1", "--resume", "--out", at + "/fresh")
    check("nothing to resume", "anew" in said and "sum 1" in said, said)
    with open(out + "/checkpoint-0000000005.safetensors", "r+b") as f:
        f.seek(40)
        f.write(b"?")
    check("damage is told", "0005" in run("run", "--steps", "9", "--resume", "--out", out, expect=1))
    check("cuda", "--device cuda:99: " in run("run", "--device", "cuda:99", "--out", out, expect=1))
    check("precision", "--precision is one of" in run("run", "--precision", "f8", "--out", out, expect=2))
    said = run("run", "--config", out + "/flags.conf", "--out", at + "/again")
    check("its flags make it again", "sum 6" in said and checkpoints(at + "/again") == [1, 2, 3], said)
    said = run("note", "--steps", "5", "--out", at + "/note")
    check("what is computed is logged", logged(at + "/note", "half") == {i: i / 2 for i in range(1, 6)}, said)
    for precision in ("f32", "f16"):
        said = run("refuse", "--steps", "1", "--precision", precision, "--out", f"{at}/refuse-{precision}", expect=1)
        check(f"what cannot be saved is refused in {precision}", "sgd" in said and "a step" not in said, said)
        said = run("nothing", "--steps", "2", "--precision", precision, "--out", f"{at}/nothing-{precision}", expect=1)
        check(f"and what cannot be logged in {precision}", "[2, 3]" in said and len(said.splitlines()) == 1, said)
    for device in ("tpu", "cuda:", "cuda:x", "cud"):
        check(device, "--device is" in run("run", "--device", device, "--out", out, expect=1))


def paced(out, steps, *words, ready=1, program=program, **how):
    """A run whose log has `ready` rows and whose next step waits for a file."""
    os.makedirs(out, exist_ok=True)
    for step in range(1, ready + 1):
        ends(out, f"step-{step}")
    return started(ready, program, "pace", "--steps", str(steps), *words, out=out, text=True, stdout=subprocess.PIPE,
                   stderr=subprocess.STDOUT, **how)


def ends(out, *names):
    """Lets steps end, or the whole run."""
    for name in names:
        open(f"{out}/{name}", "w").close()


def checkpoints(out):
    return sorted(int(name[11:21]) for name in os.listdir(out) if name.startswith("checkpoint-"))


def is_asleep(part):
    """Whether it is still there a while later."""
    time.sleep(.1)
    return part.poll() is None


def stops(at):
    """A signal lets the step end, is answered with a checkpoint and a command, and a shell goes on with that."""
    whole = paced(at + "/whole", 5, ready=5)
    ends(at + "/whole", "report")
    whole.communicate()
    odd = at + "/it's a $HOME; \"here\" = ü*"
    os.mkdir(odd)
    os.symlink(os.path.abspath(program), odd + "/egret=check")
    for number, first in ((signal.SIGINT, program), (signal.SIGTERM, odd + "/egret=check")):
        out = f"{odd}/{number.name}"
        part = paced(out, 5, "--batch=7", program=first)
        part.send_signal(number)
        check(f"{number.name}: the step goes on", is_asleep(part))
        ends(out, "step-2", "report")
        said = part.communicate(timeout=60)[0]
        check(f"{number.name}: the speed is said", re.search(r"\ntraining: [\d.]+ steps per second\n", said), said)
        check(f"{number.name}: what follows the loops is done", "sum 3\n" in said and is_png(out + "/sum.png"), said)
        command = shlex.join([first, "pace", "--steps", "5", "--batch=7", "--out", out, "--resume"])
        line = said.rstrip("\n").split("\n")[-1]
        check(f"{number.name}: status {128 + number}, was {part.returncode}", part.returncode == 128 + number)
        check(f"{number.name}: words", line.startswith("stopped at step 2; go on with: ")
              and shlex.split(line.split(": ", 1)[1]) == shlex.split(command), said)
        check(f"{number.name}: there is a checkpoint", checkpoints(out) == [2])
        ends(out, "step-3", "step-4", "step-5", "report")
        rest = subprocess.run(line.split(": ", 1)[1], shell=True, text=True, stdout=subprocess.PIPE)
        check(f"{number.name}: a shell goes on", rest.returncode == 0 and "behind step 2" in rest.stdout
              and "sum 15" in rest.stdout, rest.stdout)
        check(f"{number.name}: as if nothing had been", logged(out) == logged(at + "/whole"))


def other_stops(at):
    out = at + "/last"
    part = paced(out, 2)
    part.send_signal(signal.SIGINT)
    ends(out, "step-2", "report")
    said = part.communicate(timeout=60)[0]
    check("the last step is one too", part.returncode == 130 and "sum 3\n" in said
          and "at step 2" in said, said)
    check("and the report comes again", "sum 3" in run("pace", "--steps", "2", "--resume", "--out", out))
    part = paced(out, 4, "--resume", ready=3)
    part.send_signal(signal.SIGINT)
    ends(out, "step-4")
    said = part.communicate(timeout=60)[0]
    check("--resume is said once", said.endswith(f"pace --steps 4 --resume --out {out}\n"), said)
    ends(at, "step-1", "report")
    part = subprocess.Popen([program, "pace", "--out", at, "--steps", "2", "--"], stderr=subprocess.PIPE, text=True,
                            stdout=subprocess.DEVNULL, preexec_fn=heeds_signals)
    while part.poll() is None and not os.path.exists(at + "/log.jsonl"):
        time.sleep(.01)
    part.send_signal(signal.SIGINT)
    ends(at, "step-2")
    said = part.communicate(timeout=60)[1]
    check("and before what ends the options", said.endswith("--steps 2 --resume --\n"), said)

    for second in (signal.SIGINT, signal.SIGTERM):
        out = f"{at}/twice-{second.name}"
        part = paced(out, 9, ready=4)
        part.send_signal(signal.SIGINT)
        check("the first is waited for", is_asleep(part))
        part.send_signal(second)
        part.communicate(timeout=60)
        check(f"{second.name}: the second ends it at once", part.returncode == -second, part.returncode)
        check("and leaves what there was", checkpoints(out) == [3])

    part = paced(at + "/reporting", 2, ready=2)
    check("the report takes its time", is_asleep(part))
    part.send_signal(signal.SIGINT)
    part.communicate(timeout=60)
    check("behind the steps a signal ends it", part.returncode == -signal.SIGINT, part.returncode)

    part = paced(at + "/failed", 20, ready=12)
    part.send_signal(signal.SIGINT)
    ends(at + "/failed", "step-13")
    said = part.communicate(timeout=60)[0]
    check("a step that fails has the last word", part.returncode == 1 and "13 is no step" in said, said)

    out = at + "/ignored"
    os.mkdir(out)
    part = subprocess.Popen([program, "pace", "--steps", "1", "--out", out], stdout=subprocess.DEVNULL,
                            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    while part.poll() is None and not os.path.exists(out + "/log.jsonl"):
        time.sleep(.01)
    part.send_signal(signal.SIGINT)
    check("one that was ignored stays so", is_asleep(part))
    ends(out, "step-1", "report")
    check("to the end", part.wait(timeout=60) == 0)


def killed(at):
    """The log of a run that was killed behind its checkpoint and resumed has each step once."""
    out = at + "/killed"
    part = paced(out, 5, ready=4)
    part.kill()
    part.communicate(timeout=60)
    check("killed behind step 4, saved at step 3", part.returncode == -signal.SIGKILL and checkpoints(out) == [3])
    ends(out, "step-5", "report")
    run("pace", "--steps", "5", "--resume", "--out", out)
    steps = [json.loads(line)["step"] for line in open(out + "/log.jsonl")]
    check("each step has one row", steps == [1, 2, 3, 4, 5], steps)


def full_disk(at):
    """A checkpoint that cannot be written: words, status 1, and the one before is there."""
    for ready, words in ((1, "step 2 is not saved, and there is no checkpoint"),
                         (4, "step 5 is not saved; the latest checkpoint is of step 3")):
        out = f"{at}/full-{ready}"
        part = paced(out, 9, ready=ready, restore_signals=False)  # Python ignores SIGXFSZ
        resource.prlimit(part.pid, resource.RLIMIT_FSIZE, (256, 256))
        part.send_signal(signal.SIGINT)
        ends(out, f"step-{ready + 1}")
        said = part.communicate(timeout=60)[0]
        check(f"full: status 1, was {part.returncode}", part.returncode == 1, said)
        check("full: why", words in said and "too large" in said and "go on with" not in said, said)
        check("full: what there was", checkpoints(out) == ([3] if ready == 4 else []))


# ---- the rest -------------------------------------------------------------------------------------------------

with tempfile.TemporaryDirectory() as at:
    runs(at)
    for place in (stops, other_stops, killed, full_disk):
        os.mkdir(f"{at}/{place.__name__}")
        place(f"{at}/{place.__name__}")
    check("help", "--resume" in run("run", "--help"))
    said = run("progress", "21").splitlines()
    check("a log has lines about progress", len(said) == 4 and said[0] ==
          "counting  1/4  loss 0.5  0.05 sheep/s  1:03 left", said)
    said = run("progress", "7").splitlines()
    check("one in 20 seconds", len(said) == 1 and said[0].startswith("counting  3/4"), said)
    os.mkdir(at + "/get")
    if "lacks" in run("get", "http://127.0.0.1:1/x", "0" * 64, at + "/get", expect=1):
        skip("this build cannot download")
    else:
        with served(at, Handler) as base:
            downloads(at + "/get", base)
            redirected(at, base)
            records(at + "/records", base)
            os.mkdir(at + "/secured")
            secured(at + "/secured", base)

finish()
