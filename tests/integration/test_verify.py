"""`headrace verify` as a user runs it."""

import contextlib
import json
from functools import partial

import pytest
from support.elsewhere import HOST, needs_namespaces, worker_elsewhere
from support.headrace_program import (
    coordinator,
    free_address,
    inspected,
    ready_workers,
    running,
    wait_for,
    wait_for_answer,
)
from support.photos import write_jpegs
from support.tree import documented_keys

EQUAL = """
import sys, threading
from collections import namedtuple
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset
from torchvision import datasets, transforms as t

photos, damaged = sys.argv[1:]
chain = t.Compose([t.RandomResizedCrop(32), t.RandomHorizontalFlip(), t.ToTensor()])
Pair = namedtuple("Pair", ["a", "b"])

class Own(Dataset):
    def __len__(self):
        return 12
    def __getitem__(self, index):
        if index == 7:
            raise ValueError(f"row {index} is bad")
        return {"draws": torch.rand(2), "pair": Pair(np.random.rand(), [index, -index]), "name": "x"}

class Held(Own):
    lock = None
    def __init__(self):
        self.lock = threading.Lock()

def keep(samples):
    return samples

class Named(Dataset):
    def __getitem__(self, key):
        return len(key)

generator = torch.Generator()
train = DataLoader(datasets.ImageFolder(photos, chain), 4, shuffle=True, num_workers=2,
                   generator=generator, persistent_workers=True)
broken = DataLoader(datasets.ImageFolder(damaged, chain), 2, num_workers=1)
alone = DataLoader(datasets.ImageFolder(photos, chain), 4, shuffle=True)
numbers = DataLoader(TensorDataset(torch.arange(6.0)), 2, num_workers=1)
own = DataLoader(Own(), 3, shuffle=True, num_workers=2, collate_fn=keep)
held = DataLoader(Held(), 3, num_workers=1)
named = DataLoader(Named(), sampler=["a", "bb"], batch_size=1, num_workers=1)
for batch in train:
    raise SystemExit("it went on")
"""


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    return write_jpegs(tmp_path_factory.mktemp("photos"), classes=2, count=8)


def test_equal_batches(photos, tmp_path):
    damaged = write_jpegs(tmp_path / "damaged", classes=1, count=6)
    (damaged / "class0" / "003.jpg").write_bytes(b"no picture")
    done = inspected(
        "verify", "--json", "--batches", "3", program=EQUAL, arguments=(photos, damaged)
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)["loaders"]
    keys = documented_keys("docs/reference/explain.md", "A verified loader")
    assert all(set(loader) == keys and loader["ok"] for loader in found)
    seen = [(x["path"], x["rng"], x["equal"], x["compared_with"]) for x in found]
    assert seen == [
        ("native", "torch", 3, "stock"),
        ("native", "torch", 3, "stock"),
        ("native", "torch", 3, "stock"),
        ("native", "none", 3, "stock"),
        ("python", "torch", 3, "stock"),
        ("python", "torch", 3, "stock"),
        ("python", "torch", 2, "stock"),
    ]
    assert "Held is not a dataset" in found[5]["reason"]


DIFFERENT = """
import os, sys
import torch
from headrace.loader import seam
from headrace.native import transforms
from torch.utils.data import DataLoader, Dataset
from torchvision import datasets, transforms as t

real_flip, real_admit = transforms._TABLE["v1.RandomVerticalFlip"], seam.admission.admit

def never(transform):
    node = real_flip(transform)
    node.args["p"] = 0.0
    return node

# The operator's arguments are misread, and one loader is not compared before it is served.
transforms._TABLE["v1.RandomVerticalFlip"] = never
seam.admission.admit = lambda loader, captured, *reference: (
    captured if hasattr(loader, "unseen") else real_admit(loader, captured, *reference)
)

class Process(Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, index):
        return {"index": index, "made": [index * 2, os.getpid() if index == 5 else 0]}

chain = t.Compose([t.Resize((32, 32)), t.RandomVerticalFlip(1.0), t.ToTensor()])
found = DataLoader(datasets.ImageFolder(sys.argv[1], chain), 4, num_workers=1)
unseen = DataLoader(datasets.ImageFolder(sys.argv[1], chain), 4, num_workers=1)
alone = DataLoader(datasets.ImageFolder(sys.argv[1], chain), 4)
unseen.unseen = alone.unseen = True
pid = DataLoader(Process(), 4, num_workers=1)
iter(found)
"""


def test_a_difference_is_named(photos):
    done = inspected("verify", "--batches", "2", program=DIFFERENT, arguments=(photos,))
    assert done.returncode == 1, done.stdout + done.stderr
    found, unseen, alone, pid = done.stdout.splitlines()
    flip = "RandomVerticalFlip(p=1.0)"
    assert "2 of 2 batches equal (python, rng torch)" in found
    assert f"not native: {flip} gives other bits natively" in found
    for line in (unseen, alone):
        assert "0 of 2 batches equal (native, rng torch); batch 0 differs at batch[0]" in line
        assert "sample 0: " in line and f"the first node that differs is {flip}" in line
    assert "1 of 2 batches equal (python, rng torch); batch 1 differs" in pid
    assert "batch['made'][1], sample 1" in pid


SEEDS = """
import sys, torch
from torch.utils.data import DataLoader
from torchvision import datasets, transforms as t
chain = t.Compose([t.RandomResizedCrop(32), t.ToTensor()])
data = datasets.ImageFolder(sys.argv[1], chain)
loader = DataLoader(data, sampler=[0, 1, 1, 5, 0, 1, -1, 2], batch_size=2, num_workers=2)
iter(loader)
"""


def test_a_seed_for_each_sample(tmp_path):
    """It holds also for keys that come again, for negative ones, and for a file that nobody can
    read."""
    photos = write_jpegs(tmp_path / "photos", classes=1, count=6)
    (photos / "class0" / "002.jpg").write_bytes(b"no picture")
    done = inspected("verify", "--rng", "sample", program=SEEDS, arguments=(photos,))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 of 4 batches equal (native, rng sample); with a seed for each sample" in done.stdout


SEEDS_OF_CODE = """
import torch
from torch.utils.data import DataLoader, Dataset

class Drawn(Dataset):
    def __getitem__(self, key):
        return torch.rand(2), str(key)

def loader(keys):
    return DataLoader(Drawn(), sampler=keys, batch_size=2, num_workers=2)

numbers, names = loader([0, 1, 1, 5, 0, 1, -1, 2]), loader(["a", "bb", "a", "c"])
iter(numbers)
"""


def test_a_seed_for_each_sample_of_code():
    """It holds for numbers as they are given, and for keys that are none."""
    done = inspected("verify", "--rng", "sample", program=SEEDS_OF_CODE)
    assert done.returncode == 0, done.stdout + done.stderr
    for line, batches in zip(done.stdout.splitlines(), (4, 2), strict=True):
        assert f"{batches} of {batches} batches equal (python, rng sample)" in line


def test_a_program_without_a_loader():
    done = inspected("verify", program="print('nothing')")
    assert done.returncode == 1 and done.stdout == ""
    assert "before the first iter() of a DataLoader; nothing to verify" in done.stderr


POOL = """
import sys
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset
from torchvision import datasets, transforms as t

photos, table = sys.argv[1:]

class Noisy(Dataset):
    def __len__(self):
        return 16

    def __getitem__(self, index):
        return torch.rand(2) + np.fromfile(table, np.uint8)[index]

chain = t.Compose([t.RandomResizedCrop(32), t.ToTensor()])
native = DataLoader(datasets.ImageFolder(photos, chain), 4, shuffle=True, num_workers=2)
code = DataLoader(Noisy(), 4, shuffle=True, num_workers=2)
iter(native)
"""


def _has_workers(address, number):
    return len(ready_workers(address)) == number


@pytest.mark.parametrize("same", [True, False])
@pytest.mark.parametrize("first", ["here", "elsewhere"])
def test_each_worker_of_a_pool(photos, tmp_path, same, first):
    """Whichever worker is asked first: what it says of its files is not taken for those of the next one."""
    needs_namespaces()
    address, folder = free_address(), tmp_path / "own"
    folder.mkdir()
    table, others = tmp_path / "table", tmp_path / "others"
    table.write_bytes(bytes(range(16)))
    others.write_bytes(bytes(range(15)) + b"x")
    picture = photos / "class0" / "003.jpg"
    content = {} if same else {table: others, picture: photos / "class1" / "005.jpg"}
    with contextlib.ExitStack() as stack:
        stack.enter_context(coordinator("--listen", address))
        wait_for_answer(address)
        words = "worker", "--coordinator", address, "--threads", "1"
        workers = [
            running(*words, HEADRACE_LOG="error"),
            worker_elsewhere(address, folder, content),
        ]
        for number, worker in enumerate(workers if first == "here" else reversed(workers), 1):
            stack.enter_context(worker)
            wait_for(partial(_has_workers, address, number), "workers", 60)
        words = "verify", "--workers", "--json", "--batches", "4", "--coordinator", address
        done = inspected(*words, program=POOL, arguments=(photos, table))
    assert done.returncode == (0 if same else 1), done.stdout + done.stderr
    rows = json.loads(done.stdout)["loaders"]
    keys = documented_keys("docs/reference/explain.md", "A verified loader")
    assert all(set(row) == keys and row["batches"] == 4 for row in rows)
    found = {(row["path"], row["host"] == HOST): row for row in rows}
    assert len(found) == len(rows) == 4
    for (path, elsewhere), row in found.items():
        assert row["ok"] == (same or not elsewhere), json.dumps(row)
        assert bool(row["other_files"]) == (not same and elsewhere and path == "native")
    if not same:
        code = found["python", True]
        assert code["equal"] == 3 and code["sample"] is not None  # one row of one batch
        assert found["native", True]["equal"] == 4  # the trainer made that sample
