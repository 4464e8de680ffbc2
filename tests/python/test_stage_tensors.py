"""torchvision.io in stage hosts: the program sees what the library makes, and pays for less where it can't
see anything."""

import copy
import functools
import io
import pickle
import random
import sys
import warnings
import weakref

import numpy as np
import pytest
import torch
from support.deferred_tensors import (
    Deferred,
    as_bits,
    checked,
    decoded,
    enable,
    encoded,
    transformed,
)
from support.own_process import in_own_process
from support.photos import encode_photo, without_tables
from torchvision import tv_tensors
from torchvision.io import ImageReadMode, decode_image
from torchvision.transforms import v2

SEED = 20261125
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
TAIL = [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]


def photo(rng, sides=(2, 160), **options):
    height, width = (rng.randint(*sides) for _ in range(2))
    return encode_photo(height, width, rng.randrange(10**6), **options)


def by_script(tensor: torch.Tensor) -> torch.Tensor:
    return (tensor + 1) * tensor


def saved(tensor):
    file = io.BytesIO()
    torch.save(tensor, file)
    file.seek(0)
    return torch.load(file)


@functools.singledispatch
def told(value):
    return "something"


@told.register
def _(value: torch.Tensor):
    return "a tensor"


def matched(tensor):
    match tensor:
        case torch.Tensor(shape=(3, height, width)) if type(tensor) is torch.Tensor:
            return height, width
    return None


# What a program may do to a tensor that it has read.
LOOKS = {
    "numpy": lambda t: t.numpy(),
    "asarray": np.asarray,
    "array": np.array,
    "from_dlpack": np.from_dlpack,
    "torch.from_dlpack": torch.from_dlpack,
    "as_tensor": lambda t: torch.as_tensor(t) + 1,
    "torch.asarray": lambda t: torch.asarray(t) + 1,
    "stack": lambda t: torch.stack([t, t]),
    "cat": lambda t: torch.cat((t, t)),
    "out": lambda t: torch.add(t, 1, out=torch.empty_like(t)),
    "into": lambda t: torch.zeros(t.shape, dtype=torch.uint8).copy_(t),
    "setitem": lambda t: torch.zeros(t.shape).__setitem__(slice(None), t),
    "float": lambda t: t.float() / 255,
    "index": lambda t: t[0],
    "rows": list,
    "item": lambda t: t[0, 0, 0].item(),
    "tolist": lambda t: t.tolist(),
    "repr": repr,
    "equal": lambda t: (t == t).all(),
    "where": lambda t: torch.where(t > 9, t, t),
    "data": lambda t: t.data,
    "bytes": lambda t: t.untyped_storage().nbytes(),
    "view": lambda t: t.permute(1, 2, 0),
    "contiguous": lambda t: t.contiguous(),
    "T": lambda t: t.mT,
    "in place": lambda t: t.add_(1),
    "clone": lambda t: t.clone(),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
    "pickle": lambda t: pickle.loads(pickle.dumps(t)),
    "save": saved,
    "parameter": lambda t: torch.nn.Parameter(t, requires_grad=False).data,
    "vmap": lambda t: torch.vmap(lambda x: x + 1)(t),
    "tensor": torch.tensor,
    "capsule": lambda t: torch.utils.dlpack.from_dlpack(torch._C._to_dlpack(t)),
    "module": lambda t: torch.jit.script(torch.nn.MaxPool2d(2))(t.float()),
    "script": lambda t: torch.jit.script(by_script)(t),
    "interpolate": lambda t: torch.nn.functional.interpolate(t[None].float(), size=(3, 3)),
    "tv_tensor": tv_tensors.Image,
    "collate": lambda t: torch.utils.data.default_collate([t, t]),
    "nested": lambda t: torch.utils.data.default_collate([{"a": (t, 1)}]),
    "form": lambda t: (t.shape, t.size(0), t.dim(), t.ndim, t.dtype, t.numel(), t.stride(), len(t)),
    "device": lambda t: (str(t.device), t.is_cpu, t.is_meta, t.is_cuda, t.requires_grad),
    "isinstance": lambda t: (isinstance(t, torch.Tensor), torch.is_tensor(t), f"{type(t)}"),
    "type": lambda t: (type(t) is torch.Tensor, t.__class__ is torch.Tensor, type(t).__mro__),
    "registry": lambda t: {torch.Tensor: 1}.get(type(t)),
    "singledispatch": told,
    "match": matched,
    "subclass": lambda t: (type(t).__subclasses__ == torch.Tensor.__subclasses__, vars(t)),
    "weakref": lambda t: (weakref.ref(t)() is t, id(t) == id(copy.copy([t])[0])),
    "address": lambda t: t.data_ptr() == t.clone().data_ptr(),
    "version": lambda t: (t._version, t.is_leaf, t.grad_fn, hash(t) == id(t)),
    "memory": lambda t: sys.getsizeof(t) == sys.getsizeof(torch.zeros(1)),
    "functional": lambda t: v2.functional.horizontal_flip(t),
    "transform": lambda t: v2.Grayscale()(t),
}


@in_own_process
def test_whoever_looks_sees_what_the_library_makes():
    maker = enable()
    checked(maker)
    rng = random.Random(SEED)
    for name, look in LOOKS.items():
        for case in range(3):
            file = photo(rng)
            mine, theirs = decoded(maker, file, True), decoded(maker, file, False)
            assert type(mine) is type(theirs) is torch.Tensor, (SEED, name)
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "ignore"
                )  # of NumPy's about torch, and of torch's about scripts
                assert as_bits(look(mine)) == as_bits(look(theirs)), (SEED, name, case)
            assert mine.stride() == theirs.stride() and torch.equal(mine, theirs), name
            assert type(mine) is torch.Tensor and vars(mine) == {}


TRANSFORMS = {
    "training": lambda: v2.Compose([v2.RandomResizedCrop(24), v2.RandomHorizontalFlip(), *TAIL]),
    "bicubic": lambda: v2.Compose([v2.RandomResizedCrop((20, 31), interpolation=3), *TAIL]),
    "whole": lambda: v2.Compose([v2.RandomResizedCrop(24, scale=(0.7, 1)), *TAIL]),
    "same": lambda: v2.Compose([v2.RandomResizedCrop(24, scale=(1, 1), ratio=(1, 1)), *TAIL]),
    "bytes": lambda: v2.Compose([v2.RandomResizedCrop(24), v2.RandomVerticalFlip()]),
    "evaluation": lambda: v2.Compose([v2.Resize(32), v2.CenterCrop(24), *TAIL]),
    "part": lambda: v2.Compose([v2.Resize(32), v2.CenterCrop(24)]),
    "border": lambda: v2.Compose([v2.Resize(20), v2.CenterCrop(24), *TAIL]),
    "image": lambda: v2.Compose([v2.ToImage(), v2.Resize((20, 30)), v2.ToDtype(torch.float32)]),
    "own": lambda: v2.Compose([lambda t: t + 1, v2.Resize(20), *TAIL]),
    "then own": lambda: v2.Compose([v2.RandomResizedCrop(24), lambda t: t.float() + 1]),
    "nearest": lambda: v2.Compose([v2.Resize(20, interpolation=0), *TAIL]),
    "colors": lambda: v2.Compose([v2.RandomResizedCrop(24), v2.ColorJitter(0.3), *TAIL]),
    "gray": lambda: v2.Compose([v2.RandomResizedCrop(24), v2.RandomGrayscale(0.5), *TAIL]),
}
# Of those that are not here, the library makes the tensor.
NATIVE = {
    "training", "bicubic", "whole", "bytes", "evaluation", "border", "image", "then own", "colors", "gray",
}  # fmt: skip


@in_own_process
def test_transforms_have_torchvisions_bits_draws_and_order():
    maker = enable()
    checked(maker)
    count = Deferred()
    rng = random.Random(SEED)
    for name, make in TRANSFORMS.items():
        transform = make()
        for case in range(40):
            # Widths of the crop's side, too, and crops of full width, which keep another order.
            file = photo(rng, (2, 60)) if case % 2 else encode_photo(24, 24, rng.randrange(9**6))
            results = []
            for on in (True, False):
                maker.on = on
                torch.manual_seed(case)
                made = transformed(transform, file)
                results.append((made, torch.get_rng_state()))
            maker.on = True
            (mine, state), (theirs, expected) = results
            note = (SEED, name, case)
            assert torch.equal(state, expected), note
            assert type(mine) is type(theirs) and mine.dtype is theirs.dtype, note
            assert mine.stride() == theirs.stride(), (*note, mine.shape)
            assert mine.numpy().tobytes() == theirs.numpy().tobytes(), note
        made, settled = count.take()
        assert (made - settled > 20) == (name in NATIVE), (name, made, settled)


@in_own_process
def test_the_file_is_the_one_that_was_decoded():
    """A transform may be called while another thread reads the next file into the same memory."""
    from headrace.stage import tensors

    maker = enable()
    checked(maker)
    data = encoded(encode_photo(20, 30, 1))
    kept = bytes(data.numpy())
    files = []
    real = tensors.Undecoded.__init__

    def init(undecoded, file, *args):
        data.zero_()
        files.append(file)
        real(undecoded, file, *args)

    tensors.Undecoded.__init__ = init
    transform = TRANSFORMS["training"]()
    torch.manual_seed(SEED)
    mine = transform(decode_image(data, ImageReadMode.RGB))
    torch.manual_seed(SEED)
    theirs = transform(decoded(maker, kept, False))
    assert files == [] or torch.equal(mine, theirs)


@in_own_process
def test_what_is_not_deferred():
    maker = enable()
    checked(maker)
    count = Deferred()
    transform = v2.Compose([v2.Resize(20), *TAIL])
    file, gray = encode_photo(20, 30, 1), encode_photo(20, 30, 1, gray=True)
    for data in map(encoded, (encode_photo(1, 30, 1), encode_photo(20, 30, 1, progressive=True))):
        for _ in range(4):
            transform(decode_image(data, ImageReadMode.RGB))
    data = encoded(gray)
    for _ in range(4):
        assert decode_image(data, ImageReadMode.UNCHANGED).shape[0] == 1
    with pytest.raises(RuntimeError):
        transformed(transform, file[:-300])
    assert count.take() == (0, 0)
    for _ in range(4):
        transformed(transform, file)
    assert count.take()[0] == 4


@in_own_process
def test_a_damaged_file_ends_the_batch_behind_the_programs_back():
    from headrace.stage.redo import Redo

    maker = enable()
    checked(maker)
    transform = TRANSFORMS["training"]()
    for case in range(4):
        transformed(transform, encode_photo(40, 50, case))
    file = without_tables(encode_photo(200, 300, 1))
    with pytest.raises((Redo, RuntimeError)):
        transformed(transform, file)
    maker.on = False
    with pytest.raises(RuntimeError):
        transformed(transform, file)
