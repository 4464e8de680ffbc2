"""What a transform really does with a picture: each call of a torchvision transform, in order."""

from contextlib import contextmanager
from unittest import mock

import torch
from headrace.capture.views import SOURCE, Stack
from headrace.native.several import Flipped, Part
from torchvision import transforms as v1
from torchvision.transforms import v2

_CLASSES = ("Pad", "Resize", "RandomCrop", "CenterCrop", "RandomHorizontalFlip", "Normalize",
            "ToTensor", "PILToTensor", "ToImage", "ColorJitter", "RandomErasing")  # fmt: skip


class Picture:
    """Stands for the picture, or for what was made of it: the number of the call that made it."""

    def __init__(self, number=SOURCE):
        self.number = number


class Joined:
    """What torch.stack makes of such."""

    def __init__(self, pictures):
        self.pictures = list(pictures)

    def __iter__(self):
        return iter(self.pictures)


@contextmanager
def _recorded(calls):
    def record(self, picture):
        calls.append((self, picture.number))
        return Picture(len(calls) - 1)

    def record_five(self, picture):
        first = len(calls)
        calls.extend((Part(self, number), picture.number) for number in range(5))
        return tuple(Picture(first + number) for number in range(5))

    def record_ten(self, picture):
        made = record_five(self, picture)
        calls.append((Flipped(self), picture.number))
        return made + record_five(self, Picture(len(calls) - 1))

    def stack(tensors, dim=0):
        assert dim == 0
        return Joined(tensors)

    with mock.patch.object(torch.nn.Identity, "forward", record):
        patches = [mock.patch.object(v1.FiveCrop, "forward", record_five)]
        patches.append(mock.patch.object(v2.FiveCrop, "forward", record_five))
        patches.append(mock.patch.object(v1.TenCrop, "forward", record_ten))
        patches.append(mock.patch.object(v2.TenCrop, "forward", record_ten))
        patches.append(mock.patch.object(torch, "stack", stack))
        for module in (v1, v2):
            for name in _CLASSES:
                cls = getattr(module, name, None)
                if cls is not None:
                    method = "forward" if issubclass(cls, torch.nn.Module) else "__call__"
                    patches.append(mock.patch.object(cls, method, record))
        for patch in patches:
            patch.start()
        try:
            yield
        finally:
            for patch in patches:
                patch.stop()


def true_run(transform):
    """The calls as (transform, number of the call whose result it got), and what comes back, with
    numbers of calls in it."""
    calls = []
    with _recorded(calls):
        result = transform(Picture())
    return calls, _numbered(result)


def steps_of(views):
    """The same of a recognition."""
    calls, last = [], {SOURCE: SOURCE}
    for index, value in enumerate(views.values):
        at = last[value.of]
        assert value.transforms and value.of < index
        for transform in value.transforms:
            calls.append((transform, at))
            at = len(calls) - 1
        last[index] = at
    return calls, _numbered(views.result, lambda index: last[index])


def _numbered(result, number=lambda picture: picture.number):
    if type(result) in (list, tuple):
        return type(result)(_numbered(part, number) for part in result)
    if type(result) is dict:
        return {key: _numbered(part, number) for key, part in result.items()}
    if type(result) is Joined:
        return Stack(tuple(map(number, result.pictures)))
    if type(result) is Stack:
        return Stack(tuple(map(number, result.of)))
    return number(result)


def same_calls(one, other):
    return len(one) == len(other) and all(
        _same(a, b) and of == from_ for (a, of), (b, from_) in zip(one, other, strict=True)
    )


def _same(one, other):
    if type(one) is Part and type(other) is Part:
        return one.of is other.of and one.number == other.number
    if type(one) is Flipped and type(other) is Flipped:
        return one.of is other.of
    return one is other
