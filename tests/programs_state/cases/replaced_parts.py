"""What native pipelines stand for, replaced or changed by the program: draws, reading, collation, single
transforms."""

import builtins
import collections
import io
import math
import random

import numpy as np
import torch
import torchvision
from bits import epochs, say, show
from cases import Look, case, main, own_photos, photos
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset, default_collate
from torch.utils.data._utils import collate as collation
from torchvision import datasets
from torchvision import transforms as T
from torchvision.transforms import functional as F
from torchvision.transforms import v2


def _crop():
    return T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToTensor()])


def folder(steps=None, root=None, **named):
    return datasets.ImageFolder(root or photos(), steps or _crop(), **named)


class Own(Dataset):
    """Opens pictures and calls torchvision's transforms by itself."""

    def __init__(self, steps=None):
        self.files, self.steps = sorted(photos().rglob("*.jpg")), steps or _crop()

    def __len__(self):
        return 10

    def __getitem__(self, i):
        return self.steps(Image.open(self.files[i]).convert("RGB"))


def both(steps=None, count=2, **named):
    """The same transforms, in a native pipeline and in code of one's own; with workers and without."""
    for data in (folder(steps), Own(steps)):
        for workers in (0, 2):
            epochs(DataLoader(data, 4, num_workers=workers), count, **named)


@case(workers=2, hosts=2, always=True)
def uniform_numbers_replaced():
    plain = torch.rand
    torch.rand = lambda *words, **named: plain(*words, **named) * 0.3
    both()


@case()
def integers_replaced_between_epochs():
    plain = torch.randint

    def before(epoch):
        if epoch == 1:
            torch.randint = lambda *words, **named: plain(*words, **named) * 0

    both(T.Compose([T.RandomCrop(20), T.ToTensor()]), before=before)


@case()
def uniform_method_replaced():
    plain = torch.Tensor.uniform_
    torch.Tensor.uniform_ = lambda self, *bounds: plain(self, *bounds).mul_(0.9)
    both()


@case(hosts=2)
def square_root_replaced():
    plain = math.sqrt
    math.sqrt = lambda x: plain(x) * 0.7
    both()


@case()
def open_of_python_replaced():
    plain, names = builtins.open, []

    def noted(name, *words, **named):
        names.append(str(name)[-7:])
        return plain(name, *words, **named)

    builtins.open = noted
    both(count=1)
    say(str(len(names) > 0))


@case()
def transposition_of_pictures_replaced():
    plain = Image.Image.transpose
    Image.Image.transpose = lambda self, method: plain(plain(self, method), method)
    both()


@case()
def stacking_replaced():
    plain = torch.stack
    torch.stack = lambda items, *words, **named: plain(list(items)[::-1], *words, **named)
    both()


@case()
def default_collate_replaced_in_its_module():
    collation.default_collate = lambda items: default_collate(items[:2])
    both()


@case(workers=2, hosts=2, always=True)
def collation_of_tensors_registered():
    plain = collation.default_collate_fn_map[torch.Tensor]

    def reversed_tensors(items, *, collate_fn_map=None):
        return plain(items[::-1], collate_fn_map=collate_fn_map)

    collation.default_collate_fn_map[torch.Tensor] = reversed_tensors
    both()


@case()
def collation_registered_between_epochs():
    def before(epoch):
        if epoch == 1:
            collation.default_collate_fn_map[int] = lambda items, *, collate_fn_map=None: items

    both(before=before)
    epochs(DataLoader(Look(lambda i: i), 3, num_workers=2), 1)


class Point:
    def __init__(self, x):
        self.x = x


@case()
def collation_of_ones_own_class_registered():
    collation.default_collate_fn_map[Point] = lambda items, **_: torch.tensor([p.x for p in items])
    epochs(DataLoader(Look(Point), 3, num_workers=2), 1)


@case(hosts=2, always=True)
def hook_of_one_transform():
    crop = T.RandomCrop(20)
    flip = T.RandomHorizontalFlip()
    flip.register_forward_hook(lambda module, words, out: out.rotate(90))
    both(T.Compose([crop, flip, T.ToTensor()]))


@case()
def hook_of_one_transform_between_epochs():
    normal = T.Normalize([0.5] * 3, [0.5] * 3)

    def before(epoch):
        if epoch == 1:
            normal.register_forward_pre_hook(lambda module, words: (words[0] * 2,))

    both(T.Compose([T.CenterCrop(16), T.ToTensor(), normal]), before=before)


@case(workers=2)
def forward_of_one_transform_replaced():
    flip = T.RandomHorizontalFlip()
    flip.forward = lambda picture: picture.rotate(180)
    both(T.Compose([T.RandomCrop(20), flip, T.ToTensor()]))


@case()
def class_of_one_transform_replaced_between_epochs():
    class Upside(T.RandomHorizontalFlip):
        def forward(self, picture):
            return F.vflip(super().forward(picture))

    flip = T.RandomHorizontalFlip()
    both(
        T.Compose([T.CenterCrop(16), flip, T.ToTensor()]),
        before=lambda epoch: setattr(flip, "__class__", (T.RandomHorizontalFlip, Upside)[epoch]),
    )


@case()
def numbers_of_a_transform_changed_in_place():
    mean, size = [0.5] * 3, [16, 16]
    scale = np.array([0.5, 1.0])
    steps = T.Compose(
        [T.RandomResizedCrop(size, scale), T.ToTensor(), T.Normalize(mean, [0.5] * 3)]
    )

    def before(epoch):
        mean[0] = 0.1 * epoch
        size[0] = 16 + 4 * epoch
        scale[0] = 0.1 + 0.1 * epoch

    both(steps, before=before)


@case()
def mean_in_a_tensor_changed_in_mid_epoch():
    mean = torch.tensor([0.5] * 3)
    steps = T.Compose([T.CenterCrop(16), T.ToTensor(), T.Normalize(mean, [0.5] * 3)])
    both(steps, each=lambda *_: mean.add_(0.1))


@case()
def network_as_a_transform_that_is_trained():
    torch.manual_seed(3)
    layer = nn.Conv2d(3, 2, 3)
    steps = nn.Sequential(T.CenterCrop(16), T.ToTensor(), layer)

    def each(epoch, number, batch):
        with torch.no_grad():
            layer.weight.mul_(0.9)

    for data in (folder(steps), Own(steps)):
        for workers in (0, 2):
            with torch.no_grad():
                epochs(DataLoader(data, 4, num_workers=workers), 2, each=each)


@case()
def transforms_of_several_crops():
    stack = T.Lambda(lambda crops: torch.stack([F.to_tensor(crop) for crop in crops]))
    both(T.Compose([T.Resize(24), T.FiveCrop(16), stack]), count=1)
    both(T.Compose([T.Resize(24), T.TenCrop(16, vertical_flip=True), stack]), count=1)


@case()
def steps_in_any_order():
    steps = [T.RandomHorizontalFlip(), T.RandomRotation(10), T.ColorJitter(0.3, 0.3)]
    both(T.Compose([T.CenterCrop(20), T.RandomOrder(steps), T.ToTensor()]))
    both(v2.Compose([v2.RandomChoice([v2.Resize((16, 16)), v2.RandomCrop(16)]), v2.PILToTensor()]))


@case()
def mixed_augmentations():
    both(T.Compose([T.Resize((24, 24)), T.AugMix(), T.PILToTensor()]), count=1)


@case(hosts=2)
def labels_that_draw():
    data = folder(target_transform=lambda label: label + random.random() + torch.rand(1).item())
    for workers in (0, 2):
        epochs(DataLoader(data, 4, num_workers=workers), 2)


@case()
def two_transforms_by_a_switch():
    class Switched(datasets.ImageFolder):
        training = True

        def __getitem__(self, index):
            picture, label = super().__getitem__(index)
            return F.hflip(picture) if self.training else picture, label

    data = Switched(photos(), T.Compose([T.CenterCrop(16), T.ToTensor()]))
    for workers in (0, 2):
        loader = DataLoader(data, 4, num_workers=workers)
        epochs(loader, 3, before=lambda epoch: setattr(data, "training", epoch != 1))


@case()
def loader_of_a_folder_replaced_between_epochs():
    data = folder()

    def upright(path):
        return Image.open(path).convert("L").convert("RGB")

    plain = data.loader
    for workers in (0, 2):
        loader = DataLoader(data, 4, num_workers=workers)
        epochs(loader, 2, before=lambda epoch: setattr(data, "loader", (plain, upright)[epoch]))


@case(workers=2)
def pictures_of_every_format():
    root = own_photos()
    one = Image.open(sorted(root.rglob("*.jpg"))[0]).convert("RGB")
    kinds = {
        "grey.jpg": one.convert("L"),
        "four.jpg": one.convert("CMYK"),
        "palette.png": one.convert("P"),
        "clear.png": one.convert("RGBA"),
        "bits.png": one.convert("1"),
        "deep.png": Image.fromarray(np.arange(4096, dtype=np.uint16).reshape(64, 64)),
        "float.tiff": one.convert("F"),
        "anim.gif": one.convert("P"),
        "plain.bmp": one,
        "wave.webp": one,
    }
    target = next(path for path in sorted(root.iterdir()) if path.is_dir())
    for name, picture in kinds.items():
        picture.save(target / name)
    one.save(target / "steps.jpg", progressive=True)
    one.save(target / "odd.jpg", subsampling=1, restart_marker_blocks=3)
    (target / "LOUD.JPG").write_bytes((target / "steps.jpg").read_bytes())
    (target / "link.jpg").symlink_to(target / "grey.jpg")
    for workers in (0, 2):
        epochs(DataLoader(folder(root=root), 4, num_workers=workers), 2)


@case()
def files_that_are_no_pictures():
    root = own_photos()
    target = next(path for path in sorted(root.iterdir()) if path.is_dir())
    (target / "a_empty.jpg").touch()
    (target / "b_text.jpg").write_text("not a picture")
    (target / "c_dead.jpg").symlink_to("nowhere.jpg")
    for workers in (0, 2):
        loader = DataLoader(folder(root=root), 1, num_workers=workers)
        iterator = iter(loader)
        for _ in range(6):
            try:
                show(next(iterator))
            except Exception as error:
                say(f"{type(error).__name__} {str(error).splitlines()[0][:60]}")


@case()
def arrays_of_a_known_data_set_changed():
    class Small(datasets.CIFAR10):
        def __init__(self, steps):
            self.data = np.arange(10 * 32 * 32 * 3, dtype=np.uint8).reshape(10, 32, 32, 3)
            self.targets, self.transform, self.target_transform = list(range(10)), steps, None

    data = Small(T.Compose([T.RandomCrop(32, 4), T.ToTensor()]))

    def each(epoch, number, batch):
        data.data[(number * 4 + 5) % 10] ^= 255

    for workers in (0, 2):
        epochs(DataLoader(data, 4, num_workers=workers), 2, each=each)


@case()
def default_of_interpolation_replaced():
    steps = T.Compose([T.Resize(20), T.CenterCrop(16), T.ToTensor()])

    def before(epoch):
        resize = (T.InterpolationMode.BILINEAR, T.InterpolationMode.NEAREST)[epoch]
        steps.transforms[0].interpolation = resize

    both(steps, before=before)


@case()
def steps_exchanged_by_slices():
    steps = _crop()
    both(steps, before=lambda epoch: steps.transforms.__setitem__(slice(1, 2), [T.Grayscale(3)]))


@case()
def compose_of_ones_own():
    class Steps(T.Compose):
        def __call__(self, picture):
            for number, step in enumerate(self.transforms):
                if number != 1 or torch.rand(1) < 0.5:
                    picture = step(picture)
            return picture

    both(Steps(_crop().transforms))


@case()
def reader_of_files_replaced():
    """As with files of an archive: the reader gets bytes from a table."""
    table = {str(path): path.read_bytes() for path in photos().rglob("*.jpg")}
    reads = collections.Counter()

    def read(path):
        reads[path] += 1
        return Image.open(io.BytesIO(table[path])).convert("RGB").rotate(reads[path])

    data = datasets.ImageFolder(photos(), _crop(), loader=read)
    for workers in (0, 2):
        epochs(DataLoader(data, 4, num_workers=workers), 2)
    say(str(sum(reads.values())))


@case(hosts=2)
def tensors_read_by_torchvision():
    def read(path):
        return torchvision.io.read_image(path, torchvision.io.ImageReadMode.RGB)

    steps = v2.Compose([v2.RandomResizedCrop(16, antialias=True), v2.ToDtype(torch.float32, True)])
    data = datasets.ImageFolder(photos(), steps, loader=read)
    for workers in (0, 2):
        epochs(DataLoader(data, 4, num_workers=workers), 2)


if __name__ == "__main__":
    main()
