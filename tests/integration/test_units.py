"""deploy/systemd and deploy/slurm: the units and jobs that operators copy."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import numpy
import pytest
from PIL import Image
from support.headrace_program import (
    HEADRACE,
    clean_environment,
    free_port,
    headrace,
    wait_for,
)
from support.servers.slurm import slurm

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNITS = sorted((ROOT / "deploy" / "systemd").glob("*.service"))
JOBS = ROOT / "deploy" / "slurm"
PROGRAM = "/opt/headrace/bin/headrace"


def entries(unit, name):
    return re.findall(rf"^{name}=(.*)$", unit.read_text(), re.M)


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_systemd_finds_no_fault_in_a_unit(unit, tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("needs systemd-analyze")
    copy = tmp_path / unit.name
    copy.write_text(
        unit.read_text().replace(PROGRAM, HEADRACE).replace("User=headrace", "User=root")
    )
    verify = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", copy]
    done = subprocess.run(verify, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    # How much of the system it can reach, in tenths: 96 is a unit without a word of that. A worker makes
    # namespaces and mounts for the code of programs, and reads home directories.
    most = 45 if "worker" in unit.name else 20
    rate = ["systemd-analyze", "security", "--offline=true", f"--threshold={most}", "--no-pager"]
    rate += [copy]
    done = subprocess.run(rate, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_units_commands_make_a_pool(tmp_path):
    """Their ExecStart lines, at other ports and in another directory."""
    port = str(free_port())
    variables = {
        "HEADRACE_COORDINATOR": f"tcp://127.0.0.1:{port}",
        "HEADRACE_KEYS": str(tmp_path / "keys"),
        "XDG_RUNTIME_DIR": str(tmp_path),
    }
    assert headrace("keys", str(tmp_path / "keys")).returncode == 0
    started = []
    try:
        for unit, options in zip(UNITS, ("--policy sjf", "--cache 64M --threads 1"), strict=True):
            (line,) = entries(unit, "ExecStart")
            words = shlex.split(line.replace("$HEADRACE_OPTIONS", options))
            assert words[0] == PROGRAM
            words = [HEADRACE, *words[1:]]
            for place, with_what in (
                (":7070", f":{port}"),
                ("/var/lib/headrace", str(tmp_path / "state")),
            ):
                words = [word.replace(place, with_what) for word in words]
            words = [re.sub(r":94\d\d$", f":{free_port()}", word) for word in words]
            environment = clean_environment(**variables)
            started.append(subprocess.Popen(words, env=environment))
        keys = {"HEADRACE_KEYS": variables["HEADRACE_KEYS"]}
        told = ["workers", "--coordinator", variables["HEADRACE_COORDINATOR"]]
        wait_for(lambda: "ready" in headrace(*told, **keys).stdout, "a worker")
        for process in reversed(started):
            process.terminate()
            assert process.wait(20) == 0
    finally:
        for process in started:
            process.kill()
            process.wait()


TRAIN = """
import torch
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder
from torchvision.transforms import ToTensor

loader = DataLoader(ImageFolder("photos", ToTensor()), batch_size=4, num_workers=1)
print("batches", sum(1 for _ in range(3) for _ in loader))
"""


@pytest.fixture
def home(tmp_path):
    """Where jobs are submitted: a program, its data, and this build as `headrace`."""
    folder = tmp_path / "home"
    for index in range(8):
        place = folder / "photos" / f"class{index % 2}"
        place.mkdir(parents=True, exist_ok=True)
        pixels = numpy.full((64, 64, 3), index, dtype=numpy.uint8)
        Image.fromarray(pixels).save(place / f"{index}.png")
    (folder / "train.py").write_text(TRAIN)
    (folder / "bin").mkdir()
    (folder / "bin" / "headrace").symlink_to(HEADRACE)
    (folder / "bin" / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (folder / "bin" / "python").chmod(0o755)
    return folder


@pytest.fixture
def cluster(tmp_path):
    with slurm(tmp_path / "slurm", nodes=2, cores=8) as made:
        yield made


def submit(cluster, home, script, *words, options=(), **variables):
    """The job's number. It may take less memory than the page's: nodes of the tests have 8 GiB."""
    shutil.copy(JOBS / script, home)
    path = f"{home / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sbatch", "--parsable", "--mem=4G", *options, script, *words],
        cwd=home,
        env=clean_environment(**cluster.environment, PATH=path, **variables),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_program_brings_its_pool_to_slurm(cluster, home):
    job = submit(
        cluster, home, "train.sbatch", "python", "train.py", HEADRACE_CACHE_OF_A_NODE="64M"
    )
    wait_for(lambda: not cluster.jobs(), "end of the job", 90)
    said = (home / f"slurm-{job}.out").read_text()
    assert "batches 6" in said, said
    assert not list(home.glob("keys-*")), "keys of the job alone"

    def states():
        return [state for _, state, *_ in cluster.jobs("all")]

    wait_for(lambda: states() != ["COMPLETING"], "end on its nodes", 60)
    assert states() == ["COMPLETED"], said


def test_workers_of_a_job_array_join_a_pool(cluster, home):
    assert headrace("keys", str(home / "keys")).returncode == 0
    keys = {"HEADRACE_KEYS": str(home / "keys")}
    address = f"tcp://127.0.0.1:{free_port()}"
    words = [HEADRACE, "coordinator", "--listen", address]
    coordinator = subprocess.Popen(words, env=clean_environment(**keys))
    try:
        more = {"HEADRACE_COORDINATOR": address, "HEADRACE_CACHE_OF_A_WORKER": "64M", **keys}
        job = submit(
            cluster, home, "workers.sbatch", options=["--cpus-per-task=1", "--mem=1G"], **more
        )
        told = ["workers", "--coordinator", address]
        wait_for(lambda: headrace(*told, **keys).stdout.count("ready") == 4, "four workers", 60)
        cluster.run("scancel", job)
        wait_for(lambda: not cluster.jobs(), "end of the workers", 60)
    finally:
        coordinator.terminate()
        coordinator.wait(20)
