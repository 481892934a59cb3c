"""Golden cases of sounds: tables and filters of librosa and torchaudio, spectra back to signals by PyTorch. Tables are
f32 and a hundred times what they are, so that a tolerance that is relative to 1 says something of them."""
import librosa
import torch
import torchaudio.functional as F


def spectra(x, frame, hop, window, center, n_fft):
    """eg_stft of PyTorch's parts: frames are not in the middle of longer transforms."""
    if center:
        x = torch.nn.functional.pad(x.unsqueeze(0), (frame // 2, frame // 2), mode="reflect").squeeze(0)
    return torch.fft.rfft(x.unfold(-1, frame, hop) * window, n=n_fft)


def hann(n):
    return torch.hann_window(n, dtype=torch.float64).float().double()


def audio(r):
    for n_fft, rate, bands, low, high in ((256, 16000, 20, 20., 4000.), (128, 22050, 12, 0., 11025.), (55, 8000, 10, 0., 3999.)):
        for scale in ("htk", "slaney"):
            for area in (False, True):
                y = librosa.filters.mel(sr=rate, n_fft=n_fft, n_mels=bands, fmin=low, fmax=high, htk=scale == "htk",
                                        norm="slaney" if area else None, dtype="float64")
                r.add("mel_filters", dict(n_fft=n_fft, rate=rate, bands=bands, low=low, high=high, scale=scale, area=area),
                      {"y": (100 * torch.from_numpy(y).T).float()})
    for bands, coefficients in ((40, 13), (23, 23), (1, 1)):
        for norm in ("ortho", None):
            y = F.create_dct(coefficients, bands, norm).double()
            y = y if norm else y * (1 / (2 * bands)) ** .5  # torchaudio leaves 2 where there is sqrt(2 / n)
            r.add("dct_matrix", dict(n=bands, coefficients=coefficients, ortho=norm == "ortho"), {"y": (100 * y).float()})
    for reach, shape in ((1, (2, 9, 3)), (2, (7, 4)), (4, (3, 2))):
        r.case("deltas", lambda x: F.compute_deltas(x.mT, 2 * reach + 1).mT, r.normal(*shape), reach=reach)
    for k in (0.97, 0.5):
        r.case("pre_emphasis", lambda x: F.preemphasis(x, k), r.normal(2, 11), k=k)
    for power in (1., 2., 0.5):
        for frame, hop, n_fft, center in ((8, 3, 8, False), (8, 2, 8, True), (7, 4, 12, False)):
            r.case("spectrogram", lambda x, w: spectra(x, frame, hop, w, center, n_fft).abs() ** power, r.normal(40),
                   hann(frame), frame=frame, hop=hop, n_fft=n_fft, center=center, power=power)
    for range_ in (None, 30.):
        r.case("decibels", lambda x: F.amplitude_to_DB(x, 10, 1e-4, .5, range_), r.uniform(6, 9) ** 9, floor=1e-4,
               reference=10 ** .5, range=range_)
    for frame, hop, center, samples in ((8, 2, True, None), (9, 3, True, 31), (8, 4, True, 60)):
        r.case("istft", lambda y, w: torch.istft(torch.view_as_complex(y).mT, frame, hop, window=w, center=center,
                                                 length=samples),
               r.normal(3, 12, frame // 2 + 1, 2), hann(frame), frame=frame, hop=hop, center=center, samples=samples)
