"""Files that a program replaces, rewrites and takes away while its loaders run."""

import os
import shutil

import numpy as np
import torch
from bits import epochs
from cases import case, main, own_photos
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import datasets
from torchvision import transforms as T


class Files(Dataset):
    def __init__(self, root):
        self.files = sorted(root.rglob("*.jpg"))
        self.crop = T.Compose([T.RandomResizedCrop(16), T.ToTensor()])

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        return self.crop(Image.open(self.files[index])).sum(0)


def _larger(root, numbers):
    """Other and larger pictures in the place of these."""
    files = sorted(root.rglob("*.jpg"))
    for number in numbers:
        other = Image.open(files[(number + 5) % len(files)]).convert("RGB")
        other.resize((150 + number, 130)).save(files[number], quality=80)


def _replaced(make, when, workers, count=2):
    root = own_photos()
    loader = DataLoader(make(root), 3, num_workers=workers, prefetch_factor=2 if workers else None)

    def each(epoch, number, batch):
        if when == "middle" and epoch == 0 and number == 0:
            _larger(root, range(15, 21))  # farther on than the loader may have read

    def before(epoch):
        if when == "between" and epoch:
            _larger(root, range(0, 21, 2))

    epochs(loader, count, before=before, each=each)


def _folder(root):
    return datasets.ImageFolder(root, T.Compose([T.RandomResizedCrop(16), T.ToTensor()]))


@case(workers=2)
def files_replaced_between_epochs_native():
    _replaced(_folder, "between", 1)


@case()
def files_replaced_between_epochs_without_workers():
    _replaced(_folder, "between", 0)


@case(hosts=2)
def files_replaced_between_epochs_own():
    _replaced(Files, "between", 1)


@case(workers=2, always=True)
def files_replaced_in_mid_epoch_native():
    _replaced(_folder, "middle", 1)


@case()
def files_replaced_in_mid_epoch_without_workers():
    _replaced(_folder, "middle", 0)


@case()
def files_replaced_in_mid_epoch_own():
    _replaced(Files, "middle", 1)


def _same_times(file, write):
    kept = file.stat()
    write()
    os.utime(file, ns=(kept.st_atime_ns, kept.st_mtime_ns))


@case()
def files_rewritten_with_the_same_time():
    root = own_photos()
    files = sorted(root.rglob("*.jpg"))

    def before(epoch):
        for a, b in zip(files[:6], files[6:12], strict=True):
            if epoch:
                _same_times(a, lambda a=a, b=b: shutil.copyfile(b, a))

    for make in (_folder, Files):
        epochs(DataLoader(make(root), 3, num_workers=2), 2, before=before)


@case()
def arrays_rewritten_with_the_same_size_and_time():
    class Arrays(Dataset):
        def __len__(self):
            return 8

        def __getitem__(self, i):
            return np.load(f"{i}.npy")

    def write(epoch):
        for i in range(8):
            np.save(f"{i}.npy", np.full(3, i + 100 * epoch))
            os.utime(f"{i}.npy", ns=(10**18, 10**18))

    epochs(DataLoader(Arrays(), 2, num_workers=2), 3, before=write)


@case()
def file_that_comes_and_goes():
    root = own_photos()
    file = sorted(root.rglob("*.jpg"))[7]
    kept = file.read_bytes()

    def before(epoch):
        file.unlink() if epoch == 1 else file.write_bytes(kept)

    epochs(DataLoader(_folder(root), 3, num_workers=2), 3, before=before)


@case(workers=2, always=True)
def memory_map_written_by_the_program():
    tokens = np.memmap("tokens.bin", np.int64, "w+", shape=(64,))
    tokens[:] = np.arange(64)

    class Tokens(Dataset):
        def __init__(self):
            self.tokens = np.memmap("tokens.bin", np.int64, "r")

        def __len__(self):
            return 8

        def __getitem__(self, i):
            return torch.from_numpy(self.tokens[i * 8 : i * 8 + 8].copy())

    loader = DataLoader(Tokens(), 2, num_workers=2, persistent_workers=True)
    epochs(loader, 3, before=lambda epoch: tokens.__iadd__(epoch))


if __name__ == "__main__":
    main()
