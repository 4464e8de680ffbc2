"""default_collate's batches of interleaved pixels are torch's, in a slot and where code keeps them
(stage/stacking.py)."""

import random

import numpy as np
import pytest
import torch
from headrace.stage import stacking
from headrace.stage.pickling import Slot, collating
from support.compare import assert_same, served, stock
from torch.utils.data import Dataset, _utils, default_collate, get_worker_info

SEED = 20261130
KINDS = (
    torch.uint8, torch.int8, torch.bool, torch.int32, torch.float32,
    torch.float16, torch.float64, torch.int64, torch.bfloat16,
)  # fmt: skip


@pytest.fixture
def worker(monkeypatch):
    """As in one: default_collate asks whether it is."""
    monkeypatch.setattr(torch.utils.data._utils.worker, "_worker_info", object())
    assert get_worker_info() is not None


def sample(rng, kind, shape):
    """[channels, ...], in one of the layouts that programs make."""
    channels, *sides = shape
    generator = torch.Generator().manual_seed(rng.randrange(2**32))
    whole = [side + rng.choice((0, 0, 0, 0, 0, 2)) for side in sides]
    pixels = torch.randint(-128, 128, (*whole, channels), generator=generator).to(kind)
    pixels = pixels[tuple(slice(0, side) for side in sides)]
    planes = pixels.permute(len(sides), *range(len(sides)))
    return planes.contiguous() if rng.random() < 0.05 else planes


def shapes(rng):
    channels = rng.choice((3, 3, 3, 3, 3, 3, 1, 2, 4))
    return [channels, *(rng.randint(1, 60) for _ in range(rng.choice((1, 2, 2, 3))))]


def collated(batch):
    """The batch, or what torch says."""
    try:
        return default_collate(batch)
    except Exception as error:
        return repr(error)


def test_batches_are_torchs(worker, monkeypatch):
    rng = random.Random(SEED)
    written = 0
    wrote = stacking._wrote

    def counted(batch, out):
        nonlocal written
        made = wrote(batch, out)
        written += made
        return made

    monkeypatch.setattr(stacking, "_wrote", counted)
    for case in range(400):
        kind, shape = rng.choice(KINDS), shapes(rng)
        batch = [sample(rng, kind, shape) for _ in range(rng.randint(1, 5))]
        if rng.random() < 0.1:
            batch[-1] = batch[-1].to(rng.choice(KINDS))
        expected = collated(batch)
        with stacking.stacking():
            made = collated(batch)
        if isinstance(expected, str):
            assert made == expected, (SEED, case)
            continue
        assert (made.dtype, made.shape, made.stride()) == (
            expected.dtype, expected.shape, expected.stride()), (SEED, case)  # fmt: skip
        alike = made.view(torch.uint8) if kind.is_floating_point else made
        other = expected.view(torch.uint8) if kind.is_floating_point else expected
        assert torch.equal(alike, other), (SEED, case, kind, shape)
    assert written > 30, written


def test_arrays_and_nests_come_here_too(worker):
    rng = random.Random(SEED)
    array = np.frombuffer(rng.randbytes(40 * 50 * 3), np.uint8).reshape(40, 50, 3).copy()
    batch = [{"a": array.transpose(2, 0, 1), "b": (index, torch.ones(2))} for index in range(3)]
    with stacking.stacking():
        made = default_collate(batch)
    assert torch.equal(made["a"], default_collate(batch)["a"]) and made["b"][0].tolist() == [
        0,
        1,
        2,
    ]


def test_errors_are_torchs(worker):
    one = torch.zeros(40, 50, 3).permute(2, 0, 1)
    for other in (
        torch.zeros(40, 51, 3).permute(2, 0, 1),
        torch.zeros(40, 50, 3, requires_grad=True).permute(2, 0, 1),
        "text",
    ):
        said = []
        for inside in (stacking.stacking, lambda: collating(Slot(None, 0, 0))):
            with pytest.raises(Exception) as error, inside():
                default_collate([one, other])
            said.append((error.type, str(error.value)))
        with pytest.raises(Exception) as error:
            default_collate([one, other])
        assert said == [(error.type, str(error.value))] * 2


def test_what_the_program_has_put_there_is_the_programs(worker, monkeypatch):
    functions = _utils.collate.default_collate_fn_map
    batch = [torch.zeros(40, 50, 3).permute(2, 0, 1)] * 2
    with stacking.stacking():
        assert functions[torch.Tensor].__module__ == _utils.collate.__name__
    monkeypatch.setitem(functions, torch.Tensor, lambda batch, collate_fn_map=None: "own")
    with stacking.stacking():
        assert default_collate(batch) == "own"
    monkeypatch.undo()
    with stacking.stacking():
        functions[torch.Tensor] = own = lambda batch, collate_fn_map=None: "own"
    assert functions.pop(torch.Tensor) is own
    functions[torch.Tensor] = _utils.collate.collate_tensor_fn


class Photos(Dataset):
    """As programs read them: an array, its view, and a tensor that has the view's order."""

    def __len__(self):
        return 24

    def __getitem__(self, index):
        array = np.random.RandomState(index).randint(0, 255, (150, 201, 3), np.uint8)
        image = torch.from_numpy(array.transpose(2, 0, 1))
        return image, image.float(), (image.float() / 255)[:, 3:, 5:], array.transpose(2, 0, 1)


def test_lanes_stack_them_in_every_epoch():
    def make(loader):
        return loader(Photos(), 4, num_workers=2)

    assert_same(stock(make, epochs=2), served(make, "python", epochs=2))
