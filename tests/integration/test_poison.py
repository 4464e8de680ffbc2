"""A picture that ends workers by its memory: it is found, and given to no worker of any job again."""

import contextlib
import json
import re
import resource
import subprocess
import sys
import textwrap

import numpy as np
import pytest
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

PROGRAM = """
    import sys, zlib, torch
    from torch.utils.data import DataLoader
    from torchvision import datasets, transforms

    chain = transforms.Compose([transforms.RandomResizedCrop(32), transforms.ToTensor()])
    loader = DataLoader(datasets.ImageFolder(sys.argv[1], chain), 4, num_workers=2)
    torch.manual_seed(7)
    for epoch in range(2):
        for images, labels in loader:
            print(zlib.crc32(images.numpy().tobytes()), labels.tolist(), flush=True)
        print("epoch", flush=True)
        sys.stdin.readline()
"""
LARGE = 9  # of 16 pictures: none that admission tries


@pytest.fixture
def pictures(tmp_path):
    """The one that takes the memory is neither the largest file nor the smallest: admission tries these."""
    rng = np.random.default_rng(1)
    folder = tmp_path / "pictures" / "class0"
    folder.mkdir(parents=True)
    for number in range(16):
        path = folder / f"{number:02}.png"
        if number == LARGE:
            Image.new("RGB", (4500, 4500), (40, 90, 200)).save(path)
        else:
            side = 100 + 15 * number
            Image.fromarray(rng.integers(0, 256, (side, side, 3), np.uint8)).save(path)
    return folder.parent


def program(pictures, tmp_path, *launch):
    file = tmp_path / "program.py"
    file.write_text(textwrap.dedent(PROGRAM))
    return subprocess.Popen(
        [*launch, sys.executable, str(file), str(pictures)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment(XDG_RUNTIME_DIR=str(tmp_path)),
    )


def limit_memory(pid):
    """The worker may have 45 MB more than it has: less than the 61 MB of the picture's pixels."""
    with open(f"/proc/{pid}/status") as file:
        now = next(int(line.split()[1]) << 10 for line in file if line.startswith("VmData:"))
    resource.prlimit(pid, resource.RLIMIT_DATA, (now + (45 << 20),) * 2)


def test_a_picture_that_ends_workers_ends_two_of_them(pictures, tmp_path):
    stock = program(pictures, tmp_path)
    expected = stock.communicate("\n\n", timeout=60)[0]
    address = free_address()
    with contextlib.ExitStack() as stack:
        log = tmp_path / "coordinator.log"
        stack.enter_context(running("coordinator", "--listen", address, log=log))
        wait_for_answer(address)
        for number in range(3):
            words = ["--threads", "1", "--directory", str(tmp_path / f"w{number}")]
            worker = running("worker", "--coordinator", address, *words, HEADRACE_LOG="error")
            limit_memory(stack.enter_context(worker).pid)
        wait_for(lambda: len(ready_workers(address)) == 3, "workers")
        run = [HEADRACE, "run", "--coordinator", address, "--remote-only", "--"]
        first = program(pictures, tmp_path, *run)
        stack.callback(first.kill)
        lines = list(iter(first.stdout.readline, "epoch\n"))
        wait_for(lambda: len(ready_workers(address)) == 1, "word of two lost workers")
        shown = wait_for(lambda: bad_of(address), "the bad sample")
        assert re.search(
            rf"bad +\S+/{LARGE:02}\.png, sample {LARGE}: it takes \d+ MiB of memory; "
            "no worker is given it",
            shown,
        ), shown
        assert f"{LARGE:02}.png any more: it takes" in log.read_text()
        rest, said = first.communicate("\n\n", timeout=60)
        assert first.returncode == 0, said
        assert "".join(lines) + "epoch\n" + rest == expected
        assert len(ready_workers(address)) == 1, "the second epoch ended nobody"
        second = program(pictures, tmp_path, *run)
        assert second.communicate("\n\n", timeout=60)[0] == expected
        assert len(ready_workers(address)) == 1, "nor did another job"


def bad_of(address):
    jobs = json.loads(headrace("jobs", "--json", "--coordinator", address).stdout)["jobs"]
    for job in jobs:
        if job["bad_samples"]:
            return headrace("jobs", "show", str(job["job"]), "--coordinator", address).stdout
    return ""
