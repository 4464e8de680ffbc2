"""default_collate's batches of interleaved pixels and of small arrays are torch's, in a slot and where code keeps
them (stage/stacking.py)."""

import pickle
import random
import warnings
from contextlib import contextmanager

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


def small_array(rng, kind, shape):
    """In one of the forms that programs have."""
    count = int(np.prod(shape)) * 3
    array = (
        np.frombuffer(rng.randbytes(count * np.dtype(kind).itemsize), np.uint8).copy().view(kind)
    )
    form = rng.random()
    if form < 0.6:
        return array[: len(array) // 3].reshape(shape)
    array = array.reshape(*shape, 3)[..., rng.randrange(3)]  # every third
    if form < 0.8:
        return array
    if form < 0.85:
        return array[::-1] if shape else array
    if form < 0.9:
        array.flags.writeable = False
        return array
    if form < 0.93:
        return array.astype(array.dtype.newbyteorder())
    if form < 0.96:
        return array.view(Own)
    return pickle.loads(pickle.dumps(array))  # its type is another object of the same meaning


class Own(np.ndarray):
    pass


ARRAYS = "?bBhilqefdHILQFD"


def test_batches_of_small_arrays_are_torchs(worker, monkeypatch):
    rng = random.Random(SEED)
    joined = 0
    join = stacking._joined

    def counted(*args, **named):
        nonlocal joined
        made = join(*args, **named)
        joined += made is not None
        return made

    monkeypatch.setattr(stacking, "_joined", counted)
    for case in range(600):
        kind = rng.choice(ARRAYS)
        shape = [rng.randint(1, 12) for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 3)))]
        odd = rng.random() < 0.1
        same = random.Random(rng.random())
        form = same.getstate()
        batch = []
        for _ in range(rng.randint(1, 6)):
            same.setstate(form)
            other = rng.choice(ARRAYS) if odd and rng.random() < 0.3 else kind
            longer = shape[:-1] + [shape[-1] + 1] if odd and shape and rng.random() < 0.3 else shape
            sample = small_array(same, other, longer)
            batch.append(sample if rng.random() < 0.5 else sample.copy())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = collated(batch)
            with stacking.stacking():
                made = collated(batch)
        if isinstance(expected, str):
            assert made == expected, (SEED, case)
            continue
        assert type(made) is type(expected) and made.is_shared() == expected.is_shared()
        assert (made.dtype, made.shape, made.stride()) == (
            expected.dtype, expected.shape, expected.stride()), (SEED, case)  # fmt: skip
        assert made.numpy().tobytes() == expected.numpy().tobytes(), (SEED, case)
    assert joined > 200, joined


def test_what_torch_says_of_an_array_it_says(worker):
    """It warns of one that may not be written, and refuses others."""
    frozen = np.arange(3.0)
    frozen.flags.writeable = False
    for batch in ([np.arange(3.0), frozen], [np.arange(3.0), np.arange(3.0)[::-1]]):
        with left_to_torch() as asked, stacking.stacking():
            collated(batch)
        assert len(asked) == 1 and asked[0] is batch


@contextmanager
def left_to_torch():
    """The batches of arrays that torch makes."""
    asked = []
    own = stacking._joined

    def noted(torch, batch, numpy):
        made = own(torch, batch, numpy)
        if made is None:
            asked.append(batch)
        return made

    stacking._joined = noted
    try:
        yield asked
    finally:
        stacking._joined = own


def test_a_bool_that_is_neither_0_nor_1_is_as_torch_has_it(worker):
    """A mask of 0 and 255. torch copies the bytes of some, and makes 1 of others."""
    raw = np.random.default_rng(SEED).integers(0, 256, (4, 64, 64, 3), np.uint8)
    crops = [mask[2:10, 2:10, 0].view(bool) for mask in np.ascontiguousarray(raw)]
    pictures = [torch.from_numpy(mask.view(bool)).permute(2, 0, 1) for mask in raw]
    for batch in (crops, pictures):
        expected = default_collate(batch)
        with stacking.stacking():
            made = default_collate(batch)
        assert made.view(torch.uint8).tolist() == expected.view(torch.uint8).tolist()


def test_a_table_of_the_programs_own_is_heard(worker):
    """As its collate_fn gives it, made from torch's while it runs."""
    arrays = [np.arange(3.0)] * 2
    with stacking.stacking():
        own = {**_utils.collate.default_collate_fn_map, torch.Tensor: lambda batch, **_: "own"}
        assert _utils.collate.collate(arrays, collate_fn_map=own) == "own"
        own = _utils.collate.default_collate_fn_map[np.ndarray]
        with pytest.raises(TypeError):
            own(arrays)


def test_a_default_device_is_heard(worker):
    batch = [np.arange(3.0), np.arange(3.0)]
    with torch.device("meta"):
        expected = collated(batch)
        with stacking.stacking():
            made = collated(batch)
    assert str(made) == str(expected)


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
    arrays = [np.arange(3.0)] * 2
    monkeypatch.setitem(functions, np.ndarray, lambda batch, collate_fn_map=None: "own")
    with stacking.stacking():
        assert default_collate(arrays) == "own"
    monkeypatch.undo()
    monkeypatch.setitem(functions, torch.Tensor, lambda batch, collate_fn_map=None: "own")
    with stacking.stacking():
        assert default_collate(arrays) == "own", "an array is a tensor before it is stacked"


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
