"""PyTorch's side of `compare.py pictures`: torchvision's transforms behind a DataLoader.

    python3 torch_pictures.py FOLDER WORKERS"""
import json
import sys
import time

import torch
import torchvision
from torchvision import datasets, transforms

from used import processor_seconds


def main():
    folder, workers = sys.argv[1], int(sys.argv[2])
    torch.set_num_threads(1)
    prepare = transforms.Compose([
        transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
        transforms.Normalize([.485, .456, .406], [.229, .224, .225])])
    loader = torch.utils.data.DataLoader(datasets.ImageFolder(folder, prepare), 32, shuffle=True,
                                         num_workers=workers)
    for line in sys.stdin:
        words = line.split()
        if words[0] == "about":
            answer = {"library": f"PyTorch {torch.__version__}, torchvision {torchvision.__version__}"}
        else:
            start, used, samples = time.perf_counter(), processor_seconds(), 0
            while not samples or (time.perf_counter() - start) * 1e6 < float(words[1]):
                for batch, _ in loader:
                    samples += len(batch)
            answer = {"samples": samples, "seconds": time.perf_counter() - start,
                      "processor": processor_seconds() - used}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
