"""What `headrace run` puts on PYTHONPATH."""

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import headrace
from headrace.native import binding

BOOTSTRAP = Path(headrace.__file__).parent / "bootstrap"
PACKAGE = Path(headrace.__file__).parents[1]


def run(source, *args, path=(), env=None, cwd=None):
    entries = [str(BOOTSTRAP), *map(str, path), str(PACKAGE)]
    return subprocess.run(
        [sys.executable, "-c", source, *args],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(entries), **(env or {})},
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
    )


SEAM = "getattr(d.DataLoader._get_iterator, '__headrace_stock__', None) is not None"


def test_torch_is_patched_when_the_program_imports_it():
    done = run(f"import torch.utils.data.dataloader as d; print({SEAM})")
    assert done.stdout == "True\n" and not done.stderr


def test_an_environment_without_headrace_and_cloudpickle_is_served(tmp_path):
    """A program's own environment has torch, and need have nothing of ours. Beside the program lies the
    folder of ours, which is no package, however it is called."""
    (tmp_path / "program" / "headrace" / "lib").mkdir(parents=True)
    for entry in PACKAGE.iterdir():
        if not entry.name.startswith(("headrace", "cloudpickle")):
            (tmp_path / entry.name).symlink_to(entry)
    code = """
        import importlib.util, sys
        assert importlib.util.find_spec("headrace").origin is None
        assert importlib.util.find_spec("cloudpickle") is None
        import sitecustomize, torch.utils.data.dataloader as d
        import headrace.capture.pickler
        """
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"{textwrap.dedent(code)}\nprint({SEAM})"],
        env={**os.environ, "PYTHONPATH": f"{BOOTSTRAP}{os.pathsep}{tmp_path}"},
        cwd=tmp_path / "program",
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout == "True\n" and not done.stderr, done.stderr


def test_a_package_of_another_python_says_so_and_the_program_runs(tmp_path):
    """Its extension module is called by another version, so this Python does not find it."""
    package = tmp_path / "headrace"
    shutil.copytree(BOOTSTRAP.parent, package)
    for module in package.glob("_client.*"):
        module.rename(package / "_client.cpython-399-x86_64-linux-gnu.so")
    done = subprocess.run(
        [sys.executable, "-c", f"import torch.utils.data.dataloader as d; print({SEAM})"],
        env={**os.environ, "PYTHONPATH": f"{package / 'bootstrap'}{os.pathsep}{tmp_path}"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout == "False\n"
    mine = ".".join(map(str, sys.version_info[:2]))
    assert f"{package} is not for Python {mine}: install the wheel of that" in done.stderr


STATEFUL = "hasattr(StatefulDataLoader._get_iterator, '__headrace_stock__')"
IMPORTED = "from torchdata.stateful_dataloader import StatefulDataLoader; "


def test_torchdatas_loader_is_patched_whenever_it_is_imported():
    for first in ("", "import torch.utils.data; ", "import headrace; headrace.install(); "):
        done = run(f"{first}{IMPORTED}print({STATEFUL})")
        assert done.stdout == "True\n" and not done.stderr


def test_install_patches_torchdatas_loader_that_is_there_or_comes_later():
    calls = (
        "headrace.install(); " + IMPORTED + f"print({STATEFUL}); ",
        f"headrace.uninstall(); print({STATEFUL}); headrace.install(); print({STATEFUL}); ",
        f"headrace.uninstall(); print({STATEFUL})",
    )
    done = run("import headrace; " + "".join(calls), env={"HEADRACE": "off"})
    assert done.stdout == "False\n" * 4
    done = subprocess.run(
        [sys.executable, "-c", "import headrace; " + "".join(calls)],
        env={**os.environ, "PYTHONPATH": str(PACKAGE)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout == "True\nFalse\nTrue\nFalse\n", done.stderr


ASIDE = """
import torch
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter, _SingleProcessDataLoaderIter
data = TensorDataset(torch.arange(6))
class Streaming(DataLoader):
    def _get_iterator(self):
        return _SingleProcessDataLoaderIter(self)
class Fake:  # it looks like a loader to torch's iterator, and is none
    def __init__(self): self.__dict__.update(vars(DataLoader(data, 2, num_workers=1)))
    _dataset_kind, _auto_collation, multiprocessing_context = 0, True, None
    _index_sampler = property(lambda self: self.batch_sampler)
    def __iter__(self): return _MultiProcessingDataLoaderIter(self)
streaming, fake = Streaming(data, 2), Fake()
for epoch in range(2):
    assert len(list(streaming)) == len(list(fake)) == 3
list(DataLoader(data, 2)), list(DataLoader(data, 2, num_workers=1, collate_fn=lambda x: x))
import headrace
list(headrace.DataLoader(data, 2)), list(headrace.DataLoader(data, 2, num_workers=1))
"""
PAST = "makes its iterator itself, past DataLoader._get_iterator"


def test_loaders_that_go_past_the_seam_are_told_of(tmp_path):
    target = tmp_path / "report.json"
    done = run(ASIDE, env={"HEADRACE_REPORT": str(target)})
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if PAST in line] == [
        f"headrace: DataLoader(Streaming) stays in the trainer: this loader of __main__'s {PAST}",
        f"headrace: DataLoader(Fake) keeps its own workers: this loader of __main__'s {PAST}",
    ]
    told = [one for one in json.loads(target.read_text())["loaders"] if PAST in str(one["reasons"])]
    assert [(one["name"], one["path"]) for one in told] == [
        ("Streaming", "local"),
        ("Fake", "local"),
    ]
    assert not run(ASIDE, env={"HEADRACE": "off"}).stderr


FOUND_BY_TRYING = """
import torch
from torch.utils.data import DataLoader, Dataset
class Counts(Dataset):
    def __init__(self): self.made = {"n": 0}
    def __len__(self): return 8
    def __getitem__(self, index):
        getattr(self.made, "".join(("up", "date")))(n=self.made["n"] + 1)
        return torch.tensor(self.made["n"])
list(DataLoader(Counts(), 2, num_workers=1))
"""


def test_a_refusal_that_the_loader_acts_on_is_told_once():
    """The loader's own line tells it, and not the client's log."""
    done = run(FOUND_BY_TRYING)
    assert done.returncode == 0, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("headrace: DataLoader(Counts) ")


def test_off():
    done = run(
        f"import torch.utils.data.dataloader as d, sys; print({SEAM}, 'headrace' in sys.modules)",
        env={"HEADRACE": "off"},
    )
    assert done.stdout == "False False\n" and not done.stderr


def test_other_programs_import_nothing_of_ours():
    done = run("import sys; print([m for m in sys.modules if m in ('headrace', 'torch', 'numpy')])")
    assert done.stdout == "[]\n" and not done.stderr


def test_the_hidden_sitecustomize_runs(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("MARK = 'the other one'")
    done = run("import sitecustomize; print(sitecustomize.MARK)", path=[tmp_path])
    assert done.stdout == "the other one\n"


def test_import_headrace_does_not_import_torch():
    done = run("import headrace, sys; print('torch' in sys.modules, headrace.__version__)")
    assert done.stdout == f"False {headrace.__version__}\n"


def test_version_is_the_projects():
    assert headrace.__version__ == binding.__version__


def test_interpreter_that_does_not_have_the_package(tmp_path):
    """The package is then loaded from beside the bootstrap."""
    source = f"import torch.utils.data.dataloader as d; print({SEAM})"
    env = {"PYTHONPATH": str(BOOTSTRAP)}
    done = subprocess.run(
        [sys.executable, "-c", source],
        env={**os.environ, **env},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout == "True\n", done.stderr


def test_bad_setting_is_reported_before_any_work():
    done = run("import torch.utils.data", env={"HEADRACE_CACHE": "lots"})
    assert done.returncode != 0 and "HEADRACE_CACHE='lots'" in done.stderr


PROGRAM = """
import sys, torch
from torch.utils.data import DataLoader
from torchvision import datasets, transforms
data = datasets.ImageFolder(sys.argv[1], transforms.Compose(
    [transforms.RandomResizedCrop(32), transforms.ToTensor()]))
for epoch in range(2):
    for batch in DataLoader(data, 4, num_workers=2): pass
list(DataLoader(torch.utils.data.TensorDataset(torch.arange(6)), 2))
class Stream(torch.utils.data.IterableDataset):
    def __iter__(self): return iter(range(8))
list(DataLoader(Stream(), 4))
if len(sys.argv) > 2: raise SystemExit(3) if sys.argv[2] == 'exit' else ValueError('oops')
"""


def report_of(photos, tmp_path, *args):
    target = tmp_path / "report.json"
    done = run(PROGRAM, str(photos), *args, env={"HEADRACE_REPORT": str(target)})
    assert list(tmp_path.iterdir()) == [target], done.stderr
    return done, json.loads(target.read_text())


def test_report(photos, tmp_path):
    done, report = report_of(photos, tmp_path)
    assert done.returncode == 0, done.stderr
    assert report["cpu_seconds"] >= 0 and report["headrace"] == headrace.__version__
    one, two, arrays, stream = report["loaders"]
    for loader in (one, two):
        assert loader["samples"] == 27 and loader["batches"] == 7 and loader["epochs"] == 1
        assert loader["samples_by_path"] == {"native": 27, "python": 0, "local": 0}
        assert sum(loader["samples_by_worker"].values()) == 27
        assert loader["bytes"]["shm"] > 0 and loader["bytes"]["tcp"] == 0
        assert loader["stall_seconds"] > 0 and loader["step_seconds"] >= 0
        assert loader["reasons"] == [] and loader["rng"] == "torch"
    assert arrays["samples"] == 6 and arrays["path"] == "local"
    assert stream["path"] == "local" and stream["samples_by_path"]["local"] == 8
    assert "its tensors may change" in arrays["reasons"][0]
    assert "IterableDataset" in stream["reasons"][0]


def test_report_of_a_program_that_fails(photos, tmp_path):
    done, report = report_of(photos, tmp_path, "raise")
    assert done.returncode == 1 and "ValueError: oops" in done.stderr
    assert len(report["loaders"]) == 4


def test_report_of_a_program_that_exits(photos, tmp_path):
    done, report = report_of(photos, tmp_path, "exit")
    assert done.returncode == 3 and len(report["loaders"]) == 4


NESTED = """
import os, subprocess, sys, torch
from torch.utils.data import DataLoader, TensorDataset
def use(): list(DataLoader(TensorDataset(torch.arange(6)), 2))
before = dict(os.environ)
if len(sys.argv) == 1:
    use()
    subprocess.run([sys.executable, sys.argv[0], "child"], check=True)
    for _ in range(2):  # a child, and a child of a child
        if os.fork():
            os.wait()
            break
        use()
else:
    use()
assert os.environ == before, os.environ
"""


def test_programs_that_a_program_starts_write_beside_its_report(tmp_path):
    """Which they are is not told by its environment."""
    target, program = tmp_path / "report.json", tmp_path / "program.py"
    program.write_text(NESTED)
    path = os.pathsep.join((str(BOOTSTRAP), str(PACKAGE)))
    done = subprocess.run(
        [sys.executable, str(program)],
        env={**os.environ, "PYTHONPATH": path, "HEADRACE_REPORT": str(target)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(target.read_text())
    beside = sorted(tmp_path.glob("report.json.*"))
    assert len(beside) == 3 and len(report["loaders"]) == 1
    assert target.with_name(f"report.json.{report['pid']}") not in beside


def test_report_that_cannot_be_written(photos):
    done = run(PROGRAM, str(photos), env={"HEADRACE_REPORT": "/nowhere/report.json"})
    assert done.returncode == 0 and "headrace: no report: " in done.stderr


FIRST = """
import sys
import headrace, torch
from torch.utils.data import DataLoader, Dataset

class Squares(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return sorted([index])[0] ** 2

headrace.install()
print([batch.tolist() for batch in DataLoader(Squares(), 4, num_workers=1)])
rare = ("headrace.capture.proof.prove", "headrace.shards", "headrace.objects", "headrace.explain")
print([name for name in rare if name in sys.modules])
"""


def test_a_first_iter_imports_nothing_that_few_programs_need():
    done = run(FIRST)
    assert done.stdout == "[[0, 1, 4, 9], [16, 25, 36, 49]]\n[]\n", done.stderr
    assert "runs as Python" in done.stderr  # its code was followed
