"""adjust_hue of tensors in programs' lanes: torchvision's own bits, layouts, types and errors
(stage/tensor_colors.py)."""

import random
import warnings

import torch
from support.own_process import in_own_process
from torchvision import transforms as v1
from torchvision import tv_tensors
from torchvision.transforms import v2

SEED = 20261130


def enable():
    from headrace.stage import images

    torch.set_num_threads(1)
    images.enable([])
    images._current.on = True
    return images._current


def pictures(rng, case):
    """The same pixels as a program may have them in memory."""
    height, width = (rng.choice((1, 2, *(rng.randint(25, 90) for _ in range(8)))) for _ in range(2))
    generator = torch.Generator().manual_seed(rng.randrange(2**32))
    pixels = torch.randint(0, 256, (height, width, 3), dtype=torch.uint8, generator=generator)
    if case % 3 == 0:
        pixels[:, ::2] = pixels[:, ::2, :1]  # grey
    if case % 4 == 0:
        pixels = pixels // 128 * 255
    channels = pixels.permute(2, 0, 1)
    yield from (channels, channels.contiguous(), channels[:, ::2, 1:], channels.flip(2))
    yield from (tv_tensors.Image(channels), tv_tensors.Video(channels[None]), channels[None])
    yield from (
        channels[:1],
        channels.float() / 255,
        channels.to(torch.int16),
        channels[:1].expand(3, -1, -1),
    )


def seen(function, *args, **named):
    try:
        made = function(*args, **named)
    except Exception as error:
        return type(error), str(error)
    place = made.stride(), made.storage_offset(), made.untyped_storage().nbytes()
    base = None if made._base is None else made._base.shape
    return type(made), made.dtype, made.shape, place, base, made.contiguous().numpy().tobytes()


def both(maker, function, *args, **named):
    found = []
    for maker.on in (True, False):
        torch.manual_seed(SEED)
        found.append((seen(function, *args, **named), torch.get_rng_state().numpy().tobytes()))
    maker.on = True
    return found


@in_own_process
def test_hues_are_torchvisions():
    from headrace import _images

    maker, rng, native, real = enable(), random.Random(SEED), [], _images.turn_hue
    _images.turn_hue = lambda *args: native.append(real(*args)) or native[-1]
    for case in range(24):
        factor = rng.choice((rng.uniform(-0.5, 0.5), 0.5, -0.5, 0.0, 0, 0.6))
        jitters = v1.ColorJitter(hue=0.5), v2.ColorJitter(0.2, 0.3, 0.4, 0.3)
        for number, image in enumerate(pictures(rng, case)):
            note = SEED, case, number, tuple(image.shape), factor
            for functional in (v1.functional, v2.functional):
                mine, theirs = both(maker, functional.adjust_hue, image, factor)
                assert mine == theirs, note
                mine, theirs = both(maker, functional.adjust_hue, image, hue_factor=factor)
                assert mine == theirs, note
            for jitter in jitters:
                mine, theirs = both(maker, jitter, image)
                assert mine == theirs, note
    assert sum(native) > 60 and maker.kept == set()


@in_own_process
def test_a_difference_ends_it():
    from headrace import _images

    maker = enable()
    _images.turn_hue = lambda image, factor, api, out: out.fill(3) is None
    image = torch.randint(0, 256, (3, 40, 50), dtype=torch.uint8)
    for functional in (v1.functional, v2.functional):
        mine, theirs = both(maker, functional.adjust_hue, image, 0.2)
        assert mine == theirs
    assert maker.kept == {"turn_hue"}


@in_own_process
def test_functions_of_the_programs_own_stay():
    from torchvision.transforms import _functional_tensor
    from torchvision.transforms.v2.functional import _utils

    def own(image, hue_factor):
        return image

    _functional_tensor.adjust_hue = own
    kernels = _utils._KERNEL_REGISTRY[v2.functional.adjust_hue]
    kernels[torch.Tensor] = own
    of_images = kernels[tv_tensors.Image]

    from headrace.stage import render, tensor_colors

    tensor_colors.enable(render.ImageMaker(None, frozenset()))
    assert _functional_tensor.adjust_hue is kernels[torch.Tensor] is own
    assert kernels[tv_tensors.Image] is of_images


@in_own_process
def test_torch_compiles_what_is_torchvisions():
    enable()
    image = torch.randint(0, 256, (3, 40, 50), dtype=torch.uint8)
    warnings.simplefilter("ignore")  # torch advises another compiler
    scripted = torch.jit.script(v1.functional.adjust_hue)
    assert torch.equal(scripted(image, 0.2), v1.functional.adjust_hue(image, 0.2))
