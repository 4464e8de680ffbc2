"""Programs whose data sets are code of their own, with us and without, in alternation.

Nothing is pinned: both have the whole machine. Of each program: seconds from iter() to the first batch,
the whole program from its start to its end, its later epoch, and the memory of all its processes.
"""

import argparse
import pathlib

import harness

PROGRAM = harness.ROOT / "bench" / "e2e" / "code_program.py"
NAMES = (
    "rows", "two batches", "spawned", "table", "sentences", "stream", "photographs",
    "photographs with state", "two views", "boxes", "mixed in the collate",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=harness.PHOTOS)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--names", nargs="+", default=NAMES)
    args = parser.parse_args()
    photos = harness.describe_photos(args.data)
    stock = harness.Variant("stock", None)
    ours = harness.Variant("headrace", ["--workers", "1"])
    rows, measured, equal = [], {}, 0
    for name in args.names:
        arguments = [name, str(args.data)]
        pairs = []
        for pair in range(args.pairs):
            print(f"  {name}: pair {pair + 1} of {args.pairs}", flush=True)
            pairs.append(tuple(harness.run(v, arguments, PROGRAM) for v in (ours, stock)))
        said = [harness.run(v, [*arguments, "--digest"], PROGRAM) for v in (ours, stock)]
        equal += said[0]["digest"] == said[1]["digest"]
        held = [harness.run(v, [*arguments, "--memory"], PROGRAM) for v in (ours, stock)]
        later = [(a["first_batch_s"] - b["first_batch_s"]) * 1000 for a, b in pairs]
        whole = [a["process_s"] / b["process_s"] for a, b in pairs]
        epoch = [b["epochs_s"][-1] / a["epochs_s"][-1] for a, b in pairs]
        seconds = harness.spread([b["process_s"] for _, b in pairs])
        rows += [
            (f"{name}: first batch later than stock's, ms", harness.show(harness.spread(later), 0)),
            (f"{name}: whole program, times stock's time", harness.show(harness.spread(whole))),
            (f"{name}: stock's whole program, s", harness.show(seconds)),
            (f"{name}: its second epoch, times as fast", harness.show(harness.spread(epoch))),
        ]
        if "memory_kb" in held[0]:
            ratio = held[0]["memory_kb"] / held[1]["memory_kb"]
            size = held[1]["memory_kb"] / 1024
            rows.append((f"{name}: memory (PSS), times stock's {size:.0f} MB", f"{ratio:.2f}"))
        measured[name] = {"pairs": pairs, "memory": held}
    rows.append(("programs whose batches equal stock's", f"{equal} of {len(args.names)}"))
    harness.write_report(
        "code",
        "Programs whose data sets are code of their own",
        rows,
        {"photos": photos, "equal": equal, "programs": measured},
    )


if __name__ == "__main__":
    main()
