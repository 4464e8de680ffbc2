"""Objects of the program's are as quick after we have looked at them as before: under Python 3.11 an object whose
`__dict__` was asked for is slower for ever."""

import copy
import functools
import gc
import sys
from pathlib import Path

import headrace
import pytest
from headrace import _client
from headrace.loader.seam import state_of
from headrace.native import attributes
from support.own_process import in_own_process

ONLY_HERE = pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="no other Python needs it")
MOST = 1000


class Part:
    def __init__(self, name="a"):
        self.name, self.numbers = name, [1, 2]

    def called(self):
        return self.name


class Whole:
    def __init__(self):
        self.part, self.parts, self.by_name = Part(), [Part("b"), (Part("c"),)], {"d": Part("d")}
        self.call = Part("e").called
        self.bound = functools.partial(Part.called, Part("f"))

    def all(self):
        listed = [self.part, self.parts[0], self.parts[1][0], self.by_name["d"]]
        return [*listed, self.call.__self__, self.bound.args[0]]


def given(*roots):
    return _client.give_back_attributes(list(roots), MOST)


@ONLY_HERE
def test_what_was_looked_at_is_given_back_once():
    whole = Whole()
    assert given(whole) == 0
    before = copy.deepcopy([vars(one) for one in whole.all()])
    assert given(whole) == 6
    assert given(whole) == 0
    assert [vars(one) for one in whole.all()] == before
    assert list(vars(whole)) == ["part", "parts", "by_name", "call", "bound"], "their order is kept"


@ONLY_HERE
def test_attributes_go_on_as_they_were():
    for number in range(200):
        part = Part()
        vars(part)
        part.more = number
        if number % 2:
            del part.name
        assert given(part) == 1
        part.more += 1
        assert vars(part) == ({} if number % 2 else {"name": "a"}) | {
            "numbers": [1, 2],
            "more": number + 1,
        }
        assert given(part) == 1
        part.name = "z"
        assert part.called() == "z" and part.more == number + 1
        gc.collect(0)


@ONLY_HERE
def test_a_dict_that_somebody_has_stays_the_objects():
    part, shared = Part(), {"name": "s", "numbers": []}
    held = vars(part)
    assert given(part) == 0
    held["name"] = "changed"
    assert part.name == "changed" and vars(part) is held
    other = Part()
    other.__dict__ = shared
    assert given(other) == 0 and vars(other) is shared
    del shared
    assert given(other) == 0, "a dict with keys of its own is no row of values"
    assert other.name == "s"


@ONLY_HERE
def test_values_die_when_their_object_does():
    class Dies:
        def __del__(self):
            died.append(1)

    died, part = [], Part()
    part.name = Dies()
    vars(part)
    assert given(part) == 1
    del part
    assert died == [1]


@ONLY_HERE
def test_functions_lead_to_what_they_hold_and_not_to_globals():
    part, default, other = Part(), Part(), WITHOUT
    for one in part, default, other:
        vars(one)

    def collate(samples, by=default):
        return part, WITHOUT

    assert given(collate) == 2
    assert given(other) == 1


WITHOUT = Part()


@ONLY_HERE
def test_much_data_hides_no_object():
    whole = Whole()
    whole.parts, whole.last = [(number, [number]) for number in range(100_000)], Part()
    vars(whole.last)
    assert _client.give_back_attributes([whole], 200) >= 1
    assert given(whole.last) == 0


def test_other_objects_are_let_alone():
    class Slots:
        __slots__ = ("a",)

    class Table(dict):
        pass

    class Fails(Exception):
        pass

    for one in (
        Slots(),
        Table(a=1),
        Fails("f"),
        object(),
        7,
        None,
        Part,
        sys,
        print,
        iter([]),
        Part.called,
    ):
        assert given(one) in (0, 1)
    assert attributes.give_back() == 0


class Looked:
    """Its samples: how many objects of the data set have a dict, where the sample is made."""

    def __init__(self, file):
        self.part, self.file = Part(), file

    def __len__(self):
        return 24

    def __getitem__(self, index):
        with open(self.file) as file:
            file.read()
        return _client.give_back_attributes([self], MOST)


def _epochs(folder, workers):
    """The samples of three epochs, and how they were made."""
    file = Path(folder) / "file"
    file.write_text("text")
    loader = headrace.DataLoader(Looked(str(file)), 4, num_workers=workers)
    made = [[number for batch in loader for number in batch.tolist()] for _ in range(3)]
    return made, state_of(loader).report.path


@in_own_process
def test_lanes_find_the_programs_objects_as_they_were(tmp_path):
    made, path = _epochs(tmp_path, workers=2)
    assert made == [[0] * 24] * 3 and path == "python"


@in_own_process
def test_the_trainer_finds_them_so_too(tmp_path):
    made, path = _epochs(tmp_path, workers=0)
    assert made == [[0] * 24] * 3 and path == "local"


class Loader:
    """As a DataLoader's parts are asked for: one is a property of the program's."""

    def __init__(self):
        self.dataset = Whole()

    @property
    def worker_init_fn(self):
        raise RuntimeError("stock does not ask")


@ONLY_HERE
def test_no_code_of_the_programs_runs_for_it():
    loader = Loader()
    for one in loader.dataset.all():
        vars(one)
    assert attributes.give_back_of(loader) > 1


@ONLY_HERE
def test_a_loader_of_which_nothing_is_to_give_is_left_alone(monkeypatch):
    walks, loader, give = [], Loader(), attributes.GiveBack()
    real = attributes.give_back_of
    monkeypatch.setattr(
        attributes, "give_back_of", lambda one: walks.append(real(one)) or walks[-1]
    )
    for number in range(12):
        if number < 3:
            vars(loader.dataset.part)
        give(loader)
    assert [bool(given) for given in walks] == [True] * 3 + [False] * 4


@ONLY_HERE
def test_objects_of_which_a_library_has_a_part_stay_as_they_are():
    import decimal

    class Price(decimal.Decimal):
        pass

    price = Price(1)
    price.currency = "EUR"
    vars(price)
    assert given([price], {"a": price}) == 0 and price.currency == "EUR"
