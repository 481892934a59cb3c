"""What the tests of the notebook kernel share: the program installed for one folder, clients, checks.

Debian's packages of Jupyter belong to Debian's Python; where another one runs this and lacks them, that
one goes on.
"""
import contextlib
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/common"))
from checking import check, finish, skip  # noqa: E402

DEBIAN = "/usr/bin/python3"
try:
    import jupyter_client
    import nbclient
    import zmq
except ImportError:
    if os.path.exists(DEBIAN) and not os.environ.get("EGRET_TEST_PYTHON"):
        os.environ["EGRET_TEST_PYTHON"] = "other"
        os.execv(DEBIAN, [DEBIAN, *sys.argv])
    skip("nbclient and jupyter_client are not installed: no notebooks")
    finish()

__all__ = ["check", "finish", "skip", "jupyter_client", "nbclient", "zmq"]
PATIENCE = 60  # seconds, for machines that are busy


@contextlib.contextmanager
def installed(run):
    """Installs the program's description into a folder of its own, from which kernels then start."""
    with tempfile.TemporaryDirectory() as at:
        said = run("kernel", "--install", "--prefix", at)
        check("it says where to", at in said, said)
        os.environ["JUPYTER_PATH"] = at + "/share/jupyter"
        os.environ["JUPYTER_RUNTIME_DIR"] = at + "/runtime"
        os.environ["IPYTHONDIR"] = at + "/ipython"
        yield at + "/share/jupyter/kernels/egret"


def sockets():
    """Where a kernel listens: at files of its own."""
    at = os.environ["JUPYTER_RUNTIME_DIR"]
    os.makedirs(at, exist_ok=True)
    return {"transport": "ipc", "ip": f"{at}/{time.monotonic_ns()}"}


class Kernel:
    """A running kernel and a client of it."""

    def __init__(self, wrapper=(), mode=None, tcp=False):
        # Ports of TCP that were free when they were chosen may be taken when the kernel listens.
        for _ in range(3 if tcp else 1):
            self.manager = jupyter_client.KernelManager(kernel_name="egret", **({} if tcp else sockets()))
            self.manager.kernel_spec.argv[:0] = wrapper
            if mode:
                self.manager.kernel_spec.interrupt_mode = mode
            self.manager.start_kernel(stderr=sys.stdout)
            self.client = self.manager.client()
            self.client.start_channels()
            try:
                self.client.wait_for_ready(timeout=PATIENCE)
                return
            except RuntimeError as e:
                print(e)
        check("a kernel starts", False)
        finish()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.stop_channels()
        if self.manager.has_kernel:
            self.manager.shutdown_kernel(now=True)

    def wait(self, request):
        """The content of the reply to a request."""
        end = time.time() + PATIENCE
        while time.time() < end:
            reply = self.client.get_shell_msg(timeout=PATIENCE)
            if reply["parent_header"].get("msg_id") == request:
                return reply["content"]
        return {"status": "no answer"}

    def ask(self, kind, *words, **more):
        """The answer to self.client's complete, inspect, ..."""
        return self.wait(getattr(self.client, kind)(*words, **more))

    def run(self, code, **more):
        """The reply to a cell, and what it put out: (type, content) of each but the states."""
        put_out = []

        def hook(message):
            if message["msg_type"] not in ("status", "execute_input"):
                put_out.append((message["msg_type"], message["content"]))
        reply = self.client.execute_interactive(code, timeout=PATIENCE, output_hook=hook, **more)
        return reply["content"], put_out

    def run_all(self, *codes, **more):
        """The replies to cells that are all made before the first is sent."""
        client = self.client
        sent = [client.session.msg("execute_request", {"code": code, **more}) for code in codes]
        for message in sent:
            client.shell_channel.send(message)
        return [self.wait(message["header"]["msg_id"]) for message in sent]

    def value(self, code):
        """The text of a cell's result, or what it said instead."""
        reply, put_out = self.run(code)
        for kind, content in put_out:
            if kind == "execute_result":
                return content["data"]["text/plain"]
        return str(reply)

    def alive(self, what):
        value = self.value("20 + 22")
        check(f"{what}: the kernel still counts", value == "42", value)


def streams(put_out):
    """What a cell wrote: [name, text] of stretches of one stream."""
    stretches = []
    for kind, content in put_out:
        if kind != "stream":
            continue
        if stretches and stretches[-1][0] == content["name"]:
            stretches[-1][1] += content["text"]
        else:
            stretches.append([content["name"], content["text"]])
    return stretches


def gone(pid, seconds):
    """Whether a process ends in that time."""
    end = time.time() + seconds
    while time.time() < end:
        try:
            with open(f"/proc/{pid}/stat") as f:
                if f.read().rsplit(")", 1)[1].split()[0] == "Z":
                    return True
        except OSError:
            return True
        time.sleep(.02)
    return False
