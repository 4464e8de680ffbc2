"""num_workers=0, torch's default: the same program with us and without, in alternation.

Nothing is pinned: with us the worker has the CPUs that the program leaves free. Ratios are of whole
epochs, the first one (start-up included) apart.
"""

import argparse
import pathlib

import harness

PROGRAM = harness.ROOT / "bench" / "e2e" / "lazy_program.py"
PHOTOS = ["folder", "--step-ms=40"]
# What is measured -> arguments of the program.
CASES = {
    "photographs, a step that draws nothing": PHOTOS,
    "photographs, dropout on the CPU in each step": [*PHOTOS, "--dropout"],
    "digits, 64 a batch": ["digits", "--batch-size=64"],
    "digits, one a batch": ["digits", "--batch-size=1"],
    "rows of tensors, 8 a batch": ["tensors", "--batch-size=8"],
}


def seconds(result: dict, first: bool) -> float:
    epochs = result["epochs"]
    return sum(e["wall_s"] for e in (epochs[:1] if first else epochs[1:]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=harness.PHOTOS)
    parser.add_argument("--pairs", type=int, default=5)
    args = parser.parse_args()
    photos = harness.describe_photos(args.data)
    stock = harness.Variant("stock", None)
    ours = harness.Variant("headrace", ["--workers", "1"])
    rows, measured, equal = [], {}, 0
    for name, case in CASES.items():
        arguments = [*case, f"--data={args.data}"] if case[0] == "folder" else case
        pairs = []
        for pair in range(args.pairs):
            print(f"  {name}: pair {pair + 1} of {args.pairs}", flush=True)
            pairs.append(tuple(harness.run(v, arguments, PROGRAM) for v in (ours, stock)))
        summed = [harness.run(v, [*arguments, "--sums"], PROGRAM) for v in (ours, stock)]
        equal += all(summed[0][key] == summed[1][key] for key in ("sum", "generators"))
        for what, first in (("first epoch, start-up included", True), ("later epochs", False)):
            ratios = [seconds(b, first) / seconds(a, first) for a, b in pairs]
            label = f"{name}: times as fast, {what}"
            rows.append((label, harness.show(harness.spread(ratios))))
        (loader,) = pairs[-1][0]["report"]["loaders"]
        ways = {key: loader[key] for key in ("path", "batches", "made_ahead", "mispredicted")}
        rows.append((f"{name}: in the last run", ", ".join(f"{k} {v}" for k, v in ways.items())))
        measured[name] = pairs
    rows.append(("programs whose batches and generators equal stock's", f"{equal} of {len(CASES)}"))
    harness.write_report(
        "lazy", "num_workers=0", rows, {"photos": photos, "equal": equal, "pairs": measured}
    )


if __name__ == "__main__":
    main()
