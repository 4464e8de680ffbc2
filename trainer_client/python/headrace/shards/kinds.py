"""Opening shards of one kind in one place: a part of headrace.open_dataset."""

import os
from collections.abc import Callable, Sequence
from typing import Any

from ..objects.store import store_at
from .dataset import ShardDataset
from .formats import Format
from .listing import index_of
from .lmdbs import Lmdbs, data_file
from .naming import expand, folder_of, is_pattern, plain_start
from .places import FilePlace, Place, StorePlace
from .rules import IMAGES, TARGETS, Rules
from .tars import Tars
from .zips import Zips

_PACKED = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst")
LMDB = "lmdb:"


def kind_of(name: str) -> str:
    """ "tar", "zip", "lmdb" or "parquet", by what it is called; empty: a folder. Raises ValueError."""
    if name.startswith(LMDB) or name.rstrip("/").endswith((".lmdb", ".mdb")):
        return "lmdb"
    if name.endswith(_PACKED):
        raise ValueError(
            f"{name} is compressed, so that no sample can be read by itself: unpack it to .tar"
        )
    return next((one for one in ("tar", "zip", "parquet") if name.endswith("." + one)), "")


def host_of(name: str) -> str:
    """What all shards of one list share: a bucket, a host; empty: this one's files."""
    scheme, found, rest = name.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}" if found else ""


def open_shards(
    said: Sequence[str],
    transform: Callable[..., Any] | None,
    target_transform: Callable[..., Any] | None,
    *,
    image: str = IMAGES,
    target: str | None = TARGETS,
    label: Callable[[Any], int] | None = None,
    folder: str | None = None,
    keep_index: str | os.PathLike[str] | None = None,
    endpoint: str | None = None,
    region: str | None = None,
    addressing: str | None = None,
    anonymous: bool = False,
    remember: float = 0,
) -> ShardDataset:
    """REQUIRES: names of one kind, with one host. See open_dataset."""
    form = _format_of(kind_of(said[0]), image, target, label, folder, keep_index)
    shards = [name.removeprefix(LMDB) for one in said for name in expand(one)]
    place: Place = FilePlace()
    if host_of(shards[0]):
        if isinstance(form, Lmdbs):
            raise ValueError(f"{shards[0]}: LMDB maps files, so that it has to be on a disk")
        base = _base_of(shards)
        place = StorePlace(store_at(base, endpoint, region, addressing, anonymous, remember))
    else:
        shards = [os.path.abspath(name) for name in shards]
    shards = [one for name in shards for one in (place.named(name) if is_pattern(name) else [name])]
    if not shards:
        raise FileNotFoundError(f"there is no {form.what} called {', '.join(said)}")
    if isinstance(form, Lmdbs):
        shards = list(map(data_file, shards))
    table, classes = index_of(place, shards, form, keep_index)
    if not len(table):
        raise FileNotFoundError(f"there is no sample in {', '.join(said)}")
    return ShardDataset(place, table, transform, target_transform, classes)


def _format_of(
    kind: str,
    image: str,
    target: str | None,
    label: Callable[[Any], int] | None,
    folder: str | None,
    keep_index: str | os.PathLike[str] | None,
) -> Format:
    """Raises ValueError."""
    if kind == "tar":
        if folder is not None:
            raise ValueError("folder= is of zips and LMDB")
        if label is not None and keep_index is not None:
            raise ValueError("keep_index= keeps no labels that label= makes: give one of them")
        return Tars(Rules.of(image, target, label))
    if target not in (None, TARGETS):
        raise ValueError(
            "the target of an image in a zip or in LMDB is its folder, what label= says, or None"
        )
    if kind == "zip":
        return Zips.of(image, folder, target, label)
    below = folder and folder.strip("/") + "/"
    pattern = "*" if image == IMAGES else image
    return Lmdbs(pattern, below, target is not None and label is None, label)


def _base_of(shards: list[str]) -> str:
    """The folder that all lie in. Raises ValueError: no place that is known."""
    base = folder_of([plain_start(name) for name in shards])
    scheme, _, rest = base.partition("://")
    if scheme not in ("s3", "gs", "https", "http") or "/" not in rest:
        raise ValueError(
            f"{shards[0]}: shards lie in files, in a bucket (s3://) or on a web server"
        )
    return base
