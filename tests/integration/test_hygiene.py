"""However a program ends, nothing of it is left five seconds later: no process, no memory, no socket."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import pytest
from support.headrace_program import HEADRACE, clean_environment, wait_for
from support.photos import write_jpegs

PROGRAM = """
import os, sys, time
import torch
from torch.utils.data import DataLoader
from torchvision import datasets
from torchvision import transforms as T

photos, kind, end = sys.argv[1:]
pictures = data = datasets.ImageFolder(photos, T.Compose([T.RandomResizedCrop(32), T.ToTensor()]))
if kind == "code":
    class Counting(torch.utils.data.Dataset):
        count = 0
        def __len__(self):
            return len(pictures)
        def __getitem__(self, index):
            self.count += 1
            return pictures[index][0], self.count
    data = Counting()
    loader = DataLoader(data, 4, num_workers=2, persistent_workers=True)
else:
    loader = DataLoader(data, 4, num_workers=2)
kept = iter(loader)
next(kept)
for other in range(3):  # a notebook whose cell is run again
    again = iter(loader) if kind == "native" else kept
    next(again)
print("has batches", flush=True)
if end == "exception":
    raise ValueError("of the program")
elif end == "os._exit":
    os._exit(3)
elif end == "return":
    pass
else:
    while True:
        for _ in loader:
            pass
"""

SIGNALS = {"Ctrl-C": signal.SIGINT, "SIGTERM": signal.SIGTERM, "SIGKILL": signal.SIGKILL}
STATUS = {
    "exception": 1,
    "os._exit": 3,
    "return": 0,
    "Ctrl-C": -signal.SIGINT,
    "SIGTERM": -signal.SIGTERM,
    "SIGKILL": -signal.SIGKILL,
}


def alive(mark: str) -> dict[int, str]:
    """What runs with this mark in its environment: pid -> command line."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if mark.encode() in (entry / "environ").read_bytes().split(b"\0"):
                words = (entry / "cmdline").read_bytes()
                if words:  # else a zombie
                    found[int(entry.name)] = words.replace(b"\0", b" ").decode()
        except (OSError, ValueError):
            continue
    return found


@pytest.fixture
def private() -> Iterator[pathlib.Path]:
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hygiene-", dir="/tmp"))
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("kind", ["native", "code"])
@pytest.mark.parametrize("end", STATUS)
def test_nothing_is_left(kind, end, private, tmp_path):
    photos = write_jpegs(tmp_path / "photos", classes=2, count=12)
    run = private  # the path of a socket has at most 107 bytes
    mark, log = f"HYGIENE={tmp_path}", tmp_path / "log"
    before = set(os.listdir("/dev/shm"))
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    environment = clean_environment(XDG_RUNTIME_DIR=str(run), HYGIENE=str(tmp_path))
    command = [HEADRACE, "run", "--", sys.executable, str(file), str(photos), kind, end]
    with (
        log.open("w") as errors,
        subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as program,
    ):
        assert program.stdout is not None
        assert program.stdout.readline() == "has batches\n", log.read_text()
        if end in SIGNALS:
            time.sleep(0.2)  # it is in the middle of an epoch
            program.send_signal(SIGNALS[end])
        assert program.wait(60) == STATUS[end]
    wait_for(lambda: not alive(mark), f"the end of {alive(mark)}", seconds=5)
    assert not os.listdir(run), "private directories and sockets"
    assert set(os.listdir("/dev/shm")) <= before
