#!/usr/bin/env python3
"""The report of gpu-check.sh, from what its stages left.

    gpu_report.py WORK OUT [WORDS]    writes OUT/report.md, report.json and log.txt (OUT "": none), prints the end of
                                      the report. Exit status 1 if something failed.
    gpu_report.py --card WORK         the card's name as a word

WORDS: why the check went no further. WORK holds `stages` (name, limit, seconds, status), NAME.log per stage,
NAME.out, .err and .status per test program, and the JSON files of `compare.py gpu` and `compare.py steps`."""
import glob
import json
import math
import os
import re
import sys

SUM = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$")
TESTS = ("sweep", "tests", "fault")
SANITIZERS = ("memcheck", "racecheck")
MOST_FAILURES = 60


def text(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def last(path):
    lines = text(path).splitlines()
    return lines[-1] if lines else ""


def read_json(path):
    try:
        return json.loads(text(path))
    except ValueError:
        return {"about": {}, "cases": []}


# ---- tests ----------------------------------------------------------------------------------------


def programs(work, stage):
    """What the test programs of a stage counted, and what they said of failures."""
    count, failures, skips = [0, 0, 0], [], {}
    for path in sorted(glob.glob(os.path.join(work, stage + ".*.out"))):
        base, lines = path[:-4], text(path).splitlines()
        found = SUM.match(lines[-1]) if lines else None
        status = text(base + ".status").strip() or "none: cut short"
        if found:
            count = [a + int(b) for a, b in zip(count, found.groups())]
        if not found or (status != "0") != (int(found.group(2)) > 0):
            count[1] += 1
            failures.append(f"{os.path.basename(base)} ended with status {status} in: {last(base + '.err')}")
        for line in lines:
            if line.startswith("SKIP"):
                why = line.rsplit(": ", 1)[1]
                skips[why] = skips.get(why, 0) + 1
        for i, line in enumerate(lines):
            if line.startswith("FAIL"):
                failures.append(" ".join([line] + [more.strip() for more in lines[i + 1:i + 3]
                                                   if more.startswith("  ")]))
    return {"passed": count[0], "failed": count[1], "skipped": count[2], "failures": failures,
            "skips": skips}


def sanitizer(work, stage):
    """ok, failed, or what else became of it."""
    log = text(os.path.join(work, stage + ".log"))
    found = re.findall(r"(?:ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard)", log)
    if "Target application returned an error" in log:
        return "failed"
    if found:
        return "ok" if all(number in ("0", "") for pair in found for number in pair) else "failed"
    return "failed" if re.search(r"=========\s+(Invalid|Error: (Potential )?R|Race|Uninit)", log) else None


def judge(work, stage):
    """The word for a stage: ok, failed, out of time, not here."""
    name, code = stage["name"], stage["status"]
    if name in TESTS:
        tests = programs(work, name)
        stage.update(tests)
        if tests["failed"] or code not in (0, 124, 137):
            return "failed"
        return "out of time" if code else "ok" if tests["passed"] else "nothing ran"
    if name in SANITIZERS:
        word = sanitizer(work, name)
        return word or ("out of time" if code in (124, 137) else "does not work here")
    if code in (124, 137):
        return "out of time"
    return "ok" if code == 0 else "failed"


# ---- figures --------------------------------------------------------------------------------------


def rate(row, side, what):
    """Bytes or flops per second in thousands of millions."""
    return row[what] / row[side + "_us"] * 1e-3 if side + "_us" in row else None


def share(a, b):
    return None if a is None or not b else a / b


def least(named):
    """The least of (share, name) pairs that are known."""
    known = [(value, name) for value, name in named if value is not None]
    return min(known) if known else (None, "")


def aims(cases):
    """(figure, measured, aim, met, beside) in words; met is None where it was not measured."""
    by_name = {row["name"]: row for row in cases}
    get = lambda name: by_name.get(name, {"name": name, "bytes": 0, "flops": 0})
    copy, gemm = get("ceiling/copy-4GiB"), get("ceiling/gemm-bf16-8192")
    copies = {side: rate(copy, side, "bytes") for side in ("egret", "torch")}
    ceiling = max((value for value in copies.values() if value), default=None)
    yield ("copy of 4 GiB, GB/s", number(copies["egret"]), "", None, number(copies["torch"]))
    yield ("bf16 product of 8192 x 8192, TFLOP/s", number(thousandth(rate(gemm, "egret", "flops"))), "", None,
           number(thousandth(rate(gemm, "torch", "flops"))))
    pointwise = [row for row in cases if row["name"].startswith("pointwise/")]
    value, name = least((share(rate(row, "egret", "bytes"), ceiling), row["name"]) for row in pointwise)
    other, _ = least((share(rate(row, "torch", "bytes"), ceiling), row["name"]) for row in pointwise)
    yield (f"pointwise of the copy's bandwidth, the least ({name})", percent(value), ">= 85 %",
           met(value, .85), percent(other))
    large = [row for row in cases if "bf16" in row["name"] and row["flops"] >= 2 * 4096 ** 3]
    value, name = least((share(row.get("torch_us"), row.get("egret_us")), row["name"]) for row in large)
    yield (f"bf16 products of PyTorch's speed, the least ({name})", percent(value), ">= 95 %", met(value, .95), "")
    add = get("launch/add")
    value = add.get("egret_host_us")
    yield ("host time of a small op, us", number(value), "<= 4", None if value is None else value <= 4,
           number(add.get("torch_host_us")))
    adam = get("adam/100M")
    value = share(rate(adam, "egret", "bytes"), ceiling)
    yield ("Adam over 100 M parameters of the copy's bandwidth", percent(value), ">= 80 %", met(value, .8),
           percent(share(rate(adam, "torch", "bytes"), ceiling)))


def step_aims(steps):
    """The same of training steps."""
    for key, words, aim in (("ratio_eager", "eager", 1.2), ("ratio_compiled", "compiled", 1.0)):
        value, name = least((row.get(key), row["name"]) for row in steps)
        yield (f"training steps of {words} PyTorch's speed, the least ({name})", number(value), f">= {aim:.1f}",
               met(value, aim), "")
    ratios = [row["ratio_eager"] for row in steps if "ratio_eager" in row]
    value = math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None
    yield ("training steps of eager PyTorch's speed, geometric mean", number(value), ">= 1.5", met(value, 1.5), "")
    for model, what in (("resnet50-train", "images"), ("bert-train", "texts")):
        rows = [row for row in steps if row["name"].startswith(f"step/{model}/") and "per_second" in row]
        best = max(rows, key=lambda row: row["per_second"], default={})
        value, torch = best.get("ratio"), share(best.get("egret_us"), best.get("torch_us"))
        yield (f"{model}, {what} per second ({best.get('name', '-')}); the best of PyTorch at most 5 % faster",
               number(best.get("per_second")), ">= 0.95", met(value, .95),
               number(best["per_second"] * torch) if torch else "")


def thousandth(value):
    return None if value is None else value / 1000


def met(value, aim):
    return None if value is None else value >= aim


def number(value):
    return "-" if value is None else f"{value:.0f}" if value >= 100 else f"{value:.2f}"


def percent(value):
    return "-" if value is None else f"{100 * value:.0f} %"


# ---- the report -----------------------------------------------------------------------------------


def stage_lines(stages):
    yield "| stage | result | seconds | limit | |\n|---|---|---|---|---|"
    for stage in stages:
        words = (f"{stage['passed']} passed, {stage['failed']} failed, {stage['skipped']} skipped"
                 if "passed" in stage else "")
        yield f"| {stage['name']} | {stage['result']} | {stage['seconds']} | {stage['limit']} | {words} |"


def aim_lines(figures):
    yield "| figure | Egret | aim | | PyTorch |\n|---|---|---|---|---|"
    for figure, measured, aim, reached, beside in figures:
        word = {None: "not measured" if aim else "", True: "met", False: "missed"}[reached]
        yield f"| {figure} | {measured} | {aim} | {word} | {beside} |"


def case_lines(cases, ceiling):
    yield ("| case | Egret, us | PyTorch, us | ratio | of the copy's bandwidth | TFLOP/s | host, us | PyTorch's | |\n"
           "|---|---|---|---|---|---|---|---|---|")
    for row in cases:
        words = "no kernel" if row.get("no_kernel") else row.get("egret_error") or row.get("torch_error", "")
        flops = rate(row, "egret", "flops") if row.get("flops") else None
        used = None if row.get("flops") or not row.get("bytes") else share(rate(row, "egret", "bytes"), ceiling)
        yield (f"| {row['name']} | {number(row.get('egret_us'))} | {number(row.get('torch_us'))} | "
               f"{number(share(row.get('torch_us'), row.get('egret_us')))} | {percent(used)} | "
               f"{number(thousandth(flops))} | {number(row.get('egret_host_us'))} | "
               f"{number(row.get('torch_host_us'))} | {words}{row.get('torch_variant', '')} |")


def milliseconds(row, key):
    return "-" if key not in row else f"{row[key] / 1000:.3f}"


def step_lines(steps):
    yield ("| step | Egret eager, ms | captured | PyTorch eager | compiled | CUDA graphs | ratio to eager | to compiled | "
           "per second | MiB | PyTorch's | |\n|---|---|---|---|---|---|---|---|---|---|---|---|")
    for row in steps:
        words = "no kernel" if row.get("no_kernel") else "; ".join(
            [f"{key[:-6]}: {value}" for key, value in row.items() if key.endswith("_error")]
            + [row["egret_captured_variant"]] * bool(row.get("egret_captured_variant")))
        times = " | ".join(milliseconds(row, key + "_us") for key in (
            "egret_eager", "egret_captured", "torch_eager", "torch_compile", "torch_graphs"))
        yield (f"| {row['name'][5:]} | {times} | {number(row.get('ratio_eager'))} | {number(row.get('ratio_compiled'))} | "
               f"{number(row.get('per_second'))} | {number(row.get('egret_mib'))} | {number(row.get('torch_mib'))} | "
               f"{words} |")


def about_card(work):
    for line in text(os.path.join(work, "device.log")).splitlines():
        if line.startswith("{"):
            return json.loads(line)
    return {}


def gather(work, words):
    stages = []
    for line in text(os.path.join(work, "stages")).splitlines():
        name, limit, seconds, status = line.split("\t")
        stage = {"name": name, "limit": int(limit), "seconds": int(seconds), "status": int(status)}
        stage["result"] = judge(work, stage)
        stages.append(stage)
    if words and stages:
        stages[-1]["result"] = words
    parts = [read_json(os.path.join(work, name)) for name in ("ceilings.json", "benchmark.json")]
    steps = read_json(os.path.join(work, "steps.json"))
    return {"card": about_card(work), "stages": stages, "stopped": words,
            "environment": text(os.path.join(work, "environment.log")).splitlines(),
            "libraries": {**parts[0]["about"], **parts[1]["about"], **steps["about"]},
            "steps": steps.get("steps", []),
            "cases": parts[0]["cases"] + parts[1]["cases"],
            "failed": bool(words) or any(stage["result"] in ("failed", "nothing ran") or
                                         (stage["result"] == "out of time" and stage["name"] in TESTS)
                                         for stage in stages)}


def all_aims(report):
    """Those of operations, unless steps alone were timed."""
    return [*(aims(report["cases"]) if report["cases"] or not report["steps"] else []),
            *(step_aims(report["steps"]) if report["steps"] else [])]


def write(report, end, work, out):
    os.makedirs(out, exist_ok=True)
    report = {**report, "aims": [dict(zip(("figure", "measured", "aim", "met", "beside"), row))
                                 for row in all_aims(report)]}
    with open(os.path.join(out, "report.json"), "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)
    rates = [rate(row, side, "bytes") for row in report["cases"] if row["name"].startswith("ceiling/copy")
             for side in ("egret", "torch")]
    with open(os.path.join(out, "report.md"), "w", encoding="utf-8") as file:
        print(f"# {report['card'].get('name') or report['card'].get('device', 'no CUDA device')}\n", file=file)
        print("\n".join(end), file=file)
        print("\n## Where\n\n```\n" + "\n".join(report["environment"]) + "\n```", file=file)
        if report["steps"]:
            print("\n## Training steps\n\nMedians, forward, backward and update; ratios are PyTorch's time by Egret's "
                  "least.\n\n" + "\n".join(step_lines(report["steps"])), file=file)
        if report["cases"]:
            print("\n## Cases\n\nMedians; the ratio is PyTorch's time by Egret's.\n", file=file)
            print("\n".join(case_lines(report["cases"], max((r for r in rates if r), default=None))), file=file)
    with open(os.path.join(out, "log.txt"), "w", encoding="utf-8") as file:
        for path in sorted(glob.glob(os.path.join(work, "*.log")) + glob.glob(os.path.join(work, "*.out"))):
            print(f"==== {os.path.basename(path)}\n{text(path)[-1000000:]}", file=file)


def main():
    if sys.argv[1] == "--card":
        name = about_card(sys.argv[2]).get("device", "card")
        print(re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower())
        return 0
    work, out, words = sys.argv[1], sys.argv[2], " ".join(sys.argv[3:])
    report = gather(work, words)
    failures = [line for stage in report["stages"] for line in stage.get("failures", [])]
    end = list(stage_lines(report["stages"])) + [""]
    end += [f"    {line}" for line in failures[:MOST_FAILURES]]
    end += [f"    and {len(failures) - MOST_FAILURES} more, in log.txt"] if len(failures) > MOST_FAILURES else []
    for stage in report["stages"]:
        if stage.get("skips"):
            end += [f"Skipped in {stage['name']}: " + "; ".join(
                f"{why} ({times})" if times > 1 else why for why, times in sorted(stage["skips"].items())), ""]
    none = [row["name"] for row in report["cases"] if row.get("no_kernel")]
    bad = [f"{row['name']}: {row['egret_error']}" for row in report["cases"]
           if "egret_error" in row and not row.get("no_kernel")]
    end += [f"No kernel: {len(none)} of {len(report['cases'])} cases. {' '.join(none)}".rstrip(),
            f"Not measured: {len(bad)}. {'; '.join(bad)}".rstrip(), ""] if report["cases"] else []
    end += list(aim_lines(all_aims(report)))
    if out:
        write(report, end, work, out)
    if words:
        end += ["", f"Stopped: {words}"]
    else:
        ran = any(stage["name"] in TESTS for stage in report["stages"])
        end += ["", "FAILED" if report["failed"] else "all tests passed" if ran else "done"]
    print("\n".join(end))
    return 1 if report["failed"] else 0


sys.exit(main())
