"""What is known of the frameworks' worker_init_fn is what they do."""

import functools
import random

import numpy as np
import pytest
import torch
from headrace.capture import hooks, known_hooks
from headrace.native.plan import NotNative
from lightning.fabric.utilities.seed import pl_worker_init_function
from lightning_fabric.utilities import seed as of_pytorch_lightning
from timm.data.loader import _worker_init
from torch.utils.data._utils import worker
from transformers import trainer_utils

LANES = 5
HOOKS = {
    "lightning": functools.partial(pl_worker_init_function, rank=3),
    "lightning, its own rank": pl_worker_init_function,
    "pytorch_lightning": functools.partial(of_pytorch_lightning.pl_worker_init_function, rank=0),
    "transformers": functools.partial(trainer_utils.seed_worker, num_workers=LANES, rank=2),
    "timm": functools.partial(_worker_init, worker_seeding="all"),
    "timm, part": functools.partial(_worker_init, worker_seeding="part"),
}


@pytest.fixture
def generators():
    kept = torch.get_rng_state(), random.getstate(), np.random.get_state()
    yield
    torch.set_rng_state(kept[0])
    random.setstate(kept[1])
    np.random.set_state(kept[2])
    worker._worker_info = None


@pytest.mark.parametrize("name", HOOKS)
def test_seeds_are_those_that_the_hook_sets(name, generators):
    # Not where numpy refuses the sum that transformers makes: its hook raises there.
    seed = (random.SystemRandom().randrange(2**31) << 32) + random.SystemRandom().randrange(2**31)
    print("seed", seed)
    for base_seed in (seed, 0, 2**32 - 3 * LANES, 2**63 - 3 * LANES):
        for lane in range(LANES):
            torch.manual_seed(base_seed + lane)
            worker._worker_info = worker.WorkerInfo(
                id=lane, num_workers=LANES, seed=base_seed + lane, dataset=None
            )
            HOOKS[name](lane)
            fresh = torch.Generator().manual_seed(torch.initial_seed())
            assert torch.equal(torch.get_rng_state(), fresh.get_state()), "more than a seed"
            expected = hooks.seeding_of(HOOKS[name])(base_seed, lane) % 2**64
            assert torch.initial_seed() == expected, (base_seed, lane)


def not_known(hook):
    with pytest.raises(NotNative, match="worker_init_fn=.* may change what samples are"):
        hooks.seeding_of(hook)


def test_a_seeding_function_of_the_program():
    not_known(functools.partial(_worker_init, worker_seeding=lambda info: info.id))


def test_arguments_in_an_order():
    not_known(functools.partial(pl_worker_init_function, 1))


def test_a_function_of_that_name_that_is_not_the_packages(monkeypatch):
    def seed_worker(worker_id, num_workers, rank):
        torch.manual_seed(1)

    seed_worker.__module__ = "transformers.trainer_utils"
    not_known(functools.partial(seed_worker, num_workers=2, rank=0))
    monkeypatch.setattr(trainer_utils, "seed_worker", seed_worker)
    not_known(functools.partial(seed_worker, num_workers=2, rank=0))


def test_a_function_that_calls_something_else(monkeypatch):
    def set_seed(seed):
        torch.manual_seed(1)

    monkeypatch.setattr(trainer_utils, "set_seed", set_seed)
    known_hooks._is_genuine.cache_clear()
    not_known(functools.partial(trainer_utils.seed_worker, num_workers=2, rank=0))
    monkeypatch.undo()
    known_hooks._is_genuine.cache_clear()
    hooks.seeding_of(functools.partial(trainer_utils.seed_worker, num_workers=2, rank=0))
