"""Opening folders of objects: a part of headrace.open_dataset."""

from collections.abc import Callable, Iterable
from typing import Any

from .folder import ObjectFolder
from .listing import folders_of
from .names import PackedNames
from .order import by_class, joined
from .store import Store, lists, store_at


def open_folder(
    url: str,
    transform: Callable[..., Any] | None = None,
    target_transform: Callable[..., Any] | None = None,
    *,
    names: Iterable[str] | None = None,
    index: str | None = None,
    endpoint: str | None = None,
    region: str | None = None,
    addressing: str | None = None,
    anonymous: bool = False,
    remember: float = 0,
) -> ObjectFolder:
    """The images below `url`, which is "s3://bucket/prefix", "gs://bucket/prefix" or "https://host/path":
    one folder for each class, samples and order as torchvision's ImageFolder of a copy on disk.

    A bucket is listed, unless `names` or `index` say which objects there are: names below `url`, or
    the name of an object that has one in each line. Over https one of them is needed.

    `endpoint`, `region`: of a store like S3; else AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, AWS_REGION
    and AWS_DEFAULT_REGION say. `addressing`: "path" or "virtual", where the bucket's name stands.
    `anonymous`: requests are not signed. Credentials come from the environment or the profile file
    of each process, and of each worker's operator; they are no argument.

    `remember`: for so many seconds a worker believes the version of an object that it has in its
    cache. 0: it asks before each use.

    Raises ValueError where these are wrong, FileNotFoundError where there is no image, and
    HeadraceError where the store refuses."""
    store = store_at(url, endpoint, region, addressing, anonymous, remember)
    if names is not None and index is not None:
        raise ValueError("names and index both say which objects there are")
    if index is not None:
        names = _lines_of(store, index)
    if names is None and not lists(url):
        raise ValueError("over https nobody lists the objects: names= or index= is needed")
    found = folders_of(store) if names is None else by_class(names)
    classes = _classes_of(store, found)
    packed, labels = joined(classes, found)
    return ObjectFolder(store, classes, packed, labels, transform, target_transform)


def _lines_of(store: Store, index: str) -> list[str]:
    text = store.reader.read(store.base + index).decode()
    return [line for line in text.splitlines() if line]


def _classes_of(store: Store, found: dict[str, PackedNames]) -> list[str]:
    """Raises FileNotFoundError where torchvision does."""
    if not found:
        raise FileNotFoundError(f"there is no folder of images below {store.base}")
    if empty := sorted(one for one, names in found.items() if not len(names)):
        raise FileNotFoundError(f"there is no image in the folders {', '.join(empty)}")
    return sorted(found)
