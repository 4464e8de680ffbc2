"""Installed modules and the program's own, and which of the former a bundle refers to.

The names follow the bundle's pickle: a JSON list, its size as u32, and MARK. Code that unpickles
the bundle does not see them.
"""

import functools
import importlib.util
import json
import os
import site
import struct
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from contextlib import suppress
from types import ModuleType
from typing import Any

MARK = b"headrace modules"
_TAIL = struct.Struct(f"<I{len(MARK)}s")
_MOST_BYTES = 1 << 20
# Folders of these names hold installed packages, wherever they are: of another environment that is on
# PYTHONPATH, or of Debian's Python.
_SITES = frozenset(("site-packages", "dist-packages"))


def tail(names: Iterable[str]) -> bytes:
    text = json.dumps(list(names)).encode()
    return text + _TAIL.pack(len(text), MARK)


def names_in(bundle_fd: int) -> list[str]:
    """Empty where there is no list: the bundle may come from another release."""
    end = os.fstat(bundle_fd).st_size - _TAIL.size
    if end < 0:
        return []
    size, mark = _TAIL.unpack(os.pread(bundle_fd, _TAIL.size, end))
    if mark != MARK or size > min(end, _MOST_BYTES):
        return []
    names: list[str] = json.loads(os.pread(bundle_fd, size, end - size))
    return names


def own_modules() -> Iterator[ModuleType]:
    """Modules of the program itself: files that no interpreter or package installation owns. A folder
    on PYTHONPATH is the program's, but for what pip has put there."""
    prefixes = _installed()
    for name, module in sys.modules.copy().items():
        if name == "__main__" or not isinstance(module, ModuleType):
            continue
        here = namespace(module)
        file = here.get("__file__")
        if isinstance(file, str) and here.get("__name__") == name:
            if not _real(file).startswith(prefixes):
                yield module


def made_modules() -> Iterator[ModuleType]:
    """Modules that the program has made while it ran: no other process can import them."""
    for name, module in sys.modules.copy().items():
        here = namespace(module)
        if type(module) is not ModuleType or name == "__main__" or "__file__" in here:
            continue
        if name.startswith(("cython_runtime", "_cython_")):  # of any library that Cython compiled
            continue
        of = namespace(sys.modules.get(name.partition(".")[0]))  # an import of that makes it, too
        if here.get("__name__") == name and here.get("__spec__") is of.get("__spec__") is None:
            yield module


def namespace(module: Any) -> dict[str, Any]:
    """The namespace of a module, read without its hooks. A lazily imported module stays unimported,
    and a __getattr__ neither raises nor warns. Empty for what is no module."""
    if not isinstance(module, ModuleType):
        return {}
    held: dict[str, Any] = ModuleType.__getattribute__(module, "__dict__")
    return held


def is_installed(path: str) -> bool:
    """Whether a file belongs to an interpreter or an installed package."""
    return _real(path).startswith(_installed())


def any_own(among: Iterable[str]) -> bool:
    """Whether one of these modules was imported from a file that is not installed."""
    prefixes = _installed()
    for name in among:
        spec: Any = namespace(sys.modules.get(name)).get("__spec__")
        if getattr(spec, "has_location", False) and not _real(spec.origin).startswith(prefixes):
            return True
    return False


def import_installed(names: list[str]) -> None:
    """Imports those that are installed here and can be imported. No other file is run by its
    name."""
    prefixes = _installed()
    for name in names:
        with suppress(Exception, SystemExit):
            parts = name.split(".")
            for end in range(1, len(parts) + 1):
                parent = ".".join(parts[:end])
                if parent in sys.modules:
                    continue
                spec = importlib.util.find_spec(parent)
                if spec is None or (spec.origin and not _real(spec.origin).startswith(prefixes)):
                    break
                importlib.import_module(parent)


def _installed() -> tuple[str, ...]:
    """With what the paths of installed files begin, as the search path is now."""
    return _installed_on(tuple(entry for entry in sys.path if isinstance(entry, str)))


@functools.lru_cache(maxsize=8)
def _installed_on(search: tuple[str, ...]) -> tuple[str, ...]:
    found = list(_of_the_interpreter())
    for entry in search:
        folder = _real(entry) if entry else ""  # "": the working directory
        if not folder or (folder + os.sep).startswith(tuple(found)):
            continue
        if os.path.basename(folder) in _SITES:
            found.append(folder + os.sep)
        else:
            found += [os.path.join(folder, name) for name in _put_there_by_pip(folder)]
    return tuple(found)


def _put_there_by_pip(folder: str) -> set[str]:
    """Files and folders (with a slash) of a folder in which `pip install --target` has put packages.
    What else lies there is the program's own."""
    names: set[str] = set()
    with suppress(OSError):
        for held in os.listdir(folder):
            if not held.endswith(".dist-info"):
                continue
            record = os.path.join(folder, held, "RECORD")
            with suppress(OSError), open(record, errors="replace") as lines:
                for line in lines:
                    name, slash, _ = line.partition(",")[0].strip('" \n').partition("/")
                    if name.strip("."):
                        names.add(name + slash)
    return names


@functools.cache
def _of_the_interpreter() -> tuple[str, ...]:
    import torch

    paths = {
        _real(path)
        for path in (
            *sysconfig.get_paths().values(),
            *site.getsitepackages(),
            site.getusersitepackages(),
            sys.prefix,
            sys.base_prefix,
            os.path.dirname(os.path.dirname(torch.__file__)),
            os.path.dirname(os.path.dirname(__file__)),
        )
    }
    return tuple(path.rstrip(os.sep) + os.sep for path in paths)


@functools.cache
def _real(path: str) -> str:
    return os.path.realpath(path)
