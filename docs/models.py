#!/usr/bin/env python3
"""The table of models.md is what nn/models/models.def says.

    models.py ROOT             compares, and says what to do if they differ
    models.py ROOT --write     writes the table
"""
import os
import re
import sys

ROW = re.compile(r'^MODEL\((\w+), .*?, (\d+), (\w+), (\d+), (\d+), (\d+), (\w+), \w+, "([^"]+)"\)$', re.M)
HEAD = ("| name | by | images | their preprocessing | outputs | weights that learn | others' names |\n"
        "|---|---|---|---|---|---|---|\n")


def whose(preprocessing, names):
    """By whose names weights are taken: nets whose images go through torchvision's preprocessing are torchvision's."""
    others = {"torch": "torchvision", "efficientnet_lite": "efficientnet_lite_pytorch"}
    keras = ", Keras" if names in ("vgg_16", "vgg_19", "inception_v3", "mobilenet_v1", "mobilenet_v2") else ""
    torch = ", torchvision" if names.startswith("vgg") else ""
    return "" if names == "none" else others.get(preprocessing, "TF-Slim") + torch + keras


def table(root):
    with open(os.path.join(root, "nn", "models", "models.def"), encoding="utf8") as file:
        text = re.sub(r",\s*\n\s*", ", ", file.read())
    rows = ROW.findall(text)
    assert len(rows) == len(re.findall(r"^MODEL\(", text, re.M)), "a row of models.def is not understood"
    return HEAD + "".join(f"| `{name}` | {source} | {side} x {side}{', grey' if channels == '1' else ''} | {way} "
                          f"| {classes} | {int(weights):,} | {whose(way, names)} |\n"
                          for name, side, way, channels, classes, weights, names, source in rows)


def main():
    root = sys.argv[1]
    path = os.path.join(root, "docs", "models.md")
    with open(path, encoding="utf8") as page:
        now = page.read()
    before, _, rest = now.partition("<!-- table -->\n")
    there, _, after = rest.partition("<!-- end -->")
    if sys.argv[2:] == ["--write"]:
        with open(path, "w", encoding="utf8") as page:
            page.write(f"{before}<!-- table -->\n{table(root)}<!-- end -->{after}")
        return
    same = there == table(root)
    if not same:
        print("FAIL docs/models.md is not what nn/models/models.def says: docs/models.py . --write")
    print(f"{int(same)} passed, {int(not same)} failed, 0 skipped")
    sys.exit(not same)


main()
