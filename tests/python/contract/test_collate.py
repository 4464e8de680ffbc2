"""Contract: collate_fn runs on the workers and may return anything; containers keep their types."""

import torch
from support.compare import batches, check
from support.pipelines import Numbers, Point, collate_names, train_v1
from torch.utils.data import default_collate
from torchvision import datasets


def test_default_collate_of_every_container():
    seen = check(lambda loader: loader(Numbers(), batch_size=3, num_workers=2), path="python")
    first = batches(seen)[0]
    assert type(first["point"]) is Point and first["name"] == ["row 0", "row 1", "row 2"]


def test_own_collate_fn():
    check(
        lambda loader: loader(Numbers(), 3, num_workers=2, collate_fn=collate_names), path="python"
    )


def test_lambda_over_a_local_variable(photos):
    data = datasets.ImageFolder(photos, train_v1())
    scale = 0.5

    def collate(samples):
        images, labels = default_collate(samples)
        return {"images": images * scale, "labels": labels}

    check(lambda loader: loader(data, 4, num_workers=2, collate_fn=collate), path="python")


def test_default_collate_given_by_hand_is_native(photos):
    data = datasets.ImageFolder(photos, train_v1())
    check(lambda loader: loader(data, 4, num_workers=2, collate_fn=default_collate))


def test_getitems_takes_the_whole_batch():
    check(lambda loader: loader(Whole(), batch_size=3, num_workers=2), path="python")


class Whole(torch.utils.data.Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, index):
        raise AssertionError("__getitems__ goes first")

    def __getitems__(self, indices):
        return [torch.full((2,), index) for index in indices]


class Wrapped:
    def __init__(self, samples):
        self.labels = [label for _, label in samples]

    def __eq__(self, other):
        return type(other) is type(self) and self.labels == other.labels

    __hash__ = None


def test_class_of_the_program(photos):
    data = datasets.ImageFolder(photos, train_v1())
    check(lambda loader: loader(data, 4, num_workers=2, collate_fn=Wrapped), path="python")
