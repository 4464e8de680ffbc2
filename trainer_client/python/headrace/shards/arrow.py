"""Images in the Arrow files of a Hugging Face data set: its rows are ranges of these files."""

import sys
from typing import Any

import numpy as np

from .index import Array, Index, Part
from .mapped import Mapping, mappings, place_of
from .places import FilePlace

_REMEDY = "save_to_disk() and load_from_disk() give one that is in files"


def is_huggingface(thing: Any) -> bool:
    datasets = sys.modules.get("datasets")
    return datasets is not None and isinstance(thing, datasets.Dataset)


def _bytes_of(name: str, chunk: Any) -> Any:
    """The array of bytes of a column of images, or of bytes. Raises ValueError."""
    import pyarrow as pa

    if pa.types.is_struct(chunk.type):
        if chunk.type.get_field_index("bytes") < 0 or chunk.null_count:
            raise ValueError(f"the column {name!r} has no image in some rows")
        chunk = chunk.field("bytes")
    if not (pa.types.is_binary(chunk.type) or pa.types.is_large_binary(chunk.type)):
        raise ValueError(f"the column {name!r} holds {chunk.type}, no encoded images")
    if chunk.null_count:
        raise ValueError(
            f"the column {name!r} holds paths in place of images in some rows: {_REMEDY}"
        )
    return chunk


def _ranges(chunk: Any, found: list[Mapping]) -> tuple[str, Array, Array]:
    """File, beginnings and sizes of a chunk's rows. Raises ValueError."""
    import pyarrow as pa

    kind = np.dtype(np.int64 if pa.types.is_large_binary(chunk.type) else np.int32)
    _, offsets, data = chunk.buffers()
    ends = np.frombuffer(offsets, kind, len(chunk) + 1, chunk.offset * kind.itemsize)
    ends = ends.astype(np.int64)
    place = place_of(found, data.address + int(ends[0]), int(ends[-1] - ends[0]))
    if place is None:
        raise ValueError(f"the data set's images are in memory, not in files: {_REMEDY}")
    path, first = place
    firsts = (ends[:-1] - ends[0] + first).astype(np.uint64)
    sizes = np.diff(ends)
    if sizes.max(initial=0) > 0xFFFFFFFF:
        raise ValueError("an image of 4 GiB or more")
    return path, firsts, sizes.astype(np.uint32)


def _columns(dataset: Any, image: str, target: str | None) -> tuple[str, str | None]:
    """Raises ValueError."""
    from datasets import ClassLabel, Image

    def of_kind(kind: type) -> str | None:
        return next((name for name, one in dataset.features.items() if isinstance(one, kind)), None)

    image = image or of_kind(Image) or ""
    if target == "":
        target = of_kind(ClassLabel) or ("label" if "label" in dataset.column_names else "")
    for name, what in ((image, "image"), (target, "target")):
        if name is not None and name not in dataset.column_names:
            raise ValueError(f"{what}= names no column of {', '.join(dataset.column_names)}")
    return image, target


def _labels(dataset: Any, target: str | None) -> Array:
    import pyarrow as pa

    if target is None:
        return np.zeros(len(dataset.data), np.int64)
    column = dataset.data.table.column(target)
    if not pa.types.is_integer(column.type) or column.null_count:
        raise ValueError(
            f"the column {target!r} holds {column.type}, or nothing in some rows, no labels"
        )
    return np.asarray(column.cast(pa.int64()).to_numpy(), np.int64)


def index_of_table(
    dataset: Any, image: str, target: str | None
) -> tuple[Index, Array | None, list[str] | None]:
    """Where the images of all rows lie; which row each index is, None: the same; what labels are called,
    None: they have no names. An empty `image` or `target` is found by its kind. Raises ValueError and
    OSError."""
    image, target = _columns(dataset, image, target)
    labels, found, place = _labels(dataset, target), mappings(), FilePlace()
    shards: list[str] = []
    versions: list[str] = []
    parts: list[Part] = []
    known: dict[str, str] = {}
    row = 0
    for chunk in dataset.data.table.column(image).chunks:
        if not len(chunk):
            continue
        path, firsts, sizes = _ranges(_bytes_of(image, chunk), found)
        if path not in known:
            with place.open(path) as reader:
                known[path] = reader.version
        none, count = np.empty(0, np.uint64), len(firsts)
        parts.append(
            Part(
                np.empty(0, np.uint8), np.zeros(count, np.int64), firsts, sizes,
                labels[row : row + count], none, none.astype(np.uint32), target or "",
            )
        )  # fmt: skip
        shards.append(path)
        versions.append(known[path])
        row += count
    if not parts:
        raise FileNotFoundError("the data set has no rows")
    indices = dataset._indices
    rows = None if indices is None else indices.column(0).to_numpy().astype(np.int64)
    return Index(shards, versions, parts), rows, _names_of(dataset, target)


def _names_of(dataset: Any, target: str | None) -> list[str] | None:
    names = None if target is None else getattr(dataset.features[target], "names", None)
    return None if names is None else list(names)
