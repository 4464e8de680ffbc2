"""What it costs that batches of native plans go on being compared: one of 256, as by default, against none.

Both are pinned to one core, so that the reference's work shows whole. What is compared has a fixed price
(a fork of the trainer, four samples): it is less for larger batches, and more for smaller ones.
"""

import argparse
import pathlib

import harness
from throughput import rate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=harness.PHOTOS)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--cpu", default="0")
    args = parser.parse_args()
    photos = harness.describe_photos(args.data)
    options = ["--workers", "1", "--threads", "1"]
    compared = harness.Variant("compared", options, args.cpu)
    alone = harness.Variant("alone", options, args.cpu, {"HEADRACE_COMPARE": "0"})
    program = [str(args.data), "--num-workers", "1", "--epochs", "17", "--batch-size", "32"]
    pairs = harness.alternate(compared, alone, program, args.pairs)
    cost = harness.spread([(rate(b, 1) / rate(a, 1) - 1) * 100 for a, b in pairs])
    made = [a["report"]["loaders"][0]["compared_samples"] for a, _ in pairs]
    none = [b["report"]["loaders"][0]["compared_samples"] for _, b in pairs]
    rows = [
        ("samples/s a core, none compared", harness.show(harness.spread([rate(b, 1) for _, b in pairs]), 0)),
        ("samples compared in a run of 544 batches of 32", harness.show(harness.spread(made), 0)),
        ("**cost, percent**", harness.show(cost)),
    ]  # fmt: skip
    if any(none) or not all(made):
        raise SystemExit(f"compared: {made} and {none}")
    harness.write_report(
        "comparison",
        "The cost of comparing while a program trains",
        rows,
        {"photos": photos, "pairs": pairs},
    )


if __name__ == "__main__":
    main()
