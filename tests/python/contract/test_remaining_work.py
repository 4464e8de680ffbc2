"""Contract: a policy that looks at the work that is left sees it, in a live coordinator."""

import contextlib
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator

import pytest
from support.headrace_program import (
    HEADRACE,
    clean_environment,
    coordinator,
    free_address,
    ready_workers,
    running,
    wait_for,
    wait_for_answer,
)
from support.headrace_program import headrace as command

# It does nothing with its batches, so it could use more cores than there are.
PROGRAM = """
    import sys
    from support.pipelines import train_v1
    from torch.utils.data import DataLoader, RandomSampler
    from torchvision import datasets
    data = datasets.ImageFolder(sys.argv[1], train_v1())
    sampler = RandomSampler(data, replacement=True, num_samples=int(sys.argv[2]))
    loader = DataLoader(data, 4, sampler=sampler, num_workers=2)
    for _ in range(1000):
        for _ in loader:
            pass
"""


@contextlib.contextmanager
def trainer(file, photos, address: str, samples: int, *words: str) -> Iterator[subprocess.Popen]:
    run = [HEADRACE, "run", "--coordinator", address, "--remote-only", *words, sys.executable]
    started = subprocess.Popen(
        [*run, str(file), str(photos), str(samples)],
        env=clean_environment(PYTHONPATH=os.pathsep.join(sys.path), OMP_NUM_THREADS="1"),
    )
    with started:
        try:
            yield started
        finally:
            started.kill()


@pytest.fixture
def address():
    address = free_address()
    with coordinator("--listen", address, "--policy", "sjf", "--heartbeat-ms", "200"):
        wait_for_answer(address)
        with running("worker", "--coordinator", address, "--threads", "2", HEADRACE_LOG="error"):
            wait_for(lambda: ready_workers(address), "worker")
            yield address


def test_the_job_with_less_to_do_goes_before_one_that_came_first(photos, tmp_path, address):
    file = tmp_path / "program.py"
    file.write_text(textwrap.dedent(PROGRAM))

    def jobs() -> list[dict]:
        return json.loads(command("jobs", "--json", "--coordinator", address).stdout)["jobs"]

    def ordered() -> list[dict] | None:
        now = jobs()
        known = len(now) == 2 and all(job["remaining_samples"] is not None for job in now)
        # Each is granted its floor, whatever comes first.
        return now if known and now[1]["granted_cores"] > 1.5 * now[0]["granted_cores"] else None

    with trainer(file, photos, address, 1_000_000, "--epochs", "3"):
        (first,) = wait_for(lambda: [j for j in jobs() if j["remaining_samples"]], "the long job")
        assert 2_900_000 < first["remaining_samples"] <= 3_000_000
        with trainer(file, photos, address, 100_000, "--epochs", "2"):
            long, short = wait_for(ordered, "the short job before the long one", 60)
            assert short["remaining_samples"] <= 200_000
            page = command("jobs", "show", str(short["job"]), "--coordinator", address)
            assert "remaining " in page.stdout, page.stdout
    assert long["job"] < short["job"]


def test_without_a_word_it_is_not_known(photos, tmp_path, address):
    file = tmp_path / "program.py"
    file.write_text(textwrap.dedent(PROGRAM))
    with trainer(file, photos, address, 1_000_000):

        def trains() -> list[dict]:
            found = json.loads(command("jobs", "--json", "--coordinator", address).stdout)["jobs"]
            return [job for job in found if any(s["batches"] for s in job["sessions"])]

        (job,) = wait_for(trains, "batches", 60)
        assert job["remaining_samples"] is None
