"""Writes the first inputs of tar_scan_fuzz and zip_scan_fuzz: small tars and zips of every form.

python tests/fuzz/shard_seeds.py FOLDER    into FOLDER/seeds-tar_scan_fuzz and FOLDER/seeds-zip_scan_fuzz
python tests/fuzz/shard_seeds.py --tables  tests/fuzz/seeds/range_table_fuzz, with the headrace that is installed
"""

import io
import itertools
import sys
import tarfile
import zipfile
from pathlib import Path

MEMBERS = [("d/a.jpg", b"j" * 30), ("d/a.cls", b"7"), ("d/b.PNG", bytes(600)), ("d/b.cls", b"12\n")]
LONG = [("n" * 130 + ".jpg", b"j"), ("n" * 130 + ".json", b"{}")]
FOLDERS = [
    ("cat/a.jpg", b"j" * 90),
    ("cat/sub/ü.png", bytes(300)),
    ("dog/", b""),
    ("dog/b.jpg", b""),
]


def tars() -> dict[str, bytes]:
    made = {}
    forms = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}
    for (name, form), (kind, members) in itertools.product(
        forms.items(), {"short": MEMBERS, "long": LONG}.items()
    ):
        if (name, kind) == ("ustar", "long"):
            continue
        file = io.BytesIO()
        with tarfile.open(fileobj=file, mode="w", format=form) as tar:
            for path, data in members:
                info = tarfile.TarInfo(path)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
        made[f"{name}-{kind}"] = file.getvalue()[: -8 * 512]  # its padding tells nothing
    link = tarfile.TarInfo("d/c.jpg")
    link.type, link.linkname = tarfile.SYMTYPE, "a.jpg"
    made["link"] = link.tobuf() + bytes(1024)
    return made


def zips() -> dict[str, bytes]:
    made = {}
    methods = {
        "stored": zipfile.ZIP_STORED,
        "deflated": zipfile.ZIP_DEFLATED,
        "lzma": zipfile.ZIP_LZMA,
    }
    for name, method in methods.items():
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", method) as zipped:
            for path, data in FOLDERS:
                zipped.writestr(path, data)
        made[name] = file.getvalue()
        made[f"{name}-shifted"] = b"#!/bin/sh\n" + file.getvalue()
        made[f"{name}-comment"] = file.getvalue()[:-2] + b"\x04\x00PK\x05\x06"
    file = io.BytesIO()
    limits = zipfile.ZIP64_LIMIT, zipfile.ZIP_FILECOUNT_LIMIT
    zipfile.ZIP64_LIMIT = zipfile.ZIP_FILECOUNT_LIMIT = 20  # every number goes into zip64's fields
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as zipped:
        for path, data in FOLDERS:
            zipped.writestr(path, data)
    zipfile.ZIP64_LIMIT, zipfile.ZIP_FILECOUNT_LIMIT = limits
    made["zip64"] = file.getvalue()
    return made


def tables() -> dict[str, bytes]:
    import numpy as np
    from headrace.native import binding

    def table(shards: list[str], rows: list[int], members: bool) -> bytes:
        count = sum(rows)
        return bytes(
            binding.encode_range_table(
                "/data", shards, [f"{i}-v" for i in range(len(shards))],
                np.cumsum(rows, dtype=np.uint64), np.arange(count, dtype=np.uint64) * 600,
                np.full(count, 500, np.uint32), np.arange(count, dtype=np.int64),
                np.arange(3 * count if members else 0, dtype=np.uint32),
            )
        )  # fmt: skip

    return {
        "one": table(["a.tar"], [1], False),
        "three": table(["a.tar", "b.tar", "/c.tar"], [2, 0, 3], False),
        "members": table(["a.zip", "b.zip"], [1, 2], True),
        "none": table([], [], False),
    }


def write(folder: Path, made: dict[str, bytes], before: bytes = b"") -> None:
    """`before`: what a target takes from the front of its input."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in made.items():
        (folder / name).write_bytes(before + data)


if __name__ == "__main__":
    if sys.argv[1] == "--tables":
        write(Path(__file__).parent / "seeds" / "range_table_fuzz", tables())
    else:
        write(Path(sys.argv[1]) / "seeds-tar_scan_fuzz", tars(), b"\x10")
        write(Path(sys.argv[1]) / "seeds-zip_scan_fuzz", zips(), b"\x10")
