"""Processes that answer questions, and how busy the machine is beside them."""
import json
import math
import os
import subprocess

# glibc settings that keep freed memory in the process instead of giving it back after each op.
KEPT = {"MALLOC_MMAP_THRESHOLD_": "1073741824", "MALLOC_TRIM_THRESHOLD_": "17179869184",
        "MALLOC_TOP_PAD_": "67108864"}


class Child:
    """A long-lived process that answers a JSON line for each line it is given."""

    def __init__(self, command, environment):
        self.command = command
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env={**os.environ, **environment})

    def ask(self, request):
        try:
            self.process.stdin.write(request + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        line = self.process.stdout.readline()
        if not line:
            code = self.process.wait()
            raise SystemExit(f"{' '.join(self.command)}\nended with status {code} at: {request}")
        return json.loads(line)

    def ticks(self):
        """Processor time used so far, in the units of /proc."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Foreign:
    """The share of all processors that processes other than the children took since it was made;
    0 where there is no /proc."""

    def __init__(self, *children):
        self.children = children
        self.start = self.now()

    def now(self):
        try:
            with open("/proc/stat", encoding="ascii") as file:
                numbers = [int(word) for word in file.readline().split()[1:9]]
            own = sum(child.ticks() for child in self.children)
        except OSError:
            return None
        idle = numbers[3] + numbers[4]
        return sum(numbers), sum(numbers) - idle - own

    def share(self):
        end = self.now()
        if end is None or end[0] == self.start[0]:
            return 0
        return (end[1] - self.start[1]) / (end[0] - self.start[0])


def geometric_mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))
