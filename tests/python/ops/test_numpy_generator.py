"""The native generator is NumPy's legacy RandomState: choices, seeds and states."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.operators import native
from torch.utils.data._utils.worker import _generate_state

seeds = st.integers(0, 2**32 - 1)
weights = st.lists(st.floats(1e-3, 1) | st.just(0.0), min_size=1, max_size=20).filter(any)
draws = st.one_of(
    st.tuples(st.just("choice"), st.integers(1, 300), st.integers(0, 20)),
    st.tuples(st.just("weighted"), weights, st.integers(0, 20)),
)


def state_of(generator):
    _, words, place, has_gauss, gauss = generator.get_state()
    return struct.pack("=626Id", *words.tolist(), place, has_gauss, gauss)


def draw_both(theirs, ours, draw):
    kind, of, count = draw
    if kind == "choice":
        return theirs.choice(of, count).tolist(), ours.choose(of, count)
    p = np.array(of) / np.sum(of)
    count = min(count, int(np.count_nonzero(p)))
    chosen = theirs.choice(np.arange(len(p)), count, replace=False, p=p)
    return chosen.tolist(), ours.choose_weighted(p.tolist(), count)


@given(seeds)
def test_seeding_gives_the_same_state(seed):
    assert native.NumpyGenerator(seed).state() == state_of(np.random.RandomState(seed))


@given(st.integers(0, 2**63 - 1), st.integers(0, 2**20))
def test_workers_are_seeded_as_torch_does(base_seed, worker):
    theirs = np.random.RandomState(_generate_state(base_seed, worker))
    assert native.NumpyGenerator.of_worker(base_seed, worker).state() == state_of(theirs)


@given(seeds, st.lists(draws, max_size=30))
def test_draws_are_numpys(seed, sequence):
    theirs, ours = np.random.RandomState(seed), native.NumpyGenerator(seed)
    for draw in sequence:
        want, got = draw_both(theirs, ours, draw)
        assert got == want, draw
    assert ours.state() == state_of(theirs)
    assert native.NumpyGenerator(seed).at(ours.position()).state() == state_of(theirs)


@pytest.mark.parametrize("n", [15, 16, 17, 256, 257, 65536, 2**31])
def test_long_choices(n):
    theirs, ours = np.random.RandomState(n % 1000), native.NumpyGenerator(n % 1000)
    assert ours.choose(n, 3000) == theirs.choice(n, 3000).tolist()
    assert ours.state() == state_of(theirs)


@given(seeds, st.integers(0, 2000))
def test_it_goes_on_from_numpys_state_with_a_normal_number(seed, before):
    theirs = np.random.RandomState(seed)
    theirs.random_sample(before % 700)
    if before % 2:
        theirs.normal()
    ours = native.NumpyGenerator(0)
    ours.set_state(state_of(theirs))
    assert ours.choose(15, 9) == theirs.choice(15, 9).tolist()
    assert ours.state() == state_of(theirs)
