"""What a person orders: workers that leave, jobs that get none, and jobs of the past."""

import contextlib
import json
import subprocess
import sys

import numpy
import pytest
from PIL import Image
from support.headrace_program import (
    HEADRACE,
    clean_environment,
    coordinator,
    free_address,
    headrace,
    ready_workers,
    refused,
    running,
    wait_for,
    workers,
)

# Reads three epochs; after each it waits for a word.
TRAIN = """
import json, sys, torch, headrace
from torch.utils.data import DataLoader
from torchvision import datasets, transforms
headrace.install()
loader = DataLoader(datasets.ImageFolder(sys.argv[1], transforms.ToTensor()), 2, num_workers=1)
for epoch in range(3):
    sums = [int(images.mul(255).sum()) for images, _ in loader]
    print(json.dumps(sums), flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def photos(tmp_path):
    folder = tmp_path / "photos" / "class0"
    folder.mkdir(parents=True)
    draws = numpy.random.default_rng(5)
    for number in range(12):
        pixels = draws.integers(0, 256, (40, 40, 3), dtype=numpy.uint8)
        Image.fromarray(pixels).save(folder / f"{number:02}.png")
    return folder.parent


@contextlib.contextmanager
def training(address, photos):
    process = subprocess.Popen(
        [sys.executable, "-c", TRAIN, str(photos)],
        env=clean_environment(HEADRACE_COORDINATOR=address),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def epoch(process):
    return json.loads(process.stdout.readline())


def go_on(process):
    process.stdin.write("\n")
    process.stdin.flush()


def jobs(address, *words):
    answer = headrace("jobs", *words, "--json", "--coordinator", address)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


def made_itself(address):
    return sum(each["missing_samples"] for each in jobs(address)["jobs"][0]["sessions"])


def test_a_cancelled_job_goes_on_without_workers_and_is_remembered(photos, tmp_path):
    address, state = free_address(), str(tmp_path / "state")
    words = ["worker", "--coordinator", address, "--directory", str(tmp_path / "w")]
    with coordinator("--listen", address, "--state-dir", state), running(*words):
        wait_for(lambda: ready_workers(address), "worker")
        with training(address, photos) as program:
            first = epoch(program)
            (job,) = jobs(address)["jobs"]
            number = str(job["job"])
            assert job["state"] == "running"
            said = headrace("jobs", "priority", number, "4", "--coordinator", address)
            assert said.returncode == 0 and "has priority 4" in said.stdout, said.stderr
            said = headrace("jobs", "cancel", number, "--coordinator", address)
            assert said.returncode == 0, said.stderr
            assert f"job {number} (" in said.stdout and "gets no worker any more" in said.stdout
            go_on(program)
            assert epoch(program) == first  # its order and its pixels stay
            wait_for(lambda: made_itself(address) >= 12, "samples that it made itself")
            shown = jobs(address)["jobs"][0]
            assert shown["state"] == "waiting: cancelled by order"
            assert shown["priority"] == 4
            assert headrace("jobs", "resume", number, "--coordinator", address).returncode == 0
            wait_for(lambda: jobs(address)["jobs"][0]["state"] == "running", "its workers")
            go_on(program)
            assert epoch(program) == first
            go_on(program)
            assert program.wait(60) == 0
        wait_for(lambda: not jobs(address)["jobs"], "end of the job")
        assert "ended_jobs" not in jobs(address)
    # A coordinator that starts again remembers.
    with coordinator("--listen", address, "--state-dir", state):
        (past,) = jobs(address, "--all")["ended_jobs"]
        assert past["state"] == "ended"
        # Three epochs, and the few samples by which workers and program were compared before.
        assert 36 <= past["totals"]["samples"] < 48
        assert past["totals"]["batches"] >= 18
        assert sum(past["totals"]["stall_seconds"].values()) > 0
        assert jobs(address, "show", number) == past
        page = headrace("jobs", "show", number, "--coordinator", address).stdout
        assert "samples; waited" in page
        assert " ago " in headrace("jobs", "--all", "--coordinator", address).stdout
    refused(headrace("jobs", "cancel", "99", "--coordinator", free_address()), "does not answer")


def test_drained_workers_finish_and_leave(photos, tmp_path):
    address = free_address()
    with contextlib.ExitStack() as stack:
        stack.enter_context(coordinator("--listen", address))
        started = [
            subprocess.Popen(
                [HEADRACE, "worker", "--coordinator", address, "--directory", str(tmp_path / name)],
                env=clean_environment(HEADRACE_LOG="error"),
            )
            for name in ("a", "b")
        ]
        for worker in started:
            stack.callback(worker.wait)
            stack.callback(worker.terminate)
        ready = wait_for(lambda: len(ready_workers(address)) == 2 and workers(address), "workers")
        program = stack.enter_context(training(address, photos))
        first = epoch(program)
        refused(headrace("drain", "99", "--coordinator", address), "no worker 99")
        refused(headrace("drain", "--coordinator", address), "no worker is named")
        refused(headrace("drain", "--host", "elsewhere", "--coordinator", address), "no worker on")
        assert len(ready_workers(address)) == 2
        one = str(ready[0]["worker"])
        said = headrace("drain", one, "--wait", "30", "--coordinator", address)
        assert said.returncode == 0, said.stderr
        assert said.stdout.endswith("they have left\n")
        (left,) = [worker for worker in started if worker.pid == ready[0]["pid"]]
        assert left.wait(20) == 0
        go_on(program)
        assert epoch(program) == first
        host = ready[1]["hostname"]
        said = headrace("drain", "--host", host, "--wait", "30", "--coordinator", address)
        assert said.returncode == 0, said.stderr
        assert all(worker.wait(20) == 0 for worker in started)
        go_on(program)
        assert epoch(program) == first  # without any worker
