"""Generators that a pipeline owns are part of its lane's state."""

import functools
import random

import numpy as np
import pytest
import torch
from headrace import stage_generators
from headrace.stage_random import get_state, seed_sample, set_state
from support.stateless import OwnGenerators

KINDS = [np.random.MT19937, np.random.PCG64, np.random.PCG64DXSM, np.random.Philox, np.random.SFC64]


class Owner:
    """Holds generators wherever code may put them."""

    __slots__ = ("__dict__", "slot")

    def __init__(self):
        inner = random.Random(1)
        self.slot = random.Random(2)
        self.all = [np.random.Generator(kind(i)) for i, kind in enumerate(KINDS)]
        self.nested = {"a": [np.random.RandomState(3)], 7: (torch.Generator().manual_seed(4),)}
        self.transform = functools.partial(lambda n: inner.random() + n, 1)
        self.method = random.Random(5).random
        self.table = [random.Random(i) for i in range(1000)]  # a table is data
        self.system = random.SystemRandom()

    def draw(self):
        return [
            self.slot.random(),
            *(generator.random() for generator in self.all),
            self.nested["a"][0].rand(),
            torch.rand(1, generator=self.nested[7][0]).item(),
            self.transform(),
        ]


def test_every_kind_at_every_place_goes_on():
    mine, other = Owner(), Owner()
    mine.draw()
    state = get_state({"dataset": mine})
    expected = [mine.draw() for _ in range(3)]
    assert [other.draw() for _ in range(3)] != expected
    set_state(state, {"dataset": other})
    assert [other.draw() for _ in range(3)] == expected


def test_the_programs_own_generators_are_not_among_them():
    roots = {"dataset": [np.random.mtrand._rand, torch.default_generator, random, np.random]}
    assert stage_generators.states_of(roots) == []


def test_one_that_was_made_on_another_worker_is_made_here():
    class Later:
        rng = None

        def draw(self):
            if self.rng is None:
                self.rng = np.random.default_rng(11)
            return self.rng.random()

    mine, other = Later(), Later()
    mine.draw()
    state = get_state({"dataset": mine})
    set_state(state, {"dataset": other})
    assert other.draw() == mine.draw()


def test_a_seed_for_each_sample_seeds_them_too():
    draws = []
    for _ in range(2):
        dataset = OwnGenerators()
        if draws:
            dataset[0]
        seed_sample(77, {"dataset": dataset})
        draws.append(dataset[3])
    assert torch.equal(*draws)


@pytest.mark.parametrize("kind", ["eval", "Generator", "__class__"])
def test_a_state_names_only_known_kinds(kind):
    with pytest.raises(ValueError, match="not a kind of random generator"):
        stage_generators.set_states({"dataset": Owner()}, [(("dataset", "x"), kind, {})])


def test_plain_data_is_not_walked():
    class Touchy(dict):
        def items(self):
            raise AssertionError

    big = Touchy((i, i) for i in range(100_000))
    assert stage_generators.states_of({"dataset": [big, list(range(100_000))]}) == []
