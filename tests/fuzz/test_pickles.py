"""What the client says of a pickle is all that Python's unpickler does with it."""

import os
import random

import pytest
from headrace import _client

from fuzz import pickles

COUNT = 30_000


def test_the_client_says_all_that_a_pickle_does():
    seed = int(os.environ.get("HEADRACE_TEST_SEED") or random.SystemRandom().randrange(2**32))
    print(f"HEADRACE_TEST_SEED={seed}")
    taken = pickles.run(seed, COUNT, _client.pickle_names)
    assert taken > COUNT / 4


@pytest.mark.parametrize("kind", ["v", "c", "n", "b", "a", "s"])
def test_a_kind_of_use_that_is_not_said_is_found(kind):
    def names(pickled, buffers):
        return {use for use in _client.pickle_names(pickled, buffers) if use[0] != kind}

    with pytest.raises(pickles.Wrong):
        pickles.run(3, COUNT, names)
