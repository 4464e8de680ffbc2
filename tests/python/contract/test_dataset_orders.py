"""`headrace datasets warm|pin|unpin|drop` against real processes: what they say is what the caches have."""

import contextlib
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from support.headrace_program import (
    HEADRACE,
    clean_environment,
    coordinator,
    free_address,
    ready_workers,
    refused,
    running,
    wait_for,
    wait_for_answer,
)
from support.headrace_program import headrace as command
from support.photos import encode_photo

PHOTOS = 48
# Reads a few batches of a long epoch, and then stands still with its loader open.
PROGRAM = """
    import sys
    from support.pipelines import train_v1
    from torch.utils.data import DataLoader
    from torchvision import datasets
    data = datasets.ImageFolder(sys.argv[1], train_v1())
    batches = iter(DataLoader(data, 2, num_workers=1, prefetch_factor=2))
    next(batches)
    print("ready", flush=True)
    sys.stdin.readline()
"""


def photos(tmp_path: Path) -> Path:
    folder = tmp_path / "photos" / "a"
    folder.mkdir(parents=True)
    for i in range(PHOTOS):  # entries above 64 KiB: workers share them
        (folder / f"{i}.jpg").write_bytes(encode_photo(160, 192, i))
    return folder.parent


@contextlib.contextmanager
def trainer(tmp_path: Path, address: str) -> Iterator[subprocess.Popen]:
    file = tmp_path / "program.py"
    file.write_text(textwrap.dedent(PROGRAM))
    run = [HEADRACE, "run", "--coordinator", address, "--remote-only", sys.executable]
    started = subprocess.Popen(
        [*run, str(file), str(tmp_path / "photos")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=clean_environment(PYTHONPATH=os.pathsep.join(sys.path), OMP_NUM_THREADS="1"),
    )
    with started:
        try:
            assert started.stdout.readline() == "ready\n"
            yield started
        finally:
            started.kill()


def begin(
    stack: contextlib.ExitStack, address: str, serve: tuple[str, ...], cache: str
) -> subprocess.Popen:
    """A coordinator, which it returns, and two workers."""
    first = stack.enter_context(coordinator(*serve))
    wait_for_answer(address)
    for _ in range(2):
        words = ("--coordinator", address, "--threads", "1", "--cache", cache)
        stack.enter_context(running("worker", *words, HEADRACE_LOG="error"))
    wait_for(lambda: len(ready_workers(address)) == 2, "workers")
    return first


def shown(address: str) -> dict:
    """The one data set of the coordinator; {}: there is none."""
    answer = command("datasets", "--json", "--coordinator", address)
    assert answer.returncode == 0, answer.stderr
    (dataset,) = json.loads(answer.stdout)["datasets"] or [{}]
    return dataset


def entries(address: str) -> int:
    answer = command("cache", "--json", "--coordinator", address)
    workers = json.loads(answer.stdout)["workers"]
    return sum(tier["entries"] for worker in workers for tier in worker["tiers"])


def order(address: str, *words: str) -> dict:
    answer = command("datasets", *words, "--json", "--coordinator", address)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


# Reads clouds of points in its own code. It makes a loader for each epoch, of another object: their hashes are equal.
OWN = """
    import pathlib, sys, zlib
    import numpy as np
    import torch
    from torch.utils.data import DataLoader, Dataset
    class Clouds(Dataset):
        def __init__(self, folder):
            self.files = sorted(folder.glob("*.txt"))
        def __len__(self):
            return len(self.files)
        def __getitem__(self, index):
            return torch.from_numpy(np.loadtxt(self.files[index]))
    def epoch():
        seen = 0
        for batch in DataLoader(Clouds(pathlib.Path(sys.argv[1])), 4, num_workers=2):
            seen = zlib.crc32(batch.numpy().tobytes(), seen)
        return seen
    first = epoch()
    for epochs in sys.stdin:
        print(all(epoch() == first for _ in range(int(epochs))), flush=True)
"""
CLOUDS = 16


@contextlib.contextmanager
def own_program(tmp_path: Path, address: str) -> Iterator[subprocess.Popen]:
    file = tmp_path / "own.py"
    file.write_text(textwrap.dedent(OWN))
    run = [HEADRACE, "run", "--coordinator", address, sys.executable, str(file), str(tmp_path)]
    with subprocess.Popen(
        run, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=clean_environment()
    ) as started:
        try:
            yield started
            started.stdin.close()
            assert started.wait(60) == 0
        finally:
            started.kill()


def epochs(program: subprocess.Popen, number: int) -> None:
    program.stdin.write(f"{number}\n")
    program.stdin.flush()
    assert program.stdout.readline() == "True\n"


def hits(address: str) -> int:
    answer = command("cache", "--json", "--coordinator", address)
    workers = json.loads(answer.stdout)["workers"]
    return sum(tier["hits"] for worker in workers for tier in worker["tiers"])


def fill(program: subprocess.Popen, address: str) -> None:
    """Until all is there. Each epoch fills what is not: a worker that had no time to answer got nothing of the last."""
    epochs(program, 3)

    def is_full() -> bool:
        epochs(program, 1)
        return entries(address) >= CLOUDS

    wait_for(is_full, "all of it")


# What Python stages keep has a name, and orders hold for it: while a job runs, after it, and for the next one.
def test_what_stages_keep_is_pinned_over_a_restart_found_again_and_dropped(tmp_path):
    rng = np.random.default_rng(7)
    for number in range(CLOUDS):
        np.savetxt(tmp_path / f"{number}.txt", rng.normal(size=(2000, 6)))
    address = free_address()
    serve = ("--listen", address, "--heartbeat-ms", "200", "--state-dir", str(tmp_path / "state"))
    with contextlib.ExitStack() as stack:
        first = begin(stack, address, serve, "32M")
        with own_program(tmp_path, address) as program:
            fill(program, address)
            seen = shown(address)
            assert (seen["name"], seen["form"]) == ("Clouds", "leaves")
            refused(
                command("datasets", "warm", "Clouds", "--coordinator", address),
                "each epoch of the program fills it",
            )
            # A running one makes them again, from the same files.
            dropped = order(address, "drop", "Clouds")
            assert (dropped["workers"], dropped["workers_left"]) == (2, 0)
            wait_for(lambda: entries(address) == 0, "nothing")
            fill(program, address)
            assert order(address, "pin", "Clouds")["dataset"] == seen["dataset"]
        wait_for(lambda: shown(address)["phase"] == "no job", "end of the job", 40)
        there = entries(address)
        assert there >= CLOUDS
        first.kill()
        first.wait()
        stack.enter_context(coordinator(*serve))
        wait_for_answer(address)
        wait_for(lambda: entries(address) == there, "workers again, with all that they had", 40)
        assert shown(address)["pinned"] and shown(address)["dataset"] == seen["dataset"]
        refused(command("datasets", "drop", "Clouds", "--coordinator", address), "is pinned")
        before = hits(address)
        with own_program(tmp_path, address) as program:
            epochs(program, 1)
            wait_for(lambda: hits(address) >= before + CLOUDS, "hits of the next job, at once")
        order(address, "unpin", "Clouds")
        order(address, "drop", "Clouds")
        wait_for(lambda: entries(address) == 0 and shown(address) == {}, "nothing")


ONE_EPOCH = """
    import sys
    import numpy
    from PIL import Image
    from support.pipelines import train_v1
    from torch.utils.data import DataLoader
    from torchvision import datasets, transforms
    def mirrored(image):
        return Image.fromarray(numpy.asarray(image)[:, ::-1].copy())
    odd = [transforms.Lambda(mirrored)] if sys.argv[2] == "odd" else []
    chain = transforms.Compose([*odd, *train_v1().transforms])
    data = datasets.ImageFolder(sys.argv[1], chain)
    print("batches", sum(1 for _ in DataLoader(data, 2, num_workers=1)))
"""


def run(tmp_path: Path, *words: str, kind: str = "plain") -> subprocess.CompletedProcess:
    file = tmp_path / "epoch.py"
    file.write_text(textwrap.dedent(ONE_EPOCH))
    return subprocess.run(
        [HEADRACE, "run", *words, "--", sys.executable, str(file), str(tmp_path / "photos"), kind],
        capture_output=True,
        text=True,
        timeout=100,
        env=clean_environment(PYTHONPATH=os.pathsep.join(sys.path), OMP_NUM_THREADS="1"),
    )


def test_a_program_warms_its_data_and_a_later_one_finds_it(tmp_path):
    photos(tmp_path)
    address = free_address()
    with contextlib.ExitStack() as stack:
        begin(stack, address, ("--listen", address, "--heartbeat-ms", "200"), "64M")
        warm = run(tmp_path, "--coordinator", address, "--warm")
        assert warm.returncode == 0, warm.stderr
        assert "batches" not in warm.stdout
        assert f"is cached: {PHOTOS} of {PHOTOS} samples" in warm.stderr
        assert entries(address) == PHOTOS
        report = tmp_path / "report.json"
        cold = run(tmp_path, "--coordinator", address, "--remote-only", "--report", str(report))
        assert cold.returncode == 0, cold.stderr
        assert cold.stdout == f"batches {PHOTOS // 2}\n"
        (loader,) = json.loads(report.read_text())["loaders"]
        assert loader["cache_hits"]["decoded"] == PHOTOS
        assert loader["cache_hits"]["misses"] == 0
        odd = run(tmp_path, "--coordinator", address, "--warm", kind="odd")
        assert odd.returncode == 1
        assert "cannot be warmed, for workers do not make its samples natively" in odd.stderr
        assert "batches" not in odd.stdout
    refused(run(tmp_path, "--warm"), "name it with --coordinator")


def test_a_data_set_is_warmed_pinned_over_a_restart_and_dropped(tmp_path):
    photos(tmp_path)
    address = free_address()
    serve = ("--listen", address, "--heartbeat-ms", "200", "--state-dir", str(tmp_path / "state"))
    with contextlib.ExitStack() as stack:
        first = begin(stack, address, serve, "32M")
        with trainer(tmp_path, address):
            name = wait_for(lambda: shown(address).get("name"), "data set")
            refused(
                command("datasets", "warm", "other", "--coordinator", address), "no data set other"
            )
            wait_for(lambda: shown(address)["quota_bytes"] > 0, "quota")
            assert entries(address) < PHOTOS / 2  # the trainer has not asked for more
            assert order(address, "warm", name)["name"] == name
            # Quotas of two megabytes are filled in pieces of one.
            wait_for(lambda: entries(address) > PHOTOS / 2, "most of it")
            assert order(address, "pin", name)["workers_left"] == 0
            assert shown(address)["pinned"]
        wait_for(lambda: shown(address)["phase"] == "no job", "end of the job", 40)
        there = entries(address)
        assert there > PHOTOS / 2
        first.kill()
        first.wait()
        stack.enter_context(coordinator(*serve))
        wait_for_answer(address)
        wait_for(lambda: entries(address) == there, "workers again, with all that they had", 40)
        assert shown(address)["pinned"]
        refused(command("datasets", "drop", name, "--coordinator", address), "is pinned")
        refused(command("datasets", "warm", name, "--coordinator", address), "no job reads it now")
        order(address, "unpin", name)
        dropped = order(address, "drop", shown(address)["dataset"])
        assert (dropped["workers"], dropped["workers_left"]) == (2, 0)
        wait_for(lambda: entries(address) == 0, "nothing")
        assert shown(address) == {}
