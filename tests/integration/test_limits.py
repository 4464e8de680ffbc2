"""Limits of a coordinator and a worker: who is refused hears why, or goes on without. Nobody hangs."""

import subprocess
import sys

import pytest
from headrace import _client
from support.headrace_program import (
    HEADRACE,
    clean_environment,
    free_address,
    headrace,
    ready_workers,
    running,
    wait_for,
    wait_for_answer,
)
from support.photos import write_jpegs

PROGRAM = """
import hashlib, sys
import torch
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

class Half:
    def __call__(self, images):
        return images / 2

chain = [transforms.CenterCrop(32), transforms.ToTensor()]
if sys.argv[2] == "python":
    chain.append(Half())
data = datasets.ImageFolder(sys.argv[1], transforms.Compose(chain))
torch.manual_seed(3)
for images, labels in DataLoader(data, batch_size=4, shuffle=True, num_workers=1):
    print(hashlib.sha256(images.numpy().tobytes()).hexdigest(), labels.tolist())
"""


def test_jobs_of_a_coordinator():
    address = free_address()
    with running("coordinator", "--listen", address, "--max-jobs", "1"):
        wait_for_answer(address)
        first = _client.Client(coordinator=address, job_name="first")
        try:
            with pytest.raises(
                _client.HeadraceError, match="2 open jobs .* limit of 1.*--max-jobs"
            ):
                _client.Client(coordinator=address, job_name="second", connect_timeout=10)
        finally:
            first.close()


def test_a_program_waits_for_room_at_its_coordinator(tmp_path):
    """Then it goes on with workers. Whoever asks sees why it waits."""
    write_jpegs(tmp_path / "pictures", 1, 10)
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    address = free_address()
    command = [HEADRACE, "run", "--coordinator", address, sys.executable, str(program)]
    command += [str(tmp_path / "pictures"), "native"]

    def fails_at_once() -> subprocess.CompletedProcess:
        return subprocess.run(
            [*command[:2], "--no-workers", "fail", *command[2:]],
            env=clean_environment(),
            capture_output=True,
            text=True,
            timeout=100,
        )

    with (
        running("coordinator", "--listen", address, "--max-jobs", "1", "--heartbeat-ms", "100"),
        running("worker", "--coordinator", address),
    ):
        wait_for(lambda: ready_workers(address), "worker")
        first = _client.Client(coordinator=address, job_name="first")
        try:
            waiting = subprocess.Popen(
                command,
                env=clean_environment(),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            wait_for(
                lambda: "waits for room" in headrace("jobs", "--coordinator", address).stdout,
                "line about the program that waits",
                60,
            )
            refused_one = fails_at_once()
            assert refused_one.returncode != 0
            assert "--max-jobs" in refused_one.stderr
            assert waiting.poll() is None
        finally:
            first.close()
        output, errors = waiting.communicate(timeout=100)
    assert waiting.returncode == 0, errors
    assert errors.count("has no room for this program yet") == 1
    assert output.count("\n") == 3  # 10 pictures in batches of 4


@pytest.mark.parametrize(
    ("kind", "option"),
    [("native", "--max-batch-keys"), ("python", "--max-batch-keys"), ("native", "--max-keys")],
)
def test_a_worker_that_refuses_all(kind, option, tmp_path):
    """Of a pipeline's batches, or its data set: the trainer makes them, or the error says why."""
    write_jpegs(tmp_path / "pictures", 1, 10)
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    mine = [sys.executable, str(program), str(tmp_path / "pictures"), kind]
    address = free_address()

    def run(*before: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [*before, *mine], env=clean_environment(), capture_output=True, text=True, timeout=100
        )

    with running("coordinator", "--listen", address, "--heartbeat-ms", "100"):
        wait_for_answer(address)
        with running("worker", "--coordinator", address, option, "2"):
            wait_for(lambda: ready_workers(address), "worker")
            served = run(HEADRACE, "run", "--coordinator", address)
    if kind == "python":  # code that runs once, which nobody else began
        assert "WorkersUnavailable" in served.stderr
        assert "limit of 2" in served.stderr and option in served.stderr
        return
    assert served.returncode == 0, served.stderr
    assert served.stdout == run().stdout
