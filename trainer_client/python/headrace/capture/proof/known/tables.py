"""All that is known of libraries, by exact object."""

import sys
from typing import Any

from . import arrays, classes, pictures, python, readers, tensors, vision
from .entry import Entry, Special

_TABLES = (python, readers, arrays, tensors, pictures, vision)


class Known:
    def __init__(self) -> None:
        self.packages = {
            "torch", "torchvision", "numpy", "PIL", "cv2", "albumentations", "albucore",
            "transformers", "tokenizers", "pandas", "scipy", "skimage", "h5py", "lmdb", "pyarrow",
            "regex", "_regex", "soundfile", "headrace",
            *sys.stdlib_module_names,
        } - {"__main__"}  # fmt: skip
        self.arrays = classes.ARRAYS
        self._by_id: dict[int, Entry] = {}
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

    def of(self, thing: Any) -> Entry | None:
        """What is known of a function or class; None: nothing."""
        self._load_once()
        found = self._by_id.get(id(thing))
        return found if found is not None else arrays.ufunc(thing)

    def _load_once(self) -> None:
        count = len(sys.modules)
        if count != getattr(self, "_count", None):
            self._count = count
            self._load()

    def instance(self, part: Any) -> Special | None:
        """What is known of calling an object of the part's class; None: nothing."""
        return vision.instance(part)

    def methods_of(self, cls: type) -> Any:
        return classes.of(cls)

    def attribute_kind(self, cls: Any, name: str) -> str | None:
        return classes.attribute_kind(cls, name)

    def is_manager(self, part: Any) -> bool:
        return classes.is_manager(part)

    def is_own(self, cls: Any) -> bool:
        """Whether it is neither a class of a library that has a table, nor of Python itself."""
        return (getattr(cls, "__module__", "") or "").partition(".")[0] not in self.packages


KNOWN = Known()
