"""Contract: a collate_fn that does more with tensors than to pad runs as it is, with the stock bits."""

# ruff: noqa: B007, B905 - code as programs have it

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from headrace.capture.batches import form_of
from headrace.native.plan import NotNative
from support.compare import check
from support.photos import write_jpegs
from torch.nn.utils import rnn
from torch.utils.data import default_collate
from torchvision import datasets
from torchvision import transforms as v1

ROOM = (3, 200, 200)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    return write_jpegs(tmp_path_factory.mktemp("pictures"), 2, 5)


def images_of(batch):
    return [image for image, _ in batch]


def room_for(images):
    return images[0].new_zeros((len(images), *ROOM))


def put(row, image):
    row[:, : image.shape[1], : image.shape[2]].copy_(image)


def never_filled(batch):
    images = images_of(batch)
    out = images[0].new(len(images), *ROOM)
    for image, row in zip(images, out):
        row[...] = 1
        put(row, image)
    return out


def no_sample_in_it(batch):
    return room_for(images_of(batch))


def the_first_in_each_row(batch):
    images = images_of(batch)
    out = room_for(images)
    for image, row in zip(images, out):
        put(row, images[0])
    return out


def one_row_alone(batch):
    images = images_of(batch)
    out = room_for(images)
    for image in images:
        out[0, :, : image.shape[1], : image.shape[2]] = image
    return out


def a_row_after_its_turn(batch):
    images = images_of(batch)
    out = room_for(images)
    for image, row in zip(images, out):
        put(row, image)
    row.fill_(0)
    return out


def every_row_for_each(batch):
    images = images_of(batch)
    out = room_for(images)
    for image in images:
        for row in out:
            put(row, image)
    return out


def in_a_comprehension(batch):
    images = images_of(batch)
    out = room_for(images)
    [put(row, image) for image, row in zip(images, out)]
    return out


def one_for_each(batch):
    made = []
    for image in images_of(batch):
        out = torch.zeros(ROOM)
        out[:, : image.shape[1], : image.shape[2]] = image
        made.append(out)
    return torch.stack(made)


def without_the_first(batch):
    out = []
    for image in images_of(batch)[1:]:
        out.append(image)
    return out


def another_places_largest(batch):
    sizes = [list(image.shape) for image in images_of(batch)]
    most = sizes[0]
    for size in sizes[1:]:
        most[1] = max(most[0], size[0])
    return _of_size(batch, most)


def last_ones_size(batch):
    sizes = [list(image.shape) for image in images_of(batch)]
    most = sizes[0]
    for size in sizes[1:]:
        for axis, length in enumerate(size):
            most[axis] = length
    return _of_size(batch, most)


def largest_so_far(batch):
    sizes = [list(image.shape) for image in images_of(batch)]
    most, seen = sizes[0], []
    for size in sizes[1:]:
        for axis, length in enumerate(size):
            most[axis] = max(most[axis], length)
            seen.append(most[axis])
    return _of_size(batch, most), len(seen)


def sizes_after_they_changed(batch):
    sizes = [list(image.shape) for image in images_of(batch)]
    most = sizes[0]
    for size in sizes[1:]:
        for axis, length in enumerate(size):
            most[axis] = max(most[axis], length)
    return _of_size(batch, most), torch.tensor([size[1] for size in sizes])


def _of_size(batch, most):
    images = images_of(batch)
    out = images[0].new_zeros((len(images), 3, 200 + most[1], 200 + most[2]))
    for image, row in zip(images, out):
        put(row, image)
    return out


def the_same_twice(batch):
    images = images_of(batch)
    out = room_for(images)
    for image, row in zip(images, out):
        put(row, image)
    return out, out


def changed_afterwards(batch):
    images = images_of(batch)
    out = room_for(images)
    for image, row in zip(images, out):
        put(row, image)
    return out.div_(2)


def filled_afterwards(batch):
    images = images_of(batch)
    out = room_for(images)
    for image, row in zip(images, out):
        put(row, image)
    out.fill_(0)
    return out


def a_part_of_it(batch):
    images = images_of(batch)
    out = room_for(images)
    for image, row in zip(images, out):
        put(row, image)
    return out[:, :, :8]


def with_labels(batch):
    out = room_for(images_of(batch))
    for (image, label), row in zip(batch, out):
        row[...] = label
        put(row, image)
    return out


def counts_so_far(batch):
    images, seen = images_of(batch), []
    out = room_for(images)
    for image, row in zip(images, out):
        seen.append(image)
        row[:, : len(seen), : image.shape[2]] = 1
        row[:, : image.shape[1], : image.shape[2]] = image
    return out


def first_pair_changed(batch):
    pairs = [(image, [label]) for image, label in batch]
    first = pairs[0]
    first[1].append(3)
    return pairs


def first_list_changed(batch):
    labels = [[label] for _, label in batch]
    first = labels[0]
    first[0] = 7
    return images_of(batch), labels


def by_size(batch):
    out = []
    for image, _ in batch:
        out.append(image if image.shape[1] > 50 else image)
    return out


def the_number_of_samples(batch):
    return images_of(batch), len(batch)


def a_size_of_each(batch):
    return [(image, image.shape[1]) for image, _ in batch]


def fewer_rows(batch):
    images = images_of(batch)
    out = images[0].new_zeros((2, *ROOM))
    for image, row in zip(images, out):
        put(row, image)
    return out


def on_a_device(batch):
    images = images_of(batch)
    out = torch.zeros((len(images), *ROOM), device="meta")
    for image, row in zip(images, out):
        put(row, image)
    return out, images


def packed(batch):
    images = [image.flatten() for image in images_of(batch)]
    return rnn.pad_sequence(images, batch_first=True)


def padded_apart(batch):
    return [F.pad(image, (0, 1)) for image in images_of(batch)]


def the_first_padded(batch):
    images = images_of(batch)
    return torch.stack([F.pad(images[0], (0, 1)) for image in images])


def padded_by_a_label(batch):
    return torch.stack([F.pad(image, (0, label - label)) for image, label in batch if label < 0])


def of_labels(batch):
    try:
        return rnn.pad_sequence([label for _, label in batch])
    except AttributeError:
        return default_collate([label for _, label in batch])


REFUSED = [
    never_filled, no_sample_in_it, the_first_in_each_row, one_row_alone, a_row_after_its_turn,
    every_row_for_each, in_a_comprehension, one_for_each, without_the_first,
    another_places_largest, last_ones_size, largest_so_far, sizes_after_they_changed,
    the_same_twice, changed_afterwards, filled_afterwards, a_part_of_it, with_labels, counts_so_far,
    first_pair_changed, first_list_changed, by_size,
    the_number_of_samples, a_size_of_each, fewer_rows, packed, padded_apart, the_first_padded, padded_by_a_label,
    of_labels,
]  # fmt: skip


@pytest.mark.parametrize("collate", REFUSED, ids=lambda one: one.__name__)
def test_code_that_is_not_followed_stays_python(pictures, collate):
    transform = v1.Compose([v1.ToTensor(), v1.RandomErasing(1.0)])
    data = datasets.ImageFolder(pictures, transform)
    check(
        lambda loader: loader(data, 5, num_workers=2, collate_fn=collate), path="python", epochs=1
    )


def padded(batch):
    images = images_of(batch)
    out = room_for(images)
    for image, row in zip(images, out):
        put(row, image)
    return out


def test_replaced_methods_of_tensors_are_refused(monkeypatch):
    assert form_of(padded, (0, 1), [1], [], {0: 3}).copied == {0}
    for of in ("copy_", "new_zeros", "shape"):
        with monkeypatch.context() as patch:
            patch.setattr(torch.Tensor, of, lambda *args: None, raising=False)
            with pytest.raises(NotNative, match=f"uses .{of} of a tensor, which the program"):
                form_of(padded, (0, 1), [1], [], {0: 3})


def test_tensors_on_a_device_are_refused():
    with pytest.raises(NotNative, match="calls zeros with a device"):
        form_of(on_a_device, (0, 1), [1], [], {0: 3})


def test_tensors_that_are_stacked_and_padded_are_refused():
    def both(batch):
        return padded(batch), torch.stack(images_of(batch))

    with pytest.raises(NotNative, match="stacks tensors that it pads as well"):
        form_of(both, (0, 1), [1], [], {0: 3})
