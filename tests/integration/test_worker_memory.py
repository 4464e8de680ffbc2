"""A picture that no worker could hold, on workers of 160 MB: nobody dies, and every batch comes."""

import json
import resource
import subprocess
import sys

import pytest
from PIL import Image
from support.headrace_program import (
    HEADRACE,
    clean_environment,
    free_port,
    headrace,
    ready_workers,
    running,
    wait_for,
    wait_for_answer,
    workers,
)
from support.photos import write_jpegs

# 258 kB of file, 264 MB of pixels.
HUGE = (11_000, 8_000)
MEMORY = 160 << 20
# Of the process's data: what it is told to keep to, and room for the stacks of its threads.
DATA = 230 << 20

PROGRAM = """
import hashlib, json, sys
import torch
from PIL import Image
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

Image.MAX_IMAGE_PIXELS = None
chain = transforms.Compose([transforms.CenterCrop(32), transforms.ToTensor()])
data = datasets.ImageFolder(sys.argv[1], chain)
torch.manual_seed(3)
for images, labels in DataLoader(data, batch_size=4, shuffle=True, num_workers=2):
    print(hashlib.sha256(images.numpy().tobytes()).hexdigest(), labels.tolist())
"""


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Two sets: one with the picture, and one without."""
    root = tmp_path_factory.mktemp("pictures")
    for name in ("with", "without"):
        write_jpegs(root / name, 1, 16)
    huge = root / "with" / "class0" / "huge.png"
    Image.new("RGB", HUGE, (9, 99, 199)).save(huge)
    assert huge.stat().st_size < 500_000
    return root


def run(folder, program, *before, **environment) -> subprocess.CompletedProcess:
    done = subprocess.run(
        [*before, sys.executable, str(program), str(folder)],
        env=clean_environment(**environment),
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    return done


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (DATA, DATA))


def test_a_picture_of_88_megapixels_ends_no_worker(pictures, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    address = f"tcp://127.0.0.1:{free_port()}"
    command = [HEADRACE, "worker", "--coordinator", address, "--threads", "2", "--memory", "160M"]
    log = tmp_path / "worker"
    with running("coordinator", "--listen", address), log.open("w") as stderr:
        wait_for_answer(address)
        with subprocess.Popen(
            command, env=clean_environment(), stderr=stderr, preexec_fn=limited
        ) as worker:
            try:
                wait_for(lambda: ready_workers(address), "worker")
                wait_for(
                    lambda: "160M" in headrace("workers", "--coordinator", address).stdout,
                    "its limit in the table",
                )
                with subprocess.Popen(
                    [HEADRACE, "run", "--coordinator", address, sys.executable, str(program)]
                    + [str(pictures / "without")],
                    env=clean_environment(),
                    stdout=subprocess.PIPE,
                    text=True,
                ) as other:
                    report = tmp_path / "report.json"
                    before = (HEADRACE, "run", "--coordinator", address, "--report", str(report))
                    mine = run(pictures / "with", program, *before)
                    others = other.communicate(timeout=200)[0]
                assert worker.poll() is None
                (served,) = workers(address)
                assert served["state"] == "ready" and served["pid"] == worker.pid
            finally:
                worker.terminate()
                worker.wait(20)
    assert mine.stdout == run(pictures / "with", program).stdout
    assert others == run(pictures / "without", program).stdout
    (loader,) = {entry["path"] for entry in json.loads(report.read_text())["loaders"]}
    assert loader == "native", "only that sample is the trainer's"
    text = log.read_text()
    assert "over the worker's memory" in text and "huge.png" in text, text
