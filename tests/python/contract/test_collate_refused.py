"""Contract: a collate_fn whose code is not followed runs as it is, with the stock loader's bits."""

# ruff: noqa: B007, B905 - code as programs have it

import pytest
import torch
from headrace.capture import capture
from headrace.capture.batches import form_of
from headrace.native.plan import NotNative
from support.compare import check
from support.photos import write_jpegs
from torch.utils.data import DataLoader, default_collate
from torchvision import datasets
from torchvision import transforms as v1
from torchvision.transforms import v2


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    return write_jpegs(tmp_path_factory.mktemp("pictures"), 2, 5)


def zipped(batch):
    return tuple(zip(*batch))


SCALE = 2


def reads_its_length(batch):
    return tuple(zip(*batch)), len(batch)


def first_alone(batch):
    return batch[0]


def keeps_some(batch):
    return [b for b in batch if b[1] > 0]


def counts(batch):
    number, out = 0, []
    for image, _ in batch:
        out.append((image, number))
        number += 1
    return out


def remembers(batch):
    last, out = None, []
    for image, label in batch:
        out.append((image, last))
        last = label
    return out


def last_label(batch):
    out = []
    for image, label in batch:
        out.append(image)
    return out, [label for _ in batch]


def appends_for_each_pair(batch):
    out = []
    for a in batch:
        for b in batch:
            out.append(b[0])
    return out


def appends_in_a_comprehension(batch):
    out = []
    for a in batch:
        [out.append(b[0]) for b in batch]
    return out


def appends_twice(batch):
    out = []
    for image, label in batch:
        out.append(image)
        out.append(image)
    return out


def never_used(batch):
    out = []
    (out.append(image) for image, _ in batch)
    return out


def reads_while_it_grows(batch):
    out = []
    for image, label in batch:
        out.append((image, [one for one in out]))
    return [image for image, _ in out]


def sets_an_entry(batch):
    seen = {}
    out = []
    for image, label in batch:
        out.append(image)
        seen["label"] = label
    return out, seen["label"]


def changes_a_sample(batch):
    return [(image.mul_(SCALE), label) for image, label in batch]


def the_same_twice(batch):
    images = [b[0] for b in batch]
    return images, images


def the_same_tensors_twice(batch):
    return [b[0] for b in batch], [b[0] for b in batch]


def iterated_twice(batch):
    pairs = zip([b[0] for b in batch], [b[1] for b in batch])
    return list(pairs), list(pairs)


def with_a_constant(batch):
    return [(image, 1) for image, _ in batch]


def breaks(batch):
    out = []
    for image, _ in batch:
        out.append(image)
        break
    return out


def tensor_of_tensors(batch):
    return [torch.as_tensor(image) for image, _ in batch]


def by_turns(batch):
    first, out = True, []
    for image, label in batch:
        out.append((image, label) if first else (label, image))
        first = False
    return out


def by_turns_of_a_dict(batch):
    kept, out = {"first": True}, []
    for image, label in batch:
        out.append((image, label) if kept["first"] else (label, image))
        kept["first"] = False
    return out


def exhausted(batch):
    pairs = zip([b[0] for b in batch], [b[1] for b in batch])
    return [image for image, _ in pairs], [label for _, label in pairs]


def the_same_list_twice(batch):
    labels = [b[1] for b in batch]
    return [b[0] for b in batch], labels, labels


def one_tensor_of_labels_twice(batch):
    """What changes in one shows in the other."""
    labels = torch.tensor([b[1] for b in batch])
    return [b[0] for b in batch], labels, labels


def two_tensors_of_labels(batch):
    """What changes in one does not show in the other."""
    labels = [b[1] for b in batch]
    return [b[0] for b in batch], default_collate(labels), default_collate(labels)


def one_list_at_two_places(batch):
    out = []
    for image, label in batch:
        held = [label]
        out.append({"image": image, "first": held, "second": held})
    return out


def lists_of_the_same_lists(batch):
    held = [[label] for _, label in batch]
    return [b[0] for b in batch], [one for one in held], [one for one in held]


def with_an_empty_list(batch):
    return [(image, []) for image, _ in batch]


REFUSED = [
    one_tensor_of_labels_twice, two_tensors_of_labels, one_list_at_two_places,
    lists_of_the_same_lists, with_an_empty_list,
    reads_its_length, first_alone, keeps_some, counts, remembers, last_label,
    appends_for_each_pair, appends_in_a_comprehension, appends_twice, never_used,
    reads_while_it_grows, sets_an_entry, changes_a_sample, the_same_twice, the_same_tensors_twice,
    iterated_twice, with_a_constant, breaks, tensor_of_tensors, by_turns, by_turns_of_a_dict,
    exhausted, the_same_list_twice,
]  # fmt: skip


@pytest.mark.parametrize("collate", REFUSED, ids=lambda one: one.__name__)
def test_code_that_is_not_followed_stays_python(pictures, collate):
    data = datasets.ImageFolder(pictures, v1.ToTensor())
    check(
        lambda loader: loader(data, 5, num_workers=2, collate_fn=collate), path="python", epochs=1
    )


def test_the_reason_names_the_place(pictures):
    data = datasets.ImageFolder(pictures, v1.ToTensor())
    found = capture(DataLoader(data, num_workers=1, collate_fn=keeps_some), "auto")
    line = keeps_some.__code__.co_firstlineno + 1
    assert found.reason.endswith(
        f"keeps_some is Python code: keeps_some (test_collate_refused.py:{line}) compares a part of a "
        "sample and 0"
    )


@pytest.mark.parametrize(
    "transform",
    [
        v2.Compose([v2.ToImage(), v2.CenterCrop(16)]),  # a view of a larger storage
        v2.Compose([v2.ToImage(), v1.Normalize([0.5], [0.5])]),
        v1.Compose([v1.ToTensor(), v1.RandomApply([v1.RandomErasing()])]),
    ],
    ids=["cropped", "v1 of a tv_tensor", "gate"],
)
def test_tensors_whose_memory_is_not_known_stay_python(pictures, transform):
    data = datasets.ImageFolder(pictures, transform)
    found = capture(DataLoader(data, num_workers=1, collate_fn=zipped), "auto")
    assert found.path == "python" and "memory is not known" in found.reason


def test_rows_of_the_data_sets_own_tensors_stay_python():
    """They share memory with the data set."""
    data = torch.utils.data.TensorDataset(torch.rand(20, 3), torch.arange(20))
    check(lambda loader: loader(data, 4, num_workers=2, collate_fn=zipped), path="python")

    def stacked(batch):
        return torch.stack([b[0] for b in batch]), torch.stack([b[1] for b in batch])

    check(lambda loader: loader(data, 4, num_workers=2, collate_fn=stacked))


def labels_alone(batch):
    return [b[0] for b in batch], torch.tensor([b[1] for b in batch])


def test_a_default_device_of_the_programs_is_refused():
    assert form_of(labels_alone, (0, 1), [1], []).lists == {0}
    with torch.device("meta"), pytest.raises(NotNative, match="torch's default device"):
        form_of(labels_alone, (0, 1), [1], [])
