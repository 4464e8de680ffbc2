"""Data that a program makes for itself at its first run, beside those of made_data.py."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np


def made(data: str, name: str, make: Callable[[Path, np.random.Generator], None]) -> Path:
    """`data`/made_here/`name`, filled by `make` unless it is there. It appears whole or not at all."""
    folder = Path(data) / "made_here" / name
    if not folder.exists():
        begun = folder.with_name(f"{name}.{os.getpid()}")
        begun.mkdir(parents=True)
        make(begun, np.random.default_rng(sum(name.encode())))
        try:
            begun.rename(folder)
        except OSError:  # another run was first
            shutil.rmtree(begun)
    return folder
