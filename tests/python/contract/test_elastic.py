"""Contract: workers come and go, jobs share them, and nobody can tell from the batches."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import zlib

import headrace
import pytest
import torch
from headrace.loader.seam import state_of
from headrace.service import service
from support.compare import assert_same
from support.headrace_program import (
    HEADRACE,
    UNMEASURED_MS,
    clean_environment,
    coordinator,
    free_address,
    ready_workers,
    running,
    wait_for,
    wait_for_answer,
)
from support.headrace_program import headrace as command
from support.pipelines import train_v1
from torch.utils.data import DataLoader
from torchvision import datasets


@contextlib.contextmanager
def cluster_of(monkeypatch, heartbeat_ms):
    address = free_address()
    service.close()
    monkeypatch.setenv("HEADRACE_COORDINATOR", address)
    with coordinator("--listen", address, "--heartbeat-ms", str(heartbeat_ms)):
        wait_for_answer(address)
        yield address
        service.close()


@pytest.fixture
def cluster(monkeypatch):
    """The address of a coordinator of this test's own; its workers are the test's to start."""
    with cluster_of(monkeypatch, 100) as address:
        yield address


@pytest.fixture
def unmeasured(monkeypatch):
    """Like cluster. It gives a job all workers, because it never learns how few would do."""
    with cluster_of(monkeypatch, UNMEASURED_MS) as address:
        yield address


def worker(address):
    return running("worker", "--coordinator", address, "--threads", "1", HEADRACE_LOG="error")


def jobs(address):
    answer = command("jobs", "--json", "--coordinator", address)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)["jobs"]


def exactly(count, found):
    return found if len(found) == count else None


def epoch(photos, seed_init=None):
    torch.manual_seed(3)
    data = datasets.ImageFolder(photos, train_v1())
    return iter(DataLoader(data, 2, shuffle=True, num_workers=2, worker_init_fn=seed_init))


def _seed(worker_id):
    torch.manual_seed(worker_id)


@pytest.mark.parametrize("kind", ["native", "python"])
def test_one_worker_becomes_three_and_one_again(photos, unmeasured, kind):
    """The changes come in the middle of an epoch. The batches are the same, once, in order, with
    the same bits."""
    init = None if kind == "native" else _seed
    expected = list(epoch(photos, init))
    assert len(expected) > 8
    headrace.install()
    try:
        with worker(unmeasured) as first, contextlib.ExitStack() as later:
            wait_for(lambda: len(ready_workers(unmeasured)) == 1, "worker")
            iterator = epoch(photos, init)
            seen = [[tensor.clone() for tensor in next(iterator)] for _ in range(3)]
            for _ in range(2):
                later.enter_context(worker(unmeasured))
            wait_for(lambda: len(jobs(unmeasured)[0]["workers"]) == 3, "leases of three workers")
            seen += [[tensor.clone() for tensor in next(iterator)] for _ in range(2)]
            first.send_signal(signal.SIGTERM)
            assert first.wait(30) == 0
            left = wait_for(lambda: exactly(2, ready_workers(unmeasured)), "two workers")
            seen += [[tensor.clone() for tensor in next(iterator)] for _ in range(1)]
            os.kill(left[0]["pid"], signal.SIGTERM)
            wait_for(lambda: len(ready_workers(unmeasured)) == 1, "one worker")
            seen += [[tensor.clone() for tensor in batch] for batch in iterator]
    finally:
        headrace.uninstall()
    assert_same(seen, expected)


# Prints a checksum a batch of two epochs.
PROGRAM = """
    import sys, torch, zlib
    from support.pipelines import train_v1
    from torch.utils.data import DataLoader
    from torchvision import datasets
    torch.manual_seed(int(sys.argv[2]))
    data = datasets.ImageFolder(sys.argv[1], train_v1())
    for _ in range(2):
        for images, labels in DataLoader(data, 2, shuffle=True, num_workers=2):
            print(zlib.crc32(images.numpy().tobytes()), labels.tolist())
"""


def stock_lines(photos, seed):
    """What PROGRAM says where nothing is served, made within this process."""
    torch.manual_seed(seed)
    data = datasets.ImageFolder(photos, train_v1())
    lines = []
    for _ in range(2):
        for images, labels in DataLoader(data, 2, shuffle=True, num_workers=2):
            lines.append(f"{zlib.crc32(images.numpy().tobytes())} {labels.tolist()}\n")
    return "".join(lines)


def program(tmp_path, photos, seed, *launch, **environment):
    file = tmp_path / "program.py"
    file.write_text(textwrap.dedent(PROGRAM))
    return subprocess.Popen(
        [*launch, sys.executable, str(file), str(photos), str(seed)],
        stdout=subprocess.PIPE,
        text=True,
        env=clean_environment(PYTHONPATH=os.pathsep.join(sys.path), **environment),
    )


def test_jobs_share_a_worker(photos, cluster, tmp_path):
    """Three programs of two tenants at once on one worker of one thread: each gets its own batches."""
    seeds = (1, 2, 3)
    stock = [stock_lines(photos, seed) for seed in seeds]
    run = [HEADRACE, "run", "--coordinator", cluster]
    with worker(cluster):
        wait_for(lambda: ready_workers(cluster), "worker")
        started = [
            program(tmp_path, photos, seed, *run, f"--tenant=tenant{seed % 2}", "--")
            for seed in seeds
        ]
        served = [each.communicate(timeout=120)[0] for each in started]
    assert served == stock
    assert all(each.returncode == 0 for each in started)


def test_jobs_count_what_was_compared_of_native_plans(photos, cluster, monkeypatch, seam):
    monkeypatch.setenv("HEADRACE_COMPARE", "1")
    loader = DataLoader(datasets.ImageFolder(photos, train_v1()), 4, num_workers=1)
    with worker(cluster):
        wait_for(lambda: ready_workers(cluster), "worker")
        list(loader)
        assert state_of(loader).report.path == "native"

        def told():
            loads = [load for job in jobs(cluster) for load in job["sessions"]]
            seen = [load["compared"] for load in loads if load["differed"] == 0]
            page = command("jobs", "--coordinator", cluster).stdout
            return [count for count in seen if count >= 4 and f" {count}/{count} " in page]

        wait_for(told, "heartbeat that tells of comparisons")


def test_a_job_that_is_not_admitted_says_why(photos, tmp_path, monkeypatch):
    address = free_address()
    tenants = tmp_path / "tenants.json"
    tenants.write_text('{"tenants": [{"name": "nobody", "cores": 0}]}')
    with coordinator("--listen", address, "--heartbeat-ms", "100", "--tenants", str(tenants)):
        wait_for_answer(address)
        run = [HEADRACE, "run", "--coordinator", address, "--tenant", "nobody", "--"]
        with worker(address):
            wait_for(lambda: ready_workers(address), "worker")
            waiting = program(tmp_path, photos, 1, *run)
            try:
                (job,) = wait_for(lambda: jobs(address), "job", 60)
                assert job["state"] == "waiting: tenant nobody has no quota of cores"
                assert job["workers"] == []
                page = command("jobs", "show", str(job["job"]), "--coordinator", address)
                assert "tenant    nobody, priority 0" in page.stdout
            finally:
                waiting.kill()
                waiting.communicate()


def test_a_wrong_tenants_file_is_named(tmp_path):
    tenants = tmp_path / "tenants.json"
    tenants.write_text('{"tenants": [{"name": "a", "weigth": 1}]}')
    answer = command("coordinator", "--tenants", str(tenants))
    assert answer.returncode == 1
    assert f"{tenants}: tenant a: unknown key weigth" in answer.stderr


def test_the_advice_of_a_job_is_shown(photos, cluster):
    """A trainer that only reads waits for its worker, and is told that cores would help."""
    headrace.install()
    try:
        with worker(cluster):
            wait_for(lambda: ready_workers(cluster), "worker")

            def told():
                # The first heartbeat with a batch may come before the trainer's first step.
                list(epoch(photos))
                (job,) = jobs(cluster)
                granted, rate = job["granted_cores"], job["samples_per_second_when_ready"]
                return job if job["advice"] and granted > 0 and rate > 0 else None

            job = wait_for(told, "advice, with what is granted and the trainer's own rate", 60)
            assert job["advice"].startswith("waits ")
            page = command("jobs", "show", str(job["job"]), "--coordinator", cluster)
            assert "samples/s; its trainer would take" in page.stdout
            assert "waiting   job" in page.stdout
    finally:
        headrace.uninstall()


def test_a_pool_starts_empty_grows_with_the_demand_and_ends_empty(photos, monkeypatch):
    """No worker is there when the job comes; one is started for it, and another while it waits.

    They go when nobody has needed them for 60 heartbeats.
    """
    address = free_address()
    service.close()
    monkeypatch.setenv("HEADRACE_COORDINATOR", address)
    words = ["--heartbeat-ms", "100", "--max-workers", "2", "--threads", "2"]
    expected = list(epoch(photos))
    headrace.install()
    try:
        with coordinator("--listen", address, *words):
            wait_for_answer(address)
            assert ready_workers(address) == []
            seen = [[tensor.clone() for tensor in batch] for batch in epoch(photos)]
            assert_same(seen, expected)

            def two():
                list(epoch(photos))
                return len(ready_workers(address)) == 2

            wait_for(two, "second worker", 60)
            service.close()
            wait_for(lambda: ready_workers(address) == [], "empty pool", 60)
    finally:
        headrace.uninstall()
