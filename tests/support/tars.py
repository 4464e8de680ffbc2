"""Tars in WebDataset's layout, for tests and benchmarks."""

import io
import tarfile
from collections.abc import Iterable
from pathlib import Path


def packed(members: Iterable[tuple[str, bytes]], form: int = tarfile.PAX_FORMAT) -> bytes:
    """`form`: tarfile.USTAR_FORMAT, GNU_FORMAT or PAX_FORMAT."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=form) as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return file.getvalue()


def samples_of(folder: Path) -> list[tuple[str, bytes, int]]:
    """Key, image and label of each file of an ImageFolder, in its order."""
    classes = sorted(path.name for path in folder.iterdir() if path.is_dir())
    return [
        (f"{name}_{path.stem}", path.read_bytes(), label)
        for label, name in enumerate(classes)
        for path in sorted((folder / name).iterdir())
    ]


def write_tars(folder: Path, out: Path, count: int, form: int = tarfile.PAX_FORMAT) -> list[Path]:
    """The images of an ImageFolder in `count` tars, in their order."""
    samples = samples_of(folder)
    each = -(-len(samples) // count)
    out.mkdir(parents=True, exist_ok=True)
    paths = []
    for number in range(count):
        members = [
            member
            for key, image, label in samples[number * each : (number + 1) * each]
            for member in ((f"{key}.jpg", image), (f"{key}.cls", str(label).encode()))
        ]
        paths.append(out / f"train-{number:02d}.tar")
        paths[-1].write_bytes(packed(members, form))
    return paths
