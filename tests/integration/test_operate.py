"""The first hour of docs/operate.md, by its own commands, on a real Slurm."""

import os
import pathlib
import re
import subprocess
import sys

import numpy
from PIL import Image
from support.headrace_program import HEADRACE, clean_environment, free_port
from support.servers.slurm import slurm

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "operate.md"
TRAIN = """
import torch
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder
from torchvision.transforms import ToTensor

loader = DataLoader(ImageFolder("photos", ToTensor()), batch_size=4, num_workers=1)
print("batches", sum(1 for _ in range(3) for _ in loader))
"""


def commands():
    section = PAGE.read_text().split("\n## ")[1]
    assert section.startswith("The first hour on Slurm")
    return re.findall(r"```bash\n(.*?)```", section, re.DOTALL)


def test_the_first_hour_on_slurm(tmp_path):
    home = tmp_path / "home"
    for index in range(8):
        place = home / "photos" / f"class{index % 2}"
        place.mkdir(parents=True, exist_ok=True)
        pixels = numpy.full((64, 64, 3), index, dtype=numpy.uint8)
        Image.fromarray(pixels).save(place / f"{index}.png")
    (home / "train.py").write_text(TRAIN)
    # Another port, and commands that find this build and this Python.
    port = str(free_port())
    text = "set -e; trap 'kill $(jobs -p) 2> /dev/null || true' EXIT\n" + "".join(
        f"echo '# {n}'\n{c}" for n, c in enumerate(commands(), 1)
    )
    assert text.count("7070") >= 4 and text.count("headrace coordinator") == 2
    script = text.replace("7070", port)
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "headrace").symlink_to(HEADRACE)
    (programs / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (programs / "python").chmod(0o755)
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
