"""Contract: pictures with boxes, of programs as people write them, give the stock loader's batches."""

import copy
import random

import headrace
import numpy as np
import pytest
import torch
from headrace.loader.seam import state_of
from PIL import Image
from support import detection
from support.compare import assert_same, batches, check, errors, seed_everything
from support.extent import rows
from support.lost_worker import check_with_a_lost_worker
from torch.utils.data import DataLoader, Subset
from torchvision import transforms as v1
from torchvision import tv_tensors
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F

COUNT = 17


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    return detection.write_photos(tmp_path_factory.mktemp("photos"), COUNT)


CASES = [
    (name, transforms)
    for name in detection.PROGRAMS
    for transforms in detection.TRANSFORMS
    if name != "annotated" or transforms in ("flips", "of tensors", "shortest")
]


@pytest.mark.parametrize("num_workers", [1, 3])
@pytest.mark.parametrize(("name", "transforms"), rows(CASES))
def test_a_program(photos, name, transforms, num_workers):
    data = detection.PROGRAMS[name](photos, detection.TRANSFORMS[transforms]())
    collate = detection.zipped if num_workers == 1 else detection.lists
    named = {"shuffle": True, "num_workers": num_workers, "collate_fn": collate}
    seen = check(lambda loader: loader(data, batch_size=4, **named), epochs=3)
    _, targets = batches(seen)[0]
    pure = transforms == "longest"
    assert isinstance(targets[0]["boxes"], tv_tensors.BoundingBoxes) != pure


@pytest.mark.parametrize("transforms", detection.DRAWN)
def test_drawn_sizes_by_drawn_seeds(photos, transforms):
    """More pictures, other boxes, and lanes that go on from epoch to epoch."""
    seed = random.SystemRandom().randrange(2**31)
    print(f"seed {seed}")
    data = detection.Objects(photos, detection.TRANSFORMS[transforms](), seed=seed)

    def make(loader):
        torch.manual_seed(seed)
        named = {"num_workers": 2, "collate_fn": detection.zipped, "persistent_workers": True}
        return loader(data, batch_size=3, shuffle=True, drop_last=True, **named)

    check(make, epochs=4)


@pytest.mark.parametrize("number", range(6))
def test_drawn_programs(photos, number):
    seed = random.SystemRandom().randrange(2**31)
    print(f"seed {seed}")
    drawn = random.Random(seed)
    make = drawn.choice([detection.Objects, detection.Listed, detection.Records, detection.InPlace])
    data = make(photos, detection.drawn_program(drawn))
    print(data.transforms)
    named = {"shuffle": True, "num_workers": drawn.randint(1, 2), "collate_fn": detection.zipped}
    check(lambda loader: loader(data, batch_size=3, **named), epochs=2)


def test_parts_of_it(photos):
    data = Subset(detection.Objects(photos, detection.flips()), [11, 3, 8, 2, 9])
    check(lambda loader: loader(data, 2, num_workers=1, collate_fn=detection.zipped))


class Broken(detection.Objects):
    """A picture with one label too many, of which SanitizeBoundingBoxes raises, and one whose file is
    none."""

    def __init__(self, root, transforms):
        super().__init__(root, transforms)
        self.labels[5] = [*self.labels[5], 1]
        self.files[9] = str(root / "none.jpg")


@pytest.mark.parametrize("num_workers", [1, 2])
def test_errors_come_where_the_stock_loader_raises_them(photos, num_workers):
    """And the generators go on from where it leaves them."""
    data = Broken(photos, detection.of_pil())

    def make(loader):
        return loader(data, 4, num_workers=num_workers, collate_fn=detection.zipped)

    seen = check(make, epochs=2)
    assert [kind for kind, _ in errors(seen)] == [ValueError, FileNotFoundError] * 2


def test_pictures_that_no_worker_reads(tmp_path):
    """The trainer makes them, and their targets with them."""
    root = detection.write_photos(tmp_path, 9)
    for number in (2, 7):
        path = root / f"{number:03}.jpg"
        with Image.open(path) as image:
            image.quantize(16).save(path, "GIF")
    data = detection.Listed(root, detection.flips())
    check(lambda loader: loader(data, 3, num_workers=2, collate_fn=detection.zipped))


def test_a_picture_of_another_size_since(tmp_path):
    root = detection.write_photos(tmp_path, 8)
    data = detection.Objects(root, detection.of_pil())

    def before(loader, epoch):
        Image.new("RGB", (50 + 10 * epoch, 40), (7, 99, epoch)).save(root / "003.jpg")

    seen = check(
        lambda loader: loader(data, 4, num_workers=2, collate_fn=detection.lists),
        epochs=3,
        before=before,
    )
    assert len(batches(seen)) == 6


def _then(*parts):
    return v2.Compose([*parts, v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])


@pytest.mark.parametrize("what", ["boxes", "labels"])
def test_annotations_that_change_between_epochs(photos, what):
    """A stock worker has them as they were at its iter()."""

    def make(loader):
        data = detection.Objects(photos, detection.flips())
        return loader(data, 4, num_workers=1, collate_fn=detection.zipped)

    def before(loader, epoch):
        data = loader.dataset
        if what == "boxes":  # a number in a list in a list in the list that was read
            data.boxes[1][0][:] = [epoch, 2.0, 30.0, 20.0 + epoch]
        else:
            data.labels[1] = [epoch] * len(data.labels[1])

    seen = check(make, epochs=3, before=before)
    changed = [batch[1][1][what].tolist() for batch in batches(seen)[::5]]
    assert changed[0] != changed[1] != changed[2]


class OfTensors(detection.Objects):
    """Annotations that are tensors and arrays."""

    def __init__(self, root, transforms):
        super().__init__(root, transforms)
        self.held = [
            {"boxes": torch.tensor(boxes).reshape(-1, 4), "labels": np.array(labels, np.int64)}
            for boxes, labels in zip(self.boxes, self.labels, strict=True)
        ]
        self.weights = torch.arange(3.0 * len(self.held)).reshape(-1, 3)

    def __getitem__(self, idx):
        image = Image.open(self.files[idx]).convert("RGB")
        held = self.held[idx]
        boxes = tv_tensors.BoundingBoxes(
            held["boxes"].clone(), format="XYXY", canvas_size=F.get_size(image)
        )
        labels = torch.from_numpy(held["labels"])
        weights = self.weights[idx] * 1
        target = {"boxes": boxes, "labels": labels, "weights": weights}
        return self.transforms(image, target)


def _all_tensors(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    parts = value if isinstance(value, list | tuple) else []
    return [tensor for part in parts for tensor in _all_tensors(part)]


@pytest.mark.parametrize("make", [OfTensors, detection.Records, detection.Annotated])
def test_what_the_program_does_between_batches_is_nothing_to_workers(photos, make):
    """It changes what it got, what its data set holds, and torch's settings."""

    def run():
        seed_everything()
        seen = []
        data = make(photos, _then(v2.RandomHorizontalFlip(0.2)))
        named = {"num_workers": 1, "persistent_workers": True, "collate_fn": detection.zipped}
        loader = DataLoader(data, 3, **named)
        try:
            for epoch in range(2):
                for number, (images, targets) in enumerate(loader):
                    seen.append(copy.deepcopy((images, targets)))
                    for tensor in _all_tensors(targets):
                        tensor.mul_(0)
                    for boxes in data.boxes if epoch == 1 else []:
                        boxes.append([1.0, 2.0, 3.0, 4.0])
                    torch.set_default_dtype(torch.float64 if number % 2 else torch.float32)
                    if number == 3:
                        tv_tensors.set_return_type("TVTensor")
                torch.set_default_dtype(torch.float32)
                tv_tensors.set_return_type("Tensor")
        finally:
            torch.set_default_dtype(torch.float32)
            tv_tensors.set_return_type("Tensor")
        return seen, loader

    headrace.uninstall()
    expected, _ = run()
    headrace.install()
    try:
        seen, loader = run()
    finally:
        headrace.uninstall()
    assert state_of(loader).report.path == "native"
    assert_same(seen, expected)


def test_a_lost_worker(photos):
    data = detection.Objects(photos, detection.jittered())
    check_with_a_lost_worker(
        lambda: DataLoader(data, 3, num_workers=2, shuffle=True, collate_fn=detection.zipped),
        path="native",
    )


# What stays Python, with its reason.


class Moved(detection.Objects):
    """It changes its own array, with every epoch."""

    def __init__(self, root, transforms):
        super().__init__(root, transforms)
        self.arrays = [np.asarray(boxes).reshape(-1, 4) for boxes in self.boxes]

    def __getitem__(self, idx):
        image = Image.open(self.files[idx]).convert("RGB")
        boxes = torch.from_numpy(self.arrays[idx])
        boxes[:, 2:] -= boxes[:, :2]
        boxes = tv_tensors.BoundingBoxes(boxes, format="XYWH", canvas_size=F.get_size(image))
        return self.transforms(image, {"boxes": boxes, "labels": torch.tensor(self.labels[idx])})


class Empty(detection.Objects):
    def __getitem__(self, idx):
        image = Image.open(self.files[idx]).convert("RGB")
        boxes = torch.zeros((0, 4))
        if len(self.boxes[idx]):
            boxes = torch.tensor(self.boxes[idx])
        boxes = tv_tensors.BoundingBoxes(boxes, format="XYXY", canvas_size=F.get_size(image))
        return self.transforms(image, {"boxes": boxes, "labels": torch.tensor(self.labels[idx])})


class OfOneSize(detection.Objects):
    def __getitem__(self, idx):
        image = Image.open(self.files[idx]).convert("RGB")
        boxes = torch.tensor(self.boxes[idx]).reshape(-1, 4)
        boxes = tv_tensors.BoundingBoxes(boxes, format="XYXY", canvas_size=(90, 90))
        return self.transforms(image, {"boxes": boxes, "labels": torch.tensor(self.labels[idx])})


class Drawn(detection.Objects):
    def __getitem__(self, idx):
        image = Image.open(self.files[idx]).convert("RGB")
        boxes = torch.tensor(self.boxes[idx]).reshape(-1, 4) + torch.rand(1)
        boxes = tv_tensors.BoundingBoxes(boxes, format="XYXY", canvas_size=F.get_size(image))
        return self.transforms(image, {"boxes": boxes, "labels": torch.tensor(self.labels[idx])})


class OfArrays(OfTensors):
    """ToImage makes an image of the array, too."""

    def __getitem__(self, idx):
        image = Image.open(self.files[idx]).convert("RGB")
        boxes = self.held[idx]["boxes"]
        boxes = tv_tensors.BoundingBoxes(boxes * 1, format="XYXY", canvas_size=F.get_size(image))
        return self.transforms(image, {"boxes": boxes, "held": self.arrays[idx]})

    def __init__(self, root, transforms):
        super().__init__(root, transforms)
        self.arrays = [np.zeros((2, 3, 3), np.uint8) for _ in self.files]


class Sharing(OfTensors):
    """A stock worker shares the memory of such tensors with the trainer: each sees the other's
    changes."""

    def __getitem__(self, idx):
        image = Image.open(self.files[idx]).convert("RGB")
        boxes = tv_tensors.BoundingBoxes(
            self.held[idx]["boxes"], format="XYXY", canvas_size=F.get_size(image)
        )
        return self.transforms(image, {"boxes": boxes})


REFUSED = {
    "the data set's tensors": (Sharing, _then(), "which share their memory"),
    "arrays": (OfArrays, _then(), "ToImage is given an array beside the picture"),
    "IoU crop": (
        detection.Objects,
        _then(v2.RandomIoUCrop()),
        "RandomIoUCrop draws by the boxes",
    ),
    "rotation": (
        detection.Objects,
        _then(v2.RandomRotation(9)),
        "RandomRotation is given bounding",
    ),
    "a gate": (
        detection.Objects,
        _then(v2.RandomApply([v2.RandomHorizontalFlip(1.0)])),
        "no native form where it is not always applied",
    ),
    "labels_getter": (
        detection.Objects,
        _then(v2.SanitizeBoundingBoxes(labels_getter=lambda inputs: inputs[1]["labels"])),
        "labels_getter of the program's own",
    ),
    "in place": (Moved, _then(), "in place, which the program may keep"),
    "decides": (Empty, _then(), "decides by what is made beside the picture"),
    "another size": (OfOneSize, _then(v2.ScaleJitter((60, 60))), "not known to be the picture's"),
    "draws": (Drawn, _then(), "of a number that is drawn"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_stays_python(photos, name):
    make, transforms, reason = REFUSED[name]
    data = make(photos, transforms)
    loaders = []

    def program(loader):
        loaders.append(loader(data, 4, num_workers=1, collate_fn=detection.zipped))
        return loaders[-1]

    check(program, path="python", epochs=1, stop=2)
    reasons = " ".join(state_of(loaders[-1]).report.reasons)
    assert reason in reasons


class Regression(detection.Objects):
    """Targets that stack, but for one picture's."""

    def __init__(self, root, transforms, odd=-1):
        super().__init__(root, transforms)
        self.points = [[[float(i), 2.5], [1.0, 0.5 * i]] for i in range(len(self.files))]
        if odd >= 0:
            self.points[odd] = [[1.0, 2.0]]

    def __getitem__(self, idx):
        image = self.transforms(Image.open(self.files[idx]).convert("RGB"))
        points = torch.tensor(self.points[idx])
        return image, {"points": points, "sum": points.sum(), "n": len(points), "id": idx}


@pytest.mark.parametrize("odd", [-1, 6])
def test_targets_that_default_collate_stacks(photos, odd):
    """Or that it refuses, as in the stock loader."""
    transforms = v1.Compose([v1.RandomResizedCrop(24), v1.ToTensor()])
    data = Regression(photos, transforms, odd)
    seen = check(lambda loader: loader(data, 4, shuffle=True, num_workers=2), epochs=2)
    assert len(errors(seen)) == (2 if odd >= 0 else 0)


def test_a_picture_that_no_worker_reads_is_stacked_with_its_targets(tmp_path):
    root = detection.write_photos(tmp_path, 9)
    with Image.open(root / "004.jpg") as image:
        image.quantize(16).save(root / "004.jpg", "GIF")
    data = Regression(root, v1.Compose([v1.Resize((20, 20)), v1.ToTensor()]))
    check(lambda loader: loader(data, 3, num_workers=1))


@pytest.mark.parametrize("kind", ["no workers", "another collate_fn"])
def test_loaders_that_stay_python(photos, kind):
    data = detection.Objects(photos, detection.of_pil())
    data.boxes = [[[1.0, 2.0, 30.0, 31.0]]] * COUNT
    data.labels = [[1]] * COUNT
    path = "local" if kind == "no workers" else "python"
    collate = {
        "no workers": detection.zipped,
        "another collate_fn": lambda batch: [torch.stack([b[1]["labels"] for b in batch])],
    }[kind]
    named = {"num_workers": 0 if kind == "no workers" else 1, "collate_fn": collate}
    check(lambda loader: loader(data, 4, **named), path=path, epochs=1)
