"""The order in which torchvision's folders have their files, and which of them are images."""

from collections.abc import Iterable

import numpy as np

from .names import PackedNames

# torchvision.datasets.folder.IMG_EXTENSIONS
EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def _place(name: str) -> tuple[str, str]:
    folder, _, file = name.rpartition("/")
    return folder, file


def ordered(names: PackedNames) -> PackedNames:
    """The images among the names of one class, by folder and then by file. A bucket's own order is
    another one where folders have both files and folders."""
    kept: list[int] = []
    in_order, last = True, ("", "")
    for row, name in enumerate(names):
        if not name.lower().endswith(EXTENSIONS):
            continue
        place = _place(name)
        in_order = in_order and last <= place
        last = place
        kept.append(row)
    if in_order and len(kept) == len(names):
        return names
    if not in_order:
        kept.sort(key=lambda row: _place(names[row]))
    return PackedNames.of(names[row] for row in kept)


def by_class(names: Iterable[str]) -> dict[str, PackedNames]:
    """Names "class/.../file" of any order by their classes. Raises ValueError."""
    found: dict[str, list[str]] = {}
    for name in names:
        if name.startswith("/") or any(part in ("", ".", "..") for part in name.split("/")[:-1]):
            raise ValueError(f"{name!r} is no name below the data set's URL")
        one, slash, _ = name.partition("/")
        if slash:
            found.setdefault(one, []).append(name)
    return {one: ordered(PackedNames.of(of)) for one, of in found.items()}


def joined(classes: list[str], found: dict[str, PackedNames]) -> tuple[PackedNames, np.ndarray]:
    """All names in the order of the classes, and the number of its class for each."""
    counts = [len(found[one]) for one in classes]
    labels = np.repeat(np.arange(len(classes), dtype=np.int32), counts)
    return PackedNames.joined([found[one] for one in classes]), labels
