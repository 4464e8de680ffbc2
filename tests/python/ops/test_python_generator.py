"""The native generator is CPython's random.Random: every kind of draw that is used, and its state."""

import itertools
import random
import struct

from hypothesis import given
from hypothesis import strategies as st
from support.operators import native

seeds = st.one_of(st.integers(0, 2**64 - 1), st.integers(0, 2**32 + 1))
numbers = st.floats(-1e6, 1e6)


def state_of(generator):
    _, words, gauss = generator.getstate()
    return struct.pack("=626Id", *words, gauss is not None, gauss or 0.0)


@given(seeds)
def test_seeding_gives_the_same_state(seed):
    assert native.PythonGenerator(seed).state() == state_of(random.Random(seed))


draws = st.one_of(
    st.tuples(st.just("random")),
    st.tuples(st.just("uniform"), numbers, numbers),
    st.tuples(st.just("randint"), st.integers(-(2**20), 2**20), st.integers(0, 2**31 - 2)),
    st.tuples(st.just("choice"), st.integers(1, 300)),
    st.tuples(st.just("shuffle"), st.integers(0, 100)),
    st.tuples(st.just("choices"), st.integers(1, 300)),
    st.tuples(st.just("gauss"), numbers, st.floats(0, 1e3)),
    st.tuples(
        st.just("weighted"),
        st.lists(st.floats(0, 1e6), min_size=1, max_size=20).filter(lambda w: sum(w) > 0),
    ),
)


def draw_both(theirs, ours, draw):
    match draw:
        case ("random",):
            return theirs.random(), ours.random()
        case ("uniform", low, high):
            return theirs.uniform(low, high), ours.uniform(low, high)
        case ("randint", low, width):
            return theirs.randint(low, low + width), low + ours.below(width + 1)
        case ("choice", n):
            return theirs.choice(range(n)), ours.below(n)
        case ("shuffle", n):
            values = list(range(n))
            theirs.shuffle(values)
            return values, ours.shuffled(list(range(n)))
        case ("gauss", mean, sigma):
            return theirs.gauss(mean, sigma), ours.gauss(mean, sigma)
        case ("choices", n):
            (chosen,) = theirs.choices(range(n))
            return chosen, ours.choose([1.0 + i for i in range(n)])
        case ("weighted", weights):
            (chosen,) = theirs.choices(range(len(weights)), weights=weights)
            return chosen, ours.choose(list(itertools.accumulate(weights)))
    raise AssertionError(draw)


@given(seeds, st.lists(draws, max_size=30))
def test_draws_are_pythons(seed, sequence):
    theirs, ours = random.Random(seed), native.PythonGenerator(seed)
    for draw in sequence:
        want, got = draw_both(theirs, ours, draw)
        assert got == want, draw
    assert ours.state() == state_of(theirs)
    assert native.PythonGenerator.at(seed, ours.position()).state() == state_of(theirs)


@given(seeds, st.integers(0, 2000))
def test_it_goes_on_from_pythons_state_with_a_number_of_gauss(seed, before):
    theirs = random.Random(seed)
    for _ in range(before % 700):
        theirs.random()
    if before % 2:
        theirs.gauss(0, 1)
    ours = native.PythonGenerator(0)
    ours.set_state(state_of(theirs))
    assert ours.random() == theirs.random()
    assert ours.state() == state_of(theirs)
    assert ours.gauss(3, 2) == theirs.gauss(3, 2)
    assert ours.state() == state_of(theirs)
