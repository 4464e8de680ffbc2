"""A training program whose demand a test turns up and down, and the coordinator of a pool beside it."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from typing import Any

import numpy
import torch
from PIL import Image
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder
from torchvision.transforms import CenterCrop, Compose, Resize, ToTensor

from support.headrace_program import (
    HEADRACE,
    clean_environment,
    free_address,
    headrace,
    running,
    wait_for,
)

PATIENCE = 150  # a machine that does much else starts torch in a minute
_TRANSFORM = Compose([Resize(256), CenterCrop(224), ToTensor()])
# Takes a batch, and then the seconds that a file says, until there is a file that says to stop.
_PROGRAM = """
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
        (folder / "begun").touch()
        time.sleep(float((folder / "step").read_text()))
print(json.dumps(epochs))
"""


def large_photos(place: pathlib.Path) -> pathlib.Path:
    """A class-per-folder set of 24 JPEG files, so large that one worker is never enough."""
    generator = numpy.random.default_rng(7)
    for index in range(24):
        small = generator.integers(0, 256, (9, 12, 3), dtype=numpy.uint8)
        folder = place / f"class{index % 3}"
        folder.mkdir(exist_ok=True)
        Image.fromarray(small).resize((3000, 2200 + index)).save(folder / f"{index}.jpg")
    return place


def stock_sums(photos: pathlib.Path, epochs: int) -> list[list[int]]:
    """Of the batches that the stock loader makes. Each picture is the same in all epochs."""
    dataset = list(ImageFolder(photos, _TRANSFORM))
    loader = DataLoader(dataset, 4, shuffle=True, generator=torch.Generator().manual_seed(0))
    return [
        [
            zlib.crc32(pictures.numpy().tobytes() + labels.numpy().tobytes())
            for pictures, labels in loader
        ]
        for _ in range(epochs)
    ]


class PoolHead:
    """A coordinator with a pool, which may be killed and started again."""

    def __init__(
        self, folder: pathlib.Path, *words: str, keys: pathlib.Path | None = None, **variables: str
    ):
        self.log, self.address = folder / "log", free_address()
        self._keys = {} if keys is None else {"HEADRACE_KEYS": str(keys)}
        self._variables = {"HEADRACE_LOG": "info"} | self._keys | variables
        self._words = [
            "coordinator", "--listen", self.address, "--state-dir", str(folder / "state"),
            "--heartbeat-ms", "200", *words,
        ]  # fmt: skip
        self._open = contextlib.ExitStack()

    def start(self) -> None:
        self.process = self._open.enter_context(
            running(*self._words, log=self.log, **self._variables)
        )
        wait_for(self._answers, "answer", PATIENCE)

    def _answers(self) -> bool:
        assert self.process.poll() is None, self.said()
        return self.ask("workers", "--json").returncode == 0

    def kill(self) -> None:
        self.process.kill()
        self._open.close()

    def __enter__(self) -> Any:
        try:
            self.start()
        except BaseException:
            self._open.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def ask(self, *words: str) -> subprocess.CompletedProcess:
        return headrace(*words, "--coordinator", self.address, **self._keys)

    def said(self) -> str:
        return self.log.read_text()

    def members(self) -> list[str]:
        """Of the ready workers: what the engine calls them."""
        return sorted(one["member"] for one in self.workers() if one["state"] == "ready")

    def workers(self) -> list[dict[str, Any]]:
        answer = self.ask("workers", "--json")
        assert answer.returncode == 0, answer.stderr
        return list(json.loads(answer.stdout)["workers"])

    def pools(self) -> dict[str, dict[str, Any]]:
        """By name, in the order of preference."""
        answer = self.ask("pools", "--json")
        assert answer.returncode == 0, answer.stderr
        return {pool["name"]: pool for pool in json.loads(answer.stdout)["pools"]}

    def diagnosis(self, pool: str) -> str:
        """What `headrace doctor` says of the pool, and what to do."""
        lines = self.ask("doctor").stdout.splitlines()
        found = [at for at, line in enumerate(lines) if f" pool {pool}: " in line]
        return "\n".join(line for at in found for line in lines[at : at + 2])

    def until(self, condition: Callable[[], Any], what: str) -> Any:
        """Its first true value. Asking costs a process: not too often."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if value := condition():
                return value
            time.sleep(0.2)
        raise AssertionError(f"no {what} within {PATIENCE} s: {self.story()}")

    def until_ready(self, count: int) -> list[str]:
        return list(
            self.until(
                lambda: members if len(members := self.members()) == count else None,
                f"{count} workers",
            )
        )

    def story(self) -> str:
        """What a test's error should tell."""
        return self.said()


class PoolProgram:
    """A training program, run by Headrace. How long its steps take is the test's."""

    def __init__(
        self,
        photos: pathlib.Path,
        folder: pathlib.Path,
        address: str,
        keys: pathlib.Path | None = None,
    ):
        self._folder = folder
        (folder / "program.py").write_text(_PROGRAM)
        self.step(1)
        words = "run", "--coordinator", address, "--remote-only", sys.executable
        variables = {} if keys is None else {"HEADRACE_KEYS": str(keys)}
        self._process = subprocess.Popen(
            [HEADRACE, *words, str(folder / "program.py"), str(photos), str(folder)],
            env=clean_environment(**variables),
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> "PoolProgram":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def step(self, seconds: float) -> None:
        (self._folder / "new").write_text(str(seconds))
        os.replace(self._folder / "new", self._folder / "step")

    def wait_for_a_batch(self) -> None:
        """Starting torch takes most of the time before it."""
        wait_for((self._folder / "begun").exists, "first batch", PATIENCE)

    def sums(self) -> list[list[int]]:
        """Lets it end."""
        (self._folder / "stop").touch()
        self.step(0)
        out, _ = self._process.communicate(timeout=120)
        assert self._process.returncode == 0
        return list(json.loads(out.splitlines()[-1]))
