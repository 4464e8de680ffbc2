"""Translation of aligned pairs: one file holds both, which are cropped and flipped alike by parameters."""

import os
import random

import torchvision.transforms as transforms
from PIL import Image
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset


def get_params(opt, size):
    w, h = size
    new_h = new_w = opt.load_size
    x = random.randint(0, max(0, new_w - opt.crop_size))
    y = random.randint(0, max(0, new_h - opt.crop_size))
    return {"crop_pos": (x, y), "flip": random.random() > 0.5}


def get_transform(opt, params, method=transforms.InterpolationMode.BICUBIC):
    steps = [transforms.Resize([opt.load_size, opt.load_size], method)]
    steps.append(transforms.Lambda(lambda img: _crop(img, params["crop_pos"], opt.crop_size)))
    if params["flip"]:
        steps.append(transforms.Lambda(lambda img: img.transpose(Image.FLIP_LEFT_RIGHT)))
    steps += [transforms.ToTensor(), transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))]
    return transforms.Compose(steps)


def _crop(img, pos, size):
    ow, oh = img.size
    x1, y1 = pos
    return img.crop((x1, y1, x1 + size, y1 + size)) if ow > size or oh > size else img


class AlignedDataset(Dataset):
    def __init__(self, opt):
        self.opt = opt
        folder = os.path.join(opt.data, "facades")
        self.AB_paths = sorted(os.path.join(folder, name) for name in os.listdir(folder)) * 3

    def __getitem__(self, index):
        AB_path = self.AB_paths[index]
        AB = Image.open(AB_path).convert("RGB")
        w, h = AB.size
        w2 = int(w / 2)
        A = AB.crop((0, 0, w2, h))
        B = AB.crop((w2, 0, w, h))
        transform_params = get_params(self.opt, A.size)
        A = get_transform(self.opt, transform_params)(A)
        B = get_transform(self.opt, transform_params)(B)
        return {"A": A, "B": B, "A_paths": AB_path, "B_paths": AB_path}

    def __len__(self):
        return len(self.AB_paths)


class CustomDatasetDataLoader:
    """Wraps the loader, as the options of a whole project want it."""

    def __init__(self, opt):
        self.dataset = AlignedDataset(opt)
        self.dataloader = DataLoader(
            self.dataset, batch_size=opt.batch_size, shuffle=True, num_workers=opt.workers
        )

    def __iter__(self):
        yield from self.dataloader


if __name__ == "__main__":
    options = parser(__doc__, batch_size=8)
    options.add_argument("--load_size", type=int, default=286)
    options.add_argument("--crop_size", type=int, default=256)
    opt = options.parse_args()
    seed_all(17)
    data_loader = CustomDatasetDataLoader(opt)
    recorder = Recorder()
    for _ in range(opt.epochs):
        for data in recorder.epoch(data_loader):
            assert data["A"].shape == data["B"].shape
    recorder.finish()
