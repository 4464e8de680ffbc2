"""The commands of docs/operate.md, as they stand there, and what they need around them."""

import re
import sys
from pathlib import Path
from typing import NamedTuple

import numpy
from PIL import Image

PAGE = Path(__file__).resolve().parents[2] / "docs" / "operate.md"
# The page's train.py.
TRAIN = """
import torch
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder
from torchvision.transforms import ToTensor

loader = DataLoader(ImageFolder("photos", ToTensor()), batch_size=4, num_workers=1)
print("batches", sum(1 for _ in range(3) for _ in loader))
"""
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
_BEGIN_LONG = """
headrace run --remote-only python long.py > long.out 2> long.err &
trainer=$!
until [ -s epochs ]; do sleep 0.1; done
"""
_MORE_EPOCHS = """
seen=$(cat epochs)
until [ "$(cat epochs)" -gt $((seen + 3)) ]; do sleep 0.1; done
"""
# The blocks of the section for three machines, in its order.
INSTALL, KEYS, START, FIRST_JOB, LOOK, MAINTENANCE, END = range(1, 8)
UPGRADE_COORDINATOR, UPGRADE_WORKERS, CAPACITY, BACK_UP, LOST_JOURNAL = range(8, 13)
TRAINED = LOST_JOURNAL + 1


class Part(NamedTuple):
    said: str
    seconds: float


def commands(title: str) -> list[str]:
    """The bash blocks of a section."""
    (section,) = [part for part in PAGE.read_text().split("\n## ") if part.startswith(title)]
    return re.findall(r"```bash\n(.*?)```", section, re.DOTALL)


def numbered(blocks: list[str], first: int = 1) -> str:
    """Each block with its number and the time before and after it; `parts` takes them apart again."""
    return "".join(
        f'echo "# {n} $EPOCHREALTIME"\n{block}echo "## {n} $EPOCHREALTIME"\n'
        for n, block in enumerate(blocks, first)
    )


def parts(said: str) -> dict[int, Part]:
    """What each block printed, and how long it took."""
    pattern = r"^# (\d+) ([\d.]+)\n(.*?)^## \1 ([\d.]+)\n"
    found = re.findall(pattern, said, re.MULTILINE | re.DOTALL)
    return {int(n): Part(text, float(end) - float(begin)) for n, begin, text, end in found}


def first_hour_on_three_machines() -> str:
    """All that a new user types on `head`: the first hour. Then, while a program trains, maintenance, an
    upgrade, the loss of the journal; and the end."""
    first = commands("The first hour on three machines with ssh")
    assert len(first) == END
    upgrade, lost, capacity = map(commands, ("Upgrade under load", "Back-up", "Capacity"))
    later = [first[MAINTENANCE - 1], *upgrade, *capacity, *lost]
    numbers = [MAINTENANCE, *range(UPGRADE_COORDINATOR, LOST_JOURNAL + 1)]
    return (
        "set -e; export PATH=~/programs:$PATH\n"
        + numbered(first[: MAINTENANCE - 1])
        + _BEGIN_LONG
        + "".join(
            numbered([block], n) + _MORE_EPOCHS for n, block in zip(numbers, later, strict=True)
        )
        + numbered(["touch stop; wait $trainer; cat long.out\n"], TRAINED)
        + numbered([first[END - 1]], END)
    )


def check_first_hour(said: str, everything: str) -> dict[int, Part]:
    """Of what that script printed. `everything`: for the message."""
    made = parts(said)
    assert sorted(made) == list(range(INSTALL, TRAINED + 1)), everything
    assert "batches 6" in made[FIRST_JOB].said, everything
    assert "headrace: not used in this program" not in everything, everything
    assert len(re.findall(r"^ +\d+ +node\d .* ready ", made[LOOK].said, re.M)) == 2, everything
    left = re.findall(r"^ +\d+ +(node\d) ", made[MAINTENANCE].said, re.M)
    assert left == ["node1"], everything
    assert "headrace_job_wait_share" in made[CAPACITY].said, everything
    assert int(made[TRAINED].said.split("epochs ")[1]) > 15, everything
    return made


def write_photos(folder: Path) -> None:
    for index in range(8):
        place = folder / f"class{index % 2}"
        place.mkdir(parents=True, exist_ok=True)
        pixels = numpy.full((64, 64, 3), index, dtype=numpy.uint8)
        Image.fromarray(pixels).save(place / f"{index}.png")


def write_python(folder: Path, python: str = sys.executable) -> None:
    """The page's `python`."""
    folder.mkdir(exist_ok=True)
    (folder / "python").write_text(f'#!/bin/sh\nexec {python} "$@"\n')
    (folder / "python").chmod(0o755)
