"""What a batch is made of: types, sizes, strides, shared memory."""

import collections
import datetime
import decimal
import fractions
import uuid
from pathlib import PurePosixPath
from types import MappingProxyType, SimpleNamespace

import numpy as np
import torch
from cases import case, looked, main, photos
from PIL import Image
from torch.utils.data import default_collate, default_convert
from torchvision import tv_tensors
from torchvision.transforms import v2


def collated(collate, count=1, look=lambda i: torch.ones(3) * i, **named):
    looked(look, count, collate_fn=lambda items: collate([item for _, item in items]), **named)


def _boxes(i):
    picture = Image.open(sorted(photos().rglob("*.jpg"))[i])
    boxes = tv_tensors.BoundingBoxes([[1, 2, 20, 30 + i]], format="XYXY", canvas_size=(90, 90))
    return tv_tensors.Image(v2.functional.pil_to_tensor(picture)), boxes


@case(workers=2, always=True)
def lists_of_tv_tensors():
    steps = v2.Compose([v2.RandomHorizontalFlip(), v2.ToDtype(torch.float32, scale=True)])
    collated(lambda items: list(zip(*items, strict=True)), look=lambda i: steps(*_boxes(i)))


@case()
def lists_of_large_tv_tensors():
    def look(i):
        return tv_tensors.Image(torch.full((3, 1000, 1400), float(i))), {"label": torch.tensor(i)}

    collated(lambda items: tuple(zip(*items, strict=True)), look=look)


class Named(torch.Tensor):
    """A subclass with an attribute of its own."""


def _named(i):
    tensor = (torch.ones(3) * i).as_subclass(Named)
    tensor.note = f"note {i}"
    return tensor


@case(workers=2)
def subclass_of_tensor():
    collated(list, look=_named)


@case()
def subclass_of_tensor_that_is_collated():
    collated(default_collate, look=_named)


@case()
def parameter_and_gradient():
    collated(list, look=lambda i: torch.nn.Parameter(torch.ones(2) * i))


@case()
def numbers_of_every_kind():
    kinds = (torch.bool, torch.uint8, torch.int16, torch.float16, torch.bfloat16, torch.complex64)
    looked(lambda i: [torch.tensor([1, 0, i]).to(kind) for kind in kinds])


@case()
def small_floats():
    looked(lambda i: torch.tensor([1.0, i]).to(torch.float8_e4m3fn))


@case()
def numbers_of_numpy_and_python():
    looked(lambda i: (np.float32(i), np.int8(i), np.bool_(i), 1.5 * i, i, bool(i), 2.0**70))


@case()
def numbers_of_python_that_stay():
    collated(
        list, look=lambda i: (1j, 10**30 + i, decimal.Decimal("1.10"), fractions.Fraction(i + 1, 3))
    )


@case()
def things_of_the_standard_library():
    def look(i):
        return [
            datetime.datetime(2024, 1, 1 + i),
            uuid.UUID(int=i),
            PurePosixPath(f"a/{i}"),
            range(i),
            slice(0, i),
            SimpleNamespace(i=i),
            collections.Counter(a=i),
        ]

    collated(list, look=look)


class Bag(dict):
    pass


@case(always=True)
def containers_of_ones_own():
    def look(i):
        return {
            "ordered": collections.OrderedDict(a=i),
            "default": collections.defaultdict(int, a=i),
            "own": Bag(a=torch.ones(1) * i),
            "text": f"text {i}",
            "bytes": bytes([i]),
        }

    looked(look)


@case()
def read_only_mapping():
    collated(list, look=lambda i: dict(MappingProxyType({"a": i})))


@case()
def texts_with_odd_characters():
    looked(lambda i: "é\0\ud7ff漢字 " * i)


@case()
def arrays_of_every_kind():
    def look(i):
        return [
            np.asfortranarray(np.ones((2, 3)) * i),
            np.array(["a", "bcd"]),
            np.array([(i, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
            np.array([None, i], dtype=object),
            np.datetime64("2024-01-01") + i,
            np.broadcast_to(np.arange(3), (2, 3)),
            np.arange(3, dtype=">i4"),
        ]

    collated(list, look=look)


@case(always=True)
def pictures_as_samples():
    collated(list, look=lambda i: Image.open(sorted(photos().rglob("*.jpg"))[i]).resize((9, 9)))


@case()
def pictures_not_yet_read():
    collated(list, look=lambda i: Image.open(sorted(photos().rglob("*.jpg"))[i]))


class Pins:
    def __init__(self, items):
        self.items = items

    def pin_memory(self):
        return "pinned"


@case()
def pinned_by_ones_own_method():
    collated(Pins, pin_memory=True)


@case()
def padded_batches():
    collated(
        lambda items: torch.nn.utils.rnn.pad_sequence(items, batch_first=True),
        look=lambda i: torch.arange(i % 5 + 1.0),
    )


@case()
def packed_batches():
    collated(
        lambda items: torch.nn.utils.rnn.pack_sequence(items, enforce_sorted=False),
        look=lambda i: torch.arange(i % 5 + 1.0),
    )


@case()
def converted_not_collated():
    looked(lambda i: {"a": np.ones(2) * i, "b": "text"}, batch_size=None)
    looked(lambda i: np.float64(i), batch_size=None, collate_fn=default_convert)


if __name__ == "__main__":
    main()
