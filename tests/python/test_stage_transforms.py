"""torchvision's transforms in stage hosts: native chains give torchvision's own bits and draws."""

import io
import random

import numpy as np
import torch
from PIL import Image
from support.own_process import in_own_process
from support.photos import encode_photo
from support.pipelines import EVERY, MEAN, STD, chain_with, train_v1, train_v2
from torch import nn
from torchvision import transforms as v1
from torchvision.transforms import v2

SEED = 20261122


def enable(*kept):
    """As in a host while it makes a batch."""
    from headrace import stage_images

    stage_images.enable(list(kept))
    stage_images._current.on = True
    return stage_images._current


def photo(rng, sides=(40, 160)):
    height, width = (rng.randint(*sides) for _ in range(2))
    return encode_photo(height, width, rng.randrange(10**6))


def both_ways(maker, transform, make_image, seed):
    """What the transform makes of the image and the generator behind it: here, and by PIL alone."""
    results = []
    for on in (True, False):
        maker.on = on
        torch.manual_seed(seed)
        random.seed(seed)
        made = transform(make_image())
        results.append((made, torch.get_rng_state(), random.getstate()))
    maker.on = True
    return results


def assert_same(maker, transform, make_image, seed, note=""):
    (mine, my_state, my_random), (theirs, their_state, their_random) = both_ways(
        maker, transform, make_image, seed
    )
    assert torch.equal(my_state, their_state), note
    assert my_random == their_random, note
    if isinstance(theirs, torch.Tensor):
        assert type(mine) is type(theirs) and mine.dtype == theirs.dtype, note
        assert mine.shape == theirs.shape and mine.stride() == theirs.stride(), note
        mine, theirs = (t.contiguous().view(torch.uint8).numpy() for t in (mine, theirs))
        assert mine.tobytes() == theirs.tobytes(), note
    else:
        assert mine.size == theirs.size and mine.mode == theirs.mode, note
        assert mine.tobytes() == theirs.tobytes(), note


def sources(rng):
    """Ways in which programs come to a picture."""
    file = photo(rng)

    def twice():
        image = Image.open(io.BytesIO(file)).convert("RGB")
        v1.Compose([v1.ToTensor()])(image)
        return image

    def shown():
        image = Image.open(io.BytesIO(file)).convert("RGB")
        np.asarray(image)
        return image

    array = np.asarray(Image.open(io.BytesIO(file)).convert("RGB"))
    return {
        "file": lambda: Image.open(io.BytesIO(file)).convert("RGB"),
        "opened": lambda: Image.open(io.BytesIO(file)),
        "cropped": lambda: Image.open(io.BytesIO(file)).convert("RGB").crop((2, 3, 39, 38)),
        "twice": twice,
        "shown": shown,
        "array": lambda: Image.fromarray(array),
    }


def nested():
    """Containers of every kind, with something in the middle that is Python."""
    jitter = v1.ColorJitter(0.4, 0.4, 0.4, 0.1)
    return {
        "simclr": v1.Compose(
            [
                v1.RandomResizedCrop(32),
                v1.RandomHorizontalFlip(),
                v1.RandomApply([jitter], p=0.6),
                v1.RandomGrayscale(0.4),
                v1.GaussianBlur(3),
                v1.ToTensor(),
                v1.Normalize(MEAN, STD),
            ]
        ),
        "v2 containers": v2.Compose(
            [
                v2.RandomChoice([v2.RandomPosterize(3), v2.RandAugment(), v2.GaussianBlur(3)]),
                v2.RandomOrder([v2.ColorJitter(0.2), v2.RandomSolarize(99), v2.RandomInvert()]),
                v2.RandomApply([v2.Compose([v2.RandomRotation(20), v2.RandomEqualize()])]),
                v2.ToImage(),
                v2.ToDtype(torch.float32, scale=True),
                v2.Normalize(MEAN, STD),
            ]
        ),
        "v1 containers": v1.Compose(
            [
                v1.RandomChoice([v1.RandomPosterize(3), v1.RandAugment()], p=[0.3, 0.7]),
                v1.RandomOrder([v1.ColorJitter(0.2), v1.RandomSolarize(99), v1.RandomInvert()]),
                v1.RandomApply(nn.ModuleList([v1.TrivialAugmentWide()])),
                v1.Lambda(lambda image: image.rotate(3)),
                v1.Compose([v1.CenterCrop(30), v1.PILToTensor()]),
                v1.ConvertImageDtype(torch.float32),
                v1.RandomErasing(0.7),
            ]
        ),
        "tensors behind": v1.Compose(
            [v1.Resize(33), v1.RandomAutocontrast(), v1.ToTensor(), v1.Lambda(lambda t: t * 2)]
        ),
        "images": v1.Compose([v1.RandomCrop(30, 4), v1.ColorJitter(0.3), v1.RandAugment()]),
        "gray": v1.Compose([v1.Grayscale(), v1.Resize(20), v1.ToTensor()]),
        "sequential": nn.Sequential(v1.CenterCrop(30), v1.ColorJitter(0.3), v2.PILToTensor()),
        "half": v2.Compose([v2.CenterCrop(20), v2.ToImage(), v2.ToDtype(torch.float16, True)]),
    }


@in_own_process
def test_every_transform_from_every_source():
    maker = enable()
    rng = random.Random(SEED)
    for name in EVERY:
        for api in (0, 1):
            transform = chain_with(name, api)
            for case in range(4):
                for source, make in sources(rng).items():
                    note = (SEED, name, api, case, source)
                    assert_same(maker, transform, make, rng.randrange(2**32), note)
    assert maker.made > 200


@in_own_process
def test_nested():
    maker = enable()
    rng = random.Random(SEED)
    for name, transform in {**nested(), "v1": train_v1(), "v2": train_v2()}.items():
        for case in range(8):
            for source, make in sources(rng).items():
                note = (SEED, name, case, source)
                assert_same(maker, transform, make, rng.randrange(2**32), note)
