"""What the program has put into installed modules is on other hosts, or keeps its code here."""

import builtins
import functools
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import torch
import torchvision
from headrace.capture import Local, python_stage
from headrace.process.modules import made_modules
from PIL import Image, ImageFile
from support.other_interpreter import Elsewhere
from support.own_process import in_own_process
from support.programs import run_program
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms as v1
from torchvision.transforms import functional as F


class Pictures(Dataset):
    def __init__(self):
        self.transform = v1.Compose([v1.ToTensor(), v1.Normalize(0.5, 0.5)])

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return self.transform(Image.new("RGB", (4, 4), (index, 0, 0)))


def mine(*args, **named):
    return args[0]


class Mine:
    pass


def around(function):
    @functools.wraps(function)
    def wrapped(*args):
        return function(*args)

    return wrapped


def registered(function):
    """Registers as a library does, whose function holds the one that it was given."""
    space = {"__name__": "torchvision.transforms"}
    exec("def wrap(f):\n    def wrapped(*a):\n        return f(*a)\n    return wrapped", space)
    made = types.FunctionType(
        space["wrap"].__code__.co_consts[1],
        vars(torchvision.transforms),
        closure=(types.CellType(function),),
    )
    return made


class Reader(ImageFile.ImageFile):
    format = "MINE"


CHANGES = {
    "torchvision.transforms.functional.normalize is": lambda put: put(F, "normalize", mine),
    "PIL.Image.open is": lambda put: put(Image, "open", around(Image.open)),
    "PIL.Image.new is": lambda put: put(Image, "new", functools.partial(mine, 1)),
    "torchvision.transforms.transforms.Normalize.forward is": (
        lambda put: put(v1.Normalize, "forward", mine)
    ),
    "torchvision.transforms.transforms.Pad.forward is": (
        lambda put: put(v1.Pad, "forward", staticmethod(mine))
    ),
    "torchvision.transforms.transforms.Pad.more is": (
        lambda put: put(v1.Pad, "more", property(mine))
    ),
    "torchvision.transforms.mine is": lambda put: put(torchvision.transforms, "mine", Mine),
    "torchvision.utils.mine is": lambda put: put(torchvision.utils, "mine", Mine()),
    "torch.nn.functional.relu is": lambda put: put(torch.nn.functional, "relu", mine),
    "builtins.profile is": lambda put: put(builtins, "profile", mine),
    "torchvision.transforms.table holds": (
        lambda put: put(torchvision.transforms, "table", {"mine": registered(mine)})
    ),
    "torchvision.transforms.transforms.Pad.table holds": (
        lambda put: put(v1.Pad, "table", [(0, Mine())])
    ),
    "default_collate_fn_map holds": (
        lambda put: put(
            torch.utils.data._utils.collate,
            "default_collate_fn_map",
            {**torch.utils.data._utils.collate.default_collate_fn_map, Mine: mine},
        )
    ),
    "PIL reads MINE by tests.python.test_foreign.Reader": (
        lambda put: put(Image, "OPEN", {**Image.OPEN, "MINE": (Reader, None)})
    ),
}


def packed(dataset=None):
    return python_stage.pack(DataLoader(dataset or Pictures(), num_workers=1), [])


@pytest.mark.parametrize("reason", CHANGES)
def test_what_keeps_the_code_here(monkeypatch, reason):
    packed()
    CHANGES[reason](
        lambda owner, name, value: monkeypatch.setattr(owner, name, value, raising=False)
    )
    with pytest.raises(Local, match=reason):
        packed()


def test_the_programs_own_subclasses_and_imports_keep_nothing_here():
    class Other(v1.Normalize):
        pass

    data = Pictures()
    data.transform = Other(0.5, 0.5)
    packed(data)


class Reads(Dataset):
    def __getitem__(self, index):
        import torchvision.utils as aside

        return {
            "added": getattr(torchvision, "mine_is_here", None),
            "changed": torchvision.transforms._functional_pil.mine_is_changed,
            "in a function": aside.mine_is_inside,
            "of numpy": np.mine_is_in_numpy,
        }


@in_own_process
def test_plain_values_that_the_code_names_are_there_too():
    with Elsewhere() as place:
        torchvision.mine_is_here = 3
        torchvision.transforms._functional_pil.mine_is_changed = {"a": [1, 2.5, None]}
        torchvision.utils.mine_is_inside = np.arange(3)
        np.mine_is_in_numpy = ("x", b"y")
        here, there = Reads()[0], place.samples(Reads())[0]
    assert repr(there) == repr(here), there


class Uses(Dataset):
    def __init__(self):
        self.norm = v1.Normalize(0.5, 0.5)

    def __getitem__(self, index):
        return type(self.norm).__dict__["mine_table"][index]


@in_own_process
def test_a_table_that_a_constructor_left_on_an_installed_class():
    with Elsewhere() as place:
        v1.Normalize.mine_table = np.arange(7, dtype=np.uint8)
        assert place.samples(Uses(), [5]) == [5]


def test_modules_that_the_program_has_made(monkeypatch):
    module = types.ModuleType("mine_made")
    module.table = [1, 2]
    exec("def read(i):\n    return table[i]", vars(module))
    monkeypatch.setitem(sys.modules, "mine_made", module)
    assert [m.__name__ for m in made_modules()] == ["mine_made"]

    class Made(Dataset):
        def __len__(self):
            return 1

        def __getitem__(self, index):
            return module.read(index)

    class Imports(Made):
        def __getitem__(self, index):
            import mine_made

            return mine_made.read(index)

    packed(Made())
    with pytest.raises(Local, match="the code imports mine_made, a module that the program has"):
        packed(Imports())


HASHES = {
    "calls hash": lambda self, index: hash("text") % 7,
    "makes a set": lambda self, index: next(iter(set("ab"))),
    "<lambda> makes a set": lambda self, index: list({"a", "b"}),
    "Hashes.names is a set of text": lambda self, index: list(self.names),
}


@pytest.mark.parametrize("reason", HASHES)
def test_code_that_shows_hashes_of_text(monkeypatch, reason):
    class Hashes(Dataset):
        __getitem__ = HASHES[reason]

        def __len__(self):
            return 1

    data = Hashes()
    data.names = {"a", "b"}
    monkeypatch.setattr("headrace.capture.bundle.hash_seed", lambda: None)
    with pytest.raises(Local, match=f"{reason}.*hashes of text are this process's own"):
        packed(data)
    monkeypatch.setattr("headrace.capture.bundle.hash_seed", lambda: "3")
    packed(data)


def test_code_that_does_not_show_them(monkeypatch):
    monkeypatch.setattr("headrace.capture.bundle.hash_seed", lambda: None)

    class Sorted(Dataset):
        def __init__(self):
            self.classes = sorted(set("abc"))
            self.bad = {"x", "y"}

        def __len__(self):
            return 1

        def __getitem__(self, index):
            seen = sorted({name.lower() for name in self.classes})
            return index in self.bad or index in {"a", "b"} or seen

    packed(Sorted())


HASHED = """
import sys
sys.path[:0] = sys.argv[1:2]
from torch.utils.data import Dataset
from headrace.capture.process_state import hash_seed
from support.other_interpreter import Elsewhere
class Hashed(Dataset):
    def __len__(self): return 1
    def __getitem__(self, index): return hash("some text"), list({str(i) for i in range(20)})
assert hash_seed() == "321"
import os
os.environ["PYTHONHASHSEED"] = "5"  # what an interpreter that starts now has
with Elsewhere(hash_seed=hash_seed()) as place:
    assert place.samples(Hashed()) == [Hashed()[0]]
with Elsewhere() as place:
    try:
        place.samples(Hashed())
    except AssertionError as error:
        assert "calls hash(), and hashes of text are not the trainer's here" in str(error), error
    else:
        raise SystemExit("served")
"""


def test_hashes_of_text_are_the_trainers_or_the_code_is_refused():
    tests = str(Path(__file__).parents[1])
    # The worker's interpreter starts with a seed of its own.
    done = run_program(HASHED, tests, env={"PYTHONHASHSEED": "321"})
    assert done.returncode == 0, done.stderr
