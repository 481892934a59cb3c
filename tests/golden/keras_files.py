"""Writes what test_hdf5 reads: files as Keras and h5py write them, and what is in them as safetensors.

    python3 keras_files.py [--out DIR] [--corpus ../fuzz/corpus/hdf5]

Needs h5py, NumPy, safetensors, and Keras 3 on PyTorch (CPU). The files here came from h5py 3.16.0 with HDF5 2.0.0 and from
Keras 3.15.1. Weights are drawn from a fixed seed; archives have the time of their writing inside."""
import argparse
import os
import zipfile

os.environ["KERAS_BACKEND"] = "torch"
import h5py
import numpy as np
from safetensors.numpy import save_file

draw = np.random.default_rng(1)


def weights(*shape):
    return draw.uniform(-1, 1, shape).astype(np.float32)


def save_expected(path, tensors):
    """bf16 and integers that Egret has not are given as what they become."""
    wider = {np.dtype(np.int8): np.int32, np.dtype(np.int16): np.int32, np.dtype(np.uint16): np.int32,
             np.dtype(np.uint32): np.int64, np.dtype(np.uint64): np.int64}
    tensors = {name: np.asarray(v) for name, v in tensors.items()}
    save_file({name: v.astype(wider.get(v.dtype, v.dtype), order="C") for name, v in tensors.items()}, path)


def vgg_like(path):
    """Weights alone, laid out by layers as Keras 2 does it."""
    layers = {"block1_conv1": {"kernel": weights(3, 3, 3, 4), "bias": weights(4)}, "block1_pool": {},
              "predictions": {"kernel": weights(16, 10), "bias": weights(10)}}
    expected = {}
    with h5py.File(path, "w", libver="earliest") as f:
        f.attrs["backend"] = "tensorflow".encode()
        f.attrs["keras_version"] = "2.9.0".encode()
        f.attrs["layer_names"] = [name.encode() for name in layers]
        for layer, own in layers.items():
            group = f.create_group(layer)
            names = [f"{layer}/{name}:0" for name in own]
            group.attrs["weight_names"] = np.array([name.encode() for name in names] or [], "S")
            for name, v in zip(names, own.values()):
                group.create_dataset(name, data=v)
                expected[f"{layer}/{name}"] = v
    save_expected(path[:-3] + ".safetensors", expected)


def everything(path, libver):
    """Each type in each byte order, each way to lie in a file, links, and what is no tensor."""
    expected = {}
    with h5py.File(path, "w", libver=libver) as f:
        f.attrs["titles"] = ["one", "two and \u00e4"]
        f.attrs["count"] = 3
        f.attrs["empty"] = h5py.Empty("S1")

        def put(name, v, **how):
            f.create_dataset(name, data=v, **how)
            expected[name] = v

        for order in "<>":
            for kind in "f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8".split():
                v = np.array([[0, 1, 2], [3, 100, 7]]) * (1 if kind[0] == "u" else -1)
                put(f"types/{kind}{'le' if order == '<' else 'be'}", v.astype(order + kind))
                expected[f"types/{kind}{'le' if order == '<' else 'be'}"] = v.astype("<" + kind)
        put("types/bool", np.array([True, False, True]))
        put("scalar", np.float32(2.5))
        put("none", np.zeros((0, 3), np.float32))
        put("chunks/plain", weights(7, 5), chunks=(3, 2))
        put("chunks/packed", np.arange(7 * 5 * 4, dtype=">i4").reshape(7, 5, 4), chunks=(3, 2, 4), compression="gzip",
            shuffle=True)
        expected["chunks/packed"] = expected["chunks/packed"].astype("<i4")
        sparse = f.create_dataset("chunks/sparse", (6, 6), "f8", chunks=(2, 3), fillvalue=7, compression="gzip")
        sparse[2, 4] = 1
        expected["chunks/sparse"] = sparse[...]
        f.create_dataset("unwritten", (3,), "<i8", fillvalue=-5)
        expected["unwritten"] = np.full(3, -5)
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_layout(h5py.h5d.COMPACT)
        v = weights(5)
        h5py.h5d.create(f.id, b"compact", h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple((5,)), plist).write(
            h5py.h5s.ALL, h5py.h5s.ALL, v)
        expected["compact"] = v
        bf16 = h5py.h5t.IEEE_F16LE.copy()
        bf16.set_fields(15, 7, 8, 0, 7)
        bf16.set_ebias(127)
        h5py.h5d.create(f.id, b"bf16", bf16, h5py.h5s.create_simple((3,))).write(
            h5py.h5s.ALL, h5py.h5s.ALL, np.array([0x3f80, 0xc000, 0x3e80], np.uint16), mtype=bf16)
        f["many"] = h5py.SoftLink("/group")
        group = f.create_group("group")
        for i in range(12):
            put(f"group/w{i}", weights(2))
        group["around"] = f["/"]
        group["again"] = h5py.SoftLink("w3")
        group["further"] = h5py.SoftLink("/group/again")
        group["nowhere"] = h5py.SoftLink("/group/no such")
        expected["group/again"] = expected["group/further"] = expected["group/w3"]
        group.attrs["weight_names"] = np.array([b"w0", b"w1"])
        f["types/again"] = h5py.SoftLink("f4le")
        expected["types/again"] = expected["types/f4le"]
        group.attrs["about"] = "of a group"
        f["texts"] = ["no", "tensor"]
        f["pairs"] = np.zeros(2, [("a", "f4"), ("b", "i4")])
        f["complex"] = np.zeros(2, "c8")
        f["colour"] = np.array([1, 2], h5py.enum_dtype({"RED": 1, "BLUE": 2}, "i1"))
    save_expected(path[:-3] + ".safetensors", expected)


def indexed(path, libver):
    """Chunks as each kind of index has them, packed and missing, cut at edges; attributes and links apart from headers.
    What is in it does not depend on the version."""
    expected = {}
    with h5py.File(path, "w", libver=libver) as f:

        def put(name, shape, kind="<f4", written=None, early=False, **how):
            properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            if early:
                properties.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
            d = f.create_dataset(name, shape, kind, fillvalue=9, dcpl=properties, **how)
            v = np.arange(np.prod(shape)).reshape(shape) % 120
            for part in [...] if written is None else written:
                d[part] = v[part]
            expected[name] = d[...].astype(d.dtype.newbyteorder("<"))

        gzip = {"compression": "gzip", "shuffle": True}
        put("single/plain", (5, 3), chunks=(5, 3))
        put("single/packed", (5, 3), ">f8", chunks=(5, 3), **gzip)
        put("single/larger", (5, 3), chunks=(7, 3), maxshape=(7, 3))
        put("implicit/plain", (5, 4, 2), early=True, chunks=(2, 3, 2))
        put("implicit/growing", (5, 4), early=True, chunks=(2, 3), maxshape=(9, 11))
        put("fixed/plain", (5, 4), chunks=(2, 3))
        put("fixed/packed", (5, 4), ">i2", chunks=(2, 3), **gzip)
        put("fixed/growing", (5, 4), chunks=(2, 3), maxshape=(9, 11))
        put("fixed/pages", (5, 430), "u1", chunks=(1, 1), written=[np.s_[:2, :500], np.s_[4, 420:]])
        for name, axis in ("first", (None, 4)), ("second", (5, None)):
            put(f"extensible/{name}", (5, 4), chunks=(2, 3), maxshape=axis)
            put(f"extensible/{name}_packed", (5, 4), "u2", chunks=(1, 1), maxshape=axis, **gzip)
        put("extensible/long", (130, 4), "u1", chunks=(1, 1), maxshape=(None, 4), written=[np.s_[:50], np.s_[128:]])
        put("extensible/empty", (0, 4), chunks=(2, 4), maxshape=(None, 4))
        put("tree/plain", (5, 4), chunks=(2, 3), maxshape=(None, None))
        put("tree/packed", (5, 4), chunks=(2, 3), maxshape=(None, None), **gzip)
        put("tree/long", (20, 15), "u1", chunks=(1, 1), maxshape=(None, None), written=[np.s_[:9], np.s_[12:]])
        put("tree/unwritten", (5, 4), chunks=(2, 3), maxshape=(None, None), written=[])
        put("sum/even", (6, 4), "<i2", chunks=(4, 4), fletcher32=True)
        put("sum/odd", (3, 5), "u1", chunks=(3, 5), fletcher32=True)
        put("sum/packed", (100, 20), ">f4", chunks=(30, 20), fletcher32=True, **gzip)
        shrunk = f.create_dataset("shrunk", data=np.arange(40.).reshape(10, 4), chunks=(3, 3), maxshape=(None, 4))
        shrunk.resize((4, 4))
        expected["shrunk"] = shrunk[...]
        group = f.create_group("ordered", track_order=True)
        for i in range(12):
            group[f"w{11 - i}"] = np.full(2, i, "<i8")
            expected[f"ordered/w{11 - i}"] = np.full(2, i, "<i8")
            group.attrs[f"text{11 - i}"] = f"number {i}"
    save_expected(os.path.join(os.path.dirname(path), "indexed.safetensors"), expected)


def many(path, libver):
    """A group of more links than one node of its tree has, nor one above such: w0, w1, ... have 0, 1, 2, 0, 1, ..."""
    with h5py.File(path, "w", libver=libver) as f:
        values = [f.create_dataset(f"value{i}", data=np.int32(i)) for i in range(3)]
        group = f.create_group("many")
        for i in range(1500):
            group[f"w{i}"] = values[i % 3]


def refused(out):
    with h5py.File(os.path.join(out, "external.h5"), "w") as f:
        f["w"] = weights(2)
        f["other"] = h5py.ExternalLink("/etc/passwd", "/w")
    with h5py.File(os.path.join(out, "virtual.h5"), "w") as f:
        layout = h5py.VirtualLayout((4,), "f4")
        layout[:] = h5py.VirtualSource("other.h5", "w", (4,))
        f.create_virtual_dataset("w", layout)
    with h5py.File(os.path.join(out, "storage.h5"), "w") as f:
        f.create_dataset("w", (4,), "f4", external=[("/etc/passwd", 0, 16)])
    with h5py.File(os.path.join(out, "filter.h5"), "w") as f:
        f.create_dataset("w", data=weights(8), chunks=(4,), compression="lzf")


def keras_model(out):
    import keras

    model = keras.Sequential([keras.Input((6, 6, 2)), keras.layers.Conv2D(3, 3, name="first"),
                              keras.layers.BatchNormalization(), keras.layers.Flatten(), keras.layers.Dense(4)])
    model.set_weights([weights(*v.shape) for v in model.get_weights()])
    model.save(os.path.join(out, "model.keras"))
    model.save_weights(os.path.join(out, "model.weights.h5"))
    expected = {}
    with h5py.File(os.path.join(out, "model.weights.h5")) as f:
        f.visititems(lambda name, x: expected.update({name: x[...]}) if isinstance(x, h5py.Dataset) else None)
    assert len(expected) == 8
    save_expected(os.path.join(out, "model.safetensors"), expected)


def corpus(out):
    """Small files that fuzzing begins with."""
    for name, libver in ("early", "earliest"), ("late", ("v110", "v110")):
        with h5py.File(os.path.join(out, name + ".h5"), "w", libver=libver) as f:
            f.attrs["names"] = np.array([b"a", b"bc"])
            f.attrs["version"] = "3"
            group = f.create_group("g")
            group["w"] = weights(2, 2)
            group["b"] = np.arange(3, dtype=">i2")
            group["link"] = h5py.SoftLink("w")
            group["up"] = f["/"]
            group.create_dataset("p", data=np.zeros((5, 4), "u1"), chunks=(2, 4), compression="gzip", shuffle=True)
    with h5py.File(os.path.join(out, "late.h5"), "a", libver=("v110", "v110")) as f:
        for i in range(10):
            f.create_dataset(f"g/many{i}", (2,), "f4")
    with h5py.File(os.path.join(out, "latest.h5"), "w", libver="latest") as f:
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        f.create_dataset("implicit", (4, 3), "u1", chunks=(2, 2), dcpl=properties)
        f.create_dataset("single", data=np.ones(9, "f2"), chunks=(9,), fletcher32=True)
        f.create_dataset("fixed", (1100,), "u1", chunks=(1,))[:3] = 1
        f.create_dataset("extensible", (2, 300), "i1", chunks=(2, 1), maxshape=(2, None))[:, ::40] = 1
        f.create_dataset("tree", data=np.ones((9, 9), "u1"), chunks=(1, 1), maxshape=(None, None), compression="gzip")
        group = f.create_group("g", track_order=True)
        for i in range(9):
            group[f"{i}"] = group
            group.attrs[f"text{i}"] = f"number {i}"
    with zipfile.ZipFile(os.path.join(out, "model.keras"), "w") as archive:
        archive.writestr("config.json", "{}")
        archive.write(os.path.join(out, "early.h5"), "model.weights.h5")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "keras"))
    parser.add_argument("--corpus")
    args = parser.parse_args()
    out = args.out
    os.makedirs(out, exist_ok=True)
    vgg_like(os.path.join(out, "vgg.h5"))
    everything(os.path.join(out, "early.h5"), "earliest")
    everything(os.path.join(out, "late.h5"), ("v110", "v110"))
    refused(out)
    indexed(os.path.join(out, "trees.h5"), "earliest")
    indexed(os.path.join(out, "arrays.h5"), ("v110", "v110"))
    indexed(os.path.join(out, "latest.h5"), "latest")
    many(os.path.join(out, "many_early.h5"), "earliest")
    many(os.path.join(out, "many_late.h5"), "latest")
    keras_model(out)
    if args.corpus:
        corpus(args.corpus)


main()
