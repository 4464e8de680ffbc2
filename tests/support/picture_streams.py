"""Ways to open a picture: by its name, and by streams of all kinds."""

import contextlib
import io
import tarfile
import zipfile
from pathlib import Path


@contextlib.contextmanager
def by_name(path):
    yield path


def by_file(path):
    return open(path, "rb")


def in_memory(path):
    return io.BytesIO(Path(path).read_bytes())


@contextlib.contextmanager
def in_zip(path):
    with zipfile.ZipFile(f"{path}.zip") as archive, archive.open("stored") as member:
        yield member


@contextlib.contextmanager
def in_packed_zip(path):
    with zipfile.ZipFile(f"{path}.zip") as archive, archive.open("packed") as member:
        yield member


@contextlib.contextmanager
def in_tar(path):
    with tarfile.open(f"{path}.tar") as archive:
        yield archive.extractfile("member")


class Own(io.BytesIO):
    """A stream of a class of the program's."""


def own_stream(path):
    return Own(Path(path).read_bytes())


STREAMS = (by_file, in_memory, in_zip, in_packed_zip, in_tar, own_stream)


def archives(path):
    """What the streams of a picture read."""
    with zipfile.ZipFile(f"{path}.zip", "w") as archive:
        archive.write(path, "stored")
        archive.write(path, "packed", zipfile.ZIP_DEFLATED)
    with tarfile.open(f"{path}.tar", "w") as archive:
        archive.add(path, "member")
