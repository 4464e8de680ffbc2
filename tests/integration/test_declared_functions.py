"""Functions that a program declares with headrace.cached: its batches are the stock loader's, later epochs and the
next job find what was made, edited code is other code, and a function that is not what it was declared to be is
found out."""

import json
import subprocess
import sys

import numpy as np
import pytest
from support.headrace_program import (
    HEADRACE,
    clean_environment,
    coordinator,
    free_address,
    ready_workers,
    running,
    wait_for,
)

EPOCHS = 16
_PROGRAM = """
import json, pathlib, random, sys, time, zlib
import numpy as np
import torch
import headrace
from torch.utils.data import DataLoader, Dataset

FACTOR = 2

def busy(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass

@headrace.cached
def scaled(cloud, scale):
    busy(0.001)
    return cloud * np.float32(scale) + FACTOR

@headrace.cached
def stamped(index):
    busy(0.004)
    return time.monotonic_ns() % 1000 if CLOCK else index

class Own(Dataset):
    def __init__(self, folder):
        self.paths = sorted(folder.glob("*.npy"))
        self.window = torch.hann_window(64)

    def __len__(self):
        return len(self.paths)

    @headrace.cached
    def spectrum(self, index):
        busy(0.004)
        sound = torch.from_numpy(np.load(self.paths[index]))
        return torch.stft(sound, 64, 32, window=self.window, return_complex=True).abs()

    def __getitem__(self, index):
        made = self.spectrum(index)
        left = random.randrange(made.shape[1] - 8)
        part = made[:, left:left + 8]
        part *= 2
        cloud = scaled(np.arange(index, index + 5, dtype=np.float32), 3)
        cloud[0] = torch.rand(1).item()
        return part.clone(), cloud, stamped(index)

if __name__ == "__main__":
    folder, epochs, CLOCK = pathlib.Path(sys.argv[1]), int(sys.argv[2]), len(sys.argv) > 3
    torch.manual_seed(0)
    random.seed(0)
    loader = DataLoader(Own(folder), 4, shuffle=True, num_workers=2)
    seen = []
    for epoch in range(epochs):
        seen.append(0)
        for parts, clouds, stamps in loader:
            seen[-1] = zlib.crc32(parts.numpy().tobytes() + clouds.numpy().tobytes(), seen[-1])
            if not CLOCK:
                seen[-1] = zlib.crc32(stamps.numpy().tobytes(), seen[-1])
    print(json.dumps(seen))
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(7)
    for number in range(24):
        np.save(folder / f"{number}.npy", rng.normal(size=1600).astype("float32"))
    (folder / "program.py").write_text(_PROGRAM)
    (folder / "edited.py").write_text(_PROGRAM.replace("FACTOR = 2", "FACTOR = 5"))
    return folder


def ran(files, *served, program="program.py", epochs=EPOCHS, more=()):
    """What it printed, its report, and its standard error."""
    words = [sys.executable, str(files / program), str(files), str(epochs), *more]
    report = files / "report.json"
    if served:
        words = [HEADRACE, "run", "--report", str(report), *served, "--", *words]
    done = subprocess.run(
        words, env=clean_environment(), capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(report.read_text()) if served else {}
    functions = {one["name"]: one for one in told.get("cached_functions", ()) if not one["found"]}
    return json.loads(done.stdout.splitlines()[-1]), functions, done.stderr


@pytest.fixture(scope="module")
def stock(files):
    return ran(files)[0]


@pytest.fixture
def pool():
    address = free_address()
    words = "--listen", address, "--heartbeat-ms", "100"
    with coordinator(*words):
        with running("worker", "--coordinator", address, "--cache", "64M", HEADRACE_LOG="error"):
            wait_for(lambda: ready_workers(address), "worker")
            yield address


def test_later_epochs_and_the_next_job_find_what_was_made(files, stock, pool):
    made, functions, _ = ran(files, "--coordinator", pool)
    assert made == stock
    for name in ("Own.spectrum", "scaled", "stamped"):
        one = functions[name]
        assert one["cached"] and one["hits"] > 24 and one["compared"] >= 32, one
        assert one["why_not"] == "" and one["seconds_saved"] > 0, one
    made, functions, _ = ran(files, "--coordinator", pool, epochs=4)
    assert made == stock[:4]
    assert functions["Own.spectrum"]["hits"] >= 90, "at once"
    edited = ran(files, program="edited.py", epochs=1)[0]
    made, functions, _ = ran(files, "--coordinator", pool, program="edited.py", epochs=1)
    assert made == edited != stock[:1]
    assert functions["scaled"]["hits"] == 0 and functions["Own.spectrum"]["hits"] >= 20


def test_a_function_that_is_not_what_it_was_declared_to_be_is_found_out(files, stock, pool):
    made, functions, err = ran(files, "--coordinator", pool, more=["clock"])
    assert made == ran(files, more=["clock"])[0]
    stamped = functions["stamped"]
    assert not stamped["cached"] and "returned something else" in stamped["why_not"]
    lines = [line for line in err.splitlines() if "stamped (program.py:" in line]
    assert len(lines) == 1 and "no longer kept" in lines[0]
    assert functions["Own.spectrum"]["cached"]


def test_without_a_cache_and_with_one_epoch_nothing_is_kept(files, stock):
    for words in (
        ("--workers", "1", "--cache", "0"),
        ("--workers", "1", "--cache", "64M", "--epochs", "1"),
    ):
        made, functions, _ = ran(files, *words, epochs=2)
        assert made == stock[:2]
        assert all(one["kept"] == one["hits"] == 0 for one in functions.values())


def test_explain_says_of_each_why_or_why_not(files, tmp_path):
    text = _PROGRAM.replace(
        "class Own",
        "import logging\nlog = open(__file__)\n\n@headrace.cached\ndef logged(x):\n    log.tell()\n"
        "    return x\n\n@headrace.cached\ndef produced(x):\n    yield x\n\n"
        "@headrace.never_cached\n@headrace.cached\ndef never(x):\n    return x\n\nclass Own",
    )
    (tmp_path / "program.py").write_text(text)
    words = [HEADRACE, "explain"]
    program = ["--", sys.executable, str(tmp_path / "program.py"), str(files), "1"]
    told = []
    for more in ((), ("--json",)):
        done = subprocess.run(
            [*words, *more, *program], env=clean_environment(), capture_output=True, text=True, timeout=100
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        told.append(done.stdout)
    functions = {
        one["name"]: one for one in json.loads(told[1])["cached_functions"] if not one["found"]
    }
    assert set(functions) == {"scaled", "stamped", "logged", "produced", "Own.spectrum"}
    assert "log.tell is of _io.TextIOWrapper" in functions["logged"]["why_not"]
    assert "generator" in functions["produced"]["why_not"]
    assert functions["Own.spectrum"]["why_not"] == functions["scaled"]["why_not"] == ""
    assert "not cached: log.tell is of _io.TextIOWrapper" in told[0]
    assert "cached where workers have a cache" in told[0]
