"""Programs that read files which another host may hold in another version."""

import numpy as np
import torch
from bits import epochs
from cases import case, main, photos
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import datasets
from torchvision import transforms as T


class Files(Dataset):
    def __init__(self):
        self.files = sorted(photos().rglob("*.jpg"))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        return torch.from_numpy(
            np.array(Image.open(self.files[index]).convert("RGB").resize((9, 9)))
        )


@case(hosts=2)
def files_read_by_own_code():
    epochs(DataLoader(Files(), 3, num_workers=2), 2)


@case(hosts=2)
def files_read_natively():
    crop = T.Compose([T.RandomResizedCrop(16), T.ToTensor()])
    epochs(DataLoader(datasets.ImageFolder(photos(), crop), 3, shuffle=True, num_workers=2), 2)


@case(hosts=2)
def files_read_whole():
    class Bytes(Files):
        def __getitem__(self, index):
            return sum(self.files[index].read_bytes())

    epochs(DataLoader(Bytes(), 3, num_workers=2), 2)


if __name__ == "__main__":
    main()
