"""Images in tars: what their list takes, and an epoch from them against the same files in a folder."""

import argparse
import os
import pathlib
import sys
import tempfile
import time

import harness
import headrace

sys.path.insert(0, str(harness.ROOT / "tests"))
from support.tars import write_tars

PROGRAM = harness.ROOT / "bench" / "e2e" / "objects_program.py"


def header(name: str, size: int) -> bytes:
    block = bytearray(512)
    block[: len(name)] = name.encode()
    block[124:136] = b"%011o\0" % size
    block[148:156] = b" " * 8
    block[156:157] = b"0"
    block[257:265] = b"ustar\x0000"
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def write_small(path: pathlib.Path, first: int, count: int, image: int) -> None:
    """Samples of an image of so many bytes and a label, with keys of 12 characters. Images are holes."""
    step = -(-image // 512) * 512
    with path.open("wb") as tar:
        for number in range(first, first + count):
            tar.write(header(f"{number:012d}.jpg", image))
            tar.seek(step, os.SEEK_CUR)
            tar.write(header(f"{number:012d}.cls", 3) + b"123".ljust(512, b"\0"))
        tar.write(bytes(1024))


def resident() -> int:
    status = pathlib.Path("/proc/self/status").read_text()
    return 1024 * int(status.partition("VmRSS:")[2].split()[0])


def listed(folder: pathlib.Path, count: int, image: int, shards: int = 10) -> dict:
    """Seconds and bytes of the list of `count` samples."""
    each = count // shards
    for number in range(shards):
        write_small(folder / f"{count}-{number}.tar", number * each, each, image)
    before, begin = resident(), time.perf_counter()
    cpu = time.process_time()
    dataset = headrace.open_dataset(str(folder / f"{count}-*.tar"))
    made = {
        "seconds": time.perf_counter() - begin,
        "cpu_s": time.process_time() - cpu,
        "bytes": dataset.index.nbytes / count,
        "resident": (resident() - before) / count,
        "samples": len(dataset),
    }
    assert made["samples"] == count
    begin = time.perf_counter()
    headrace.open_dataset(str(folder / f"{count}-*.tar"), keep_index=folder / "kept")
    begin = time.perf_counter()
    headrace.open_dataset(str(folder / f"{count}-*.tar"), keep_index=folder / "kept")
    made["kept_s"] = time.perf_counter() - begin
    for path in folder.glob(f"{count}-*.tar"):
        path.unlink()
    return made


def rate(what: str, place: str, times: int) -> float:
    variant = harness.Variant(what, ["--workers", "1", "--threads", "2"])
    made = harness.run(variant, [f"--{what}", place, "--times", str(times)], PROGRAM)
    paths = [loader["path"] for loader in made["report"]["loaders"]]
    assert paths == ["native"], paths
    return made["samples"] / made["seconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=harness.PHOTOS)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--times", type=int, default=4)
    parser.add_argument("--samples", type=int, default=1_000_000)
    arguments = parser.parse_args()
    runs = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        listed(folder, 1000, 3000)  # imports
        lists = [
            listed(folder, count, 3000) for count in (arguments.samples // 10, arguments.samples)
        ]
        print(lists, file=sys.stderr, flush=True)
        write_tars(arguments.data, folder / "photos", 8)
        for number in range(arguments.pairs):
            print(
                f"  pair {number + 1} of {arguments.pairs}: {runs[-1:]}",
                file=sys.stderr,
                flush=True,
            )
            pair = {"folder": rate("folder", str(arguments.data), arguments.times)}
            pair["tars"] = rate("tars", str(folder / "photos" / "*.tar"), arguments.times)
            runs.append(pair)

    def shown(value, digits=2):
        return harness.show(harness.spread([value(run) for run in runs]), digits)

    rows = [
        ("ImageFolder, samples/s from iter() on", shown(lambda run: run["folder"], 0)),
        ("tars of the same photographs, samples/s", shown(lambda run: run["tars"], 0)),
        ("tars against the folder", shown(lambda run: run["tars"] / run["folder"])),
    ]
    for made in lists:
        what = f"list of {made['samples']:,} samples in 10 tars"
        rows += [
            (f"{what}: seconds", f"{made['seconds']:.1f}"),
            (f"{what}: CPU seconds", f"{made['cpu_s']:.1f}"),
            (f"{what}: bytes a sample, keys of 12 characters included", f"{made['bytes']:.0f}"),
            (
                f"{what}: memory that stays with the process, bytes a sample",
                f"{made['resident']:.0f}",
            ),
            (f"{what}: seconds where the list was kept", f"{made['kept_s']:.1f}"),
        ]
    rows.append(
        ("load of the machine at the end, nearly all of it by others", f"{os.getloadavg()[0]:.1f}")
    )
    photos = harness.describe_photos(arguments.data)
    harness.write_report(
        "shards", "Images in tars", rows, {"photos": photos, "lists": lists, "runs": runs}
    )


if __name__ == "__main__":
    main()
