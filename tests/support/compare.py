"""Runs a loader with and without Headrace and compares everything a program can see."""

import copy
import random
import re
import traceback
from collections.abc import Callable
from typing import Any

import headrace
import numpy as np
import torch
from headrace.loader.seam import state_of
from torch.utils.data import DataLoader

SEED = 1234

# What the program sees: batches, errors and random numbers, in order.
Trace = list[tuple[str, Any]]


def seed_everything(seed: int = SEED) -> None:
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)


def trace(loader: Any, epochs: int = 2, stop: int | None = None, before: Any = None) -> Trace:
    """Iterates as a training program does. `stop`: break after that many batches; `before(loader,
    epoch)` runs at each epoch's begin."""
    seen: Trace = []
    for epoch in range(epochs):
        if before is not None:
            before(loader, epoch)
        iterator = iter(loader)
        count = 0
        while stop is None or count < stop:
            try:
                seen.append(("batch", copy.deepcopy(next(iterator))))
            except StopIteration:
                seen.append(("end", None))
                break
            except Exception as error:
                seen.append(("error", (type(error), _message(error))))
                # torch raises workers' errors in a cycle that holds the iterator. Collected later, it
                # waits 5 s for each of its processes.
                traceback.clear_frames(error.__traceback__)
            count += 1
        seen.append(("torch", torch.rand(2)))
        seen.append(("random", random.random()))
        seen.append(("numpy", np.random.rand()))
    return seen


def _message(error: Exception) -> str:
    """Without the parts of a traceback, which name files and lines."""
    lines = [line for line in str(error).splitlines() if not line.startswith(" ")]
    return re.sub(r"0x[0-9a-f]+", "0x", "\n".join(lines))


def stock(make: Callable[[type], Any], **named: Any) -> Trace:
    headrace.uninstall()
    seed_everything()
    return trace(make(DataLoader), **named)


def served(
    make: Callable[[type], Any], path: str | None = "native", by_trainer: bool = False, **named: Any
) -> Trace:
    """`path`: how the batches must have been made. `by_trainer`: it may make most of the samples of a
    native loader, as it also does where workers fail, with the same bits."""
    headrace.install()
    try:
        seed_everything()
        loader = make(DataLoader)
        seen = trace(loader, **named)
    finally:
        headrace.uninstall()
    report = state_of(loader).report
    if path is not None:
        assert report.path == path, report.reasons
    if path == "native" and not by_trainer:
        assert report.samples_by_path["native"] >= report.samples_by_path["local"], report
    return seen


def check(
    make: Callable[[type], Any], path: str | None = "native", by_trainer: bool = False, **named: Any
) -> Trace:
    """The program sees the same with and without Headrace. Returns what it sees."""
    expected = stock(make, **named)
    assert_same(served(make, path, by_trainer, **named), expected)
    return expected


def assert_same(a: Any, b: Any, at: str = "") -> None:
    """Equal types, shapes and bits, all the way down."""
    assert type(a) is type(b), f"{at}: {type(a)} and {type(b)}"
    if isinstance(a, torch.Tensor):
        assert a.dtype == b.dtype and a.shape == b.shape, f"{at}: {a.dtype}{a.shape}, {b.shape}"
        assert a.stride() == b.stride(), f"{at}: strides {a.stride()}, {b.stride()}"
        assert np.array_equal(_bits(a), _bits(b)), f"{at}: other bits"
        assert_same(vars(a), vars(b), f"{at}.__dict__")  # of tv_tensors.BoundingBoxes
    elif isinstance(a, np.ndarray):
        assert a.dtype == b.dtype and a.tobytes() == b.tobytes(), at
    elif isinstance(a, dict):
        assert list(a) == list(b), at
        for key in a:
            assert_same(a[key], b[key], f"{at}[{key!r}]")
    elif isinstance(a, list | tuple):
        assert len(a) == len(b), f"{at}: {len(a)} and {len(b)} items"
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            assert_same(x, y, f"{at}[{i}]")
    else:
        assert a == b, f"{at}: {a!r} and {b!r}"


def _bits(tensor: torch.Tensor) -> np.ndarray:
    """NumPy's, because torch would use several threads, which is slow for small tensors."""
    tensor = tensor.detach().as_subclass(torch.Tensor)
    tensor = tensor.contiguous().reshape(-1)
    return (tensor.view(torch.uint8) if tensor.numel() else tensor.to(torch.uint8)).numpy()


def batches(seen: Trace) -> list[Any]:
    return [value for kind, value in seen if kind == "batch"]


def errors(seen: Trace) -> list[Any]:
    return [value for kind, value in seen if kind == "error"]
