"""adjust_hue of tensors, and RandomIoUCrop, in programs' lanes: torchvision's own bits, layouts, types, draws and errors
(stage/tensor_colors.py, iou_crops.py)."""

import random
import warnings

import torch
from support import stage_pictures
from support.own_process import in_own_process
from torchvision import transforms as v1
from torchvision import tv_tensors
from torchvision.transforms import v2

SEED = 20261130


def enable():
    torch.set_num_threads(1)
    return stage_pictures.enable()._current


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

    from headrace.stage import render, tensor_colors, tensor_kernels

    tensor_kernels.enable(tensor_colors.KERNEL, render.ImageMaker(None, frozenset()))
    assert _functional_tensor.adjust_hue is kernels[torch.Tensor] is own
    assert kernels[tv_tensors.Image] is of_images


@in_own_process
def test_torch_compiles_what_is_torchvisions():
    enable()
    image = torch.randint(0, 256, (3, 40, 50), dtype=torch.uint8)
    warnings.simplefilter("ignore")  # torch advises another compiler
    scripted = torch.jit.script(v1.functional.adjust_hue)
    assert torch.equal(scripted(image, 0.2), v1.functional.adjust_hue(image, 0.2))


def boxes_of(rng, size):
    """Mostly as programs have them; some are empty, turned, outside, or no numbers."""
    height, width = size
    kind = rng.choice((torch.float32,) * 8 + (torch.int64,) * 6 + (torch.int32, torch.float64))
    values = []
    for _ in range(rng.choice((0, 1, 1, 2, 3, 3, 5, 20))):
        x, y = rng.uniform(-5, width), rng.uniform(-5, height)
        values.append([x, y, x + rng.uniform(-2, width / 2), y + rng.uniform(-2, height / 2)])
    rows = torch.tensor(values).reshape(-1, 4)
    if kind.is_floating_point and len(rows) and rng.random() < 0.15:
        rows[0, rng.randrange(4)] = rng.choice((float("nan"), float("inf"), -float("inf"), -0.0))
    form = rng.choice(("XYXY", "XYXY", "XYWH", "CXCYWH"))
    if rng.random() < 0.2 and len(rows):
        rows = rows.T.contiguous().T
    return tv_tensors.BoundingBoxes(rows.to(kind), format=form, canvas_size=size)


def crops_of(rng):
    if rng.random() < 0.7:
        return v2.RandomIoUCrop()
    least = rng.choice((0.05, 0.3, 0.9, 1))
    options = rng.choice((None, [0.5, 1.0], [0, 0.3, 1.0], [0.1, 2], (0.1, 1.0), [0.9, 1.0]))
    return v2.RandomIoUCrop(
        least, rng.choice((1.0, least, 1.5)), *rng.choice(((0.5, 2.0), (0.9, 1.1), (0, 9))), options,
        rng.choice((1, 5, 40)),
    )  # fmt: skip


@in_own_process
def test_crops_by_overlap_are_torchvisions():
    from headrace.stage import iou_crops

    maker, rng, native, real = enable(), random.Random(SEED), [], iou_crops._made
    iou_crops._made = lambda *args: native.append(real(*args)) or native[-1]
    found = []
    for case in range(120):
        size = rng.choice(((1, 1), (2, 300), *((rng.randint(20, 900), rng.randint(20, 900)),) * 8))
        boxes, crop, seed = boxes_of(rng, size), crops_of(rng), rng.randrange(2**32)
        picture = tv_tensors.Image(torch.zeros(1, *size, dtype=torch.uint8))
        ways = []
        for maker.on in (True, False):
            torch.manual_seed(seed)
            try:
                made = crop.make_params([picture, boxes])
            except Exception as error:
                made = {"error": (type(error), str(error))}
            mask = made.pop("is_within_crop_area", None)
            if mask is not None:
                made["mask"] = mask.dtype, mask.shape, mask.stride(), mask._base, mask.tolist()
            types = [type(value) for value in made.values()]
            ways.append((list(made.items()), types, torch.get_rng_state().numpy().tobytes()))
        assert ways[0] == ways[1], (SEED, case, boxes, vars(crop))
        found.append("top" in dict(ways[0][0]))
    counts = sum(made is not None for made in native), sum(found)
    assert min(counts) > 30, counts
    assert maker.kept == set()
    samples = [(picture, boxes), ("none",), (boxes,)]
    for maker.on in (True, False):
        found.append([seen_error(v2.RandomIoUCrop(), sample) for sample in samples[1:]])
    assert found[-1] == found[-2]


def seen_error(transform, sample):
    try:
        transform(*sample)
    except Exception as error:
        return type(error), str(error)


@in_own_process
def test_another_crop_ends_it():
    from headrace.stage import iou_crops

    maker, real = enable(), iou_crops._drawn
    iou_crops._drawn = lambda *args: {**real(*args), "top": -1}
    picture = tv_tensors.Image(torch.zeros(3, 90, 90, dtype=torch.uint8))
    boxes = tv_tensors.BoundingBoxes([[10, 10, 60, 60]], format="XYXY", canvas_size=(90, 90))
    found = []
    for maker.on in (True, False):
        torch.manual_seed(3)
        found.append(v2.RandomIoUCrop(sampler_options=[0.0]).make_params([picture, boxes])["top"])
    assert found[0] == found[1] >= 0 and maker.kept == {"iou_crop"}
