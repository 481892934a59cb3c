"""PyTorch's side of `compare.py pictures`: torchvision's transforms behind a DataLoader.

    python3 torch_pictures.py FOLDER WORKERS"""
import sys

import torchvision
from torchvision import datasets, transforms

from torch_batches import serve

prepare = transforms.Compose([
    transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
    transforms.Normalize([.485, .456, .406], [.229, .224, .225])])
serve(datasets.ImageFolder(sys.argv[1], prepare), 32, int(sys.argv[2]), torchvision)
