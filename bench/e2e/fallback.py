"""A loader that must stay in the trainer: does `headrace run` cost its program anything?

The program's dataset holds a lock, so it keeps its own workers. The same run with and without us, in
alternation.
"""

import argparse
import pathlib

import harness


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=harness.PHOTOS)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    photos = harness.describe_photos(args.data)
    program = [str(args.data), "--num-workers", "2", "--epochs", str(args.epochs), "--kind=locked"]
    pairs = harness.alternate(
        harness.Variant("headrace", []), harness.Variant("stock", None), program, args.pairs
    )
    paths = {loader["path"] for ours, _ in pairs for loader in ours["report"]["loaders"]}
    if paths != {"local"}:
        raise SystemExit(f"the loader did not stay in the trainer: {paths}")
    ratios = {
        name: harness.spread([ours[name] / stock[name] for ours, stock in pairs])
        for name in ("since_made_s", "process_s")
    }
    rows = [
        (
            "loader made to the last batch, with us / without",
            harness.show(ratios["since_made_s"], 3),
        ),
        ("the whole process, imports included, the same", harness.show(ratios["process_s"], 3)),
        (
            "without us: loader made to the last batch, s",
            harness.show(harness.spread([stock["since_made_s"] for _, stock in pairs])),
        ),
    ]
    harness.write_report(
        "fallback",
        "A loader that stays in the trainer",
        rows,
        {"photos": photos, "ratios": ratios, "pairs": pairs},
    )


if __name__ == "__main__":
    main()
