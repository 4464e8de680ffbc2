"""Zips of an ImageFolder, for tests."""

import zipfile
from pathlib import Path


def write_zips(folder: Path, out: Path, count: int, deflated: bool = False) -> list[Path]:
    """The files of an ImageFolder in `count` zips, each with every class, in an order that is no order."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    out.mkdir(parents=True, exist_ok=True)
    paths = []
    for number in range(count):
        paths.append(out / f"train-{number:02d}.zip")
        how = zipfile.ZIP_DEFLATED if deflated else zipfile.ZIP_STORED
        with zipfile.ZipFile(paths[-1], "w", how) as zipped:
            for path in reversed(files[number::count]):
                zipped.write(path, path.relative_to(folder))
    return paths
