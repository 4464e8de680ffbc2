"""Random generators that datasets keep themselves belong to the state of a lane."""

import functools
import pickle
import random
import sys
import types

import numpy as np
import pytest
import torch
from headrace.process import generators
from headrace.process.generators import set_states, states_of
from headrace.stage.randomness import get_state, seed_sample, set_state
from support import stage_peer
from support.stateless import OwnGenerators
from torch.utils.data import Dataset, get_worker_info

Stage = functools.partial(stage_peer.Stage, user_module=sys.modules[__name__])

of_this_module = np.random.default_rng(3)


class Drawer:
    """A transform that shares its dataset's generators."""

    def __init__(self, generators):
        self.generators = generators


def jitter():
    return of_this_module.random()


class Keeper(Dataset):
    kept_by_the_class = random.Random(1)

    def __init__(self):
        self.generators = [
            np.random.default_rng(1),
            np.random.RandomState(2),
            random.Random(3),
            torch.Generator().manual_seed(4),
            np.random.Generator(np.random.MT19937(5)),
        ]
        self.transform = Drawer({"first": self.generators[0], "names": ["a"] * 1_000_000})
        self.late = self.replaced = None
        of_a_closure = random.Random(6)
        self.draw = lambda: of_a_closure.random()

    def __getitem__(self, index):
        if self.late is None:
            self.late = np.random.default_rng(get_worker_info().seed)
        numpy, old, python, of_torch, twister = self.generators
        return torch.tensor(
            [
                numpy.random(),
                self.transform.generators["first"].random(),
                old.rand(),
                python.random(),
                torch.rand((), generator=of_torch).item(),
                twister.random(),
                self.late.random(),
                self.replaced.random(),
                self.kept_by_the_class.random(),
                self.draw(),
                jitter(),
            ],
            dtype=torch.float64,
        )


def make_one_for_each_worker(lane):
    get_worker_info().dataset.replaced = random.Random(lane)


def test_any_host_goes_on_with_them():
    with Stage(dataset=Keeper(), worker_init_fn=make_one_for_each_worker) as stage:
        one = stage.host()
        state, expected = b"", []
        for k in range(4):
            answer = one.ask([2 * k, 2 * k + 1], 1, 5, state)
            expected.append(answer.value())
            state = answer.state
        assert len({tuple(batch.flatten().tolist()) for batch in expected}) == 4
        state = b""
        for batch in expected:
            answer = stage.host().ask([0, 1], 1, 5, state)
            assert torch.equal(answer.value(), batch)
            state = answer.state


def test_a_shared_generator_stays_shared():
    parts = {"dataset": Keeper()}
    states = states_of(parts)
    first = next(places for kind, _, places in states if kind == "Generator PCG64")
    assert len(first) == 2
    other = {"dataset": Keeper()}
    other["dataset"].generators[0].random(7)
    other["dataset"].late = None
    set_states(other, states)
    assert other["dataset"].generators[0].random() == parts["dataset"].generators[0].random()
    assert other["dataset"].transform.generators["first"] is other["dataset"].generators[0]


def test_a_state_of_another_pipeline_is_refused():
    states = states_of({"dataset": Keeper()})
    with pytest.raises(ValueError, match="has a random generator at"):
        set_states({"dataset": None}, states)


def test_a_state_is_plain_data_and_that_of_an_older_release_is_read():
    keeper = {"dataset": Keeper()}
    state = get_state(keeper)
    set_state(state, keeper)
    older = pickle.dumps(pickle.loads(state)[:3], protocol=5)
    set_state(older, keeper)


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
    assert states_of(roots) == []


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
        set_states({"dataset": Owner()}, [(kind, {}, [(("item", "dataset"), ("attribute", "x"))])])


def test_plain_data_is_not_walked():
    class Touchy(dict):
        def items(self):
            raise AssertionError

    big = Touchy((i, i) for i in range(100_000))
    assert states_of({"dataset": [big, list(range(100_000))]}) == []


class Slotted:
    __slots__ = ("rng",)


def tree(rng):
    """Something with a place for a generator of every kind."""
    data = types.SimpleNamespace(
        own=None,
        listed=[None] * 3,
        by_name={"a": None, 2: "text", "deep": {"x": [1, 2]}},
        many=["text"] * 101,
        slots=Slotted(),
        one={"p": random.Random(5)},
        partial=functools.partial(max, [None], key=None),
        inner=types.SimpleNamespace(names=["a"], drawer=Drawer([])),
        cell=(lambda held: lambda: held)([None]),
    )
    data.method = data.inner.__init__
    return {"dataset": data, "collate_fn": jitter}


def changes(parts, rng):
    """One thing that code could do to it between two batches."""
    data = parts["dataset"]
    made = rng.choice((random.Random(1), np.random.default_rng(2), torch.Generator(), None, "text"))
    rng.choice(
        (
            lambda: setattr(data, "own", made),
            lambda: setattr(data, f"new{rng.randrange(3)}", made),
            lambda: vars(data).pop(f"new{rng.randrange(3)}", None),
            lambda: data.listed.__setitem__(rng.randrange(3), made),
            lambda: data.listed.append(made) if len(data.listed) < 9 else data.listed.clear(),
            lambda: data.listed.extend([None] * max(0, 3 - len(data.listed))),
            lambda: data.by_name.__setitem__(rng.choice(("a", 2, "b")), made),
            lambda: data.by_name.__setitem__("a", data.by_name.pop(2, None)),
            lambda: data.by_name["deep"].__setitem__("x", [made]),
            lambda: data.many.pop() if len(data.many) > 99 else data.many.extend([made] * 3),
            lambda: setattr(data.slots, "rng", made),
            lambda: data.one.update({rng.choice("pqr"): data.one.popitem()[1]}),
            lambda: setattr(data, "inner", types.SimpleNamespace(drawer=made)),
            lambda: setattr(data.inner, "drawer", made),
            lambda: data.cell().__setitem__(0, made),
            lambda: setattr(data, "partial", functools.partial(max, [made])),
            lambda: parts.__setitem__("collate_fn", made),
            lambda: None,
        )
    )()


def test_whatever_changes_they_are_found_where_they_are():
    for seed in range(30):
        rng = random.Random(seed)
        parts = tree(rng)
        for step in range(60):
            while len(parts["dataset"].listed) < 3:
                parts["dataset"].listed.append(None)
            changes(parts, rng)
            fresh = generators._Walk(parts).found
            found = list(generators._generators(parts))
            assert [path for path, _ in found] == [path for path, _ in fresh], (seed, step)
            assert all(a[1] is b[1] for a, b in zip(found, fresh, strict=True)), (seed, step)


def test_what_has_not_changed_is_not_walked_again(monkeypatch):
    parts = tree(random.Random(1))
    walks = []
    real = generators._Walk
    monkeypatch.setattr(generators, "_Walk", lambda held: walks.append(1) or real(held))
    monkeypatch.setattr(generators, "_walk", None)
    for _ in range(5):
        generators.states_of(parts)
    assert len(walks) == 1
    parts["dataset"].own = random.Random(1)
    generators.states_of(parts)
    assert len(walks) == 2
