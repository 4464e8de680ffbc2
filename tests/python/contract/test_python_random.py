"""Contract: programs that draw from Python's random give the stock loader's batches, made by workers."""

import functools
import random

import numpy as np
import pytest
import torch
from PIL import Image
from support.compare import check
from support.lazily import without_workers
from support.python_random import NATIVE, Both, drawn_program, references
from support.resumed import check_it_resumes
from support.segmentation import write_mask, write_pairs

COUNT = 17


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    return write_pairs(tmp_path_factory.mktemp("pairs"), COUNT)


@pytest.mark.parametrize("num_workers", [1, 2])
@pytest.mark.parametrize("name", NATIVE)
def test_a_program(pairs, name, num_workers):
    data = NATIVE[name](pairs)
    check(
        lambda loader: loader(data, batch_size=4, shuffle=True, num_workers=num_workers), epochs=3
    )


@pytest.mark.parametrize("name", NATIVE)
def test_with_no_workers(pairs, name):
    """The program's own generators are drawn from, and are where the stock loader leaves them."""

    report = without_workers(lambda: NATIVE[name](pairs), 2, lambda number: random.random())
    assert report.samples_by_path == {"native": 2 * COUNT, "python": 0, "local": 0}


def test_drawn_programs(pairs):
    seed = random.SystemRandom().randrange(1 << 32)
    rng = np.random.default_rng(seed)
    for number in range(4):
        data = Both(pairs, drawn_program(rng))
        workers = int(rng.integers(0, 4))
        try:
            check(lambda loader, data=data, n=workers: loader(data, 3, shuffle=True, num_workers=n))
        except BaseException:
            print(f"seed {seed}, program {number}, {workers} workers")
            raise


def test_persistent_workers_go_on(pairs):
    data = Both(pairs, references())
    check(
        lambda loader: loader(
            data, batch_size=4, shuffle=True, num_workers=2, persistent_workers=True
        ),
        epochs=3,
    )


def test_after_a_break(pairs):
    data = Both(pairs, references())
    check(lambda loader: loader(data, batch_size=2, num_workers=2), epochs=3, stop=3)


def recipe(worker_id):
    worker_seed = torch.initial_seed() % 2**32
    np.random.seed(worker_seed)
    random.seed(worker_seed)


def seed_of_its_own(worker_id, base=0):
    random.seed(base + worker_id)


@pytest.mark.parametrize(
    "hook", [recipe, seed_of_its_own, functools.partial(seed_of_its_own, base=2**40)]
)
def test_a_hook_that_seeds_random(pairs, hook):
    data = Both(pairs, references())
    check(
        lambda loader: loader(data, batch_size=4, shuffle=True, num_workers=2, worker_init_fn=hook),
        epochs=2,
    )


def test_samples_that_the_trainer_makes_draw_in_between(tmp_path):
    """Masks that no worker reads: their code draws from both generators."""
    root = write_pairs(tmp_path, 12)
    with Image.open(root / "masks/005.png") as mask:
        size = mask.size
    rng = np.random.default_rng(3)
    Image.fromarray(rng.integers(0, 2, size[::-1], dtype=np.uint8) > 0).save(root / "masks/005.png")
    write_mask(root / "masks/008.png", size[1] + 7, size[0] - 3, rng, 9)
    data = Both(root, references(40))
    for workers in (0, 1, 2):
        check(lambda loader, n=workers: loader(data, 3, shuffle=True, num_workers=n), epochs=3)


def test_a_sample_that_raises_after_it_has_drawn(tmp_path):
    root = write_pairs(tmp_path, 10)
    (root / "masks/004.png").write_bytes(b"no picture")
    data = Both(root, references(40))
    check(lambda loader: loader(data, 3, num_workers=2), epochs=2)


def test_it_resumes_where_both_generators_were(pairs):
    check_it_resumes(Both(pairs, references()))
