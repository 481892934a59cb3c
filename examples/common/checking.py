"""What the test scripts of the example programs share: checks that are counted, the program run with words or
killed while it runs, what it logged, files served to it.

    sys.path.insert(0, FOLDER OF THIS FILE)
    from checking import check, finish, runner
    run = runner(program)
"""
import contextlib
import functools
import http.server
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import threading
import time

# Tests run side by side, one per processor: a second thread of each program would only take time from another test.
os.environ.setdefault("OMP_NUM_THREADS", "1")
count = {"passed": 0, "failed": 0, "skipped": 0}


def check(what, ok, words=""):
    count["passed" if ok else "failed"] += 1
    if not ok:
        print(f"FAIL {what}\n{words}")


def skip(why):
    count["skipped"] += 1
    print(f"SKIP {why}")


def let_mpirun_run():
    """Open MPI 4 and 5: as root, and more ranks than processors."""
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", PRTE_ALLOW_RUN_AS_ROOT="1",
                      PRTE_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1",
                      PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe")


def has_terminals():
    """Whether this system gives out pseudo-terminals: a bare chroot does not."""
    try:
        for end in os.openpty():
            os.close(end)
        return True
    except OSError:
        return False


def needs(what, program, *words):
    """Ends the script as skipped where a run with these words says that this build has no such thing."""
    said = subprocess.run([program, *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
    if f"no {what}" in said:
        skip(f"this build has no {what}")
        finish()


SPEED = re.compile(r"^training: [\d.]+ [\w ]+ per second\n", re.M)


def output_of(program, *words, expect=0):
    """Runs the program and returns its output. An exit status other than `expect` is a failure, unless that is None."""
    r = subprocess.run([program, *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       env={**os.environ, "no_proxy": "*"})
    check(f"{' '.join(words)}: status {expect}, was {r.returncode}", expect in (None, r.returncode), r.stdout)
    return r.stdout


def runner(program):
    """Returns a function that runs the program and returns its output without the line about the speed of training."""
    def run(*words, expect=0):
        return SPEED.sub("", output_of(program, *words, expect=expect))
    return run


def aliases_of(said):
    """What --help says at its end: {other name: (flag, value it gives it)}, and the names that are ignored."""
    names, _, ignored = said.partition("\nother names:\n")[2].partition("\naccepted and ignored, with a warning:\n")
    ignored = ignored or said.partition("\naccepted and ignored, with a warning:\n")[2]
    pairs = [text.split(" for ") for text in " ".join(names.split()).split(", ") if " for " in text]
    return ({name: (flag.split() + [None])[:2] for name, flag in pairs},
            [text for text in " ".join(ignored.split()).split(", ") if text])


def started(rows, program, *words, out, **how):
    """Runs it until its log has so many rows, or it ends."""
    part = subprocess.Popen([program, *words, "--out", out], preexec_fn=heeds_signals, **how)
    since, log = time.time(), out + "/log.jsonl"
    while time.time() - since < 300 and part.poll() is None:
        if os.path.exists(log) and open(log).read().count("\n") >= rows:
            break
        time.sleep(.002)
    return part


def heeds_signals():
    """Whatever started the tests may ignore them."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def kill(rows, program, *words, out):
    """Runs it and kills it with no warning, as soon as its log has so many rows."""
    part = started(rows, program, *words, out=out, stdout=subprocess.DEVNULL)
    part.kill()
    part.wait()


def stopped_and_resumed(rows, program, *words, out, number=signal.SIGINT, when_stopped=lambda: None):
    """Stops the program by a signal when its log has `rows` rows, calls when_stopped and runs the command that it
    printed for resuming. Returns the output of that. If the last step ends before the signal is sent, as on a busy
    machine, the program runs again, at most 8 times."""
    for _ in range(8):
        shutil.rmtree(out, ignore_errors=True)
        part = started(rows, program, *words, out=out, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        part.send_signal(number)
        said = part.communicate(timeout=300)[0]
        if part.returncode not in (0, -number):
            break
    step, _, command = said.rstrip("\n").split("\n")[-1].partition("; go on with: ")
    check(f"{number.name} stops it: status was {part.returncode}", part.returncode == 128 + number, said)
    words, _, at = step.rpartition(" ")
    check("and it says where", words == "stopped at step" and at.isdigit()
          and os.path.exists(f"{out}/checkpoint-{at:0>10}.safetensors"), said)
    when_stopped()
    rest = subprocess.run(command, shell=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    check(f"{command}: status 0, was {rest.returncode}", rest.returncode == 0, rest.stdout)
    return rest.stdout


def logged(folder, field=None):
    """What a run logged of each step, or one field of it; of a step done twice the second."""
    rows = [json.loads(line) for line in open(folder + "/log.jsonl")]
    return {row["step"]: row[field] if field else row for row in rows if not field or field in row}


def begins(path, magic):
    if not os.path.exists(path):
        return False
    with open(path, "rb") as file:
        return file.read(len(magic)) == magic


def bytes_of(path):
    with open(path, "rb") as file:
        return file.read()


def is_png(path):
    return begins(path, b"\x89PNG\r\n\x1a\n")


class Files(http.server.SimpleHTTPRequestHandler):
    """Gives files, and notes which it is asked for."""
    requests = []

    def log_message(self, *_):
        self.requests.append(self.path)


@contextlib.contextmanager
def served(folder, handler=Files, certificate=None, host="127.0.0.1"):
    """The address of a server of our own that gives the files of a folder; with a certificate and its key by https."""
    server = http.server.ThreadingHTTPServer((host, 0), functools.partial(handler, directory=folder))
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        server.handle_error = lambda *_: None  # clients that do not trust us hang up
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"{'https' if certificate else 'http'}://{host}:{server.server_port}"
    finally:
        server.shutdown()


def finish():
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    sys.exit(count["failed"] > 0)
