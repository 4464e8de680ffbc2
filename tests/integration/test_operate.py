"""The sections of docs/operate.md, by their own commands: on a real Slurm, and on three hosts with sshd."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy
import pytest
from PIL import Image
from support.headrace_program import HEADRACE, clean_environment, free_port
from support.servers.slurm import slurm
from support.ssh_hosts import ssh_hosts
from support.wheels import portable_wheel

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "operate.md"
TRAIN = """
import torch
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder
from torchvision.transforms import ToTensor

loader = DataLoader(ImageFolder("photos", ToTensor()), batch_size=4, num_workers=1)
print("batches", sum(1 for _ in range(3) for _ in loader))
"""


def commands(title):
    """The bash blocks of a section."""
    (section,) = [part for part in PAGE.read_text().split("\n## ") if part.startswith(title)]
    return re.findall(r"```bash\n(.*?)```", section, re.DOTALL)


def numbered(blocks, first=1):
    return "".join(f"echo '# {n}'\n{block}" for n, block in enumerate(blocks, first))


def write_photos(folder):
    for index in range(8):
        place = folder / f"class{index % 2}"
        place.mkdir(parents=True, exist_ok=True)
        pixels = numpy.full((64, 64, 3), index, dtype=numpy.uint8)
        Image.fromarray(pixels).save(place / f"{index}.png")


def write_python(folder):
    """The page's `python`: this one."""
    folder.mkdir(exist_ok=True)
    (folder / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (folder / "python").chmod(0o755)


def test_the_first_hour_on_slurm(tmp_path):
    home = tmp_path / "home"
    write_photos(home / "photos")
    (home / "train.py").write_text(TRAIN)
    # Another port, and commands that find this build and this Python.
    port = str(free_port())
    text = "set -e; trap 'kill $(jobs -p) 2> /dev/null || true' EXIT\n"
    text += numbered(commands("The first hour on Slurm"))
    assert text.count("7070") >= 4 and text.count("headrace coordinator") == 2
    script = text.replace("7070", port)
    programs = tmp_path / "bin"
    write_python(programs)
    (programs / "headrace").symlink_to(HEADRACE)
    with slurm(tmp_path / "slurm", nodes=2) as cluster:
        variables = {"HOME": str(home), "PATH": f"{programs}:{os.environ['PATH']}"}
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=home,
            env=clean_environment(**variables, **cluster.environment, HEADRACE_LOG="info"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
        said = done.stdout + done.stderr + (home / "headrace.log").read_text()
        assert done.returncode == 0, said
        parts = re.split(r"^# \d\n", done.stdout, flags=re.MULTILINE)[1:]
        assert len(parts) == 6, said
        assert "batches 6" in parts[2], said
        assert re.search(r"^\s+\d+_0 .* R ", parts[3], re.MULTILINE), said
        assert "ready" in parts[4], said
        assert len({job.partition("_")[0] for job, *_ in cluster.jobs("all")}) == 1, said


def test_cheap_nodes_first(tmp_path):
    """Of two workers, the pre-emptible pool may give one."""
    home = tmp_path / "home"
    home.mkdir()
    ports = {"7070": str(free_port()), "9470": str(free_port())}
    script = "set -e; trap 'kill $(jobs -p) 2> /dev/null || true' EXIT\n"
    script += numbered(commands("Cheap nodes first"))
    assert script.count("7070") >= 4 and script.count("9470") == 1
    for port, free in ports.items():
        script = script.replace(port, free)
    programs = tmp_path / "bin"
    write_python(programs)
    (programs / "headrace").symlink_to(HEADRACE)
    with slurm(tmp_path / "slurm", nodes=2) as cluster:
        variables = {"HOME": str(home), "PATH": f"{programs}:{os.environ['PATH']}"}
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=home,
            env=clean_environment(**variables, **cluster.environment, HEADRACE_LOG="info"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
        said = done.stdout + done.stderr + (home / "headrace.log").read_text()
        assert done.returncode == 0, said
        assert len(re.findall(r"^\s+\d+_0 +preempt .* R ", done.stdout, re.MULTILINE)) == 1, said
        assert len(re.findall(r"^\s+\d+_0 +all .* R ", done.stdout, re.MULTILINE)) == 1, said
        for row in (
            r"spot +slurm +yes +usable +1 +0 +0 +1 +1 +1 +0\.01 +0\.01",
            r"slurm +slurm +no +usable +1 +0 +0 +1 +- +1 +0\.04 +0\.04",
        ):
            assert re.search(f"^{row}$", done.stdout, re.MULTILINE), (row, said)
        assert 'headrace_pool_workers{pool="spot",state="running"} 1' in done.stdout, said


# Trains until it is told to stop. Each epoch has all samples.
LONG = """
import os
import torch
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder
from torchvision.transforms import ToTensor

def total(samples):
    return round(sum(float(pictures.double().sum()) for pictures, _ in samples), 3)

data = ImageFolder("photos", ToTensor())
expected, epochs = total(data), 0
loader = DataLoader(data, batch_size=2, num_workers=1)
while not os.path.exists("stop"):
    assert total(loader) == expected
    epochs += 1
    with open("epochs.new", "w") as file:
        file.write(str(epochs))
    os.rename("epochs.new", "epochs")
print("epochs", epochs)
"""
MORE_EPOCHS = """
seen=$(cat epochs)
until [ "$(cat epochs)" -gt $((seen + 3)) ]; do sleep 0.1; done
"""


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """What pip finds on hosts that reach no registry."""
    folder = tmp_path_factory.mktemp("packages")
    pip = [sys.executable, "-m", "pip", "download", "-q", "-d", folder, "numpy", "cloudpickle"]
    done = subprocess.run(pip, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.full
def test_three_machines_with_ssh(tmp_path, packages):
    """The first hour; then, while a program trains, an upgrade, the loss of the journal, and the end."""
    wheel = portable_wheel()
    first = commands("The first hour on three machines with ssh")
    assert len(first) == 6
    upgrade, lost, capacity = map(commands, ("Upgrade under load", "Back-up", "Capacity"))
    assert len(upgrade) == 2 and len(lost) == 2 and len(capacity) == 1
    with ssh_hosts(tmp_path / "hosts", "head", "node1", "node2") as hosts:
        for host in hosts:
            write_photos(host.home / "photos")
            (host.home / ".config" / "pip").mkdir(parents=True)
            (host.home / ".config" / "pip" / "pip.conf").write_text(
                f"[global]\nno-index = true\nfind-links = {packages}\n"
            )
        head = hosts[0]
        shutil.copy(wheel, head.home)
        write_python(head.home / "programs")
        (head.home / "train.py").write_text(TRAIN)
        (head.home / "long.py").write_text(LONG)
        train = "headrace run --remote-only python long.py > long.out 2> long.err &\ntrainer=$!\n"
        train += "until [ -s epochs ]; do sleep 0.1; done\n"
        *before, end = first
        script = (
            "set -e; export PATH=~/programs:$PATH\n"
            + numbered(before)
            + train
            + MORE_EPOCHS.join(numbered([block], n) for n, block in enumerate(upgrade, 6))
            + MORE_EPOCHS
            + numbered(capacity, 8)
            + MORE_EPOCHS.join(numbered([block], n) for n, block in enumerate(lost, 9))
            + MORE_EPOCHS
            + "touch stop; wait $trainer; cat long.out\n"
            + numbered([end], 11)
        )
        done = subprocess.run(
            head.command("bash", "-c", script),
            env=clean_environment(HOME="/root", XDG_RUNTIME_DIR="/run/headrace"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=540,  # a machine that does much else
        )
        logs = "".join(path.read_text() for path in tmp_path.glob("hosts/*/home/*.log"))
        said = done.stdout + done.stderr + logs
        assert done.returncode == 0, said
        parts = dict(re.findall(r"^# (\d+)\n(.*?)(?=^# |\Z)", done.stdout, re.M | re.S))
        assert len(parts) == 11, said
        assert "batches 6" in parts["4"], said
        assert len(re.findall(r"^ +\d+ +node\d .* ready ", parts["5"], re.M)) == 2, said
        assert "headrace_job_wait_share" in parts["8"], said
        assert int(parts["10"].split("epochs ")[1]) > 12, said
        held = subprocess.run(
            ["tar", "-tzf", head.home / "headrace-backup.tgz"], capture_output=True, text=True
        )
        assert "pool-keys/coordinator.key" in held.stdout, held.stdout
