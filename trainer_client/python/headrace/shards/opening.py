"""headrace.open_dataset."""

import os
from collections.abc import Callable, Iterable
from typing import Any

from torch.utils.data import Subset

from ..objects.folder import ObjectFolder
from ..objects.opening import open_folder
from ..objects.store import store_at
from .arrow import index_of_table, is_huggingface
from .dataset import ShardDataset
from .listing import index_of
from .naming import expand, folder_of, is_pattern, plain_start
from .places import FilePlace, Place, StorePlace
from .rules import IMAGES, TARGETS, Rules

_SHARDS = (".tar",)
_PACKED = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst")


def open_dataset(
    url: Any,
    transform: Callable[..., Any] | None = None,
    target_transform: Callable[..., Any] | None = None,
    *,
    names: Iterable[str] | None = None,
    index: str | None = None,
    image: str = IMAGES,
    target: str | None = TARGETS,
    label: Callable[[Any], int] | None = None,
    keep_index: str | os.PathLike[str] | None = None,
    endpoint: str | None = None,
    region: str | None = None,
    addressing: str | None = None,
    anonymous: bool = False,
    remember: float = 0,
) -> "ObjectFolder | ShardDataset | Subset[Any]":
    """Images in a bucket or on a web server, or in tars anywhere, as a map-style data set.

    A URL, "s3://bucket/prefix", "gs://..." or "https://host/path": the images below it, one folder a class,
    samples and order as torchvision's ImageFolder of a copy on disk. A bucket is listed, unless `names`
    or `index` say which objects there are: names below `url`, or the name of an object that has one in
    each line. Over https one of them is needed.

    One tar or several, files or objects: "/data/train-*.tar", "s3://bucket/{000..146}.tar", or a list.
    Neighbours in a tar whose names are the same up to the first point are a sample (WebDataset's
    layout). Its image is the first of `image`, its target the first of `target`, lists of endings with
    ";" between them. ".cls" is a label, a whole number; ".json" what it stands for, ".txt" text, others
    bytes; target=None: 0. `label` makes labels of targets of one kind, once: label=lambda t: t["id"].
    Tars are listed here, and must not change. `keep_index` is a folder that keeps the lists.

    A Dataset of Hugging Face's whose images lie in Arrow files on disk: `image` and `target` are the
    names of columns, else those of the kinds Image and ClassLabel. Selected or shuffled rows give a
    torch.utils.data.Subset.

    `endpoint`, `region`: of a store like S3; else AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, AWS_REGION
    and AWS_DEFAULT_REGION say. `addressing`: "path" or "virtual", where the bucket's name stands.
    `anonymous`: requests are not signed. Credentials come from the environment or the profile file
    of each process, and of each worker's operator; they are no argument.

    `remember`: for so many seconds a worker believes the version of an object that it has in its
    cache. 0: it asks before each use.

    Raises ValueError where these are wrong, FileNotFoundError where there is no image or no tar, and
    HeadraceError where the store refuses, or a tar is damaged or does not fit."""
    if is_huggingface(url):
        if any(one is not None for one in (names, index, label, keep_index)):
            raise ValueError("names=, index=, label= and keep_index= are of files and objects")
        columns = (image if image != IMAGES else "", target if target != TARGETS else "")
        images, rows = index_of_table(url, *columns)
        made = ShardDataset(FilePlace(), images, transform, target_transform)
        return made if rows is None else Subset(made, rows)  # type: ignore[arg-type]
    said = [os.fspath(url)] if isinstance(url, str | os.PathLike) else [os.fspath(u) for u in url]
    if isinstance(url, str) and "://" in url and not url.endswith(_SHARDS + _PACKED):
        _refuse_for_folders(image, target, label, keep_index)
        return open_folder(
            url,
            transform,
            target_transform,
            names=names,
            index=index,
            endpoint=endpoint,
            region=region,
            addressing=addressing,
            anonymous=anonymous,
            remember=remember,
        )
    if names is not None or index is not None:
        raise ValueError("names= and index= are of folders of objects; a tar has its own list")
    rules = Rules.of(image, target, label)
    if label is not None and keep_index is not None:
        raise ValueError("keep_index= keeps no labels that label= makes: give one of them")
    shards = [name for one in said for name in expand(one)]
    _check_endings(shards)
    place: Place = FilePlace()
    if any("://" in name for name in shards):
        base = _base_of(shards)
        place = StorePlace(store_at(base, endpoint, region, addressing, anonymous, remember))
    else:
        shards = [os.path.abspath(name) for name in shards]
    shards = [one for name in shards for one in (place.named(name) if is_pattern(name) else [name])]
    if not shards:
        raise FileNotFoundError(f"there is no tar called {', '.join(said)}")
    table = index_of(place, shards, rules, keep_index)
    if not len(table):
        raise FileNotFoundError(f"there is no sample in {', '.join(said)}")
    return ShardDataset(place, table, transform, target_transform)


def _refuse_for_folders(image: str, target: str | None, *others: Any) -> None:
    if image != IMAGES or target != TARGETS or any(one is not None for one in others):
        raise ValueError(
            "image=, target=, label= and keep_index= are of tars (names that end in .tar)"
        )


def _check_endings(shards: list[str]) -> None:
    for name in shards:
        if name.endswith(_PACKED):
            raise ValueError(
                f"{name} is compressed, so that no sample can be read by itself: unpack it to .tar"
            )
        if not name.endswith(_SHARDS):
            raise ValueError(
                f"{name}: open_dataset takes tars (.tar) and folders of objects (s3://, gs://, https://); "
                "a folder on disk is torchvision's ImageFolder"
            )


def _base_of(shards: list[str]) -> str:
    """The folder that all lie in. Raises ValueError: they are in several stores."""
    base = folder_of([plain_start(name) for name in shards])
    scheme, _, rest = base.partition("://")
    if scheme not in ("s3", "gs", "https", "http") or "/" not in rest:
        raise ValueError(
            f"tars of one data set lie in one bucket or on one host, not {shards[0]}, ..."
        )
    return base
