"""onnxruntime's side of `compare.py graphs`: a model, an input and what Egret made of it; how far they are apart.

    ort_graph.py FOLDER NAME THREADS
"""
import json
import statistics
import sys
import time

import numpy
import onnxruntime


def main():
    stem, threads = f"{sys.argv[1]}/{sys.argv[2]}", int(sys.argv[3])
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(stem + ".onnx", settings, providers=["CPUExecutionProvider"])
    x, y = numpy.load(stem + ".x.npy"), numpy.load(stem + ".y.npy")
    feed = {session.get_inputs()[0].name: x}
    made = session.run(None, feed)[0]
    apart = float(numpy.abs(made - y).max() / max(float(numpy.abs(y).max()), 1e-30)) if made.shape == y.shape else 1e30
    for line in sys.stdin:
        words = line.split()
        if words[0] == "run":
            times, start = [], time.perf_counter()
            while not times or time.perf_counter() - start < float(words[1]) * 1e-6:
                since = time.perf_counter()
                session.run(None, feed)
                times.append(time.perf_counter() - since)
            answer = {"median_ms": 1e3 * statistics.median(times), "calls": len(times)}
        else:
            answer = {"library": f"onnxruntime {onnxruntime.__version__}", "apart": apart}
        print(json.dumps(answer), flush=True)


main()
