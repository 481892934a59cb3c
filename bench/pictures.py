"""Files into training batches, Egret's chain and PyTorch's DataLoader in turn: `compare.py pictures` and `sounds`.

A folder of photos with a folder per class is shuffled, decoded, a random part of each scaled to 224 x 224,
mirrored by chance, normalised and stacked in batches of 32; of a folder of sounds each is decoded, cut to a second of
16,000 samples, turned into 40 cepstra of 64 bands every 10 ms and stacked in batches of 100. By 0, 1 and more workers:
threads here, processes there. Counted are files per second and per second of processor time; a figure is the median of
the turns."""
import json
import os
import statistics
import time

from child import Child, geometric_mean

HERE = os.path.dirname(os.path.abspath(__file__))


def measure(workers, options):
    what = [options.data, str(workers)]
    sides = {"egret": Child([options.egret_bench, options.verb, *what], {}),
             "torch": Child([options.torch_python, os.path.join(HERE, f"torch_{options.verb}.py"), *what], {})}
    library = sides["torch"].ask("about")["library"]
    rates, thrift = {name: [] for name in sides}, {name: [] for name in sides}
    for number in range(options.rounds + 1):  # the first turn warms up
        for name in list(sides)[::1 if number % 2 else -1]:
            answer = sides[name].ask(f"run {options.round_ms * 1000}")
            if number:
                rates[name].append(answer["samples"] / answer["seconds"])
                thrift[name].append(answer["samples"] / answer["processor"])
            time.sleep(.01)
    for child in sides.values():
        child.close()
    row = {"name": f"{options.verb}/{workers}-workers"}
    for name in sides:
        row[f"{name}_files_s"] = statistics.median(rates[name])
        row[f"{name}_files_core_s"] = statistics.median(thrift[name])
    row["ratio"] = row["egret_files_s"] / row["torch_files_s"]
    row["core_ratio"] = row["egret_files_core_s"] / row["torch_files_core_s"]
    return row, library


def compare(options):
    if not options.data:
        raise SystemExit(f"{options.verb} needs --data FOLDER, with a folder of files per class")
    rows = []
    print(f"{'workers':24} {'egret/s':>9} {'torch/s':>9} {'ratio':>7} {'per core':>9} {'torch':>9} {'ratio':>7}")
    for workers in sorted({0, 1, options.threads}):
        row, library = measure(workers, options)
        rows.append(row)
        print(f"{row['name']:24} {row['egret_files_s']:9.1f} {row['torch_files_s']:9.1f} {row['ratio']:7.2f} "
              f"{row['egret_files_core_s']:9.1f} {row['torch_files_core_s']:9.1f} {row['core_ratio']:7.2f}",
              flush=True)
    print(f"against {library}: geometric mean {geometric_mean([row['ratio'] for row in rows]):.2f}, per core "
          f"{geometric_mean([row['core_ratio'] for row in rows]):.2f}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump(rows, out, indent=1)
    return 0
