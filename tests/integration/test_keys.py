"""A pool with keys: who has one is served as without, and who has none, or another, gets nothing."""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

import numpy
import pytest
from PIL import Image
from support.headrace_program import (
    HEADRACE,
    clean_environment,
    free_address,
    headrace,
    refused,
    running,
    wait_for,
)

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "bench" / "e2e" / "loader_program.py"


@pytest.fixture
def keys(tmp_path):
    made = headrace("keys", str(tmp_path / "keys"))
    assert made.returncode == 0, made.stderr
    return tmp_path / "keys"


@pytest.fixture
def photos(tmp_path):
    """A class-per-folder set of 24 JPEG files of different sizes."""
    generator = numpy.random.default_rng(7)
    for index in range(24):
        height, width = generator.integers(120, 400, 2)
        small = generator.integers(0, 256, (9, 12, 3), dtype=numpy.uint8)
        folder = tmp_path / "photos" / f"class{index % 3}"
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(small).resize((int(width), int(height))).save(folder / f"{index}.jpg")
    return tmp_path / "photos"


def only(keys, place, *roles: str):
    """A copy of the directory with the keys of these roles alone."""
    place.mkdir(mode=0o700)
    for name in ["allow", *(f"{role}.key" for role in roles)]:
        shutil.copy(keys / name, place / name)
    return place


def ready(address: str, keys) -> list[dict]:
    answer = headrace("workers", "--json", "--coordinator", address, "--keys", str(keys))
    assert answer.returncode == 0, answer.stderr
    return [worker for worker in json.loads(answer.stdout)["workers"] if worker["state"] == "ready"]


@contextlib.contextmanager
def pool(keys, tmp_path, workers: int = 0, log=None):
    """A coordinator, and workers that each hold no key but a worker's: its address."""
    address = free_address()
    with contextlib.ExitStack() as stack:
        mine = only(keys, tmp_path / "of-coordinator", "coordinator")
        words = "coordinator", "--listen", address, "--keys", str(mine)
        stack.enter_context(running(*words, log=log))
        for number in range(workers):
            theirs = only(keys, tmp_path / f"of-worker{number}", "worker")
            place = tmp_path / f"w{number}"
            words = "worker", "--coordinator", address, "--threads", "1", "--directory", str(place)
            stack.enter_context(running(*words, "--keys", str(theirs), HEADRACE_LOG="error"))
        observer = only(keys, tmp_path / "of-observer", "observer")
        wait_for(lambda: len(ready(address, observer)) == workers, "workers")
        yield address


def sums(photos, *prefix: str) -> list:
    """Sums of the batches of each epoch."""
    words = ["--num-workers", "2", "--epochs", "2", "--batch-size", "5", "--sums"]
    done = subprocess.run(
        [*prefix, sys.executable, str(PROGRAM), str(photos), *words],
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [epoch["sums"] for epoch in json.loads(done.stdout.splitlines()[-1])["epochs"]]


def test_batches_are_the_stock_loaders_with_keys(keys, photos, tmp_path):
    report = tmp_path / "report.json"
    with pool(keys, tmp_path, workers=2) as address:
        trainer = only(keys, tmp_path / "of-trainer", "trainer")
        words = "run", "--coordinator", address, "--keys", str(trainer), "--report", str(report)
        mine = sums(photos, str(HEADRACE), *words)
        jobs = headrace("jobs", "--coordinator", address, "--keys", str(tmp_path / "of-observer"))
        assert jobs.returncode == 0, jobs.stderr
    assert mine == sums(photos)
    (loader,) = json.loads(report.read_text())["loaders"]
    assert loader["path"] == "native" and loader["samples_by_path"]["local"] == 0, loader


def test_who_has_no_key_or_another_gets_nothing(keys, tmp_path):
    log = tmp_path / "log"
    strange = tmp_path / "strange"
    assert headrace("keys", str(strange)).returncode == 0
    shutil.copy(keys / "allow", strange / "allow")  # it knows who the coordinator is
    with pool(keys, tmp_path, log=log) as address:
        assert "a peer was refused" not in log.read_text()
        refused(headrace("workers", "--coordinator", address), "no coordinator answers", "--keys")
        words = "workers", "--coordinator", address, "--keys", str(strange)
        refused(headrace(*words), "no coordinator answers")
        assert "a peer was refused" in log.read_text()
        refused(headrace("run", "--coordinator", address, "true"), "no coordinator answers")


def test_wrong_files_are_one_line(keys, tmp_path):
    address = free_address()
    observer = only(keys, tmp_path / "of-observer", "observer")
    worker = "worker", "--coordinator", address, "--directory", str(tmp_path / "w")
    refused(headrace(*worker, "--keys", str(observer)), "worker.key")
    words = "coordinator", "--listen", address, "--keys"
    refused(headrace(*words, str(observer)), "coordinator.key")
    refused(headrace(*words, str(tmp_path / "none")), "headrace keys")
    os.chmod(keys / "coordinator.key", 0o604)
    refused(headrace(*words, str(keys)), "coordinator.key", "chmod 600")
    refused(headrace("keys", str(keys)), "never replaced")


def test_with_keys_other_hosts_may_reach_it(keys, tmp_path):
    log = tmp_path / "log"
    with running("coordinator", "--listen", "tcp://0.0.0.0:0", "--keys", str(keys), log=log):
        wait_for(lambda: "listens at tcp://0.0.0.0" in log.read_text(), "start")
