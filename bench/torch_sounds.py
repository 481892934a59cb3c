"""PyTorch's side of `compare.py sounds`: torchaudio's cepstra behind a DataLoader. Files are read by soundfile, which
torchaudio itself read them by until it left that to others.

    python3 torch_sounds.py FOLDER WORKERS"""
import glob
import json
import os
import sys
import time

import soundfile
import torch
import torchaudio

from used import processor_seconds


class Clips(torch.utils.data.Dataset):
    def __init__(self, folder):
        self.paths = sorted(glob.glob(os.path.join(folder, "*", "*.wav")))
        self.features = torchaudio.transforms.MFCC(16000, 40, melkwargs={"n_fft": 400, "hop_length": 160, "n_mels": 64})

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        x = torch.from_numpy(soundfile.read(self.paths[i], dtype="float32")[0]).unsqueeze(0)
        return self.features(torch.nn.functional.pad(x, (0, 16000 - x.shape[1])))


def main():
    folder, workers = sys.argv[1], int(sys.argv[2])
    torch.set_num_threads(1)
    loader = torch.utils.data.DataLoader(Clips(folder), 100, shuffle=True, num_workers=workers)
    for line in sys.stdin:
        words = line.split()
        if words[0] == "about":
            answer = {"library": f"PyTorch {torch.__version__}, torchaudio {torchaudio.__version__}"}
        else:
            start, used, samples = time.perf_counter(), processor_seconds(), 0
            while not samples or (time.perf_counter() - start) * 1e6 < float(words[1]):
                for batch in loader:
                    samples += len(batch)
            answer = {"samples": samples, "seconds": time.perf_counter() - start,
                      "processor": processor_seconds() - used}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
