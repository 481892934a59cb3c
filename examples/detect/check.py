#!/usr/bin/env python3
"""detect does what it says: short runs of all three nets whose losses fall, pictures, the best net, runs that are
killed and go on, files in the layouts of Pascal VOC, COCO and YOLO, weights to begin with, refusals in words.

    check.py DETECT
"""
import json
import os
import struct
import sys
import tempfile
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../common"))
from checking import check, finish, is_png, kill, logged, runner  # noqa: E402

program = sys.argv[1]
run = runner(program)
NETS = ("faster-rcnn", "mask-rcnn", "retinanet")
BOX = (8, 12, 40, 36)  # of what is on each photo of the files here
# Whose name comes first, and that only photos to learn from have.
OTHER = ("<object><name>a corner</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>4</xmax><ymax>5</ymax></bndbox>"
         "</object>")


def png(path, width, height):
    """A bright box on dark ground."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes(220 if BOX[0] <= x < BOX[2] and BOX[1] <= y < BOX[3] else 30
                                  for x in range(width) for _ in range(3)) for y in range(height))
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0))
                   + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def photos(folder, count=6):
    os.makedirs(folder)
    for i in range(count):
        png(f"{folder}/{i}.png", 64 + 8 * (i % 2), 48)


def voc(at):
    photos(at + "/JPEGImages")
    os.makedirs(at + "/Annotations")
    os.makedirs(at + "/ImageSets/Main")
    for name, ids in (("train", range(4)), ("val", (4, 5))):
        with open(f"{at}/ImageSets/Main/{name}.txt", "w") as file:
            file.write("".join(f"{i}\n" for i in ids))
    for i in range(6):
        corners = "".join(f"<{k}>{v}</{k}>" for k, v in zip(("xmin", "ymin", "xmax", "ymax"), BOX))
        with open(f"{at}/Annotations/{i}.xml", "w") as file:
            file.write(f"<annotation><filename>{i}.png</filename><size><width>{64 + 8 * (i % 2)}</width><height>48"
                       f"</height><depth>3</depth></size><object><name>box</name><bndbox>{corners}</bndbox></object>"
                       + (OTHER if i < 4 else "") + "</annotation>")


def coco(at):
    os.makedirs(at + "/annotations")
    x1, y1, x2, y2 = BOX
    for name in ("train2017", "val2017"):
        photos(f"{at}/{name}", 4)
        with open(f"{at}/annotations/instances_{name}.json", "w") as file:
            json.dump(dict(images=[dict(id=i, file_name=f"{i}.png", width=64 + 8 * (i % 2), height=48)
                                   for i in range(4)],
                           categories=[dict(id=7, name="box"), dict(id=9, name="none of these")],
                           annotations=[dict(id=i + 1, image_id=i, category_id=7, iscrowd=0,
                                             bbox=[x1, y1, x2 - x1, y2 - y1], area=(x2 - x1) * (y2 - y1),
                                             segmentation=[[x1, y1, x2, y1, x2, y2, x1, y2]]) for i in range(4)]), file)


def yolo(at):
    for name in ("train", "val"):
        photos(f"{at}/images/{name}", 4)
        os.makedirs(f"{at}/labels/{name}")
        for i in range(4):
            width = 64 + 8 * (i % 2)
            with open(f"{at}/labels/{name}/{i}.txt", "w") as file:
                file.write(f"0 {(BOX[0] + BOX[2]) / 2 / width} {(BOX[1] + BOX[3]) / 2 / 48} "
                           f"{(BOX[2] - BOX[0]) / width} {(BOX[3] - BOX[1]) / 48}\n")
    with open(at + "/classes.txt", "w") as file:
        file.write("box\n")


def files(at):
    small = ["--width", "16", "--hidden", "32", "--shorter", "48", "--longer", "96", "--anchor", "8", "--batch", "2",
             "--proposals", "50", "--warm-up", "2", "--epochs", "1"]
    for name, write, net in (("voc", voc, "faster-rcnn"), ("coco", coco, "mask-rcnn"), ("yolo", yolo, "retinanet")):
        write(f"{at}/{name}-data")
        said = run("--data", f"{at}/{name}-data", "--net", net, *small, "--out", f"{at}/{name}")
        check(f"{name} is read", "Pascal VOC: mAP" in said and "box" in open(f"{at}/{name}/classes.txt").read(), said)
        check(f"{name} has as many steps", len(logged(f"{at}/{name}", "loss")) == 2, said)
        if name == "voc":  # a set in which a class is missing must not count the others otherwise
            check("classes are those of the set to learn from", open(f"{at}/voc/classes.txt").read() == "a corner\nbox\n"
                  and any(line.startswith("  box ") for line in said.splitlines()) and "  a corner " not in said, said)
    said = run("--data", at + "/voc-data", "--net", "mask-rcnn", *small, "--out", at + "/odd", expect=1)
    check("VOC has no masks", "masks" in said, said)
    check("no such set", "nowhere" in run("--data", at + "/voc-data", "--valid-set", "nowhere", "--out", at + "/odd",
                                          expect=1))
    os.makedirs(at + "/empty")
    check("no layout", "YOLO" in run("--data", at + "/empty", "--out", at + "/odd", expect=1))
    return small


def classifier(best, path):
    """The residual net of a detector's checkpoint alone, under its own names."""
    with open(best, "rb") as file:
        length, = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(length)), file.read()
    kept, body = {}, b""
    for name, about in header.items():
        if name.startswith("net/features.trunk."):
            piece = data[slice(*about["data_offsets"])]
            kept[name[len("net/features.trunk."):]] = {**about, "data_offsets": [len(body), len(body) + len(piece)]}
            body += piece
    text = json.dumps(kept).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + body)


def weights(at, small):
    """A detector begins with what another one has, or with the residual net of that alone."""
    best = at + "/voc/best.safetensors"
    said = run("--data", at + "/voc-data", *small, "--weights", best, "--frozen-stages", "2", "--frozen-norms",
               "--out", at + "/again")
    check("a detector's weights", "of a detector; 0 begin anew" in said, said)
    said = run("--data", at + "/yolo-data", "--net", "retinanet", *small[:2], *small[4:10], *small[12:], "--weights",
               best, "--out", at + "/other")
    check("of another kind of net", "of a detector" in said and "; 0 begin anew" not in said, said)
    classifier(best, at + "/classifier.safetensors")
    said = run("--data", at + "/voc-data", *small, "--crops", "--weights", at + "/classifier.safetensors", "--out",
               at + "/finetuned")
    check("a classifier's weights", "of a classifier; 0 begin anew" in said, said)
    c4 = [*small[:2], *small[4:]]
    said = run("--data", at + "/voc-data", "--net", "faster-rcnn-c4", *c4, "--steps", "1", "--weights",
               at + "/classifier.safetensors", "--out", at + "/c4")
    check("its first convolution in a net of another shape", "tensors of a classifier; " in said, said)
    with open(at + "/none.safetensors", "wb") as file:
        file.write(struct.pack("<Q", 2) + b"{}")
    said = run("--data", at + "/voc-data", *small, "--weights", at + "/none.safetensors", "--out", at + "/odd", expect=1)
    check("weights of nothing", "fits" in said, said)


with tempfile.TemporaryDirectory() as at:
    for net in NETS:
        out = f"{at}/{net}"
        said = run("--smoke", "--net", net, "--threads", "1", "--out", out)
        for name in ("found.png", "loss.png", "precision-by-epoch.png"):
            check(f"{net}: {name} is a PNG", is_png(f"{out}/{name}"), said)
        check(f"{net}: evaluated again, the numbers are the same",
              said.splitlines()[-4:] == run("--smoke", "--net", net, "--threads", "1", "--evaluate", "--out",
                                            out).splitlines()[-4:], said)
    kill(13, program, "--smoke", "--threads", "1", out=at + "/killed")
    run("--smoke", "--threads", "1", "--resume", "--out", at + "/killed")
    check("killed and resumed, all is the same to the last bit",
          logged(at + "/killed") == logged(at + "/faster-rcnn"))
    png(at + "/one.png", 100, 80)
    run("--smoke", "--out", at + "/faster-rcnn", at + "/one.png")
    check("a photo is drawn on", is_png(at + "/faster-rcnn/one-found.png"))
    check("no such photo", "nowhere.png" in run("--smoke", "--out", at + "/faster-rcnn", "nowhere.png", expect=1))
    check("no net", "trained here" in run("--out", at + "/nothing", at + "/one.png", expect=1))
    weights(at, files(at))
    for wrong in (["--net", "yolo"], ["--lr", "x"], ["--nonsense"]):
        run(*wrong, expect=2)

finish()
