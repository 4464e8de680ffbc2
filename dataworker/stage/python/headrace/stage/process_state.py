"""Settings of a process that code can read: the trainer's, on a worker.

A worker process of the stock loader is forked from the trainer and has them all. SETTINGS says of each
how it is read in the trainer (capture/process_state.py) and written in a zygote (apply). They travel
inside the bundle, as plain values, and are written twice: before the data set is unpickled, because
imports and constructors read them, and after it, because an import changes some of them.

Belongs to the worker, and stays as it is here: its limits of memory and CPU, its threads, log handlers,
signal handlers, and of the environment WORKERS_OWN. What no code can read does not travel either: the
state of OpenCV's generator, codecs that were registered.
"""

import importlib
import sys
from contextlib import suppress
from typing import Any

from .settings import SETTINGS

State = dict[str, Any]
# Values in installed modules: module, path of names in it, plain value.
Attributes = list[tuple[str, str, Any]]
# Why it matters, and the trainer's hash of SOME_TEXT.
Hashes = tuple[str, int]
SOME_TEXT = "headrace"


class CannotApply(Exception):
    """This worker's process can't be as the trainer's is."""


def apply_last(state: State, attributes: Attributes, hashes: Hashes | None) -> State:
    """apply(), after the data set is there, with the attributes of installed modules and classes that
    code reads. Whatever is not installed here nobody reads here."""
    if hashes is not None and hash(SOME_TEXT) != hashes[1]:
        raise CannotApply(f"{hashes[0]}, and hashes of text are not the trainer's here")
    apply(state)
    for module, path, value in attributes:
        owner = sys.modules.get(module)
        *steps, name = path.split(".")
        for step in steps:
            owner = vars(owner).get(step) if owner is not None else None
        if owner is not None and not _same(vars(owner).get(name, _MISSING), value):
            setattr(owner, name, value)
    return state


_MISSING = object()


def _same(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(_same(a[key], b[key]) for key in a)
    if hasattr(a, "tobytes"):
        return bool(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())
    return bool(a == b) or a != a


def apply(state: State) -> State:
    """Makes this process as the trainer's was. Raises CannotApply. Writes only what differs, so that a
    second call costs nothing and the trainer's own process stays as it is."""
    for setting in SETTINGS:
        if setting.name not in state:
            continue
        value = state[setting.name]
        try:
            if setting.module and setting.module not in sys.modules:
                if value == setting.default:
                    continue
                with suppress(ModuleNotFoundError):  # not installed here, nor used
                    importlib.import_module(setting.module)
                if setting.module not in sys.modules:
                    continue
            if setting.read() != value:
                setting.write(value)
        except Exception as error:
            raise CannotApply(
                f"the trainer's {setting.name} is {_short(value)}, which this worker can't have: "
                f"{type(error).__name__}: {error}"
            ) from error
    return state


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def read() -> State:
    """Reads the state of this process, without the settings of modules that nobody has imported."""
    return {
        setting.name: setting.read()
        for setting in SETTINGS
        if not setting.module or setting.module in sys.modules
    }
