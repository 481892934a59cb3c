"""Golden cases of small linear algebra. Signs that are free are turned as Egret turns them."""
import torch

L = torch.linalg


def first_large(vectors):
    """The sign of each row's first element over half its largest."""
    if not vectors.numel():
        return vectors.new_ones(vectors.shape[:-1])
    size = vectors.abs()
    first = (size > size.amax(-1, keepdim=True) / 2).to(torch.uint8).argmax(-1, keepdim=True)
    return torch.sign(vectors.gather(-1, first)).squeeze(-1).detach()


def qr(a):
    q, r = L.qr(a)
    sign = torch.sign(torch.diagonal(r, dim1=-2, dim2=-1)).detach()
    return q * sign.unsqueeze(-2), r * sign.unsqueeze(-1)


def svd(a):
    u, s, vh = L.svd(a, full_matrices=False)
    sign = first_large(vh if a.shape[-2] >= a.shape[-1] else u.mT)
    return u * sign.unsqueeze(-2), s, vh * sign.unsqueeze(-1)


def eigh(a):
    w, v = L.eigh((a + a.mT) / 2)
    return w, v * first_large(v.mT).unsqueeze(-2)


def solve(r):
    def regular(*shape):
        return r.normal(*shape) + 2 * torch.eye(shape[-1], dtype=torch.float64)

    for shape in ((3, 3), (2, 3, 4, 4), (1, 1), (2, 0, 0), (0, 3, 3), (9, 9)):
        r.case("det", L.det, r.normal(*shape))
        r.case("slogdet", L.slogdet, r.normal(*shape))
        r.case("inverse", L.inv, regular(*shape))
    singular = torch.tensor([[1., 2, 3], [2, 4, 6], [1, 0, 1]], dtype=torch.float64)
    r.case("det", L.det, singular)
    for sa, sb in (((3, 3), (3, 2)), ((3, 3), (3,)), ((2, 4, 4), (2, 4)), ((2, 1, 3, 3), (5, 3, 2)),
                   ((3, 3), (2, 3, 1)), ((3, 3), (3, 0)), ((20, 20), (20, 3))):
        r.case("solve", L.solve, regular(*sa), r.normal(*sb))
    for upper in (False, True):
        for transpose in (False, True):
            for unit in (False, True):
                a, b = regular(2, 3, 3), r.normal(3, 2)
                r.case("solve_triangular", lambda a, b: L.solve_triangular(
                    (a.triu() if upper else a.tril()).mT if transpose else a, b,
                    upper=upper != transpose, unitriangular=unit), a, b,
                       upper=upper, transpose=transpose, unit=unit)
    for shape in ((3, 3), (2, 4, 4), (1, 1), (0, 0), (12, 12)):
        x = r.normal(*shape)
        for upper in (False, True):
            r.case("cholesky", lambda a: L.cholesky(a, upper=upper),
                   x @ x.mT + torch.eye(shape[-1], dtype=x.dtype), upper=upper)
        r.case("eigh", eigh, x + x.mT)
    for shape in ((3, 3), (2, 5, 3), (4, 1), (1, 1), (0, 3, 2), (17, 9)):
        r.case("qr", qr, r.normal(*shape))
    r.case("qr", qr, r.normal(2, 3, 5), diff=())  # PyTorch has no gradient of wide ones' Q and R together
    for shape in ((3, 3), (2, 5, 3), (3, 5), (4, 1), (1, 4), (0, 3, 2), (12, 7)):
        r.case("svd", svd, r.normal(*shape))
