"""A pool on a real Slurm of four nodes: slurmctld, slurmd and munged, started by the test."""

import contextlib
import json
import os
import subprocess
import sys
import time
import zlib

import numpy
import pytest
import torch
from PIL import Image
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
from support.servers.slurm import slurm
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder
from torchvision.transforms import CenterCrop, Compose, Resize, ToTensor

PATIENCE = 150  # a machine that does much else starts torch in a minute
TRANSFORM = Compose([Resize(256), CenterCrop(224), ToTensor()])
# Takes a batch, and then the seconds that a file says, until there is a file that says to stop.
PROGRAM = """
import json, os, pathlib, sys, time, zlib
import torch
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder
from torchvision.transforms import CenterCrop, Compose, Resize, ToTensor

photos, folder = sys.argv[1], pathlib.Path(sys.argv[2])
transform = Compose([Resize(256), CenterCrop(224), ToTensor()])
generator = torch.Generator().manual_seed(0)
loader = DataLoader(
    ImageFolder(photos, transform), 4, shuffle=True, num_workers=2, generator=generator
)
epochs = []
while not (folder / "stop").exists():
    epochs.append([])
    for pictures, labels in loader:
        epochs[-1].append(zlib.crc32(pictures.numpy().tobytes() + labels.numpy().tobytes()))
        time.sleep(float((folder / "step").read_text()))
print(json.dumps(epochs))
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with slurm(tmp_path_factory.mktemp("cluster") / "slurm") as made:
        yield made


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """A class-per-folder set of 24 JPEG files, so large that one worker is never enough."""
    generator = numpy.random.default_rng(7)
    place = tmp_path_factory.mktemp("photos")
    for index in range(24):
        small = generator.integers(0, 256, (9, 12, 3), dtype=numpy.uint8)
        folder = place / f"class{index % 3}"
        folder.mkdir(exist_ok=True)
        Image.fromarray(small).resize((3000, 2200 + index)).save(folder / f"{index}.jpg")
    return place


def sums(photos, epochs):
    """Of the batches that the stock loader makes. Each picture is the same in all epochs."""
    dataset = list(ImageFolder(photos, TRANSFORM))
    loader = DataLoader(dataset, 4, shuffle=True, generator=torch.Generator().manual_seed(0))
    return [
        [
            zlib.crc32(pictures.numpy().tobytes() + labels.numpy().tobytes())
            for pictures, labels in loader
        ]
        for _ in range(epochs)
    ]


class Head:
    """A coordinator with a pool on the cluster, which may be killed and started again."""

    def __init__(self, cluster, folder, *words):
        self.cluster, self.log, self.address = cluster, folder / "log", free_address()
        self._words = [
            "coordinator", "--listen", self.address, "--state-dir", str(folder / "state"),
            "--pool", "slurm", "--slurm-memory", "512M", "--slurm-poll-s", "1",
            "--slurm-output", str(folder / "worker-%A_%a"), "--heartbeat-ms", "200", *words,
        ]  # fmt: skip
        self._open = contextlib.ExitStack()

    def start(self):
        variables = self.cluster.environment | {"HEADRACE_LOG": "info"}
        self.process = self._open.enter_context(running(*self._words, log=self.log, **variables))
        wait_for_answer(self.address)

    def kill(self):
        self.process.kill()
        self._open.close()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self._open.close()

    def said(self):
        return self.log.read_text()

    def jobs(self, states="PENDING,RUNNING"):
        mine = f"pool=headrace-{self.address.removeprefix('tcp://').replace(':', '-')} "
        return [job for job in self.cluster.jobs(states) if mine in job[3]]

    def states(self):
        """Of its jobs, also of those that have ended."""
        return {job: state for job, state, *_ in self.jobs("all")}

    def members(self):
        """Of the ready workers: what Slurm calls them."""
        return sorted(worker["member"] for worker in ready_workers(self.address))

    def until(self, condition, what):
        """Its first true value. Asking costs a process: not too often."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if value := condition():
                return value
            time.sleep(0.2)
        said = self.said(), self.cluster.jobs("all")
        raise AssertionError(f"no {what} within {PATIENCE} s: {said}")

    def until_ready(self, count):
        return self.until(
            lambda: members if len(members := self.members()) == count else None, f"{count} workers"
        )


class Program:
    """A training program, run by Headrace. How long its steps take is the test's."""

    def __init__(self, photos, folder, address):
        self._folder = folder
        (folder / "program.py").write_text(PROGRAM)
        self.step(1)
        words = "run", "--coordinator", address, "--remote-only", sys.executable
        self._process = subprocess.Popen(
            [HEADRACE, *words, str(folder / "program.py"), str(photos), str(folder)],
            env=clean_environment(),
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.communicate()

    def step(self, seconds):
        (self._folder / "new").write_text(str(seconds))
        os.replace(self._folder / "new", self._folder / "step")

    def sums(self):
        """Lets it end."""
        (self._folder / "stop").touch()
        self.step(0)
        out, _ = self._process.communicate(timeout=120)
        assert self._process.returncode == 0
        return json.loads(out.splitlines()[-1])


@pytest.fixture(scope="module")
def brief(cluster, tmp_path_factory):
    """Its workers have a minute, the least that Slurm knows. Slurm looks for ends each half a minute, so
    other tests run meanwhile."""
    folder = tmp_path_factory.mktemp("brief")
    words = "--workers", "1", "--slurm-time", "1", "--slurm-notice-s", "58"
    with Head(cluster, folder, *words, "--slurm-submit", "--nodelist=n4") as head:
        yield head


@pytest.fixture(scope="module")
def preempted(cluster, tmp_path_factory):
    """A coordinator and its worker, whose node Slurm wants for a job that is more urgent. That takes half
    a minute too."""
    folder = tmp_path_factory.mktemp("preempted")
    words = "--workers", "1", "--slurm-cores", "4", "--slurm-submit", "--nodelist=n3"
    with Head(cluster, folder, *words) as head:
        (first,) = head.until_ready(1)
        urgent = "--partition=urgent", "--nodelist=n3", "--exclusive", "--mem=0"
        cluster.run("sbatch", "--output=/dev/null", *urgent, "--wrap", "sleep 1000")
        yield head, first


def test_a_pool_has_its_name_in_slurm(brief, preempted):
    """The coordinators that the last tests look at. Each has found its own jobs alone."""
    first = brief.until(lambda: brief.states(), "first job")
    assert len(preempted[0].states()) >= 1 and not set(first) & set(preempted[0].states())


def test_what_slurm_does_not_give_is_told(cluster, tmp_path):
    """A partition that there is not, and jobs that never begin."""
    words = "--workers", "2", "--slurm-partition", "nowhere"
    with Head(cluster, tmp_path, *words) as head:
        head.until(lambda: "Invalid partition name" in head.said(), "reason")
        time.sleep(2)  # it is tried again
        assert head.said().count("Invalid partition name") == 1
    never = tmp_path / "never"
    never.mkdir()
    words = "--workers", "2", "--slurm-submit", "--begin=now+1hour", "--queued-s", "3"
    with Head(cluster, never, *words) as head:
        head.until(lambda: "no worker within 3 s (BeginTime)" in head.said(), "reason")
        head.until(lambda: "CANCELLED" in head.states().values(), "jobs that are given up")


def test_a_setting_of_another_pool_is_refused():
    answer = headrace("coordinator", "--pool", "local", "--slurm-partition", "cpu")
    assert answer.returncode != 0 and "--slurm-partition is for --pool slurm" in answer.stderr
    answer = headrace("coordinator", "--pool", "slurm", "--threads", "4")
    assert answer.returncode != 0 and "--threads and --cache are of local workers" in answer.stderr


def test_workers_follow_demand_and_nothing_is_lost(cluster, photos, tmp_path):
    """A program wants one worker, then four, and ends. Meanwhile a node is killed, then the coordinator.

    Afterwards a node fewer is left."""
    words = "--workers", "1", "--max-workers", "4", "--slurm-submit", "--exclude=n3,n4"
    with (
        Head(cluster, tmp_path, *words) as head,
        Program(photos, tmp_path, head.address) as program,
    ):
        (first,) = head.until_ready(1)
        program.step(0)
        assert first in head.until_ready(4)

        # Slurm does not know of it for a minute. What was there is replaced before.
        (node,) = [node for job, _, node, _ in cluster.jobs() if job == first]
        lost = {job for job, _, on, _ in cluster.jobs() if on == node}
        cluster.kill_node(node)
        head.until(lambda: len(set(head.members()) - lost) == 4, "others in their place")
        assert {head.states()[job] for job in lost} == {"RUNNING"}, "Slurm was waited for"

        # The next coordinator has the same workers.
        before = {member for member in head.members() if member not in lost}
        head.kill()
        head.start()
        head.until(lambda: before <= set(head.members()), "adopted workers")
        epochs = {comment.split("epoch=")[1].split()[0] for _, _, _, comment in head.jobs()}
        assert len(epochs) == 1, "the coordinator that was killed has started all of them"

        batches = program.sums()
        assert batches and batches == sums(photos, len(batches))
        (last,) = head.until_ready(1)
        head.until(
            lambda: {head.states()[member] for member in before - {last}} == {"COMPLETED"},
            "ends in order",
        )
    wait_for(lambda: not head.jobs(), "end with the coordinator", PATIENCE)


def test_preemption_is_a_drain(preempted):
    head, first = preempted
    head.until(lambda: first not in head.members(), "notice")
    head.until(lambda: head.states()[first] in ("COMPLETED", "PREEMPTED"), "end")
    # Another one is asked for, and waits until the urgent job is done.
    head.until(lambda: "PENDING" in head.states().values(), "next one")
    assert "ended" not in head.said(), head.said()


def test_the_end_of_the_walltime_is_a_drain(brief):
    brief.until(lambda: "COMPLETED" in brief.states().values(), "worker that leaves")
    brief.until(lambda: len(brief.states()) > 1, "next one")
    assert "ended" not in brief.said(), brief.said()
