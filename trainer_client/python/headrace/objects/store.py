"""Where objects lie, and this process's reader of them."""

import os
from dataclasses import field
from typing import Any

from ..native import binding
from ..process import object_reads
from ..records import dataclass


@dataclass(frozen=True)
class Store:
    """What plans and pickles say of a store: never a credential. As remote/store.h has it."""

    base: str  # "s3://bucket/prefix/", "gs://bucket/prefix/", "https://host/path/"
    endpoint: str = ""
    region: str = ""
    addressing: str = ""
    anonymous: bool = False
    valid_seconds: int = field(default=0, compare=False)  # see open_dataset's `remember`

    @property
    def prefix(self) -> str:
        """Of the keys below the base of a bucket."""
        return self.base.partition("://")[2].partition("/")[2]

    @property
    def reader(self) -> Any:
        """What reads the objects: the ObjectReader of this process, or, in a stage, its worker. Readers of
        the process that forked this one are kept: their threads are there, and nothing here may end
        them."""
        key = (os.getpid(), self)
        found = _readers.get(key)
        if found is None:
            made = binding.ObjectReader(
                self.base, self.endpoint, self.region, self.addressing, self.anonymous
            )
            found = _readers.setdefault(key, made)
        by = object_reads.by
        return found if by is None else by.reader(self, found)

    def args(self) -> dict[str, Any]:
        """Of the source "objects" in a plan."""
        said: dict[str, Any] = {"base": self.base, "valid_seconds": self.valid_seconds}
        for name in ("endpoint", "region", "addressing"):
            if value := getattr(self, name):
                said[name] = value
        if self.anonymous:
            said["anonymous"] = 1
        return said


_readers: dict[tuple[int, Store], Any] = {}


def lists(url: str) -> bool:
    """It is a bucket, which tells what is in it."""
    return url.startswith(("s3://", "gs://"))


def store_at(
    url: str,
    endpoint: str | None,
    region: str | None,
    addressing: str | None,
    anonymous: bool,
    remember: float,
) -> Store:
    """What is not said comes from the environment, as AWS's tools have it; of GCS nothing does but
    credentials, since those settings are of another store. Raises ValueError."""
    if not 0 <= remember < 2**31:
        raise ValueError(f"remember is a number of seconds, not {remember}")
    environment = os.environ.get
    if url.startswith("s3://"):
        endpoint = endpoint or environment("AWS_ENDPOINT_URL_S3") or environment("AWS_ENDPOINT_URL")
        region = region or environment("AWS_REGION") or environment("AWS_DEFAULT_REGION")
    base = url if url.endswith("/") else url + "/"
    said = (endpoint or "", region or "", addressing or "", anonymous)
    store = Store(base, *said, valid_seconds=int(remember))
    store.reader  # noqa: B018 - refuses what is no store
    return store
