"""TFRecord files: of labelled images, made by the test scripts themselves, of Examples, read by twins, and of
TensorBoard's events.

    sys.path.insert(0, FOLDER OF THIS FILE)
    from records import examples, write
    write("train.tfrecord", [0, 1, 2], 28, 1, random.Random(7))
    for features in examples("train.tfrecord"):
        label, = features["image/class/label"]
"""
import glob
import os
import struct
import zlib


def crc_table():
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82f63b78 if n & 1 else 0)
        table.append(n)
    return table


TABLE = crc_table()


def masked(data):
    crc = 0xffffffff
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    crc ^= 0xffffffff
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff)


def field(number, data):
    return bytes([number << 3 | 2]) + varint(len(data)) + data


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def example(features):
    """An Example in protocol buffers. Features by their names: bytes, a list of floats, a list of integers."""
    def packed(value):
        if isinstance(value, bytes):
            return field(1, field(1, value))
        if value and isinstance(value[0], float):
            return field(2, field(1, struct.pack(f"<{len(value)}f", *value)))
        return field(3, field(1, b"".join(map(varint, value))))
    return field(1, b"".join(field(1, field(1, name.encode()) + field(2, packed(value)))
                             for name, value in features.items()))


def record(data):
    """Data as they lie in a file."""
    length = struct.pack("<Q", len(data))
    return length + masked(length) + data + masked(data)


def png(width, height, channels, pixels):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    row = width * channels
    rows = b"".join(b"\0" + bytes(pixels[y * row:(y + 1) * row]) for y in range(height))
    head = struct.pack(">2I5B", width, height, 8, 2 if channels == 3 else 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b"")


def write(path, labels, side, channels, chance, boxes=()):
    """A bright band whose place is the class, on noise; boxes of objects are top, left, bottom, right."""
    sides = {f"image/object/bbox/{name}": list(map(float, values))
             for name, values in zip(("ymin", "xmin", "ymax", "xmax"), zip(*boxes))}
    with open(path, "wb") as file:
        for label in labels:
            pixels = [min(255, int(chance.random() * 60) + (190 if y * 10 // side == label else 0))
                      for y in range(side) for _ in range(side * channels)]
            image = png(side, side, channels, pixels)
            file.write(record(example({"image/encoded": image, "image/class/label": [label], **sides})))


# ---- reading -------------------------------------------------------------------------------------------


def number(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """Fields of a message: integers, and the bytes of what has a length."""
    at = 0
    while at < len(data):
        key, at = number(data, at)
        size = {1: 8, 5: 4}.get(key & 7)
        value, at = (size, at) if size else number(data, at)
        if key & 7:
            value, at = data[at:at + value], at + value
        yield key >> 3, value


def numbers(data):
    at, all = 0, []
    while at < len(data):
        value, at = number(data, at)
        all.append(value)
    return all


def values(kind, data):
    """Of a feature: lists of bytes (1), of packed f32 (2), of integers (3), which may be packed."""
    found = [value for _, value in fields(data)]
    if kind == 2:
        return [x for packed in found for x in struct.unpack(f"<{len(packed) // 4}f", packed)]
    return found if kind == 1 else [x for v in found for x in (numbers(v) if isinstance(v, bytes) else [v])]


def records(path):
    """The data of each record of a file."""
    with open(path, "rb") as file:
        while head := file.read(12):
            yield file.read(struct.unpack("<Q", head[:8])[0])
            file.read(4)


def examples(path):
    """The features of each Example by their names, as lists."""
    for data in records(path):
        (_, features), = fields(data)
        pairs = (dict(fields(pair)) for _, pair in fields(features))
        yield {pair[1].decode(): values(*next(fields(pair[2]))) for pair in pairs}


def scalars(folder, tag):
    """The points (step, value) of a curve as TensorBoard shows it: where a session starts, points of its step and later
    ones that earlier files have are dropped."""
    points = []
    for path in sorted(glob.glob(f"{folder}/events.out.tfevents.*"), key=os.path.getmtime):
        for event in map(dict, map(fields, records(path))):
            step = event.get(2, 0)
            if dict(fields(event.get(7, b""))).get(1) == 1:
                points = [point for point in points if point[0] < step]
            value = dict(fields(dict(fields(event.get(5, b""))).get(1, b"")))
            if value.get(1) == tag.encode() and 2 in value:
                points.append((step, *struct.unpack("<f", value[2])))
    return points
