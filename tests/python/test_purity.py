"""Which code keeps state: by its text, and by a dry run on copies."""

import functools
import importlib.util
import io
import os
import random
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from headrace.capture.purity import class_of, examine, findings_of
from headrace.stage.dry_run import dry_run
from headrace.stage.host import Host
from support.compare import check
from support.pipelines import Numbers
from support.stateful import STATEFUL, Counter, InALibrarysList, Rows, Scaler
from support.stateless import STATELESS, Memo, OwnGenerators, SwitchedOff
from torch.utils.data import ConcatDataset, DataLoader, Dataset, Subset, default_collate
from torchvision import transforms as v1


def texts(dataset, collate_fn=default_collate):
    return [f"{f.where} {f.text}" for f in examine(dataset, collate_fn)]


@pytest.mark.parametrize("cls", STATEFUL, ids=lambda cls: cls.__name__)
def test_code_that_keeps_state(cls):
    assert texts(cls())


@pytest.mark.parametrize("cls", STATELESS, ids=lambda cls: cls.__name__)
def test_code_that_only_looks_like_it(cls):
    assert texts(cls()) == []


def test_says_what_and_where():
    line = Counter.__getitem__.__code__.co_firstlineno + 1
    assert texts(Counter()) == [
        f"Counter.__getitem__ (stateful.py:{line}) changes self.count, which later samples may see"
    ]


def test_is_found_inside_of_other_datasets():
    assert "self.dataset.count" in texts(Subset(Counter(), [1, 2]))[0]
    assert "self.datasets[1].count" in texts(ConcatDataset([Rows(), Counter()]))[0]
    assert texts(ConcatDataset([Rows(), Memo()])) == []
    assert "calls" in texts(InALibrarysList())[0]


def test_collate_fn_is_looked_at():
    assert "collate_fn.calls" in texts(Rows(), Scaler())[0]
    assert texts(Rows(), lambda samples: samples) == []


SOURCE = """
from torch.utils.data import Dataset
class Plain(Dataset):
    def __getitem__(self, index):
        found = index
        return found
class Writes(Dataset):
    count = 0
    def __getitem__(self, index):
        self.count = index
        return index
"""
SLICE = """
class Slice:
    rows = [0]
    def __getitem__(self, index):
        self.rows[0:1] = [index]
"""


def module_of(path):
    spec = importlib.util.spec_from_file_location("made_for_purity", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_file_that_was_edited_since_is_not_believed(tmp_path):
    path = tmp_path / "made_for_purity.py"
    path.write_text(SOURCE)
    module = module_of(path)
    assert texts(module.Writes()) == []  # set at each sample, and never read
    path.write_text(
        SOURCE.replace("found = index", "found = index + 1").replace("= index\n", "= 2\n")
    )
    assert texts(module.Plain()) == []  # writes nothing that lasts, by its bytecode
    (text,) = texts(module.Writes())
    assert "its source can't be read" in text


def test_code_without_a_file():
    names = {"Dataset": Dataset}
    exec(SOURCE.replace("from torch.utils.data import Dataset", ""), names)
    assert texts(names["Plain"]()) == []
    assert "its source can't be read" in texts(names["Writes"]())[0]
    exec(SLICE, names)
    assert "its source can't be read" in texts(names["Slice"]())[0]


class Augmented(Rows):
    def __getitem__(self, index):
        return self.transform(self.rows[index])


def augmented(transform):
    dataset = Augmented()
    dataset.transform = transform
    return dataset


@pytest.mark.parametrize(
    "part",
    [
        OwnGenerators(),
        augmented(lambda x: x + random.random()),
        augmented(lambda x: x + np.random.randint(3)),
        augmented(lambda x: torch.empty(x).uniform_()),
        augmented(lambda x: torch.rand(x)),
        augmented(v1.Compose([v1.RandomHorizontalFlip()])),
        augmented(v1.ColorJitter(0.1)),
    ],
)
def test_code_that_draws_is_random(part):
    assert class_of(part, "dataset")[0] == "random"


def test_classes_say_where():
    assert class_of(augmented(v1.ToTensor()), "dataset") == ("pure", "")
    assert class_of(Memo(), "dataset") == ("pure", "")
    assert class_of(default_collate, "collate_fn") == ("pure", "")
    kind, evidence = class_of(Scaler(), "transform")
    assert kind == "stateful" and evidence.startswith("Scaler.__call__ (stateful.py:")
    kind, evidence = class_of(OwnGenerators(), "dataset")
    assert "OwnGenerators.__getitem__ (stateless.py:" in evidence


def test_a_package_of_the_program_with_a_librarys_name_is_read(tmp_path, monkeypatch):
    (tmp_path / "imageio.py").write_text(SOURCE.replace("= index\n", "+= index\n"))
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("imageio")
    monkeypatch.delitem(sys.modules, "imageio")
    monkeypatch.setitem(sys.modules, "imageio", module)
    assert "changes self.count" in texts(module.Writes())[0]


def sets_what_it_likes(worker):
    torch.utils.data.get_worker_info().dataset.augment = True


def seeds(worker):
    random.seed(worker)


def test_settings_that_worker_init_fn_may_change_rule_nothing_out():
    def findings_with(worker_init_fn):
        loader = DataLoader(SwitchedOff(), num_workers=1, worker_init_fn=worker_init_fn)
        return [finding.text for finding in findings_of(loader)]

    assert findings_with(None) == findings_with(seeds) == []
    for fn in (sets_what_it_likes, functools.partial(seeds), SwitchedOff().__getitem__):
        assert "changes self.count" in findings_with(fn)[0]


def chain_of_functions(path, length):
    lines = [f"def f{i}(x):\n    return f{i + 1}(x)\n" for i in range(length)]
    path.write_text("".join(lines) + f"def f{length}(x):\n    return x\n")
    return module_of(path).f0


def test_code_that_is_too_deep_is_not_passed(tmp_path):
    dataset = Rows()
    assert texts(dataset, chain_of_functions(tmp_path / "short.py", 20)) == []
    (text,) = texts(dataset, chain_of_functions(tmp_path / "long.py", 500))
    assert "too large or too odd" in text


class Odd(dict):
    def values(self):
        raise RuntimeError("not now")


def test_objects_that_do_not_let_themselves_be_looked_at_stay():
    dataset = Memo()
    dataset.cache = Odd()
    (text,) = texts(dataset)
    assert "too large or too odd" in text


# The dry run.


class Hidden(Rows):
    """Counts where no reading of the code finds it."""

    def __init__(self):
        super().__init__()
        self.times = [operator_of]

    def __getitem__(self, index):
        return self.rows[index], self.times[0](self)


def operator_of(dataset):
    count = vars(dataset)["rows"].__len__()
    object.__setattr__(dataset, "extra", getattr(dataset, "extra", 0) + 1)
    return count + dataset.extra


class FrozenAugmentation(Memo):
    """Caches behind what is random, so a hit draws nothing."""

    def __getitem__(self, index):
        if index not in self.cache:
            self.cache[index] = self.rows[index] + random.random()
        return self.cache[index]


class OwnTime(Rows):
    def __getitem__(self, index):
        return self.rows[index], time.perf_counter_ns()


class Hangs(Rows):
    def __getitem__(self, index):
        while True:
            io.BytesIO()


class Dies(Rows):
    def __getitem__(self, index):
        os._exit(3)


class Raises(Rows):
    def __getitem__(self, index):
        raise ValueError(f"row {index}")


class Once(Rows):
    """Raises for every sample but its first."""

    def __getitem__(self, index):
        if vars(self).setdefault("made", []):
            raise ValueError("again")
        vars(self)["made"].append(index)
        return index


def tried(dataset, collate_fn=default_collate, seconds=60.0, keys=(0, 6), worker_init_fn=None):
    bundle = SimpleNamespace(
        dataset=dataset,
        collate_fn=collate_fn,
        worker_init_fn=worker_init_fn,
        auto_collation=True,
        drop_last=False,
        num_workers=2,
        iterable=False,
        keeps_state=False,
        dry_run=list(keys),
        dry_run_seconds=seconds,
    )
    before = torch.get_rng_state(), torch.get_num_threads()
    found = dry_run(bundle, Host)
    assert torch.equal(torch.get_rng_state(), before[0]) and torch.get_num_threads() == before[1]
    return found


@pytest.mark.parametrize("cls", STATELESS, ids=lambda cls: cls.__name__)
def test_dry_run_passes_caches(cls):
    assert tried(cls()) == ""


def test_dry_run_finds_hidden_state():
    found = "makes another sample of index 6 when it has made others before"
    assert tried(Hidden()) == found
    assert tried(Once()) == found
    assert tried(Rows(), collate_fn=Scaler()) != ""
    assert tried(Numbers()) == ""


def test_dry_run_finds_a_cache_that_freezes_augmentation():
    assert tried(FrozenAugmentation()) == (
        "makes another sample of index 0 when it has made others before"
    )


def test_dry_run_of_what_differs_by_itself():
    assert tried(OwnTime()) == "makes another sample at each try, from the same random numbers"


def test_dry_run_of_what_raises_hangs_or_dies():
    assert tried(Raises()) == ""
    assert tried(Hangs(), seconds=0.5) == ""
    assert tried(Dies()) == ""
    assert tried(Rows(), keys=()) == ""


def test_dry_run_that_cannot_be_made_is_not_passed():
    def leaves(worker):
        raise SystemExit("enough")

    assert tried(Rows(), worker_init_fn=leaves) == "could not be tried: SystemExit: enough"


def test_dry_run_prints_nothing(capfd):
    class Prints(Rows):
        def __getitem__(self, index):
            print("row", index)
            print("row", index, file=sys.stderr)
            return index

    assert tried(Prints()) == ""
    assert capfd.readouterr() == ("", "")


# As a program sees it.


def loader_of(make, **named):
    named = {"batch_size": 3, "num_workers": 2, "shuffle": True, **named}
    return lambda loader: loader(make(), **named)


@pytest.mark.parametrize("cls", [Counter, Hidden])
def test_what_keeps_state_is_said_once(cls, capfd):
    check(loader_of(cls), path="python")
    err = capfd.readouterr().err
    assert err.count("headrace: ") == 1
    assert err.endswith(": each lane stays with one worker\n")
    assert ("changes self.count" if cls is Counter else "when it has made others before") in err


@pytest.mark.parametrize("persistent_workers", [False, True])
def test_own_generators_go_on_as_in_the_stock_loaders_workers(persistent_workers):
    check(loader_of(OwnGenerators, persistent_workers=persistent_workers), path="python")
