#!/usr/bin/env python3
"""Ranks on several machines: network namespaces with addresses of their own, between which frames take a while and some
are lost. What a program learns there is what it learns on one machine; a rank that is killed or frozen, and a line that
is cut, end all others in words and with a code, and the training that is resumed ends as if nothing had been.

    hosts.py MPIRUN PROGRAM        PROGRAM: digits, or another with its flags

Needs root, ip and /dev/net/tun; is skipped without them."""
import fcntl
import glob
import heapq
import json
import math
import os
import random
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

mpirun, program = sys.argv[1:]
LATENCY, LOSS, TIMEOUT = .001, .002, 10
results = {True: 0, False: 0}


def check(what, holds, words=""):
    results[bool(holds)] += 1
    if not holds:
        print(f"FAIL {what}\n{words}")


class Network:
    """Hosts by number, from 1, and what carries their frames."""

    def __init__(self, hosts):
        self.hosts = {i: self.make_host(i) for i in range(1, hosts + 1)}
        self.cut, self.queue, self.ended, self.count, self.bytes = set(), [], False, 0, 0
        self.thread = threading.Thread(target=self.carry, daemon=True)
        self.thread.start()

    @staticmethod
    def make_host(i):
        name, device = f"egret-host-{i}", f"egret{i}"
        subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL)
        subprocess.run(["ip", "netns", "add", name], check=True)
        fd = os.open("/dev/net/tun", os.O_RDWR)
        fcntl.ioctl(fd, 0x400454ca, struct.pack("16sH22x", device.encode(), 0x1002))  # TUNSETIFF: TAP, no header
        subprocess.run(["ip", "link", "set", device, "netns", name], check=True)
        for words in (["addr", "add", f"10.77.0.{i}/24", "dev", device], ["link", "set", device, "up"],
                      ["link", "set", "lo", "up"]):
            subprocess.run(["ip", "-n", name, *words], check=True)
        return fd

    def carry(self):
        """Every frame goes to all other hosts: there are few."""
        chance = random.Random(1)
        while not self.ended:
            wait = max(0, self.queue[0][0] - time.monotonic()) if self.queue else .02
            for fd in select.select(list(self.hosts.values()), [], [], min(wait, .02))[0]:
                frame = os.read(fd, 65536)
                self.bytes += len(frame)
                for i, to in self.hosts.items():
                    source = next(k for k, v in self.hosts.items() if v == fd)
                    if to != fd and not {i, source} & self.cut and chance.random() >= LOSS:
                        self.count += 1
                        heapq.heappush(self.queue, (time.monotonic() + LATENCY, self.count, to, frame))
            while self.queue and self.queue[0][0] <= time.monotonic():
                try:
                    os.write(self.queue[0][2], self.queue[0][3])
                except OSError:
                    pass
                heapq.heappop(self.queue)

    def close(self):
        self.ended = True
        self.thread.join()
        for i, fd in self.hosts.items():
            os.close(fd)
            subprocess.run(["ip", "netns", "del", f"egret-host-{i}"])


class Job:
    """Ranks of the program, one on each host."""

    def __init__(self, folder, hosts, *words):
        self.folder, self.hosts = folder, hosts
        agent, self.ends = folder + "/agent", tempfile.mkdtemp(dir=folder)
        with open(agent, "w") as f:  # what mpirun calls instead of ssh
            f.write('#!/bin/sh\nhost=egret-host-${1##*.}\nshift\nexec ip netns exec $host unshare -u sh -c '
                    '"hostname $host; $*"\n')
        os.chmod(agent, 0o755)
        rank = f"sh -c '{program} {' '.join(words)} 2>&1; echo $? > {self.ends}/$OMPI_COMM_WORLD_RANK'"
        line = (f"{mpirun} --host " + ",".join(f"10.77.0.{i}:1" for i in range(1, hosts + 1)) +
                f" --mca plm_rsh_agent {agent} --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include 10.77.0.0/24"
                f" --mca oob_tcp_if_include 10.77.0.0/24 -x EGRET_MPI_MODULE -x EGRET_DNNL_MODULE -x LD_LIBRARY_PATH {rank}")
        environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        self.said = open(folder + "/said", "w+")
        self.process = subprocess.Popen(
            ["ip", "netns", "exec", "egret-host-1", "unshare", "-u", "sh", "-c", f"hostname egret-host-1; exec {line}"],
            env=environment, stdout=self.said, stderr=subprocess.STDOUT, start_new_session=True)

    def wait(self, seconds):
        """The codes of the ranks that have ended, by rank, once all have or time is up."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and (len(self.codes()) < self.hosts and self.process.poll() is None):
            time.sleep(.05)
        return self.codes()

    def codes(self):
        found = {}
        for path in glob.glob(self.ends + "/*"):
            with open(path) as f:
                text = f.read().strip()
            if text:
                found[int(os.path.basename(path))] = int(text)
        return found

    def pid_of(self, rank):
        """The process of a rank, by its environment."""
        for path in glob.glob("/proc/[0-9]*/environ"):
            try:
                with open(path, "rb") as f:
                    of = f.read().split(b"\0")
                with open(path[:-7] + "cmdline", "rb") as f:
                    name = f.read().split(b"\0")[0]
            except OSError:
                continue
            if b"OMPI_COMM_WORLD_RANK=%d" % rank in of and os.path.basename(name) == os.path.basename(program).encode():
                return int(path.split("/")[2])
        return None

    def end(self):
        for rank in range(self.hosts):
            pid = self.pid_of(rank)
            if pid:
                os.kill(pid, signal.SIGKILL)
        try:
            self.process.wait(3)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        for path in glob.glob("/proc/[0-9]*/cmdline"):  # what mpirun has left on other hosts
            try:
                with open(path, "rb") as f:
                    ours = (self.folder + "/agent").encode() in f.read()
                if ours:
                    os.kill(int(path.split("/")[2]), signal.SIGKILL)
            except OSError:
                pass
        self.said.seek(0)
        words = self.said.read()
        self.said.close()
        return words


def last(folder):
    """The bytes of the last checkpoint."""
    paths = sorted(glob.glob(folder + "/checkpoint-*"))
    if not paths:
        return None
    with open(paths[-1], "rb") as f:
        return os.path.basename(paths[-1]), f.read()


def gradient_bytes(checkpoint):
    """Of what has a moment of Adam in it, in f32."""
    shapes = json.loads(checkpoint[8:8 + struct.unpack("<Q", checkpoint[:8])[0]])
    return sum(4 * math.prod(entry["shape"]) for name, entry in shapes.items() if name.endswith(".exp_avg"))


STEPS = 40


def learn(at, name, hosts, *more):
    words = ["--steps", str(STEPS), "--batch", "24", "--save-every", "10", "--threads", "1", "--rank-timeout", str(TIMEOUT)]
    return Job(at, hosts, *words, "--out", f"{at}/{name}", *more)


def undisturbed(at, network, hosts):
    before = network.bytes
    job = learn(at, "whole", hosts)
    codes = job.wait(60)
    words = job.end()
    check("learns", codes == {r: 0 for r in range(hosts)}, f"{codes}\n{words}")
    whole = last(at + "/whole")
    if whole:  # from each rank 2 (n - 1) / n of the gradients in each step; frames have headers, and some are sent again
        least = STEPS * 2 * (hosts - 1) * gradient_bytes(whole[1])
        ratio = (network.bytes - before) / least
        print(f"{least} bytes of gradients at the least, {ratio:.3f} times that in frames")
        check("as few bytes as can be", 1 < ratio < 1.2, f"{ratio}")
    return whole


def wait_for_checkpoint(folder):
    until = time.monotonic() + 40
    while not glob.glob(folder + "/checkpoint-*") and time.monotonic() < until:
        time.sleep(.01)


def disturbed(at, network, hosts, name, disturb, want):
    job = learn(at, name, hosts)
    wait_for_checkpoint(f"{at}/{name}")
    disturb(job)
    began = time.monotonic()
    codes = job.wait(TIMEOUT + 15)
    took = time.monotonic() - began
    ended = job.process.poll() not in (None, 0)
    words = job.end()
    network.cut.clear()
    left = {r: codes.get(r) for r in range(hosts - 1)}  # mpirun may have been faster to end a rank than it was itself
    check(f"{name}: the others end", 0 not in left.values() and (None not in left.values() or ended),
          f"{codes} {ended} {took:.1f} s\n{words}")
    check(f"{name}: within the limit", took < TIMEOUT + 12, f"{took:.1f} s")
    check(f"{name}: before the last step", not os.path.exists(f"{at}/{name}/checkpoint-0000000040.safetensors"))
    job = learn(at, name, hosts, "--resume")
    codes = job.wait(60)
    words = job.end()
    check(f"{name}: resumes", codes == {r: 0 for r in range(hosts)} and "going on behind step" in words, words)
    check(f"{name}: ends as if nothing had been", last(f"{at}/{name}") == want)


def main():
    if os.geteuid() != 0 or not all(map(shutil.which, ("ip", "unshare"))) or not os.path.exists("/dev/net/tun"):
        print("0 passed, 0 failed, 1 skipped")
        return
    hosts = 3
    try:
        network = Network(hosts)
    except (OSError, subprocess.CalledProcessError) as e:
        for i in range(1, hosts + 1):
            subprocess.run(["ip", "netns", "del", f"egret-host-{i}"], stderr=subprocess.DEVNULL)
        print(f"SKIP no namespaces to be had: {e}\n0 passed, 0 failed, 1 skipped")
        return
    at = tempfile.mkdtemp()
    try:
        want = undisturbed(at, network, hosts)
        for name, disturb in (("killed", lambda job: os.kill(job.pid_of(hosts - 1), signal.SIGKILL)),
                              ("frozen", lambda job: os.kill(job.pid_of(hosts - 1), signal.SIGSTOP)),
                              ("cut", lambda job: network.cut.add(hosts))):
            disturbed(at, network, hosts, name, disturb, want)
    finally:
        network.close()
        shutil.rmtree(at)
    print(f"{results[True]} passed, {results[False]} failed, 0 skipped")
    sys.exit(results[False] > 0)


main()
