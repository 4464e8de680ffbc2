"""A plain program that reads one epoch of images, from a folder, from a store of objects or from tars.
Prints one JSON line: seconds from iter() to the last batch, samples, and samples a second after the first
batch."""

import argparse
import json
import time

import headrace
import torch
from torchvision import datasets
from torchvision import transforms as v1

parser = argparse.ArgumentParser()
parser.add_argument("--folder")
parser.add_argument("--url")
parser.add_argument("--tars")
parser.add_argument("--times", type=int, default=1, help="how often each image is in the set")
arguments = parser.parse_args()

torch.manual_seed(1)
transform = v1.Compose([v1.RandomResizedCrop(224), v1.RandomHorizontalFlip(), v1.ToTensor()])
if arguments.folder:
    dataset = datasets.ImageFolder(arguments.folder, transform)
elif arguments.tars:
    dataset = headrace.open_dataset(arguments.tars, transform)
else:
    dataset = headrace.open_dataset(arguments.url, transform, index="names.txt")
dataset = torch.utils.data.ConcatDataset([dataset] * arguments.times)
loader = torch.utils.data.DataLoader(dataset, 32, shuffle=True, num_workers=8)
begin = time.perf_counter()
samples, first = 0, None
for _, labels in loader:
    samples += len(labels)
    first = first or (time.perf_counter(), samples)
end = time.perf_counter()
later = (samples - first[1]) / (end - first[0])
print(json.dumps({"seconds": end - begin, "samples": samples, "later_rate": later}))
