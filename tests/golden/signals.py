"""Golden cases of Fourier transforms. Complex tensors are recorded as pairs of real numbers."""
import torch


def pairs(function):
    def run(x):
        y = function(torch.view_as_complex(x) if x.shape[-1] == 2 and function.complex else x)
        return torch.view_as_real(y) if y.is_complex() else y
    return run


def case(r, name, shape, axes, n=None, norm=None):
    """One axis with n, or several."""
    one = len(axes) == 1
    complex_input = name != "rfft"
    def function(x):
        if one:
            return getattr(torch.fft, name)(x, n=n, dim=axes[0], norm=norm)
        return getattr(torch.fft, name + "n")(x, dim=axes, norm=norm)
    function.complex = complex_input
    x = r.normal(*shape, 2) if complex_input else r.normal(*shape)
    r.case(name, pairs(function), x, n=n, axes=axes, norm=norm)


def fft(r):
    for name in ("fft", "ifft", "rfft", "irfft"):
        case(r, name, (2, 8), (-1,))
        case(r, name, (3, 5), (1,))
        case(r, name, (6, 3), (0,))
        for n in (7, 12):
            case(r, name, (2, 9), (-1,), n=n)
        for norm in ("backward", "forward", "ortho"):
            case(r, name, (2, 10), (-1,), norm=norm)
        case(r, name, (2, 4, 6), (-2, -1), norm="ortho")
        case(r, name, (4, 3, 5), (2, 0))
    for frame, hop, center in ((8, 3, False), (8, 2, True), (7, 4, False)):
        window = torch.hann_window(frame, dtype=torch.float64).to(torch.float32).to(torch.float64)
        r.case("stft", lambda x, w: torch.view_as_real(
            torch.stft(x, frame, hop, window=w, center=center, return_complex=True).transpose(-1, -2)),
            r.normal(2, 40), window, frame=frame, hop=hop, center=center)
