"""Followed code that draws from Python's random: the plan that becomes of it, and what is refused."""

import random

import numpy as np
import pytest
import torch
import torchvision.transforms.functional as TF
from headrace.capture import hooks
from headrace.capture.computed import Computed, computed_of
from headrace.capture.datasets import rows_of
from headrace.capture.fingerprint import Fingerprint
from headrace.capture.items import items_of
from headrace.native.plan import NotNative
from headrace.native.structure import fields_in
from support import python_random
from support.made_by_torchvision import values_of
from support.python_random import Both, drawn_program
from support.segmentation import write_pairs
from torchvision import transforms as v1


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    return write_pairs(tmp_path_factory.mktemp("pairs"), 6)


def plan_of(data) -> Computed:
    return computed_of(rows_of(data, Fingerprint()))


def test_the_nodes_of_drawn_programs_say_what_their_code_does(pairs):
    """Run by torchvision's functions, in the order of the plan, they draw and make the same."""
    seed = random.SystemRandom().randrange(1 << 32)
    rng = np.random.default_rng(seed)
    for number in range(60):
        data = Both(pairs, drawn_program(rng))
        items, made = items_of(data), plan_of(data)
        for index in range(len(data)):
            said = seed, number, index
            random.seed(index), torch.manual_seed(index)
            expected = fields_in(made.structure, data[index])
            states = torch.get_rng_state(), random.getstate()
            random.seed(index), torch.manual_seed(index)
            values = values_of(made.nodes, [paths[index] for paths in items.paths])
            assert torch.equal(torch.get_rng_state(), states[0]), said
            assert random.getstate() == states[1], said
            for field, own in zip(made.fields, expected, strict=True):
                theirs = values[field.index]
                assert theirs.dtype == own.dtype and torch.equal(theirs, own), said


def test_nodes_that_draw_from_python_say_so(pairs):
    """So a peer that knows no other generator than torch's refuses the plan."""
    for name, program in python_random.NATIVE.items():
        if name in ("torch's number is larger", "masks of arrays"):
            continue
        nodes = plan_of(program(pairs)).nodes
        assert any(node.args.get("generator") == "python" for node in nodes), name


# What is refused, with the words of the reason.


class Keeps(random.Random):
    pass


OWN = random.Random(3)
OTHER = Keeps(3)


def own_generator(image, mask):
    if OWN.random() < 0.5:
        image = TF.hflip(image)
    return image, mask


def own_class(image, mask):
    if OTHER.random() < 0.5:
        image = TF.hflip(image)
    return image, mask


def seeds(image, mask):
    random.seed(3)
    return image, mask


def gauss(image, mask):
    if random.gauss(0, 1) < 0.5:
        image = TF.hflip(image)
    return image, mask


def for_nothing(image, mask):
    random.random()
    return image, mask


def in_another_order(image, mask):
    first, second = random.random(), random.random()
    if second < 0.5:
        image = TF.hflip(image)
    if first < 0.5:
        mask = TF.hflip(mask)
    return image, mask


SHUFFLED = v1.RandomOrder([v1.RandomHorizontalFlip(), v1.RandomVerticalFlip()])


def draws_between(image, mask):
    drawn = random.random()
    image = SHUFFLED(image)
    if drawn < 0.5:
        mask = TF.hflip(mask)
    return image, mask


def draws_inside(image, mask):
    if random.random() < 0.5:
        angle = random.uniform(-3, 3)
        image = TF.rotate(image, angle)
    return image, mask


def used_inside(image, mask):
    angle = random.uniform(-3, 3)
    if torch.rand(1) < 0.5:
        image = TF.rotate(image, angle)
    return image, mask


def by_uniform(image, mask):
    if random.uniform(2, 3) < 2.5:
        image = TF.hflip(image)
    return image, mask


def computed(image, mask):
    size = random.randint(20, 30) * 2
    return TF.resize(image, size), TF.resize(mask, size)


def choices_of_sizes(image, mask):
    return TF.resize(image, random.choice([30, 40])), mask


def pads_by_another(image, mask):
    width, height = image.size
    across = 60 - width if width < 60 else 0
    down = 60 - height if height < 60 else 0
    return image, TF.pad(mask, (0, 0, across, down))


def pads_the_left(image, mask):
    width, height = image.size
    if width < 60:
        image = TF.pad(image, (60 - width, 0, 0, 0))
    return image, mask


def flips_what_is_small(image, mask):
    if min(image.size) < 60:
        image = TF.hflip(image)
    return image, mask


def pads_by_one_side(image, mask):
    width, height = image.size
    if width < 60:
        across = 60 - width if width < 60 else 0
        down = 60 - height if height < 60 else 0
        image = TF.pad(image, (0, 0, across, down))
    return image, mask


def pads_further(image, mask):
    if min(image.size) < 50:
        width, height = image.size
        across = 60 - width if width < 60 else 0
        down = 60 - height if height < 60 else 0
        image = TF.pad(image, (0, 0, across, down))
    return image, mask


REFUSED = {
    own_generator: "uses .random of random.Random",
    own_class: "uses .random of tests.python",
    seeds: "calls random.Random.seed",
    gauss: "calls random.Random.gauss",
    for_nothing: "draws a number and does not use it",
    in_another_order: "uses a number before one that it has drawn earlier",
    draws_between: "draws more between drawing a number and using it",
    draws_inside: "draws where what was drawn decides",
    used_inside: "draws where what was drawn decides",
    by_uniform: "decides by a number that random.uniform draws",
    computed: "computes with a number that is drawn",
    choices_of_sizes: "other than integers in a row",
    pads_by_another: "calls pad with the size of another picture",
    pads_the_left: "calls pad with",
    flips_what_is_small: "changes a picture that is not too small",
    pads_by_one_side: "changes a picture that is not too small",
    pads_further: "changes a picture that is not too small",
}


@pytest.mark.parametrize("both", REFUSED, ids=lambda both: both.__name__)
def test_refused(pairs, both):
    def program(image, mask):
        image, mask = both(image, mask)
        return TF.to_tensor(image), TF.pil_to_tensor(mask)

    with pytest.raises(NotNative, match=REFUSED[both]):
        plan_of(Both(pairs, program))


def test_a_part_of_random_that_was_replaced(pairs, monkeypatch):
    monkeypatch.setattr(random.Random, "_randbelow", lambda self, n: 0)
    with pytest.raises(NotNative, match="has replaced a part of random"):
        plan_of(Both(pairs, python_random.references()))


def test_a_part_of_random_that_is_replaced_later_is_seen(pairs, monkeypatch):
    data = Both(pairs, python_random.references())
    items = items_of(data)
    assert items.seen.same()
    monkeypatch.setattr(random.Random, "randrange", lambda self, *args: 40)
    assert not items.seen.same()


def test_functions_of_another_name_are_the_same(pairs):
    from random import random as drawn

    def both(image, mask):
        if drawn() < 0.5:
            image = TF.hflip(image)
        return TF.to_tensor(image), TF.pil_to_tensor(mask)

    assert "random_apply" in [node.op for node in plan_of(Both(pairs, both)).nodes]


# The seeds of a lane's generator after a worker_init_fn.


def recipe(worker_id):
    worker_seed = torch.initial_seed() % 2**32
    np.random.seed(worker_seed)
    random.seed(worker_seed)


def by_hand(worker_id, base=7):
    random.seed(base + worker_id)


def of_numpy(worker_id):
    np.random.seed(torch.initial_seed() % 2**32 + worker_id)


def of_text(worker_id):
    random.seed("seed")


def test_the_recipes_seed_is_computed_and_nothing_is_seeded():
    states = random.getstate(), torch.initial_seed(), np.random.get_state()[1].tolist()
    seeding = hooks.python_seeding_of(recipe)
    assert seeding(2**40 + 5, 3) == 8
    assert hooks.python_seeding_of(by_hand)(2**40, 3) == 10
    assert hooks.python_seeding_of(of_numpy)(2**40, 3) == 2**40 + 3
    assert hooks.python_seeding_of(None)(2**40, 3) == 2**40 + 3
    assert states == (random.getstate(), torch.initial_seed(), np.random.get_state()[1].tolist())


def test_a_seed_that_is_no_int_is_refused():
    with pytest.raises(NotNative, match="seeds `random` by 'seed'"):
        hooks.python_seeding_of(of_text)(1, 0)
