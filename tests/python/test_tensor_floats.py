"""normalize of tensors of float32, and transforms of arrays, in programs' lanes: torchvision's own bits, layouts and
errors (stage/tensor_floats.py, transforms.py)."""

import random
import warnings

import numpy as np
import torch
from support import stage_pictures
from support.own_process import in_own_process
from torchvision import transforms as v1
from torchvision import tv_tensors
from torchvision.transforms import v2

SEED = 20261201


def enable():
    torch.set_num_threads(1)
    return stage_pictures.enable()._current


def tensors(rng):
    """The same numbers as a program may have them in memory."""
    height, width = (rng.choice((1, 2, 63, 64, 65, rng.randint(66, 120))) for _ in range(2))
    channels = rng.choice((1, 2, 3, 3, 3, 3, 4, 5, 9))
    generator = torch.Generator().manual_seed(rng.randrange(2**32))
    values = torch.randn((height, width, channels), generator=generator) * rng.choice(
        (1, 1e-30, 1e30)
    )
    if rng.random() < 0.3:
        odd = torch.tensor((0.0, -0.0, float("inf"), -float("inf"), float("nan"), 1e-42))
        at = torch.randint(0, values.numel(), (40,), generator=generator)
        values.view(-1)[at] = odd.repeat(7)[:40]
    last = values.permute(2, 0, 1)
    planes = last.contiguous()
    batch = torch.stack([planes, planes + 1])
    yield from (planes, last, batch, batch.contiguous(memory_format=torch.channels_last))
    yield from (
        planes[None],
        last[None],
        batch[:, None],
        planes[:, 1:],
        last[:, :, ::2],
        planes.flip(1),
    )
    yield from (
        planes.transpose(1, 2),
        planes[:1].expand(3, -1, -1),
        planes.half(),
        planes.double(),
    )
    yield from (planes.clone().requires_grad_(), tv_tensors.Image(planes), tv_tensors.Image(last))
    yield from (
        tv_tensors.Video(batch),
        planes.to(torch.uint8),
        planes[0],
    )


def numbers(rng, channels):
    """A mean and a deviation, mostly as programs write them."""
    count = rng.choice((channels,) * 8 + (1, channels + 1))
    mean = [rng.uniform(-1, 200) for _ in range(count)]
    deviation = [rng.choice((0.5, 0.229, 1, 2, 58.395, rng.uniform(1e-3, 9))) for _ in range(count)]
    if rng.random() < 0.1:
        deviation[-1] = rng.choice((0.0, 1e-60, float("inf"), float("nan"), -0.0))
    kind = rng.choice((list, list, tuple, np.array, torch.tensor))
    return kind(mean), kind(deviation)


def seen(function, *args, **named):
    try:
        made = function(*args, **named)
    except Exception as error:
        return type(error), str(error)
    place = made.stride(), made.storage_offset(), made.untyped_storage().nbytes()
    base = None if made._base is None else made._base.shape
    return (
        type(made),
        made.dtype,
        made.shape,
        place,
        base,
        made.detach().contiguous().numpy().tobytes(),
    )


def both(maker, function, make, *args, **named):
    """What it gives, and what it leaves its argument as: here and by torchvision alone."""
    found = []
    for maker.on in (True, False):
        image = make()
        made = seen(function, image, *args, **named)
        found.append((made, image.stride(), image.detach().contiguous().numpy().tobytes()))
    maker.on = True
    return found


@in_own_process
def test_what_is_normalised_is_torchvisions():
    from headrace import _images

    warnings.simplefilter("ignore")  # of tensors that come of arrays which may not be written
    maker, rng, native, real = enable(), random.Random(SEED), [], _images.normalize_floats
    _images.normalize_floats = lambda *args: native.append(real(*args)) or native[-1]
    for case in range(40):
        for number, image in enumerate(tensors(rng)):
            channels = image.shape[-3] if image.dim() > 2 else 1
            mean, deviation = numbers(rng, channels)
            note = SEED, case, number, tuple(image.shape), image.stride(), mean, deviation
            for functional in (v1.functional, v2.functional):
                copy = torch.Tensor.clone if rng.random() < 0.5 else torch.Tensor.detach
                make = (
                    (lambda image=image: image)
                    if image.requires_grad
                    else (lambda image=image, copy=copy: copy(image))
                )
                inplace = rng.random() < 0.1 and copy is torch.Tensor.clone
                mine, theirs = both(maker, functional.normalize, make, mean, deviation, inplace)
                assert mine == theirs, note
                mine, theirs = both(maker, functional.normalize, make, std=deviation, mean=mean)
                assert mine == theirs, note
            for api in (v1, v2):
                try:
                    transform = api.Normalize(mean, deviation)
                except Exception:
                    continue
                mine, theirs = both(maker, transform, lambda image=image: image)
                assert mine == theirs, note
    assert maker.kept == set()
    assert sum(native) > 150


@in_own_process
def test_what_it_makes_can_grow_as_torchs():
    enable()
    image = torch.rand(3, 70, 80)
    for functional in (v1.functional, v2.functional):
        for _ in range(4):
            made = functional.normalize(image, [0.5] * 3, [0.5] * 3)
        assert made.resize_(4, 70, 80).shape == (4, 70, 80)


@in_own_process
def test_where_torch_has_several_threads_it_is_torchs():
    """One of which alone may flush denormal numbers to zero."""
    from headrace import _images

    enable()
    image, made = torch.rand(3, 70, 80), []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        _images.normalize_floats = lambda *args, by=threads: made.append(by)
        v1.functional.normalize(image, [0.5] * 3, [0.5] * 3)
    assert made == [1]


@in_own_process
def test_a_difference_ends_it():
    from headrace import _images

    maker = enable()
    _images.normalize_floats = lambda image, mean, deviation, out: out.fill(3) is None
    image = torch.rand(3, 70, 80)
    for functional in (v1.functional, v2.functional):
        mine, theirs = both(maker, functional.normalize, image.clone, [0.5] * 3, [0.5] * 3)
        assert mine == theirs
    assert maker.kept == {"normalize"}


def arrays(rng):
    """Pictures as arrays. Of the last ones torchvision alone makes something, or nothing."""
    height, width = (rng.randint(97, 150) for _ in range(2))
    random_ = np.random.Generator(np.random.PCG64(rng.randrange(2**32)))
    whole = random_.integers(0, 256, (height + 3, width + 5, 3), np.uint8)
    readonly = whole.copy()
    readonly.flags.writeable = False
    yield from (whole, whole[2:, 4:-1], np.asfortranarray(whole), whole[:, ::-1], whole[..., ::-1])
    yield from (whole[..., :1], whole[..., 0], whole[:40, :40], whole.astype(np.float32) / 255)
    yield from (whole.astype(np.int32), readonly, whole.view(type("Own", (np.ndarray,), {})))


@in_own_process
def test_transforms_of_arrays_are_torchvisions():
    from headrace.stage import transforms

    warnings.simplefilter("ignore")  # of arrays that may not be written
    maker, rng, made = enable(), random.Random(SEED), []
    real = transforms.Performer.perform
    transforms.Performer.perform = lambda self, parts, value: (
        made.append(type(value)) or real(self, parts, value)
    )
    norm = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    chains = [
        v1.Compose([v1.ToTensor(), v1.Normalize(*norm)]),
        v1.Compose([v1.ToTensor()]),
        v1.Compose(
            [v1.ToTensor(), v1.RandomHorizontalFlip(), v1.Normalize(*norm), v1.RandomErasing(0.5)]
        ),
        v1.Compose([v1.ToTensor(), lambda image: image * 2]),
        v1.Compose([lambda image: image, v1.ToTensor()]),
        v1.Compose([v1.ToPILImage(), v1.RandomCrop(90), v1.ToTensor()]),
        v1.Compose([v1.Normalize(*norm)]),
        v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(*norm)]),
        v2.Compose([v1.ToTensor(), v2.Normalize(*norm)]),
        v2.Compose([v2.RandomHorizontalFlip(1.0), v2.ToImage()]),
    ]
    for case in range(4):
        for number, array in enumerate(arrays(rng)):
            for at, chain in enumerate(chains):
                seed, found = rng.randrange(2**32), []
                for maker.on in (True, False):
                    torch.manual_seed(seed)
                    mine = array.copy() if case % 2 and array.flags.writeable else array
                    found.append(
                        (seen(chain, mine), mine.tobytes(), torch.get_rng_state().tolist())
                    )
                maker.on = True
                assert found[0] == found[1], (SEED, case, number, at)
    assert made.count(np.ndarray) > 30
