"""What padding code was read to do is what it does, for samples of many sizes, types and orders in memory."""

import random

import pytest
import torch
from headrace.capture.batches import form_of
from headrace.native.batch_form import batch_of
from support import padding
from support.compare import assert_same
from support.extent import share
from torchvision import tv_tensors

SEED = 20261127
COLLATE = [
    padding.references, padding.detection, padding.nested_tensors, padding.by_hand,
    padding.Padder(3), padding.full, padding.by_function, padding.by_mode, padding.sequences,
    padding.sequences_first,
]  # fmt: skip
GENERATOR = torch.Generator().manual_seed(SEED)
TYPES = [torch.uint8, torch.float32, torch.float16, torch.int64, torch.bool]


def picture(rng, dtype, last, image, channels):
    height, width = rng.choice([1, 2, 7, 30]), rng.choice([1, 3, 16, 31])
    made = torch.randint(0, 255, (height, width, channels), generator=GENERATOR).to(dtype)
    made = made.permute(2, 0, 1) if last else made.permute(2, 0, 1).contiguous()
    return tv_tensors.Image(made) if image else made


def told(make):
    try:
        return make()
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("collate", COLLATE, ids=lambda one: getattr(one, "__name__", "object"))
def test_samples_of_any_size(collate):
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    form = form_of(collate, (0, 1), [1], [], {0: 3}).form
    raised = 0
    for case in range(share(200)):
        channels = rng.choice([3, 3, 1])
        kind = rng.choice(TYPES), rng.random() < 0.5, rng.random() < 0.3, channels
        images = [picture(rng, *kind) for _ in range(rng.choice([1, 2, 5]))]
        labels = [rng.randrange(9) for _ in images]
        theirs = told(lambda: collate(list(zip(images, labels, strict=True))))  # noqa: B023
        mine = told(lambda: batch_of(form, [images, torch.tensor(labels)]))  # noqa: B023
        raised += type(theirs) is tuple and isinstance(theirs[0], type)
        assert_same(mine, theirs, f"seed {SEED}, case {case}")
    assert raised < 200
