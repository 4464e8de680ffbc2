"""A library function whose results lanes keep, with files and calls, and what is looked at of a call."""

import contextlib
import importlib
import logging
import random
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from support.leaf_worker import LeafWorker


class Door(NamedTuple):
    name: str
    module: str  # what has to be installed
    write: Callable[[Path, Any], None]  # files into a folder, with numbers that a generator draws
    calls: dict[str, Callable[[Path], Any]]  # what programs do, whose results are kept
    odd: dict[str, Callable[[Path], Any]]  # and what is left to the library
    place: tuple[str, str]  # where the function is, for those who replace it
    opens: bool = False  # the file was opened before the call


def keep_all() -> LeafWorker:
    """A worker, and functions as in a lane, which keeps whatever it reads, of files of any age."""
    from headrace.process import began
    from headrace.stage import functions, leaf_cost, leaves

    leaf_cost.is_worth = lambda seconds, size, first: True
    leaf_cost.Parts.ONE_IN = 1
    leaves.STEP_NS = 0
    began.ns = 1 << 62
    leaves.possible = True
    functions.enable(by_value=False)
    return LeafWorker()


def begin(door: Door) -> LeafWorker:
    """The same, in a process that has used what the door is of."""
    importlib.import_module(door.place[0].partition(":")[0])
    with tempfile.TemporaryDirectory() as folder:
        door.write(Path(folder), np.random.default_rng(0))
        for call in door.calls.values():  # what libraries import late, and say once
            seen(lambda call=call: call(Path(folder)))
    return keep_all()


def _told(value: Any) -> Any:
    """All that a program can see of a result."""
    if isinstance(value, tuple):
        return tuple(map(_told, value))
    if not isinstance(value, np.ndarray):
        return type(value), repr(value)
    base = None if value.base is None else (type(value.base), getattr(value.base, "shape", None))
    if value.dtype.hasobject:
        return repr(value)
    what = type(value), value.dtype, value.dtype.metadata, value.shape, value.strides, base
    return repr(what), value.tobytes("A"), repr(value.flags)


def _states() -> Any:
    return random.getstate(), [part.tolist() for part in np.random.get_state()[1:2]]


class _Records(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


def seen(read: Callable[[], Any]) -> Any:
    """Value or error, warnings, log, and whether random states moved."""
    before, records = _states(), _Records()
    logging.getLogger().addHandler(records)
    try:
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            try:
                value = _told(read())
            except Exception as error:
                value = type(error), str(error)
    finally:
        logging.getLogger().removeHandler(records)
    told = [(one.category, str(one.message)) for one in heard]
    return value, told, records.texts, _states() == before


def replaced(door: Door, value: Any) -> None:
    """The program puts something of its own in the function's place."""
    module, name = door.place
    owner = importlib.import_module(module.partition(":")[0])
    if ":" in module:
        owner = getattr(owner, module.partition(":")[2])
    setattr(owner, name, value)


def smooth(rng: Any, shape: tuple[int, ...]) -> Any:
    return np.cumsum(rng.integers(-20, 21, shape), axis=0)


@contextlib.contextmanager
def spoiled(worker: LeafWorker) -> Any:
    """What was kept is other bytes meanwhile, as nothing should make it."""
    kept = dict(worker.segments)
    for number, (content, rows) in kept.items():
        data = bytearray(content)
        for *_, begin, size, _took in rows:
            data[begin + size - 1] ^= 0x40
        worker.segments[number] = bytes(data), rows
    yield
    worker.segments.update(kept)
