"""headrace.open_dataset."""

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from torch.utils.data import ConcatDataset, Subset

from ..objects.folder import ObjectFolder
from ..objects.opening import open_folder
from .arrow import index_of_table, is_huggingface
from .dataset import ShardDataset
from .kinds import host_of, kind_of, open_shards
from .mounts import mounts_in, united, with_names
from .parquet import arrow_copy
from .places import FilePlace
from .rules import IMAGES, TARGETS


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
    folder: str | None = None,
    keep_index: str | os.PathLike[str] | None = None,
    endpoint: str | None = None,
    region: str | None = None,
    addressing: str | None = None,
    anonymous: bool = False,
    remember: float = 0,
) -> "ObjectFolder | ShardDataset | Subset[Any] | ConcatDataset[Any]":
    """Images in a bucket or on a web server, or in tars, zips or LMDB, as a map-style data set.

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

    One zip or several, named likewise: the images in them, one folder for each class, as torchvision's
    ImageFolder of all of them unpacked into one place; samples stand zip by zip. `folder`: where in
    the zips the classes lie. `image`: the endings of images. `label` makes labels of names in place
    of folders; target=None: 0.

    An LMDB environment whose values are encoded images: "/data/train.lmdb", "lmdb:/data/train". As a zip
    whose names are the keys; `image` is a pattern for the keys that have images: "image-*".

    A list of folders, or of shards of several kinds or places, is one data set of several mounts, with
    the classes of all by their names: a torch.utils.data.ConcatDataset. So is {"name": "places",
    "mounts": [...]}, where a mount is a URL, a path, or a dict: {"url": ..., "region": ...}, with
    options as here, and "classes": what the labels 0, 1, ... of a tar are called.

    A Dataset of Hugging Face's whose images lie in Arrow files on disk: `image` and `target` are the
    names of columns, else those of the kinds Image and ClassLabel. Selected or shuffled rows give a
    torch.utils.data.Subset. Parquet files on disk, "/data/train-*.parquet", become one: the package
    datasets copies them to Arrow files in its cache, once.

    `endpoint`, `region`: of a store like S3; else AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, AWS_REGION
    and AWS_DEFAULT_REGION say. `addressing`: "path" or "virtual", where the bucket's name stands.
    `anonymous`: requests are not signed. Credentials come from the environment or the profile file
    of each process, and of each worker's operator; they are no argument.

    `remember`: for so many seconds a worker believes the version of an object that it has in its
    cache. 0: it asks before each use.

    Raises ValueError where these are wrong, FileNotFoundError where there is no image or no shard, and
    HeadraceError where the store refuses, or a shard is damaged or does not fit."""
    if is_huggingface(url):
        if any(one is not None for one in (names, index, label, folder, keep_index)):
            raise ValueError(
                "names=, index=, label=, folder= and keep_index= are of files and objects"
            )
        return _open_table(url, transform, target_transform, image, target)
    shard: dict[str, Any] = {"image": image, "target": target, "label": label, "folder": folder}
    shard["keep_index"] = keep_index
    store: dict[str, Any] = {"endpoint": endpoint, "region": region, "addressing": addressing}
    store |= {"anonymous": anonymous, "remember": remember}
    of_one = names is not None or index is not None
    if isinstance(url, Mapping):
        return _open_mounts(url, transform, target_transform, shard, store, of_one)
    said = [os.fspath(url)] if isinstance(url, str | os.PathLike) else [os.fspath(u) for u in url]
    if not said:
        raise ValueError("there is nothing to open in an empty list")
    kinds = {(kind_of(name), host_of(name)) for name in said}
    if len(said) > 1 and (len(kinds) > 1 or kinds.pop()[0] == ""):
        return _open_mounts({"mounts": said}, transform, target_transform, shard, store, of_one)
    if kind_of(said[0]) == "parquet":
        if host_of(said[0]):
            raise ValueError(
                f"{said[0]}: Parquet is copied from files, so that it has to be on a disk"
            )
        return open_dataset(
            arrow_copy(said), transform, target_transform,
            names=names, index=index, image=image, target=target, label=label, folder=folder,
            keep_index=keep_index,
        )  # fmt: skip
    if kind_of(said[0]):
        if of_one:
            raise ValueError(
                "names= and index= are of folders of objects; a shard has its own list"
            )
        return open_shards(said, transform, target_transform, **shard, **store)
    if not host_of(said[0]):
        raise ValueError(
            f"{said[0]}: open_dataset takes tars (.tar), zips (.zip), LMDB (.lmdb, or lmdb:/path), Parquet "
            "(.parquet) and folders of objects (s3://, gs://, https://); a folder on disk is torchvision's ImageFolder"
        )
    if any(value != _DEFAULTS[name] for name, value in shard.items()):
        raise ValueError("image=, target=, label=, folder= and keep_index= are of shards")
    return open_folder(said[0], transform, target_transform, names=names, index=index, **store)


def _open_table(
    table: Any,
    transform: Callable[..., Any] | None,
    target_transform: Callable[..., Any] | None,
    image: str,
    target: str | None,
) -> "ShardDataset | Subset[Any]":
    columns = (image if image != IMAGES else "", target if target != TARGETS else "")
    images, rows, classes = index_of_table(table, *columns)
    made = ShardDataset(FilePlace(), images, transform, target_transform, classes)
    return made if rows is None else Subset(made, rows)  # type: ignore[arg-type]


_DEFAULTS = {name: one.default for name, one in inspect.signature(open_dataset).parameters.items()}


def _open_mounts(
    said: Mapping[str, Any],
    transform: Callable[..., Any] | None,
    target_transform: Callable[..., Any] | None,
    shard: Mapping[str, Any],
    store: Mapping[str, Any],
    of_one: bool,
) -> "ConcatDataset[Any]":
    """What is said for all mounts holds for those that it can be of. `of_one`: there are names= or index=."""
    from torchvision.datasets import ImageFolder

    if of_one:
        raise ValueError("names= and index= are of one folder of objects: its mount may have them")
    name, mounts = mounts_in(said)
    parts = []
    for mount in mounts:
        url = mount.pop("url")
        classes = mount.pop("classes", None)
        if unknown := set(mount) - set(_DEFAULTS):
            raise ValueError(f"a mount has no option {min(unknown)!r}")
        table = is_huggingface(url)
        first = url if isinstance(url, str | os.PathLike) else "" if table else next(iter(url), "")
        kind, host = kind_of(os.fspath(first)), host_of(os.fspath(first))
        if table:
            part: Any = open_dataset(url, transform, target_transform, **mount)
        elif kind or host:
            shared = {**(shard if kind else {}), **(store if host else {})}
            part = open_dataset(url, transform, target_transform, **{**shared, **mount})
        elif mount:
            raise ValueError(f"{url} is a folder on disk, and has no option {min(mount)!r}")
        else:
            part = ImageFolder(os.path.abspath(url), transform, target_transform)
        if classes is not None:
            part = with_names(str(url), part, classes)
        parts.append((str(url), part))
    return united(name, parts)
