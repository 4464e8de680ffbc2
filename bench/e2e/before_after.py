"""Two builds of Headrace beside each other: samples a second on one core of the one before and of this one.

The build before is another checkout that `./dev build` has built. Each program runs with both in
alternation, and with the stock loader. Everything of a run is pinned to one CPU. The sums of all
batches are compared in runs of their own.
"""

import argparse
import pathlib
import sys

import harness
from throughput import make_masks, rate, sums

CACHED = "cached"
KINDS = (
    "folder",
    CACHED,
    "tensor",
    "floats",
    "simclr",
    "own",
    "views",
    "masks",
    "boxes",
    "timm",
    "forgiving",
    "mixup",
)
_WORKER = ["--workers", "1", "--threads", "1"]


def variants(kind: str, cpu: str, before: str) -> list[harness.Variant]:
    """Stock, before, now."""
    options = [*_WORKER, "--cache", "2G"] if kind == CACHED else _WORKER
    return [
        harness.Variant("stock", None, cpu),
        harness.Variant("before", options, cpu, before),
        harness.Variant("now", options, cpu),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", required=True, help="the Python of the other build's .venv")
    parser.add_argument("--data", type=pathlib.Path, default=harness.PHOTOS)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--cpu", default="0")
    parser.add_argument("--kinds", nargs="+", default=KINDS)
    args = parser.parse_args()
    photos = harness.describe_photos(args.data)
    make_masks(args.data)
    rows, data, differing = [], {}, []
    for kind in args.kinds:
        program = [str(args.data), "--num-workers", "1", "--epochs", "3"]
        program.append(f"--kind={'folder' if kind == CACHED else kind}")
        all_three = variants(kind, args.cpu, args.before)
        runs = []
        for pair in range(args.pairs):
            print(f"  {kind}: {pair + 1} of {args.pairs}", file=sys.stderr, flush=True)
            runs.append([harness.run(one, program) for one in all_three])
        data[kind] = runs
        for label, first in (("first epoch", 0), ("epochs after the first", 1)):
            ratios = [
                [rate(now, first) / rate(other, first) for other in (before, stock)]
                for stock, before, now in runs
            ]
            than_before, than_stock = map(harness.spread, zip(*ratios, strict=True))
            text = f"{harness.show(than_before)} of before, {harness.show(than_stock)} of stock"
            rows.append((f"{kind}, {label}", text))
        made = [sums(harness.run(one, [*program, "--sums"])) for one in all_three]
        if made[1:] != made[:1] * 2:
            differing.append(kind)
    rows.append(("programs whose batches differ", ", ".join(differing) or "none"))
    harness.write_report(
        "before_after", "This build against the one before", rows, {"photos": photos, "runs": data}
    )
    if differing:
        raise SystemExit("batches differ from the stock loader's")


if __name__ == "__main__":
    main()
