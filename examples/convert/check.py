#!/usr/bin/env python3
"""egret-convert makes records of tiny sets of its three kinds, which are read back here byte for byte, fetches archives
from a server of our own, and refuses what it must.

    check.py EGRET_CONVERT
"""
import hashlib
import io
import os
import re
import struct
import subprocess
import sys
import tarfile
import tempfile
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
from checking import bytes_of, check, finish, runner, served, skip  # noqa: E402

convert = runner(sys.argv[1])


# ---- what goes in ------------------------------------------------------------------------------------------------

def idx(shape, data):
    return struct.pack(f">BBBB{len(shape)}I", 0, 0, 8, len(shape), *shape) + data


def pixels(seed, n):
    return hashlib.shake_256(seed.encode()).digest(n)


def png(width, height, rows):
    """Of gray pixels."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    lines = b"".join(b"\0" + rows[y * width:(y + 1) * width] for y in range(height))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) + \
        chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def mnist(folder, count):
    os.makedirs(folder)
    for part, n in (("train", count), ("t10k", 3)):
        with open(f"{folder}/{part}-images-idx3-ubyte", "wb") as f:
            f.write(idx((n, 28, 28), pixels(part, n * 784)))
        with open(f"{folder}/{part}-labels-idx1-ubyte", "wb") as f:
            f.write(idx((n,), bytes(i * 7 % 10 for i in range(n))))


def cifar(folder, parts):
    os.makedirs(folder)
    for name, n in parts.items():
        with open(f"{folder}/{name}.bin", "wb") as f:
            for i in range(n):
                f.write(bytes([i % 10]) + pixels(f"{name}{i}", 3072))


def flowers(folder, each, classes=("daisy", "rose", "tulip")):
    for c in classes:
        os.makedirs(f"{folder}/{c}")
        for i in range(each):
            with open(f"{folder}/{c}/{i}.png", "wb") as f:
                f.write(png(4 + i, 3, pixels(f"{c}{i}", 3 * (4 + i))))


# ---- what comes out: an own reader of TFRecord and Example ---------------------------------------------------------

def crc(data):
    c = 0xffffffff
    for b in data:
        c ^= b
        for _ in range(8):
            c = c >> 1 ^ (0x82F63B78 if c & 1 else 0)
    c ^= 0xffffffff
    return ((c >> 15 | c << 17) + 0xA282EAD8) & 0xffffffff


def records(path):
    with open(path, "rb") as f:
        while head := f.read(12):
            n, sum_ = struct.unpack("<QI", head)
            data = f.read(n)
            assert sum_ == crc(head[:8]) and struct.unpack("<I", f.read(4))[0] == crc(data), path
            yield data


def fields(data):
    """(number, value) of a message of varints and lengths."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            b = data[at]
            at += 1
            value |= (b & 127) << shift
            shift += 7
            if b < 128:
                return value
    while at < len(data):
        tag = varint()
        value = varint()
        if tag & 7 == 2:
            value, at = data[at:at + value], at + value
        yield tag >> 3, value


def example(data):
    """{name: bytes or integer}"""
    found = {}
    for _, features in fields(data):
        for _, entry in fields(features):
            name, feature = (value for _, value in sorted(fields(entry)))
            (kind, values), = fields(feature)
            (_, value), = fields(values)
            found[name.decode()] = value if kind == 1 else next(iter(unpacked(value))) if isinstance(value, bytes) else value
    return found


def unpacked(data):
    value = shift = 0
    for b in data:
        value |= (b & 127) << shift
        shift += 7
        if b < 128:
            yield value
            value = shift = 0


def read(path):
    return [example(data) for data in records(path)]


def gray_of(data):
    """The pixels of a PNG of 8 bits: rows of no filter or any."""
    width, height = struct.unpack(">II", data[16:24])
    channels, at, packed = {0: 1, 2: 3}[data[25]], 8, b""
    while at < len(data):
        n, name = struct.unpack(">I4s", data[at:at + 8])
        packed += data[at + 8:at + 8 + n] if name == b"IDAT" else b""
        at += 12 + n
    raw, stride, rows = zlib.decompress(packed), width * channels, [bytes(width * channels)]
    for y in range(height):
        line = bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        how, above = raw[y * (stride + 1)], rows[-1]
        for i in range(stride):
            a, b = line[i - channels] if i >= channels else 0, above[i]
            c = above[i - channels] if i >= channels else 0
            p = a + b - c
            paeth = min((abs(p - v), k, v) for k, v in enumerate((a, b, c)))[2]
            line[i] = (line[i] + (0, a, b, (a + b) // 2, paeth)[how]) & 255
        rows.append(bytes(line))
    return b"".join(rows[1:])


KEYS = {"image/encoded", "image/format", "image/class/label", "image/height", "image/width"}


def digits(at):
    mnist(at + "/mnist", 12)
    said = convert("mnist", "--from", at + "/mnist", "--to", at + "/out/mnist")
    check("it says where", f"{at}/out/mnist has" in said, said)
    check("the files of the card", sorted(os.listdir(at + "/out/mnist"))
          == ["labels.txt", "mnist_test.tfrecord", "mnist_train.tfrecord"])
    rows = read(at + "/out/mnist/mnist_train.tfrecord")
    check("every digit", [r["image/class/label"] for r in rows] == [i * 7 % 10 for i in range(12)])
    check("with the keys of the card", all(set(r) == KEYS for r in rows))
    check("and its numbers", all((r["image/format"], r["image/height"], r["image/width"]) == (b"png", 28, 28)
                                 for r in rows))
    check("and its pixels", b"".join(gray_of(r["image/encoded"]) for r in rows) == pixels("train", 12 * 784))
    check("three to test", len(read(at + "/out/mnist/mnist_test.tfrecord")) == 3)
    check("labels", bytes_of(at + "/out/mnist/labels.txt").startswith(b"0:zero\n1:one\n"))
    check("no digits", "train-images" in convert("mnist", "--from", at, "--to", at + "/no", expect=1))


def pictures(at):
    cifar(at + "/cifar/cifar-10-batches-bin", {"data_batch_1": 4, "data_batch_2": 3, "test_batch": 2})
    convert("cifar10", "--from", at + "/cifar", "--to", at + "/out/cifar")
    rows = read(at + "/out/cifar/cifar10_train.tfrecord")
    check("pictures of both files", [r["image/class/label"] for r in rows] == [0, 1, 2, 3, 0, 1, 2])
    planes = pixels("data_batch_12", 3072)
    interleaved = bytes(planes[c * 1024 + i] for i in range(1024) for c in range(3))
    check("in colours", gray_of(rows[2]["image/encoded"]) == interleaved)
    check("two to test", len(read(at + "/out/cifar/cifar10_test.tfrecord")) == 2)
    cifar(at + "/half", {"data_batch_1": 2})
    convert("cifar10", "--from", at + "/half", "--to", at + "/out/half")
    check("one part alone", sorted(os.listdir(at + "/out/half")) == ["cifar10_train.tfrecord", "labels.txt"])
    check("none", "neither" in convert("cifar10", "--from", at, "--to", at + "/out/none", expect=1))


def photos(at):
    flowers(at + "/flowers", 13)
    convert("flowers", "--from", at + "/flowers", "--to", at + "/out/flowers", "--shards", "3", "--validation", "7")
    names = sorted(os.listdir(at + "/out/flowers"))
    check("files with numbers", names == [f"flowers_{part}_0000{i}-of-00003.tfrecord" for part in ("train", "validation")
                                          for i in range(3)] + ["labels.txt"], names)
    parts = {part: [read(f"{at}/out/flowers/flowers_{part}_0000{i}-of-00003.tfrecord") for i in range(3)]
             for part in ("train", "validation")}
    check("even parts", [len(f) for f in parts["train"]] == [10, 11, 11]
          and [len(f) for f in parts["validation"]] == [2, 2, 3], {k: [len(f) for f in v] for k, v in parts.items()})
    rows = [r for files in parts.values() for f in files for r in f]
    want = {png(4 + i, 3, pixels(f"{c}{i}", 3 * (4 + i))): (k, 4 + i) for k, c in enumerate(("daisy", "rose", "tulip"))
            for i in range(13)}
    check("each photo once, as it is", {r["image/encoded"]: (r["image/class/label"], r["image/width"]) for r in rows} == want
          and len(rows) == 39)
    mixed = [r["image/class/label"] for f in parts["train"] for r in f]
    check("in a drawn order", mixed != sorted(mixed) and len(set(mixed[:10])) > 1)
    check("labels by name", bytes_of(at + "/out/flowers/labels.txt") == b"0:daisy\n1:rose\n2:tulip\n")
    for seed, same in (("0", True), ("1", False)):
        convert("flowers", "--from", at + "/flowers", "--to", at + "/out/again", "--shards", "3", "--validation", "7",
                "--seed", seed)
        again = bytes_of(at + "/out/again/flowers_train_00000-of-00003.tfrecord")
        check(f"seed {seed}", (again == bytes_of(at + "/out/flowers/flowers_train_00000-of-00003.tfrecord")) == same)
    convert("flowers", "--from", at + "/flowers", "--to", at + "/out/tenth", "--shards", "2")
    check("a tenth of few", sum(len(read(f"{at}/out/tenth/flowers_validation_0000{i}-of-00002.tfrecord"))
                                for i in range(2)) == 4)
    check("too few", "too few" in convert("flowers", "--from", at + "/flowers", "--to", at + "/out/few", expect=1))
    with open(at + "/flowers/rose/broken.jpg", "wb") as f:
        f.write(b"\xff\xd8\xff no photo")
    said = convert("flowers", "--from", at + "/flowers", "--to", at + "/out/broken", "--shards", "2", expect=1)
    check("a broken photo is told", "JPEG" in said, said)
    check("and leaves no half a file", not any(".tfrecord." in n or n.startswith(".") for n in os.listdir(at + "/out/broken")),
          os.listdir(at + "/out/broken"))


def fetched(at):
    flowers(at + "/web/flower_photos", 12)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as t:
        t.add(at + "/web/flower_photos", "flower_photos")
    with open(at + "/web/photos.tgz", "wb") as f:
        f.write(packed.getvalue())
    sum_ = hashlib.sha256(packed.getvalue()).hexdigest()
    with served(at + "/web") as base:
        words = ["flowers", "--downloads", at + "/got", "--url", base + "/photos.tgz", "--shards", "2"]
        lacking = subprocess.run([sys.argv[1], *words, "--sha256", sum_], text=True, stderr=subprocess.PIPE,
                                 stdout=subprocess.DEVNULL, env={**os.environ, "no_proxy": "*"}).stderr
        if "lacks" in lacking:
            return skip(lacking.strip())
        said = convert(*words, "--sha256", sum_)
        check("fetched and converted", len(read(at + "/got/flowers/flowers_train_00000-of-00002.tfrecord")) == 16, said)
        said = convert("flowers", "--downloads", at + "/wrong", "--url", base + "/photos.tgz", expect=1)
        check("a wrong sum is told", sum_ in said, said)
        check("mnist that is not there", "404" in convert("mnist", "--downloads", at + "/none", "--url", base, expect=1))


with tempfile.TemporaryDirectory() as at:
    digits(at)
    pictures(at)
    photos(at)
    fetched(at)
    check("help", "SET" in convert("--help") and "--validation" in convert("--help"))
    for wrong in ([], ["roses"], ["mnist", "cifar10"], ["mnist", "--shards", "0"], ["mnist", "--nonsense"]):
        check(f"{wrong} is explained", re.search("egret-convert", convert(*wrong, expect=2)))

finish()
