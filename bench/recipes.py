"""Photos into training batches by published recipes, Egret, tf.data and torchvision's v2 transforms in turn:
`compare.py recipes`.

A folder of photos with a folder per class is shuffled, read, decoded, made 224 x 224 as the recipe says and stacked in
batches of 32. Each side has one or two processors, to which it is bound, and as many threads: Egret's chain maps in the
thread that asks or with two workers, tf.data with a pool of its own, PyTorch's DataLoader in the process that asks or
with two others. Counted are images per second; a figure is the median of the turns."""
import json
import os
import shutil
import statistics
import time

from child import Child, geometric_mean

HERE = os.path.dirname(os.path.abspath(__file__))
RECIPES = {"inception": True, "inception+": False, "vgg": True, "cnn_benchmarks": False, "torch": True}  # torchvision, too


def sides(recipe, threads, options):
    """The programs, each bound to its processors."""
    bound = ["taskset", "-c", ",".join(str(k) for k in range(threads))] if shutil.which("taskset") else []
    workers = str(0 if threads == 1 else threads)
    found = {"egret": [options.egret_bench, "--threads", str(threads), "pictures", options.data, workers, recipe]}
    if options.tf_python != "none" and recipe != "torch":
        found["tf"] = [options.tf_python, os.path.join(HERE, "tf_recipes.py"), options.data, str(threads), recipe]
    if RECIPES[recipe] and options.torch_python != "none":
        found["torch"] = [options.torch_python, os.path.join(HERE, "torch_recipes.py"), options.data, workers, recipe]
    return {name: Child(bound + command, {}) for name, command in found.items()}


def measure(recipe, threads, options):
    children = sides(recipe, threads, options)
    libraries = [child.ask("about")["library"] for child in children.values()]
    rates = {name: [] for name in children}
    for number in range(options.rounds + 1):  # the first turn warms up
        for name in list(children)[::1 if number % 2 else -1]:
            answer = children[name].ask(f"run {options.round_ms * 1000}")
            if number:
                rates[name].append(answer["samples"] / answer["seconds"])
            time.sleep(.01)
    for child in children.values():
        child.close()
    row = {"name": f"recipe/{recipe}/{threads}-threads"}
    row.update({f"{name}_images_s": statistics.median(rates[name]) for name in rates})
    row["ratio"] = row["egret_images_s"] / max(row[f"{name}_images_s"] for name in rates if name != "egret")
    return row, libraries


def compare(options):
    if not options.data:
        raise SystemExit("recipes needs --data FOLDER, with a folder of photos per class")
    rows, libraries = [], []
    print(f"{'recipe':28} {'egret/s':>9} {'tf.data/s':>9} {'torch/s':>9} {'ratio':>7}")
    for recipe in RECIPES:
        for threads in sorted({1, min(2, options.threads)}):
            row, known = measure(recipe, threads, options)
            rows.append(row)
            libraries += [name for name in known if name not in libraries]
            shown = [f"{row[key]:9.1f}" if key in row else f"{'':9}" for key in
                     ("egret_images_s", "tf_images_s", "torch_images_s")]
            print(f"{row['name']:28} {' '.join(shown)} {row['ratio']:7.2f}", flush=True)
    print(f"{', '.join(libraries)}: geometric mean {geometric_mean([row['ratio'] for row in rows]):.2f}, against the "
          f"faster of the others")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump(rows, out, indent=1)
    return 0
