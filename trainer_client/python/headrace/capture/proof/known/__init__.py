"""What is known of libraries, by exact object.

    entry.py     how an entry says what a function does
    python.py    builtins and the standard library
    arrays.py    numpy
    tensors.py   torch
    pictures.py  PIL and OpenCV
    vision.py    torchvision, albumentations, tokenizers: objects that are called
    classes.py   classes: which methods and attributes read, change, or reach out

To add a function, put its name into the table of its library. The name is looked up in the modules
that the program has loaded, and the very object found there is what is known: a function that the
program puts in its place is not. A function is in a table if all of this holds: what it returns
follows from its arguments, from files and from the generators of random, numpy and torch; it changes
nothing but what its entry says; and it keeps nothing.
"""

import sys
from typing import Any

from . import arrays, classes, pictures, python, tensors, vision
from .classes import SCALAR_METHODS, call_method

_TABLES = (python, arrays, tensors, pictures, vision)

__all__ = ["KNOWN", "SCALAR_METHODS", "call_method"]


class Known:
    def __init__(self) -> None:
        self.packages = {
            "torch", "torchvision", "numpy", "PIL", "cv2", "albumentations", "albucore",
            "transformers", "tokenizers", "pandas", "scipy", "skimage", "h5py", "lmdb", "headrace",
            *sys.stdlib_module_names,
        } - {"__main__"}  # fmt: skip
        self.arrays = classes.ARRAYS
        self._by_id: dict[int, Any] = {}
        self._loaded: set[str] = set()
        self._held: list[Any] = []

    @property
    def value_classes(self) -> Any:
        self._load()
        return classes.CLASSES

    def _load(self) -> None:
        """The tables of the libraries that were loaded since."""
        for table in _TABLES:
            for module_name, entries in table.ENTRIES.items():
                if module_name in self._loaded:
                    continue
                module = sys.modules.get(module_name)
                if module is None:
                    continue
                self._loaded.add(module_name)
                for names, entry in entries:
                    for name in names.split():
                        found: Any = module
                        for step in name.split("."):
                            found = getattr(found, step, None)
                        if found is not None:
                            self._by_id.setdefault(id(found), entry.named(name))
                            self._held.append(found)
        classes.load()

    def of(self, thing: Any) -> Any:
        """What is known of a function or class; None: nothing."""
        self._load_once()
        found = self._by_id.get(id(thing))
        return found if found is not None else arrays.ufunc(thing)

    def _load_once(self) -> None:
        count = len(sys.modules)
        if count != getattr(self, "_count", None):
            self._count = count
            self._load()

    def instance(self, part: Any) -> Any:
        """What is known of calling an object of the part's class; None: nothing."""
        return vision.instance(part)

    def methods_of(self, cls: type) -> Any:
        return classes.of(cls)

    def attribute_kind(self, cls: Any, name: str) -> str | None:
        return classes.attribute_kind(cls, name)

    def is_manager(self, part: Any) -> bool:
        return classes.is_manager(part)

    def is_own(self, cls: Any) -> bool:
        """Not a class of a library that has a table, nor of Python itself."""
        return (getattr(cls, "__module__", "") or "").partition(".")[0] not in self.packages


KNOWN = Known()
