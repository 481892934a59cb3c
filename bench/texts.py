"""Lines of text into ids, Egret's tokenizers and those of others in turn, on one core: `compare.py texts`.

--data is a folder of tokenizers, NAME.json as Hugging Face's tokenizers reads them or NAME.model as sentencepiece does
(tests/golden/token_files.py makes some), and of a text, train.txt, the first 20,000 lines of which are encoded, a thousand
at a time. Egret and tokenizers give places and words of each token too, sentencepiece ids alone. A figure is the median
of the turns."""
import glob
import json
import os
import re
import statistics
import time

from child import Child, geometric_mean

HERE = os.path.dirname(os.path.abspath(__file__))


def measure(path, text, options):
    sides = {"egret": Child([options.egret_bench, "texts", path, text, "--threads", "1"], {"OMP_NUM_THREADS": "1"}),
             "theirs": Child([options.torch_python, os.path.join(HERE, "torch_texts.py"), path, text], {})}
    library, rates = sides["theirs"].ask("about")["library"], {name: [] for name in sides}
    for number in range(options.rounds + 1):  # the first turn warms up
        for name in list(sides)[::1 if number % 2 else -1]:
            answer = sides[name].ask(f"run {options.round_ms * 1000}")
            if number:
                rates[name].append(answer["bytes"] / answer["seconds"] / 1e6)
            time.sleep(.01)
    for child in sides.values():
        child.close()
    row = {"name": f"texts/{os.path.basename(path)}", "library": library}
    for name in sides:
        row[f"{name}_mb_s"] = statistics.median(rates[name])
    row["ratio"] = row["egret_mb_s"] / row["theirs_mb_s"]
    return row


def compare(options):
    paths = sorted(glob.glob(os.path.join(options.data or "", "*.json")) + glob.glob(os.path.join(options.data or "", "*.model")))
    paths = [path for path in paths if re.search(options.only, os.path.basename(path))]
    if not paths:
        raise SystemExit("texts needs --data FOLDER, with tokenizers and train.txt")
    rows = []
    print(f"{'tokenizer':24} {'egret MB/s':>11} {'theirs':>9} {'ratio':>7}")
    for path in paths:
        row = measure(path, os.path.join(options.data, "train.txt"), options)
        rows.append(row)
        print(f"{row['name']:24} {row['egret_mb_s']:11.2f} {row['theirs_mb_s']:9.2f} {row['ratio']:7.2f} {row['library']}",
              flush=True)
    print(f"geometric mean {geometric_mean([row['ratio'] for row in rows]):.2f}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump(rows, out, indent=1)
    return 0
