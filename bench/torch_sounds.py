"""PyTorch's side of `compare.py sounds`: torchaudio's cepstra behind a DataLoader. Files are read by soundfile, which
torchaudio itself read them by until it left that to others.

    python3 torch_sounds.py FOLDER WORKERS"""
import glob
import os
import sys

import soundfile
import torch
import torchaudio

from torch_batches import serve


class Clips(torch.utils.data.Dataset):
    def __init__(self, folder):
        self.paths = sorted(glob.glob(os.path.join(folder, "*", "*.wav")))
        # Logarithms as there: decibels, which are torchaudio's default, would take it longer.
        self.features = torchaudio.transforms.MFCC(16000, 40, log_mels=True,
                                                   melkwargs={"n_fft": 400, "hop_length": 160, "n_mels": 64})

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        x = torch.from_numpy(soundfile.read(self.paths[i], dtype="float32")[0]).unsqueeze(0)
        return self.features(torch.nn.functional.pad(x, (0, 16000 - x.shape[1]))), self.paths[i]


serve(Clips(sys.argv[1]), 100, int(sys.argv[2]), torchaudio)
