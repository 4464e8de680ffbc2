"""timm's transforms that are one of torchvision's are a native chain, as long as they are timm's."""

import io
import random

import numpy as np
import torch
from PIL import Image
from support.own_process import in_own_process
from support.photos import encode_photo
from timm.data import create_transform
from timm.data import transforms as of_timm


def picture(seed):
    return Image.open(io.BytesIO(encode_photo(50, 60, seed))).convert("RGB")


def both_ways(maker, transform, seed):
    made = []
    for on in (True, False):
        maker.on = on
        torch.manual_seed(seed), random.seed(seed), np.random.seed(seed)
        made.append(transform(picture(seed)))
    maker.on = True
    return made


def native_calls(maker, transform):
    """Of eight calls with the same bits, those that a chain made."""
    from headrace.stage import transforms

    calls, real = [], transforms.made_like
    transforms.made_like = lambda *args: calls.append(1) or real(*args)
    for seed in range(8):
        mine, theirs = both_ways(maker, transform, seed)
        assert torch.equal(mine, theirs) and mine.stride() == theirs.stride()
    transforms.made_like = real
    return len(calls)


@in_own_process
def test_what_follows_timms_own_draws_is_native():
    from headrace.stage import images

    transform = create_transform(32, is_training=True, auto_augment="rand-m9-mstd0.5-inc1")
    images.enable([])
    maker = images._current
    maker.on = True
    # MaybeToTensor and Normalize, which nobody has altered after their first call.
    assert native_calls(maker, transform) == 8


@in_own_process
def test_maybe_to_tensor_is_native_while_it_is_timms():
    from headrace.stage import images

    transform = create_transform(
        32, is_training=False
    )  # Resize, CenterCrop, MaybeToTensor, Normalize
    images.enable([])
    maker = images._current
    maker.on = True
    assert any(type(step) is of_timm.MaybeToTensor for step in transform.transforms)
    assert native_calls(maker, transform) > 4
    real = of_timm.MaybeToTensor.__call__
    of_timm.MaybeToTensor.__call__ = lambda self, image: real(self, image) * 2
    assert native_calls(maker, transform) == 0
