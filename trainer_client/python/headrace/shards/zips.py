"""Zips of images, as torchvision's ImageFolder of the unpacked zip."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ..native import binding
from ..objects.names import PackedNames
from ..records import dataclass
from .index import Part
from .listing import scanned
from .named import by_folder, called
from .places import Reader
from .rules import endings


@dataclass(frozen=True)
class Zips:
    """See Format."""

    images: tuple[str, ...]
    folder: str | None  # that the classes lie in, with a "/" at its end; None: the zip's own
    has_classes: bool
    label: Callable[[str], int] | None
    what = "zip"

    @classmethod
    def of(
        cls,
        image: str,
        folder: str | None,
        target: str | None,
        label: Callable[[str], int] | None,
    ) -> "Zips":
        """Raises ValueError."""
        images = endings(image)
        if not images:
            raise ValueError("image= names no ending")
        below = folder and folder.strip("/") + "/"
        return cls(images, below, target is not None and label is None, label)

    @property
    def text(self) -> str:
        return f"zip\n{';'.join(self.images)}\n{self.folder or ''}\n{self.has_classes}"

    def part(self, reader: Reader, near: bool) -> Part:
        scan = binding.ZipScan(reader.size, list(self.images), self.folder or "", self.has_classes)
        found = scanned(reader, near, scan)
        none = np.empty(0, np.uint64)
        return Part(
            np.frombuffer(found["keys"], np.uint8),
            np.frombuffer(found["key_ends"], np.int64),
            np.frombuffer(found["firsts"], np.uint64),
            np.frombuffer(found["sizes"], np.uint32),
            np.empty(0, np.int64),
            none,
            none.astype(np.uint32),
            "",
            np.frombuffer(found["members"], np.uint32),
        )

    def labelled(
        self, shards: Sequence[str], parts: Sequence[Part]
    ) -> tuple[list[Part], list[str] | None]:
        names = [PackedNames(part.keys, part.key_ends) for part in parts]
        if self.label is not None:
            of = [called(*one, self.label) for one in zip(shards, names, strict=True)]
            return [replace(part, labels=its) for part, its in zip(parts, of, strict=True)], None
        if not self.has_classes:
            return [replace(part, labels=np.zeros(len(part), np.int64)) for part in parts], None
        made, classes = by_folder(parts, self.folder or "")
        if self.folder is None and len(classes) == 1:
            self._check_meant(shards, names, classes[0])
        return made, classes

    def _check_meant(self, shards: Sequence[str], names: Sequence[PackedNames], only: str) -> None:
        """Zips often hold one folder with all the others in it, and a data set of one class is of no use."""
        if all(name.count("/") > 1 for one in names for name in one):
            raise ValueError(
                f"all images of {shards[0]} lie in folders of '{only}': folder='{only}' makes these the "
                f"classes, and folder='' makes '{only}' the only one"
            )
