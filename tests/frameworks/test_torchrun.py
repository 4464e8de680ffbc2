"""The ranks that torchrun starts are one program to the coordinator, each with waiting of its own, and
get the batches that they get without Headrace."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.both_ways import IN_PROGRAMS
from support.headrace_program import (
    HEADRACE,
    clean_environment,
    coordinator,
    ended,
    free_address,
    ready_workers,
    running,
    wait_for,
)
from support.headrace_program import headrace as command

PROGRAM = Path(__file__).parent / "programs" / "ddp_by_torchrun.py"
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node=2"]
SAMPLES, BATCH, EPOCHS = 160, 2, 2
STEPS = SAMPLES // 2 // BATCH  # of a rank in an epoch
SLOW = 0.05  # seconds of sleep for a sample, where it takes its time


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """A coordinator's address. Every program here runs on its one worker."""
    address = free_address()
    with coordinator("--listen", address, "--heartbeat-ms", "200"):
        with running("worker", "--coordinator", address, "--threads", "1", HEADRACE_LOG="error"):
            wait_for(lambda: ready_workers(address), "worker")
            yield address


@dataclass
class Program:
    """programs/ddp_by_torchrun.py, started. It stops after each epoch until the test lets it go
    on."""

    process: subprocess.Popen
    place: Path

    def go_on(self, epoch: int) -> None:
        (self.place / f"behind_epoch_{epoch}").touch()

    def result(self) -> list[str]:
        """What it told, sorted, because ranks take turns."""
        out, err = self.process.communicate(timeout=120)
        assert self.process.returncode == 0, err
        return sorted(line for line in out.splitlines() if line.startswith(("batch ", "weights ")))


@contextlib.contextmanager
def program(launch: list[str], place: Path, *options: str) -> Iterator[Program]:
    place.mkdir()
    path = os.pathsep.join([str(IN_PROGRAMS), *sys.path])
    process = subprocess.Popen(
        [*launch, str(PROGRAM), str(place), str(SAMPLES), str(BATCH), str(EPOCHS), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(PYTHONPATH=path, OMP_NUM_THREADS="1"),
        start_new_session=True,
    )
    try:
        yield Program(process, place)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)  # torchrun ends its ranks
        process.communicate(timeout=60)


def all_jobs(address: str) -> list[dict]:
    answer = command("jobs", "--json", "--coordinator", address)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)["jobs"]


def running_ranks(address: str) -> dict[int, dict]:
    """The jobs of a running program, by rank."""
    return {job["rank"]: job for job in all_jobs(address) if job["state"] == "running"}


def behind(address: str, epoch: int) -> dict[int, dict]:
    """Both ranks when each has got the last batch of that epoch."""

    def both() -> dict[int, dict]:
        now = running_ranks(address)
        batches = [sum(load["batches"] for load in job["sessions"]) for job in now.values()]
        return now if batches == [(epoch + 1) * STEPS] * 2 else {}

    now = wait_for(both, f"end of epoch {epoch} of both ranks", 120)
    assert sorted(now) == [0, 1]
    return now


def growth(before: dict, after: dict) -> dict[str, float]:
    """Seconds of the one loader between the two: step, stall, and the stall by cause."""

    def totals(job: dict) -> dict[str, float]:
        (load,) = job["sessions"]
        return {
            "step": load["step_seconds"],
            "stall": load["stall_seconds"],
            **load["wait_seconds"],
        }

    first, last = totals(before), totals(after)
    return {name: last[name] - first[name] for name in first}


def says_who_waits(address: str, ranks: dict[int, dict]) -> bool:
    """Whichever rank is asked for, its page has a sentence of both, and so has `headrace top`."""
    pages = [
        command("jobs", "show", str(job["job"]), "--coordinator", address).stdout
        for job in ranks.values()
    ]
    for page in pages:
        sections = {
            int(rank): int(wait)
            for rank, wait in re.findall(r"^waiting +rank (\d) waits (\d+)%:", page, re.MULTILINE)
        }
        # One control period is short; how much it is, the totals say.
        if sorted(sections) != [0, 1] or sections[0] >= sections[1]:
            return False
        assert f"\nrank 0, job {ranks[0]['job']}\n" in page
        assert f"\nrank 1, job {ranks[1]['job']}\n" in page
    top = command("top", "--once", "--coordinator", address).stdout
    return f"\njob {ranks[1]['job']}, rank 1 waits " in top


@pytest.fixture(scope="module")
def expected(tmp_path_factory) -> list[str]:
    """What the program tells without us."""
    with program(TORCHRUN, tmp_path_factory.mktemp("stock") / "place") as started:
        for epoch in range(EPOCHS):
            started.go_on(epoch)
        told = started.result()
    assert len(told) == 2 * EPOCHS * STEPS + 2
    return told


def test_each_rank_is_told_its_own_waiting(cluster, tmp_path, expected):
    """Rank 1's samples take their time. Rank 0 waits for rank 1 where gradients are added up, which
    is no waiting in next()."""
    run = [HEADRACE, "run", "--coordinator", cluster, *TORCHRUN]
    slow = ("--slow-rank=1", f"--slow={SLOW}")
    with program(run, tmp_path / "served", *slow) as started:
        before = behind(cluster, 0)
        assert before[0]["group"] == before[1]["group"] != ""
        assert [before[rank]["name"] for rank in (0, 1)] == [PROGRAM.name] * 2
        assert before[0]["pid"] != before[1]["pid"]
        started.go_on(0)
        wait_for(lambda: says_who_waits(cluster, before), "sentence of each rank", 60)
        after = behind(cluster, 1)
        started.go_on(1)
        assert started.result() == expected

    spent = {rank: growth(before[rank], after[rank]) for rank in (0, 1)}
    # Rank 1 has a batch each SLOW * BATCH / 2 seconds and next to nothing to do with it.
    waits = {rank: each["stall"] / (each["stall"] + each["step"]) for rank, each in spent.items()}
    assert waits[1] >= 0.5, spent
    assert spent[1]["python"] >= 0.5 * spent[1]["stall"], spent
    # Rank 0 takes as long for an epoch, nearly all of it in its steps.
    assert waits[0] <= 0.25, spent
    assert spent[0]["step"] >= 0.5 * spent[1]["stall"], spent


def test_around_each_rank(cluster, tmp_path, expected):
    """`headrace run` is the program: torchrun may start it as well as be started by it."""
    run = [HEADRACE, "run", "--coordinator", cluster, sys.executable]
    with program([*TORCHRUN, "--no-python", *run], tmp_path / "served") as started:
        for epoch in range(EPOCHS):
            now = behind(cluster, epoch)
            started.go_on(epoch)
        assert started.result() == expected
    assert now[0]["group"] == now[1]["group"] != ""
    for job in now.values():
        assert job["sessions"][0]["samples"] == EPOCHS * SAMPLES // 2
        assert job["sessions"][0]["miss_samples"] > 0, "nothing came from a worker"


def test_a_killed_rank_ends_the_program_and_its_leases(cluster, tmp_path):
    with program([HEADRACE, "run", "--coordinator", cluster, *TORCHRUN], tmp_path / "p") as started:
        now = behind(cluster, 0)
        os.kill(now[1]["pid"], signal.SIGKILL)
        _, err = started.process.communicate(timeout=60)
        assert started.process.returncode == 1, err
        assert "Signal 9 (SIGKILL)" in err
    assert all(ended(job["pid"]) for job in now.values())
    wait_for(lambda: running_ranks(cluster) == {}, "end of both jobs")
    lost = [job for job in all_jobs(cluster) if job["group"] == now[0]["group"]]
    assert [(job["state"], job["workers"]) for job in lost] == [("lost", [])] * 2
    (worker,) = ready_workers(cluster)
    assert worker["jobs"] == []
