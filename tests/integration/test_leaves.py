"""What lanes read and decode is kept by the worker: for later epochs, for the next job, and never at the price of a
bit, whatever becomes of the worker."""

import contextlib
import json
import pathlib
import random
import signal
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image
from support.headrace_program import (
    HEADRACE,
    clean_environment,
    coordinator,
    free_address,
    headrace,
    ready_workers,
    running,
    wait_for,
)

EPOCHS = 24
# Epochs of clouds and pictures that the code reads by itself. The last line are hashes of their batches.
_PROGRAM = """
import json, pathlib, random, sys, zlib
import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

class Own(Dataset):
    def __init__(self, folder):
        self.clouds = sorted(folder.glob("*.txt"))

    def __len__(self):
        return len(self.clouds)

    def __getitem__(self, index):
        path = self.clouds[index]
        cloud = np.loadtxt(path).astype("float32")
        cloud -= cloud.mean(0)
        picture = Image.open(path.with_suffix(".png")).convert("RGB")
        left = random.randrange(picture.width - 32)
        part = np.array(picture.crop((left, 0, left + 32, 32)))
        part[0] = 0
        return cloud[torch.randperm(len(cloud))[:64].numpy()], part

if __name__ == "__main__":
    folder, epochs = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    torch.manual_seed(0)
    random.seed(0)
    loader = DataLoader(Own(folder), 4, shuffle=True, num_workers=2)
    seen = []
    for epoch in range(epochs):
        seen.append(0)
        for clouds, parts in loader:
            seen[-1] = zlib.crc32(clouds.numpy().tobytes() + parts.numpy().tobytes(), seen[-1])
        print(f"epoch {epoch}", file=sys.stderr, flush=True)
    print(json.dumps(seen))
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(7)
    for number in range(24):
        np.savetxt(folder / f"{number}.txt", rng.normal(size=(600, 6)))
        pixels = np.cumsum(rng.integers(-3, 4, (400, 500, 3)), 1).astype("uint8")
        Image.fromarray(pixels).save(folder / f"{number}.png")
    (folder / "program.py").write_text(_PROGRAM)
    return folder


def command(files, epochs, *served):
    program = [sys.executable, str(files / "program.py"), str(files), str(epochs)]
    return [HEADRACE, "run", *served, "--", *program] if served else program


def finished(process):
    out, err = process.communicate(timeout=200)
    assert process.returncode == 0, err
    return json.loads(out.splitlines()[-1])


@contextlib.contextmanager
def started(words):
    process = subprocess.Popen(
        words, env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def ran(words):
    with started(words) as process:
        return finished(process)


@pytest.fixture(scope="module")
def stock(files):
    return ran(command(files, EPOCHS))


def of_jobs(address):
    answer = headrace("cache", "--json", "--coordinator", address)
    return json.loads(answer.stdout)


def counted(address, name):
    """Of all that the cache says of jobs, the sum of one count."""

    def sums(value):
        if isinstance(value, dict):
            return sum(sums(one) for key, one in value.items() if key != name) + (
                value[name] if isinstance(value.get(name), int) else 0
            )
        return sum(map(sums, value)) if isinstance(value, list) else 0

    return sums(of_jobs(address))


@pytest.fixture
def pool():
    address = free_address()
    words = "--listen", address, "--heartbeat-ms", "100"
    with coordinator(*words):
        yield address


def worker(address, size="64M"):
    return running("worker", "--coordinator", address, "--cache", size, HEADRACE_LOG="error")


def test_later_epochs_and_the_next_job_find_what_was_read(files, stock, pool):
    with worker(pool):
        wait_for(lambda: ready_workers(pool), "worker")
        assert ran(command(files, EPOCHS, "--coordinator", pool)) == stock
        wait_for(lambda: counted(pool, "hits") > 24, "hits of later epochs")
        entries, hits = counted(pool, "entries"), counted(pool, "hits")
        assert entries > 0
        with started(command(files, 4, "--coordinator", pool)) as second:
            assert finished(second) == stock[:4]
        wait_for(lambda: counted(pool, "hits") >= hits + 24, "hits of the next job, at once")
        assert counted(pool, "entries") >= entries


def test_a_cache_of_nothing_costs_only_speed(files, stock, pool):
    with worker(pool, "0"):
        wait_for(lambda: ready_workers(pool), "worker")
        assert ran(command(files, 6, "--coordinator", pool)) == stock[:6]
        assert counted(pool, "entries") == 0


def test_a_small_cache_keeps_a_part(files, stock, pool):
    with worker(pool, "4M"):
        wait_for(lambda: ready_workers(pool), "worker")
        assert ran(command(files, EPOCHS, "--coordinator", pool)) == stock
        assert 0 < counted(pool, "entries") < 48


def test_a_worker_that_is_killed_costs_only_speed(files, stock, pool):
    with started(command(files, EPOCHS, "--coordinator", pool)) as program:
        for epoch in (6, 12):
            with worker(pool) as one:
                for line in program.stderr:
                    if line == f"epoch {epoch}\n":
                        break
                one.send_signal(signal.SIGKILL)
                one.wait()
        with worker(pool):
            assert finished(program) == stock


def test_files_that_change_between_epochs_are_read_again(tmp_path, pool):
    rng = random.Random(7)
    text = "import pathlib, random, sys, zlib\n" + _PROGRAM.replace(
        "        seen.append(0)\n",
        "        seen.append(0)\n"
        "        for path in sorted(folder.glob('*.txt'))[:: epoch % 3 + 1]:\n"
        "            text = path.read_text()\n"
        "            path.write_text(text.replace(text[3], str(epoch % 10)))\n",
    )
    seen = []
    with worker(pool):
        wait_for(lambda: ready_workers(pool), "worker")
        for served in ((), ("--coordinator", pool)):
            folder = pathlib.Path(tmp_path, str(len(seen)))
            folder.mkdir()
            generator = np.random.default_rng(rng.randrange(1) + 7)
            for number in range(12):
                np.savetxt(folder / f"{number}.txt", generator.normal(size=(300, 6)))
                pixels = generator.integers(0, 255, (90, 90, 3)).astype("uint8")
                Image.fromarray(pixels).save(folder / f"{number}.png")
            (folder / "program.py").write_text(text)
            seen.append(ran(command(folder, 12, *served)))
    assert seen[0] == seen[1]
