"""Files read and pictures decoded ahead of the code: a program with a data set of its own, on a slow source and on
the local disk.

The slow source is a FUSE file system, each read of which takes a while (tests/support/slow_files.py; needs the right
to mount). It is mounted anew for each run, so that nothing of it is in memory. Run in alternation: the stock loader,
ours without reading ahead, with that but nothing decoded ahead, and ours. Nothing is pinned.
"""

import argparse
import contextlib
import itertools
import pathlib
import shutil
import sys
import tempfile
from collections.abc import Iterator

import harness

sys.path.insert(0, str(harness.ROOT / "tests"))

from support.slow_files import slow_files  # noqa: E402

PROGRAM = harness.ROOT / "bench" / "e2e" / "ahead_program.py"


@contextlib.contextmanager
def source(photos: pathlib.Path, folder: pathlib.Path, delay: float) -> Iterator[pathlib.Path]:
    if delay == 0:
        yield photos
        return
    with slow_files(photos, folder / "slow", delay) as files:
        yield files.where


def flat(data: pathlib.Path, folder: pathlib.Path, most: int) -> pathlib.Path:
    """The first photographs, in one folder."""
    made = folder / "photos"
    made.mkdir()
    found = sorted(path for path in data.rglob("*") if path.is_file())
    for at, path in enumerate(found[:most]):
        shutil.copy(path, made / f"{at:05}.jpg")
    return made


def rate(result: dict, first: bool) -> float:
    epochs = result["epochs"][:1] if first else result["epochs"][1:]
    return sum(e["samples"] for e in epochs) / sum(e["wall_s"] for e in epochs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=harness.PHOTOS)
    parser.add_argument("--photos", type=int, default=512)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--delays-ms", type=float, nargs="+", default=[20.0, 2.0, 0.0])
    parser.add_argument("--lanes", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--readers", nargs="+", default=["pil", "opencv"])
    args = parser.parse_args()
    photos = harness.describe_photos(args.data)
    ours = ["--workers", "1"]
    stock, headrace = harness.Variant("stock", None), harness.Variant("headrace", ours)
    rows, data = [], {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        place = flat(args.data, folder, args.photos)
        for delay in args.delays_ms:
            for lanes, reader in itertools.product(args.lanes, args.readers):
                what = f"{delay:g} ms a read" if delay else "local files in memory"
                case = f"{what}, {reader}, num_workers={lanes}"
                program = ["--num-workers", str(lanes), "--epochs", "2" if delay else "4"]
                program += ["--reader", reader]
                runs: dict[str, list[dict]] = {"stock": [], "before": [], "read": [], "now": []}
                for pair in range(args.pairs):
                    print(f"  {case}: {pair + 1} of {args.pairs}", file=sys.stderr, flush=True)
                    for kind, variant, more in (
                        ("stock", stock, []),
                        ("before", headrace, ["--not-ahead"]),
                        ("read", headrace, ["--not-decoded-ahead"]),
                        ("now", headrace, []),
                    ):
                        with source(place, folder, delay / 1e3) as where:
                            made = harness.run(variant, [str(where), *program, *more], PROGRAM)
                        made.pop("report", None)  # which names a folder that is gone
                        runs[kind].append(made)
                data[case] = runs
                for first in (True, False):
                    rates = {
                        kind: [rate(one, first) for one in results]
                        for kind, results in runs.items()
                    }
                    part = "first epoch" if first else "later epochs"
                    cells = ", ".join(
                        f"{kind} {harness.show(harness.spread(values), 0)}"
                        for kind, values in rates.items()
                    )
                    rows.append((f"{case}: samples/s, {part}", cells))
                cpu = {
                    kind: harness.spread([one["cpu_s"] for one in results])
                    for kind, results in runs.items()
                }
                cells = ", ".join(f"{kind} {harness.show(v)}" for kind, v in cpu.items())
                rows.append((f"{case}: CPU seconds of the run", cells))
                # What is measured stays, whatever becomes of the rest.
                found = {"photos": photos, "runs": data}
                harness.write_report("ahead", "Ahead of the code", rows, found)


if __name__ == "__main__":
    main()
