"""Puts the results of compare.py (--json FILE) into a Markdown page, as tables.

    python3 bench/table.py FILE ... docs/performance.md

What a FILE is about is seen from its rows; what stands between the lines <!-- ops -->, <!-- steps -->,
<!-- pictures -->, <!-- sounds -->, <!-- recipes --> or <!-- graphs --> of the page and the next <!-- end --> is replaced.
Of several runs of ops each side's least time counts; of the others there can be one."""
import argparse
import json

from child import geometric_mean

END = "<!-- end -->\n"


def microseconds(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


# ---- ops ----------------------------------------------------------------------------------------------


def merged(runs):
    """The rows of the first run with the least times of all; disturbed if they were in every run."""
    least = {row["name"]: row for row in runs[0]}
    for row in (row for run in runs[1:] for row in run):
        best = least[row["name"]]
        best["egret_us"] = min(best["egret_us"], row["egret_us"])
        best["torch_us"] = min(best["torch_us"], row["torch_us"])
        best["roof_us"] = min(best["roof_us"], row["roof_us"])
        best["disturbed"] = best["disturbed"] and row["disturbed"]
        best["ratio"] = best["torch_us"] / best["egret_us"]
    return list(least.values())


def summary(families, rows):
    ratios = [row["ratio"] for row in rows]
    yield f"**Geometric mean of all {len(rows)} cases: {geometric_mean(ratios):.2f}.** "
    yield f"{sum(r < .95 for r in ratios)} cases are slower than PyTorch by more than 5 %.\n\n"
    yield "| family | cases | geometric mean | least | slower by more than 5 % |\n|---|---|---|---|---|\n"
    for family, members in families.items():
        ratios = [row["ratio"] for row in members]
        slower = ", ".join(f"{row['name'].split('/', 1)[1]} {row['ratio']:.2f}"
                           for row in members if row["ratio"] < .95)
        yield f"| {family} | {len(ratios)} | {geometric_mean(ratios):.2f} | {min(ratios):.2f} | {slower} |\n"


def cases(families):
    yield "\n| case | Egret, µs | PyTorch, µs | ratio | of the roof |\n|---|---|---|---|---|\n"
    for members in families.values():
        for row in members:
            mark = " *" if row["disturbed"] else ""
            yield (f"| {row['name']}{mark} | {microseconds(row['egret_us'])} | "
                   f"{microseconds(row['torch_us'])} | {row['ratio']:.2f} | "
                   f"{100 * row['roof_us'] / row['egret_us']:.0f} % |\n")


def ops(runs):
    families = {}
    rows = merged(runs)
    for row in rows:
        families.setdefault(row["name"].split("/")[0], []).append(row)
    yield from summary(families, rows)
    yield from cases(families)


# ---- steps and files -------------------------------------------------------------------------------


def milliseconds(value):
    return f"{value / 1000:.0f}" if value >= 1e5 else f"{value / 1000:.1f}"


def steps(runs):
    rows, = runs
    run, tuned = [[row[key] for row in rows] for key in ("ratio", "tuned_ratio")]
    yield (f"**Geometric means: {geometric_mean(run):.2f} against PyTorch as people run it, "
           f"{geometric_mean(tuned):.2f} against PyTorch tuned.**\n\n")
    yield ("| model | Egret, ms | PyTorch, ms | tuned, ms | ratio | tuned | of the roof | Egret, MiB | "
           "PyTorch, MiB |\n|---|---|---|---|---|---|---|---|---|\n")
    for row in rows:
        yield (f"| {row['name'].split('/')[1]}{' *' if row['disturbed'] else ''} | "
               f"{milliseconds(row['egret_us'])} | {milliseconds(row['torch_us'])} ({row['torch_variant']}) | "
               f"{milliseconds(row['tuned_us'])} | {row['ratio']:.2f} | {row['tuned_ratio']:.2f} | "
               f"{100 * row['roof_us'] / row['egret_least_us']:.0f} % | {row['egret_mib']:.0f} | "
               f"{row['torch_mib']:.0f} |\n")


def files(runs):
    rows, = runs
    yield ("| workers | Egret, files/s | PyTorch, files/s | ratio | Egret, per core | PyTorch, per core | "
           "ratio |\n|---|---|---|---|---|---|---|\n")
    for row in rows:
        yield (f"| {row['name'].split('/')[1].split('-')[0]} | {row['egret_files_s']:.0f} | "
               f"{row['torch_files_s']:.0f} | {row['ratio']:.2f} | {row['egret_files_core_s']:.0f} | "
               f"{row['torch_files_core_s']:.0f} | {row['core_ratio']:.2f} |\n")


def recipes(runs):
    rows, = runs
    yield f"**Geometric mean against the faster of the others: {geometric_mean([row['ratio'] for row in rows]):.2f}.**\n\n"
    yield ("| recipe | threads | Egret, images/s | tf.data, images/s | torchvision, images/s | ratio |\n"
           "|---|---|---|---|---|---|\n")
    for row in rows:
        _, recipe, threads = row["name"].split("/")
        rates = " | ".join(f"{row[key]:.0f}" if key in row else "" for key in
                           ("egret_images_s", "tf_images_s", "torch_images_s"))
        yield f"| {recipe} | {threads.split('-')[0]} | {rates} | {row['ratio']:.2f} |\n"


def graphs(runs):
    rows, = runs
    yield f"**Geometric mean: {geometric_mean([row['ratio'] for row in rows]):.2f}.**\n\n"
    yield "| model | Egret, ms | onnxruntime, ms | ratio | apart |\n|---|---|---|---|---|\n"
    for row in rows:
        yield (f"| {row['name'].split('/')[1]} | {row['egret_ms']:.1f} | {row['ort_ms']:.1f} | {row['ratio']:.2f} | "
               f"{row['apart']:.0e} |\n")


KINDS = {"graph": ("<!-- graphs -->\n", graphs), "recipe": ("<!-- recipes -->\n", recipes),
         "step": ("<!-- steps -->\n", steps), "pictures": ("<!-- pictures -->\n", files),
         "sounds": ("<!-- sounds -->\n", files)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", nargs="+", metavar="FILE", help="what compare.py wrote")
    parser.add_argument("page", help="the Markdown page to change")
    options = parser.parse_args()
    kinds = {}
    for name in options.results:
        with open(name, encoding="utf-8") as file:
            rows = json.load(file)
        kind = KINDS.get(rows[0]["name"].split("/")[0], ("<!-- ops -->\n", ops))
        kinds.setdefault(kind, []).append(rows)
    with open(options.page, encoding="utf-8") as file:
        text = file.read()
    for (start, table), runs in kinds.items():
        before, rest = text.split(start)
        text = "".join([before, start, *table(runs), END, rest.split(END, 1)[1]])
    with open(options.page, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
