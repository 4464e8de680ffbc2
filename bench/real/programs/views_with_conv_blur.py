"""Simple contrastive views of pictures that are small, blurred by a convolution of the program's own."""

import glob

import numpy as np
import torch
from PIL import Image
from recording import Recorder, parser, seed_all
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

np.random.seed(0)


class ConvBlur:
    """blur a single image on CPU"""

    def __init__(self, kernel_size):
        radius = kernel_size // 2
        kernel_size = radius * 2 + 1
        self.blur_h = nn.Conv2d(3, 3, (kernel_size, 1), bias=False, groups=3)
        self.blur_v = nn.Conv2d(3, 3, (1, kernel_size), bias=False, groups=3)
        self.k = kernel_size
        self.r = radius
        self.blur = nn.Sequential(nn.ReflectionPad2d(radius), self.blur_h, self.blur_v)
        self.pil_to_tensor = transforms.ToTensor()
        self.tensor_to_pil = transforms.ToPILImage()

    def __call__(self, img):
        img = self.pil_to_tensor(img).unsqueeze(0)
        sigma = np.random.uniform(0.1, 2.0)
        x = np.exp(-np.power(np.arange(-self.r, self.r + 1), 2) / (2 * sigma * sigma))
        x = torch.from_numpy(x / x.sum()).view(1, -1).repeat(3, 1)
        self.blur_h.weight.data.copy_(x.view(3, 1, self.k, 1))
        self.blur_v.weight.data.copy_(x.view(3, 1, 1, self.k))
        with torch.no_grad():
            img = self.blur(img).squeeze()
        return self.tensor_to_pil(img)


class ViewGenerator:
    def __init__(self, base_transform, n_views=2):
        self.base_transform = base_transform
        self.n_views = n_views

    def __call__(self, x):
        return [self.base_transform(x) for _ in range(self.n_views)]


class Pictures(Dataset):
    def __init__(self, root, transform):
        self.files = sorted(glob.glob(f"{root}/unpaired/train*/*.jpg"))
        self.transform = transform

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        return self.transform(Image.open(self.files[i]).convert("RGB")), i % 10


def pipeline(size, s=1):
    return transforms.Compose(
        [
            transforms.RandomResizedCrop(size=size),
            transforms.RandomHorizontalFlip(),
            transforms.RandomApply(
                [transforms.ColorJitter(0.8 * s, 0.8 * s, 0.8 * s, 0.2 * s)], p=0.8
            ),
            transforms.RandomGrayscale(p=0.2),
            ConvBlur(kernel_size=int(0.1 * size)),
            transforms.ToTensor(),
        ]
    )


args = parser(__doc__).parse_args()
seed_all(4)
loader = DataLoader(
    Pictures(args.data, ViewGenerator(pipeline(96))),
    batch_size=args.batch_size,
    shuffle=True,
    num_workers=args.workers,
    drop_last=True,
)
recorder = Recorder()
for _ in range(args.epochs):
    for images, _ in recorder.epoch(loader):
        images = torch.cat(images, dim=0)
recorder.finish()
