"""Puts the results of `compare.py ops --json FILE` into a Markdown page, as tables.

    python3 bench/table.py FILE ... docs/performance.md

What stands between the lines <!-- ops --> and <!-- end --> of the page is replaced: a summary, and every case
with its family. Of several runs each side's least time counts."""
import argparse
import json
import math

START, END = "<!-- ops -->\n", "<!-- end -->\n"


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def microseconds(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


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
    yield f"**Geometric mean of all {len(rows)} cases: {mean(ratios):.2f}.** "
    yield f"{sum(r < .95 for r in ratios)} cases are slower than PyTorch by more than 5 %.\n\n"
    yield "| family | cases | geometric mean | least | slower by more than 5 % |\n|---|---|---|---|---|\n"
    for family, members in families.items():
        ratios = [row["ratio"] for row in members]
        slower = ", ".join(f"{row['name'].split('/', 1)[1]} {row['ratio']:.2f}"
                           for row in members if row["ratio"] < .95)
        yield f"| {family} | {len(ratios)} | {mean(ratios):.2f} | {min(ratios):.2f} | {slower} |\n"


def cases(families):
    yield "\n| case | Egret, µs | PyTorch, µs | ratio | of the roof |\n|---|---|---|---|---|\n"
    for members in families.values():
        for row in members:
            mark = " *" if row["disturbed"] else ""
            yield (f"| {row['name']}{mark} | {microseconds(row['egret_us'])} | "
                   f"{microseconds(row['torch_us'])} | {row['ratio']:.2f} | "
                   f"{100 * row['roof_us'] / row['egret_us']:.0f} % |\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", nargs="+", metavar="FILE", help="what compare.py wrote")
    parser.add_argument("page", help="the Markdown page to change")
    options = parser.parse_args()
    page, runs = options.page, []
    for name in options.results:
        with open(name, encoding="utf-8") as file:
            runs.append(json.load(file))
    rows = merged(runs)
    families = {}
    for row in rows:
        families.setdefault(row["name"].split("/")[0], []).append(row)
    with open(page, encoding="utf-8") as file:
        before, rest = file.read().split(START)
    text = "".join([before, START, *summary(families, rows), *cases(families), END, rest.split(END)[1]])
    with open(page, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
