"""What PyTorch's sides of `compare.py pictures` and `sounds` have in common: a DataLoader that is walked when asked."""
import json
import resource
import sys
import time

import torch


def processor_seconds():
    """Of this process and of workers that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def serve(dataset, batch, workers, library):
    """Answers lines on stdin; samples are counted by their first tensors."""
    torch.set_num_threads(1)
    loader = torch.utils.data.DataLoader(dataset, batch, shuffle=True, num_workers=workers)
    for line in sys.stdin:
        words = line.split()
        if words[0] == "about":
            answer = {"library": f"PyTorch {torch.__version__}, {library.__name__} {library.__version__}"}
        else:
            start, used, samples = time.perf_counter(), processor_seconds(), 0
            while not samples or (time.perf_counter() - start) * 1e6 < float(words[1]):
                for first, *_ in loader:
                    samples += len(first)
            answer = {"samples": samples, "seconds": time.perf_counter() - start,
                      "processor": processor_seconds() - used}
        print(json.dumps(answer), flush=True)
