"""What a program pays before its first batch, in what can be counted: what is loaded, and when all objects are
looked at. Times are bench/report/real.md's."""

import json
import os
import subprocess
import sys
from pathlib import Path

import headrace
import pytest
from headrace.service import options

BOOTSTRAP = Path(headrace.__file__).parent / "bootstrap"
PACKAGE = Path(headrace.__file__).parents[1]

# Its data set is code of its own, as in most programs. What all its processes have loaded while batches come.
PLAIN = """
import json, os, sys
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __init__(self): self.rows = np.arange(64, dtype=np.float32).reshape(16, 4)
    def __len__(self): return len(self.rows)
    def __getitem__(self, index): return torch.from_numpy(np.sqrt(self.rows[index]))

def below(pid):
    yield pid
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children") as file:
            for child in file.read().split():
                yield from below(child)

before = set(sys.modules)
batches = iter(DataLoader(Rows(), 2, num_workers=2))
next(batches)
loaded = {}
for pid in below(os.getpid()):
    with open(f"/proc/{pid}/cmdline") as file, open(f"/proc/{pid}/maps") as maps:
        name = " ".join(file.read().split("\\0")[1:2])
        loaded[name or str(pid)] = [word for word in ("libcurl", "libmicrohttpd") if word in maps.read()]
ours = sorted(name for name in sys.modules if name.partition(".")[0] == "headrace")
print(json.dumps({"modules": ours, "others": sorted(set(sys.modules) - before), "loaded": loaded}))
"""
# Of native plans, of other hosts, of objects in stores, of num_workers=0, of torchvision's transforms.
FOR_OTHERS = (
    "admission.admission", "admission.comparison", "admission.reference_process", "admission.samples",
    "capture.batches", "capture.bundle", "capture.computed", "capture.elsewhere", "capture.handles.hdf5",
    "capture.items.boxes", "capture.live", "capture.proof.prove", "explain", "fs", "native.augment",
    "native.float_nodes", "native.timm", "native.torch_exp", "native.transforms", "objects",
    "serve.iterator", "serve.lazy", "serve.missing", "serve.stateful", "serve.stays", "serve.warm", "shards",
    "stage.reach", "stage.watch",
)  # fmt: skip
# kept_batches is among them so that lanes need not import it, and numpy_normals since torch imports numpy.random.
MOST_MODULES = 222


def run(source, *path):
    return subprocess.run(
        [sys.executable, "-c", source],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*map(str, path), str(PACKAGE)])},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture(scope="module")
def plain():
    done = run(PLAIN, BOOTSTRAP)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_plain_program_imports_what_it_needs(plain):
    ours = [name.removeprefix("headrace.") for name in plain["modules"]]
    wrong = [one for one in ours for other in FOR_OTHERS if f"{one}.".startswith(f"{other}.")]
    assert not wrong, (
        f"only some programs need these; import them where they do (own_imports.Late): {wrong}"
    )
    assert "serve.lane_iterator" in ours, "the program was served"
    assert len(ours) <= MOST_MODULES, "each takes 0.15 ms of every program's first batch"


def test_of_the_standard_library_it_imports_little(plain):
    """statistics takes as long as three modules of ours."""
    assert "statistics" not in plain["others"]


def test_no_process_loads_what_only_stores_and_web_pages_need(plain):
    """libcurl and GnuTLS take 4 to 5 ms of CPU, in each process that has them."""
    assert {"coordinator", "worker"} <= set(plain["loaded"])
    assert not {name: found for name, found in plain["loaded"].items() if found}


def test_the_program_is_no_link_of_them_either():
    told = subprocess.run(
        ["readelf", "-d", options.find_binary()], capture_output=True, text=True, check=True
    ).stdout
    assert "libzmq" in told
    assert "libcurl" not in told and "libmicrohttpd" not in told


FORKS = """
import gc, os
def looked(*objects):
    raise AssertionError("all objects of the process are looked at")
gc.get_referrers = looked
import torch.utils.data.dataloader
from headrace.process import fork_hooks
assert fork_hooks.around_forks() == fork_hooks.in_children() == "", fork_hooks.in_children()
def mine(): pass
os.register_at_fork(after_in_child=mine)
assert fork_hooks.around_forks() == "" and "mine runs at each fork" in fork_hooks.in_children()
os.register_at_fork(before=mine)
assert "mine runs at each fork" in fork_hooks.around_forks()
"""


def test_what_runs_at_forks_is_found_while_the_interpreter_starts():
    done = run(FORKS, BOOTSTRAP)
    assert done.returncode == 0, done.stderr


INSTALLED = """
import os
import headrace
def mine(): pass
os.register_at_fork(after_in_parent=mine)
headrace.install()
from headrace.process import fork_hooks
assert "mine runs at each fork" in fork_hooks.around_forks() and fork_hooks.in_children() == ""
"""


def test_without_headrace_run_it_is_found_later():
    done = run(INSTALLED)
    assert done.returncode == 0, done.stderr


LATE = """
import sys
import torch.utils.data.dataloader
import bisect, types
from headrace.process import own_imports
samples = own_imports.Late("headrace.admission.samples")
assert not hasattr(samples, "__wrapped__") and not hasattr(samples, "__path__")
assert "headrace.admission.samples" not in sys.modules
own = sys.modules["bisect"] = types.ModuleType("bisect")
del sys.modules["random"]
make = samples.make
assert sys.modules["bisect"] is own and "random" not in sys.modules
assert make is sys.modules["headrace.admission.samples"].make
try:
    samples.nothing_of_that_name
except AttributeError:
    pass
else:
    raise AssertionError
"""


def test_what_comes_late_changes_no_module_of_the_program():
    done = run(LATE, BOOTSTRAP)
    assert done.returncode == 0, done.stderr
