"""Golden cases of indexing, sorting, joining, padding and rearranging."""
import torch
import torch.nn.functional as F

f64 = torch.float64


def index(r):
    gathering(r)
    scattering(r)
    masking(r)


def sort(r):
    sorting(r)
    searching(r)


def gathering(r):
    for shape, ids, pad in (((7, 3), (5,), None), ((4, 2), (2, 3), None), ((6, 3), (2, 4), 2),
                            ((5, 1), (1, 0), None)):
        where = r.integers(*ids, hi=shape[0])
        if pad is not None:
            where[0, 0] = pad
        r.case("embedding", lambda t, i: F.embedding(i, t, pad), r.normal(*shape), where,
               padding_idx=pad)
    for shape, axis, ids in (((5,), 0, (8,)), ((4, 3), 0, (2, 3)), ((4, 3), 1, (4, 5)),
                             ((2, 3, 4), -2, (2, 5, 3))):
        where = r.integers(*ids, hi=shape[axis])
        r.case("gather", lambda x, i: torch.gather(x, axis, i), r.normal(*shape), where, axis=axis)
    for shape, axis in (((4, 3), 0), ((4, 3), 1), ((2, 5), -1)):
        x = r.normal(*shape)
        r.case("take_along", lambda x, i: torch.take_along_dim(x, i, axis), x, x.argsort(axis),
               axis=axis)
    r.case("take_along", lambda x, i: torch.take_along_dim(x, i, 1), r.normal(3, 4),
           torch.tensor([[3, 0]]), axis=1)
    for shape, axis, count in (((5,), 0, 7), ((4, 3), 0, 2), ((2, 3, 4), 1, 5), ((2, 3, 4), -1, 1)):
        r.case("index_select", lambda x, i: torch.index_select(x, axis, i), r.normal(*shape),
               r.integers(count, hi=shape[axis]), axis=axis)
    for shape, ids in (((4, 3), (5, 1)), ((4, 3), (2, 3, 2)), ((2, 3, 4), (3, 2)),
                       ((2, 3, 4), (4, 3))):
        depth = ids[-1]
        where = torch.stack([r.integers(*ids[:-1], hi=shape[k]) for k in range(depth)], -1)
        r.case("gather_nd", lambda x, i: x[tuple(i[..., k] for k in range(depth))],
               r.normal(*shape), where)
    for shape, count in (((5,), (4,)), ((3, 4), (2, 3)), ((2, 2, 3), (5,))):
        x = r.normal(*shape)
        r.case("take", torch.take, x, r.integers(*count, hi=x.numel()))


def scattering(r):
    for shape, axis, ids in (((6,), 0, (4,)), ((4, 3), 0, (3, 3)), ((3, 5), 1, (3, 2)),
                             ((2, 4, 3), -2, (2, 3, 2))):
        size = shape[axis]
        x = r.normal(*shape)
        unique = torch.rand(*ids[:axis % len(ids)], size, *ids[axis % len(ids) + 1:],
                            generator=r.generator).argsort(axis).narrow(axis, 0, ids[axis])
        repeated = r.integers(*ids, hi=size)
        r.case("scatter", lambda x, i, s: torch.scatter(x, axis, i, s), x, unique, r.normal(*ids),
               axis=axis)
        r.case("scatter_add", lambda x, i, s: torch.scatter_add(x, axis, i, s), x, repeated,
               r.normal(*ids), axis=axis)
        for how in ("amax", "amin", "mean", "prod"):
            r.case("scatter_reduce", lambda x, i, s: torch.scatter_reduce(x, axis, i, s, how), x,
                   repeated, r.normal(*ids), axis=axis, reduce=how)
    for shape, axis, count, alpha in (((5,), 0, 7, 1.0), ((4, 3), 0, 6, 2.0), ((3, 4), 1, 5, -.5),
                                      ((2, 3, 4), -2, 4, 1.0)):
        rows = list(shape)
        rows[axis] = count
        r.case("index_add", lambda x, i, s: torch.index_add(x, axis, i, s, alpha=alpha),
               r.normal(*shape), r.integers(count, hi=shape[axis]), r.normal(*rows), axis=axis,
               alpha=alpha)
    for shape, axis in (((5,), 0), ((4, 3), 0), ((3, 4), 1)):
        rows = list(shape)
        rows[axis] = 2
        ids = torch.tensor([2, 0])
        r.case("index_copy", lambda x, i, s: torch.index_copy(x, axis, i, s), r.normal(*shape), ids,
               r.normal(*rows), axis=axis)
        r.case("index_fill", lambda x, i: torch.index_fill(x, axis, i, .5), r.normal(*shape), ids,
               axis=axis, value=.5)
    for shape, ids in (((4, 3), (5, 1)), ((4, 3), (6, 2)), ((2, 3, 4), (4, 2))):
        depth = ids[-1]
        where = torch.stack([r.integers(*ids[:-1], hi=shape[k]) for k in range(depth)], -1)
        r.case("scatter_nd_add", lambda x, i, s: x.index_put(
            tuple(i[..., k] for k in range(depth)), s, accumulate=True), r.normal(*shape), where,
            r.normal(*ids[:-1], *shape[depth:]))


def masking(r):
    for sx, sm in (((3, 4), (3, 4)), ((3, 4), (4,)), ((2, 3, 4), (2, 1, 4))):
        mask = r.bools(*sm)
        r.case("masked_fill", lambda x, m: torch.masked_fill(x, m, -2.5), r.normal(*sx), mask,
               value=-2.5)
        r.case("masked_select", torch.masked_select, r.normal(*sx), mask)
        full = mask.expand(sx)
        r.case("masked_scatter", torch.masked_scatter, r.normal(*sx), full.contiguous(),
               r.normal(int(full.sum())))
        r.case("nonzero", torch.nonzero, full.contiguous())
    r.case("masked_select", torch.masked_select, r.normal(3), torch.zeros(3, dtype=torch.bool))
    r.case("nonzero", torch.nonzero, torch.tensor([[0.0, 2, 0], [-1, 0, 0]], dtype=f64), diff=())
    for shape, classes in (((5,), 4), ((2, 3), 5), ((), 3)):
        r.case("one_hot", lambda i: F.one_hot(i, classes), r.integers(*shape, hi=classes),
               classes=classes)


def sorting(r):
    for shape, axis in (((9,), 0), ((3, 5), 0), ((3, 5), -1), ((2, 4, 3), 1)):
        for down in (False, True):
            r.case("sort", lambda x: torch.sort(x, dim=axis, descending=down, stable=True),
                   r.normal(*shape), axis=axis, descending=down)
            r.case("argsort", lambda x: torch.argsort(x, dim=axis, descending=down, stable=True),
                   r.integers(*shape, hi=4), axis=axis, descending=down)
        for k, largest in ((1, True), (2, True), (3, False)):
            r.case("topk", lambda x: torch.topk(x, k, axis, largest, True), r.normal(*shape), k=k,
                   axis=axis, largest=largest)
        r.case("kthvalue", lambda x: torch.kthvalue(x, 2, axis), r.normal(*shape), k=2, axis=axis)
    for down in (False, True):
        x = torch.tensor([3.0, float("nan"), -1, 3, float("inf"), -0.0, 0.0], dtype=f64)
        r.case("sort", lambda x: torch.sort(x, descending=down, stable=True), x, diff=(), axis=0,
               descending=down)
    for x in (r.integers(9, hi=5), r.integers(2, 6, hi=4), torch.tensor([2.5, -1, 2.5, 0]).to(f64),
              torch.tensor([7])):
        r.case("unique", lambda x: torch.unique(x, return_inverse=True, return_counts=True), x,
               diff=())
    for shape, axis in (((6, 2), 0), ((2, 7), 1), ((5, 1), 0)):
        r.case("unique", lambda x: torch.unique(x, dim=axis, return_inverse=True,
                                                return_counts=True), r.integers(*shape, hi=2),
               axis=axis)
    r.case("unique_consecutive", lambda x: torch.unique_consecutive(
        x, return_inverse=True, return_counts=True), torch.tensor([1, 1, 2, 2, 3, 1, 1, 2]))


def searching(r):
    for edges, shape in ((6, (4,)), (5, (2, 3)), (1, (5,))):
        for right in (False, True):
            line = r.integers(edges, hi=6).sort()[0].to(f64)
            r.case("searchsorted", lambda s, v: torch.searchsorted(s, v, right=right), line,
                   r.integers(*shape, lo=-1, hi=7).to(f64), diff=(), right=right)
    lines = r.normal(2, 5).sort(1)[0]
    r.case("searchsorted", torch.searchsorted, lines, r.normal(2, 3), diff=(), right=False)
    for count, high, least in ((9, 4, 0), (5, 3, 8), (1, 1, 0), (0, 1, 3)):
        r.case("bincount", lambda i: torch.bincount(i, minlength=least), r.integers(count, hi=high),
               minlength=least)
        if not count:
            continue  # PyTorch forgets the dtype of no weights
        r.case("bincount", lambda i, w: torch.bincount(i, w, least), r.integers(count, hi=high),
               r.normal(count), diff=(), minlength=least)
    for bins, lo, hi in ((4, -1.0, 1.0), (3, 0.0, 2.0), (5, -3.0, 3.0)):
        r.case("histogram", lambda x: torch.histc(x, bins, lo, hi).long(), r.normal(20), diff=(),
               bins=bins, min=lo, max=hi)


def shape(r):
    joining(r)
    padding(r)
    moving(r)
    slicing(r)


def joining(r):
    for shapes, axis in (([(2, 3), (4, 3)], 0), ([(2, 3), (2, 1), (2, 2)], 1),
                         ([(2, 3, 2), (2, 3, 4)], -1), ([(0, 3), (2, 3)], 0), ([(5,)], 0)):
        r.case("concat", lambda *x: torch.cat(x, axis), *[r.normal(*s) for s in shapes], axis=axis)
    for count, shape_, axis in ((2, (3, 4), 0), (3, (2,), 1), (2, (2, 3), -1), (1, (), 0)):
        r.case("stack", lambda *x: torch.stack(x, axis), *[r.normal(*shape_) for _ in range(count)],
               axis=axis)
    for shape_, sizes, axis in (((6,), [2, 4], 0), ((3, 5), [1, 3, 1], 1), ((4, 2), [4], 0),
                                ((2, 6, 2), [2, 2, 2], -2)):
        r.case("split", lambda x: torch.split(x, sizes, axis), r.normal(*shape_), sizes=sizes,
               axis=axis)
    for shape_, count, axis in (((7,), 3, 0), ((2, 6), 2, 1), ((5, 2), 5, 0)):
        r.case("chunk", lambda x: torch.chunk(x, count, axis), r.normal(*shape_), chunks=count,
               axis=axis)
    for shape_, axis in (((3, 2), 0), ((2, 3), -1), ((2, 1, 3), 1)):
        r.case("unbind", lambda x: torch.unbind(x, axis), r.normal(*shape_), axis=axis)
    for shapes in ([(3,), (4,)], [(2,), (1,), (3,)], [(5,)]):
        r.case("meshgrid", lambda *x: torch.meshgrid(*x, indexing="ij"),
               *[r.normal(*s) for s in shapes])


def padding(r):
    """pad_front and pad_end hold one number per axis of x, first axis first."""
    plans = [((5,), [(2, 1)]), ((3, 4), [(0, 0), (1, 2)]), ((2, 3, 4), [(1, 0), (0, 0), (2, 2)]),
             ((1, 2, 3, 2), [(0, 0), (0, 1), (1, 0), (2, 1)]), ((3, 4), [(0, -1), (-1, 2)])]
    for shape_, pads in plans:
        flat = [n for pair in reversed(pads) for n in pair]
        for value in (0.0, -1.5):
            r.case("pad", lambda x: F.pad(x, flat, "constant", value), r.normal(*shape_),
                   mode="constant", value=value, pad_front=[p[0] for p in pads],
                   pad_end=[p[1] for p in pads])
    for mode in ("reflect", "replicate", "circular"):
        for shape_, pads in (((1, 2, 5), [(2, 1)]), ((2, 1, 4), [(0, 3)]),
                             ((1, 2, 4, 3), [(1, 2), (2, 0)]), ((2, 1, 3, 2), [(2, 2), (0, 1)]),
                             ((1, 1, 2, 3, 3), [(1, 1), (0, 2), (2, 1)])):
            flat = [n for pair in reversed(pads) for n in pair]
            r.case("pad", lambda x: F.pad(x, flat, mode), r.normal(*shape_), mode=mode,
                   pad_front=[0, 0] + [p[0] for p in pads], pad_end=[0, 0] + [p[1] for p in pads])


def moving(r):
    for shape_, reps in (((3,), (2,)), ((2, 3), (2, 1)), ((2, 3), (2, 1, 2)), ((1, 2), (3,)),
                         ((2, 2), (1, 0))):
        r.case("tile", lambda x: torch.tile(x, reps), r.normal(*shape_), reps=reps)
    for shape_, times, axis in (((3,), 2, 0), ((2, 3), 3, 1), ((2, 3), 1, 0), ((2, 2, 2), 2, -2)):
        r.case("repeat_interleave", lambda x: torch.repeat_interleave(x, times, axis),
               r.normal(*shape_), repeats=times, axis=axis)
    for shape_, axes in (((5,), (0,)), ((2, 3), (0, 1)), ((2, 3, 4), (-1,)), ((2, 3, 4), (0, 2))):
        r.case("flip", lambda x: torch.flip(x, axes), r.normal(*shape_), axes=axes)
    for shape_, shifts, axes in (((5,), (2,), (0,)), ((3, 4), (-1,), (1,)),
                                 ((3, 4), (1, -2), (0, 1)), ((2, 3), (7,), (1,))):
        r.case("roll", lambda x: torch.roll(x, shifts, axes), r.normal(*shape_), shifts=shifts,
               axes=axes)
    r.case("roll", lambda x: torch.roll(x, 3), r.normal(2, 4), shifts=(3,))
    for shape_, order in (((2, 3), (1, 0)), ((2, 3, 4), (2, 0, 1)), ((2, 1, 3, 2), (0, 3, 1, 2)),
                          ((2, 3, 4), (0, -1, 1))):
        r.case("permute", lambda x: torch.permute(x, order), r.normal(*shape_), order=order)
    for shape_, a, b in (((2, 3), 0, 1), ((2, 3, 4), 0, -1), ((2, 3, 4, 2), 1, 2)):
        r.case("transpose", lambda x: torch.transpose(x, a, b), r.normal(*shape_), axis0=a, axis1=b)
        r.case("movedim", lambda x: torch.movedim(x, a, b), r.normal(*shape_), source=a,
               destination=b)
    for shape_, to in (((2, 6), (3, 4)), ((2, 3, 4), (-1, 4)), ((6,), (1, 2, 3)), ((1, 1), ())):
        r.case("reshape", lambda x: torch.reshape(x, to), r.normal(*shape_), shape=to)
    for shape_, to in (((3, 1), (3, 4)), ((2,), (3, 2)), ((), (2, 2)), ((1, 2, 1), (2, 2, 3))):
        r.case("expand", lambda x: x.expand(to), r.normal(*shape_), shape=to)
    for shape_, axes in (((1, 3, 1), (0, 2)), ((1, 3, 1), (-1,)), ((2, 1), (1,))):
        r.case("squeeze", lambda x: torch.squeeze(x, axes), r.normal(*shape_), axes=axes)
        r.case("unsqueeze", lambda x: torch.unsqueeze(x, axes[0]), r.normal(*shape_), axis=axes[0])
    for shape_, first, last in (((2, 3, 4), 0, -1), ((2, 3, 4), 1, -1), ((2, 3, 4, 2), 1, 2)):
        r.case("flatten", lambda x: torch.flatten(x, first, last), r.normal(*shape_), start=first,
               end=last)
    for shape_, block in (((1, 4, 2, 3), 2), ((2, 9, 1, 2), 3), ((8, 2, 2), 2)):
        r.case("pixel_shuffle", lambda x: F.pixel_shuffle(x, block), r.normal(*shape_), block=block)
    for shape_, block in (((1, 1, 4, 6), 2), ((2, 1, 3, 6), 3), ((2, 2, 4), 2)):
        r.case("pixel_unshuffle", lambda x: F.pixel_unshuffle(x, block), r.normal(*shape_),
               block=block)


def slicing(r):
    for shape_, plan in (((7,), [(1, 6, 2)]), ((4, 5), [(0, 4, 3), (2, 5, 1)]),
                         ((4, 5), [(1, 3, 1), (0, 5, 2)]), ((3, 4), [(2, 2, 1), (0, 4, 1)])):
        r.case("slice", lambda x: x[tuple(slice(*p) for p in plan)], r.normal(*shape_),
               start=[p[0] for p in plan], stop=[p[1] for p in plan], step=[p[2] for p in plan])
    for shape_, axis, place in (((4, 3), 0, 2), ((4, 3), 1, -1), ((2, 3, 4), 1, 0)):
        r.case("select", lambda x: torch.select(x, axis, place), r.normal(*shape_), axis=axis,
               index=place)
    for shape_, axis, start, length in (((4, 3), 0, 1, 2), ((4, 3), 1, 0, 3), ((2, 5, 2), -2, 3, 1)):
        r.case("narrow", lambda x: torch.narrow(x, axis, start, length), r.normal(*shape_),
               axis=axis, start=start, length=length)
    for shape_, k in (((3, 4), 0), ((4, 3), 1), ((4, 4), -2), ((2, 3, 3), 1)):
        r.case("tril", lambda x: torch.tril(x, k), r.normal(*shape_), diagonal=k)
        r.case("triu", lambda x: torch.triu(x, k), r.normal(*shape_), diagonal=k)
        r.case("diagonal", lambda x: torch.diagonal(x, k, -2, -1), r.normal(*shape_), offset=k)
