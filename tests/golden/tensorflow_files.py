"""Checkpoints that TensorFlow writes, small, and what is in them.

    python3 tensorflow_files.py [--out DIR]     writes tensorflow/; needs TensorFlow on the CPU and cramjam (for Snappy)

Expected values are in expected.safetensors, as FILE:NAME, in the types that the library gives them. Tables with packed
blocks are made from TensorFlow's plain ones, for its own writer no longer packs."""
import argparse
import json
import os
import struct

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import cramjam  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

v1 = tf.compat.v1
CODES = {"float32": "F32", "float64": "F64", "float16": "F16", "bfloat16": "BF16", "int64": "I64", "int32": "I32",
         "uint8": "U8", "bool": "BOOL"}
WIDER = {"int8": "int32", "int16": "int32", "uint16": "int32", "uint32": "int64", "uint64": "int64",
         "float8_e4m3fn": "float16", "float8_e5m2": "float16"}
expected = {}


def expect(file, name, value):
    value = np.asarray(value)
    if value.dtype.kind == "c":
        value = value.view(value.real.dtype).reshape(value.shape + (2,))
    expected[f"{file}:{name}"] = value.astype(WIDER.get(value.dtype.name, value.dtype))


def numbers(*shape, seed=0):
    return np.random.RandomState(seed).uniform(-1, 1, shape).astype(np.float32)


# ---- version 2 -----------------------------------------------------------------------------------------------

def objects(folder):
    """What tf.train.Checkpoint writes: keys of paths through objects."""
    module = tf.Module()
    module.layer = tf.Module()
    module.layer.kernel = tf.Variable(numbers(3, 4))
    module.layer.bias = tf.Variable(numbers(4, seed=1))
    module.table = [tf.Variable(numbers(2, 2, seed=2)), tf.Variable(["some", "words"])]
    module.step = tf.Variable(7, dtype=tf.int64)
    saved = tf.train.Checkpoint(model=module).write(os.path.join(folder, "objects.ckpt"))
    reader = tf.train.load_checkpoint(saved)
    for name, dtype in reader.get_variable_to_dtype_map().items():
        if dtype != tf.string:
            expect("objects", name, reader.get_tensor(name))


def types(folder):
    """All types of numbers, and shapes that are rare."""
    whole = {"int8": [-128, -1, 127], "int16": [-32768, 3, 32767], "uint16": [0, 1, 65535], "uint8": [0, 7, 255],
             "int32": [-2**31, 0, 2**31 - 1], "uint32": [0, 9, 2**32 - 1], "int64": [-2**63, 5, 2**63 - 1],
             "uint64": [0, 1, 2**63 - 1], "bool": [True, False, True]}
    values = {name: tf.constant(list_, getattr(tf, name)) for name, list_ in whole.items()}
    for name in "float32", "float64", "float16", "bfloat16":
        values[name] = tf.constant([[1.5, -0.25], [np.inf, 65504]], getattr(tf, name))
    for name in "float8_e4m3fn", "float8_e5m2":
        values[name] = tf.cast(tf.constant([1.5, -0.25, 448]), getattr(tf.dtypes.experimental, name))
    values["complex64"] = tf.constant([1 + 2j, -3.5j], tf.complex64)
    values["complex128"] = tf.constant([[1 + 2j], [-3.5j]], tf.complex128)
    values["a/scalar"] = tf.constant(2.5)
    values["empty"] = tf.zeros((0, 3))
    values["text"] = tf.constant("kept out")
    values["wide"] = tf.constant(numbers(2, 1, 3, 1, 2, 1, 2, 1))
    names = sorted(values)
    tf.raw_ops.SaveV2(prefix=os.path.join(folder, "types.ckpt"), tensor_names=names, shape_and_slices=[""] * len(names),
                      tensors=[values[name] for name in names])
    for name in names:
        if name != "text":
            expect("types", name, values[name].numpy())


def slices(folder):
    """Tensors in parts, along both axes, of lengths whose codes have one byte and more."""
    big, long = numbers(7, 5, seed=3), np.arange(9000, dtype=np.uint8)
    complex_ = (numbers(4, 3, seed=4) + 1j * numbers(4, 3, seed=5)).astype(np.complex64)
    parts = [("big", "7 5 0,3:0,2", big[:3, :2]), ("big", "7 5 3,4:0,2", big[3:, :2]), ("big", "7 5 -:2,3", big[:, 2:]),
             ("long", "9000 0,8500", long[:8500]), ("long", "9000 8500,300", long[8500:8800]),
             ("long", "9000 8800,200", long[8800:]), ("whole", "4 -", np.float32([1, 2, 3, 4])),
             ("c", "4 3 0,1:-", complex_[:1]), ("c", "4 3 1,3:-", complex_[1:])]
    names, where, tensors = zip(*parts)
    tf.raw_ops.SaveV2(prefix=os.path.join(folder, "slices.ckpt"), tensor_names=names, shape_and_slices=where,
                      tensors=[tf.constant(t) for t in tensors])
    for name, value in ("big", big), ("long", long), ("whole", tensors[6]), ("c", complex_):
        expect("slices", name, value)


# ---- both versions of Saver ------------------------------------------------------------------------------------

def saver(folder, file, version, device=None):
    """A graph's variables, one of them partitioned; with a second device in two data files."""
    with v1.Graph().as_default():
        with v1.variable_scope("net"):
            values = {"net/part": v1.get_variable("part", initializer=tf.constant(numbers(10, 3)),
                                                  partitioner=v1.fixed_size_partitioner(3)).as_tensor()}
            with tf.device(device):
                v1.get_variable("kernel", initializer=tf.constant(numbers(2, 3, 4, seed=6)))
            for name in "int32", "int64", "uint8", "int8", "int16", "float64", "float16":
                v1.get_variable(name, initializer=tf.constant([[3], [0], [100]], getattr(tf, name)))
            v1.get_variable("negative", initializer=tf.constant([-5, 5, -2**31]))
            v1.get_variable("flag", initializer=tf.constant([True, False]))
            v1.get_variable("words", initializer=tf.constant(["a", "b"]))
            v1.get_variable("c", initializer=tf.constant([1 + 2j, 3j], tf.complex64))
            v1.get_variable("c128", initializer=tf.constant([[0.5 - 2j]], tf.complex128))
        v1.get_variable("global_step", initializer=tf.constant(1234, tf.int64))
        for variable in v1.global_variables():
            if variable.dtype.base_dtype != tf.string and "/part_" not in variable.op.name:
                values[variable.op.name] = variable.value()
        with v1.Session(config=v1.ConfigProto(device_count={"CPU": 2})) as session:
            session.run(v1.global_variables_initializer())
            v1.train.Saver(write_version=version, sharded=device is not None).save(
                session, os.path.join(folder, file + ".ckpt"), write_meta_graph=False, write_state=False)
            for name, value in session.run(values).items():
                expect(file, name, value)


# ---- tables with packed blocks ----------------------------------------------------------------------------------

def crc32c_mask(data):
    crc = 0xffffffff
    for b in data:
        crc ^= b
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    crc ^= 0xffffffff
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def put_varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def block(data, at, size):
    """Keys and values of a plain block."""
    entries, end, key = [], at + size - 4, b""
    end -= 4 * struct.unpack_from("<I", data, end)[0]
    while at < end:
        shared, at = varint(data, at)
        more, at = varint(data, at)
        length, at = varint(data, at)
        key = key[:shared] + data[at:at + more]
        entries.append((key, data[at + more:at + more + length]))
        at += more + length
    return entries


def table(data):
    _, at = varint(data, len(data) - 48)
    _, at = varint(data, at)
    place, at = varint(data, at)
    size, at = varint(data, at)
    for _, handle in block(data, place, size):
        place, at = varint(handle, 0)
        size, at = varint(handle, at)
        yield from block(data, place, size)


def pack(path, to, most=300):
    """The same entries in blocks of about `most` bytes, packed, with keys that share beginnings."""
    with open(path, "rb") as file:
        entries = list(table(file.read()))
    out, index = b"", []

    def add(body, restarts):
        nonlocal out
        body += struct.pack(f"<{len(restarts) + 1}I", *restarts, len(restarts))
        packed, at = bytes(cramjam.snappy.compress_raw(body)), len(out)
        out += packed + b"\1" + struct.pack("<I", crc32c_mask(packed + b"\1"))
        return put_varint(at) + put_varint(len(packed))

    body, restarts, last, count = b"", [], b"", 0
    for i, (key, value) in enumerate(entries):
        shared = len(os.path.commonprefix([key, last])) if count % 4 else 0
        if not count % 4:
            restarts.append(len(body))
        body += put_varint(shared) + put_varint(len(key) - shared) + put_varint(len(value)) + key[shared:] + value
        last, count = key, count + 1
        if len(body) > most or i == len(entries) - 1:
            index.append((key, add(body, restarts)))
            body, restarts, last, count = b"", [], b"", 0
    empty = add(b"", [0])
    body = b"".join(put_varint(0) + put_varint(len(k)) + put_varint(len(v)) + k + v for k, v in index)
    places = [0]
    for k, v in index[:-1]:
        places.append(places[-1] + 3 + len(k) + len(v))
    handles = empty + add(body, places)
    out += handles.ljust(40, b"\0") + struct.pack("<Q", 0xdb4775248b80fb57)
    with open(to, "wb") as file:
        file.write(out)


def write_expected(path):
    header, at = {}, 0
    names = sorted(expected, key=lambda n: (-expected[n].itemsize, n))
    for name in names:
        t = expected[name]
        header[name] = {"dtype": CODES[t.dtype.name], "shape": list(t.shape), "data_offsets": [at, at + t.nbytes]}
        at += t.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name in names:
            file.write(expected[name].tobytes())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "tensorflow"))
    folder = parser.parse_args().out
    os.makedirs(folder, exist_ok=True)
    objects(folder)
    types(folder)
    slices(folder)
    saver(folder, "saver", v1.train.SaverDef.V2)
    saver(folder, "two", v1.train.SaverDef.V2, "/cpu:1")
    saver(folder, "old", v1.train.SaverDef.V1)
    pack(os.path.join(folder, "saver.ckpt.index"), os.path.join(folder, "packed.ckpt.index"))
    with open(os.path.join(folder, "saver.ckpt.data-00000-of-00001"), "rb") as a, \
            open(os.path.join(folder, "packed.ckpt.data-00000-of-00001"), "wb") as b:
        b.write(a.read())
    pack(os.path.join(folder, "old.ckpt"), os.path.join(folder, "old_packed.ckpt"))
    write_expected(os.path.join(folder, "expected.safetensors"))


main()
