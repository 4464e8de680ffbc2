"""How long a loader whose code runs on the workers takes from iter() to its first batch."""

import argparse
import pathlib

import harness

PROGRAM = harness.ROOT / "bench" / "e2e" / "stage_program.py"
LOADERS = ("training", "first evaluation", "second evaluation", "third evaluation")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--libraries", nargs="+", default=["torchvision", "transformers"])
    parser.add_argument("--data", type=pathlib.Path, default=harness.PHOTOS)
    args = parser.parse_args()
    photos = harness.describe_photos(args.data)
    variants = harness.Variant("headrace", []), harness.Variant("stock", None)
    rows, figures = [], {}
    for libraries in args.libraries:
        runs = {variant.name: [] for variant in variants}
        for _ in range(args.pairs):
            for variant in variants:
                result = harness.run(variant, [libraries, str(args.data)], PROGRAM)
                runs[variant.name].append(result["first_batch_s"])
        for name, results in runs.items():
            for loader, seconds in zip(LOADERS, zip(*results, strict=True), strict=True):
                figure = harness.spread(list(seconds))
                rows.append((f"{libraries}, {name}: {loader}, s", harness.show(figure)))
                figures[f"{libraries} {name} {loader}"] = figure
    harness.write_report(
        "stage_start",
        "From iter() to the first batch of a Python stage",
        rows,
        {"photos": photos, "seconds": figures},
    )


if __name__ == "__main__":
    main()
