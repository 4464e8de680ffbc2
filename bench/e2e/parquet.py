"""Photographs in Parquet: an Arrow copy made once, against pages that are read in place.

Both are read as a worker would: a sample at a time, in a random order, in memory already. A reader of pages
is played by files whose row groups are one page each, so that it finds a sample's page at once and reads
nothing else. It keeps the last page, and no more: a random order finds none of them again.
"""

import argparse
import os
import pathlib
import random
import shutil
import tempfile
import time

import harness
import pyarrow
from pyarrow import parquet

# Parquet's own default for a page.
PAGE_BYTES = 1 << 20


def write(path: pathlib.Path, images: list[bytes], compression: str) -> int:
    """Row groups of one page. Returns the rows of each."""
    each = max(1, PAGE_BYTES * len(images) // sum(map(len, images)))
    table = pyarrow.table({"image": images, "label": list(range(len(images)))})
    parquet.write_table(
        table, path, row_group_size=each, compression=compression, use_dictionary=False
    )
    return each


def copied(path: pathlib.Path, cache: pathlib.Path) -> tuple[float, float, list[pathlib.Path]]:
    """Seconds and CPU seconds of the copy by Hugging Face's datasets, and its files."""
    import datasets

    datasets.disable_progress_bars()
    began, cpu = time.perf_counter(), time.process_time()
    datasets.load_dataset("parquet", data_files=str(path), split="train", cache_dir=str(cache))
    seconds, spent = time.perf_counter() - began, time.process_time() - cpu
    return seconds, spent, list(cache.rglob("*.arrow"))


def by_ranges(file: pathlib.Path, images: list[bytes], order: list[int]) -> float:
    """Samples a second of CPU, read from the places in the Arrow file."""
    places, content = [], file.read_bytes()
    at = 0
    for image in images:
        at = content.index(image, at)
        places.append((at, len(image)))
        at += len(image)
    del content
    fd = os.open(file, os.O_RDONLY)
    cpu = time.process_time()
    for row in order:
        first, size = places[row]
        assert len(os.pread(fd, size, first)) == size
    spent = time.process_time() - cpu
    os.close(fd)
    return len(order) / spent


def by_pages(path: pathlib.Path, each: int, images: list[bytes], order: list[int]) -> float:
    """The same, by a page for each sample."""
    file = parquet.ParquetFile(path)
    cpu = time.process_time()
    for row in order:
        group = file.read_row_group(row // each, columns=["image"], use_threads=False)
        assert len(group.column(0)[row % each].as_buffer()) == len(images[row])
    return len(order) / (time.process_time() - cpu)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=harness.PHOTOS)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--samples", type=int, default=1000)
    arguments = parser.parse_args()
    images = [path.read_bytes() for path in sorted(arguments.data.rglob("*.jpg"))]
    total = sum(map(len, images))
    order = random.Random(0).choices(range(len(images)), k=arguments.samples)
    rows = [
        ("photographs", f"{len(images)} of {total / len(images) / 1000:.0f} kB"),
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for compression in ("snappy", "zstd"):
            path = folder / f"{compression}.parquet"
            each = write(path, images, compression)
            runs = []
            for pair in range(arguments.pairs):
                cache = folder / f"cache{pair}"
                seconds, spent, files = copied(path, cache)
                runs.append(
                    {
                        "seconds": seconds / total * 1e9,
                        "cpu": spent / total * 1e9,
                        "bytes": sum(file.stat().st_size for file in files) / total,
                        "ranges": by_ranges(files[0], images, order),
                        "pages": by_pages(path, each, images, order),
                    }
                )
                shutil.rmtree(cache)

            def shown(of, digits=0, found=runs):
                return harness.show(harness.spread([run[of] for run in found]), digits)

            ratio = harness.spread([run["ranges"] / run["pages"] for run in runs])
            rows += [
                (f"{compression}: Parquet, bytes of the photographs'", f"{path.stat().st_size / total:.3f}"),
                (f"{compression}: Arrow copy, bytes of the photographs'", shown("bytes", 3)),
                (f"{compression}: seconds of the copy a GB", shown("seconds", 1)),
                (f"{compression}: CPU seconds of the copy a GB", shown("cpu", 1)),
                (f"{compression}: photographs of a page", str(each)),
                (f"{compression}: ranges of the copy, samples a CPU second", shown("ranges")),
                (f"{compression}: pages in place, samples a CPU second", shown("pages")),
                (f"{compression}: ranges against pages", harness.show(ratio, 1)),
            ]  # fmt: skip
    harness.write_report("parquet", "Photographs in Parquet", rows, {})


if __name__ == "__main__":
    main()
