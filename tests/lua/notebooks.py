#!/usr/bin/env python3
"""The notebooks of the examples: whole, without outputs, of the right kernel, and run from their beginnings to their
ends, with pictures and without an error.

    notebooks.py PROGRAM NOTEBOOK...
"""
import json
import os
import sys

from kernel_client import check, finish, installed, jupyter_client, nbclient, sockets
from checking import runner
import nbformat

program = os.path.abspath(sys.argv[1])


class Manager(jupyter_client.AsyncKernelManager):
    def __init__(self, **more):
        super().__init__(**sockets(), **more)


def is_clean(path, book):
    cells = [cell for cell in book.cells if cell.cell_type == "code"]
    check(f"{path}: no outputs", not any(cell.outputs or cell.execution_count for cell in cells))
    check(f"{path}: for Egret's kernel", book.metadata.kernelspec.name == "egret")
    with open(path, encoding="utf8") as file:
        text = file.read()
    check(f"{path}: laid out as all are", text == json.dumps(json.loads(text), indent=1, ensure_ascii=False) + "\n")


def run(path, book):
    """In its folder, as frontends do."""
    try:
        nbclient.NotebookClient(book, kernel_name="egret", kernel_manager_class=Manager, timeout=600,
                                resources={"metadata": {"path": os.path.dirname(os.path.abspath(path))}}).execute()
    except nbclient.exceptions.CellExecutionError as e:
        return check(f"{path}: it runs to its end", False, e)
    outputs = [output for cell in book.cells for output in cell.get("outputs", [])]
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    check(f"{path}: there are pictures", len(pictures) >= 2, len(pictures))
    if os.path.basename(path) == "nmt.ipynb":
        last = pictures[-1]["data"]["text/plain"] if pictures else "none"
        check(f"{path}: a map of where it looked, with words", "flower " in last and " <end> " in last, last)
    if os.environ.get("EGRET_KEEP"):  # a folder for those who want to look at them
        nbformat.write(book, os.path.join(os.environ["EGRET_KEEP"], os.path.basename(path)))


with installed(runner(program)):
    for path in sys.argv[2:]:
        book = nbformat.read(path, as_version=4)
        nbformat.validate(book)
        is_clean(path, book)
        run(path, book)

finish()
