"""Short epochs of programs whose data code runs as Python stages, with us and without, in alternation.

Nothing is pinned: both have the whole machine. Of later epochs: seconds in iter(), to the first batch,
and from there to the end; the CPU of every process is counted, also of those whose parents have ended.
With --leave-after the program's loop breaks out of each epoch.
"""

import argparse
import os
import pathlib
import tempfile

import harness
from processes import adopt_orphans, reap_orphans

PROGRAM = harness.ROOT / "bench" / "e2e" / "short_epochs_program.py"
NAMES = ("crops", "detection", "clouds", "tokens")


def rows_of(name: str, pairs: list[tuple[dict, dict]]) -> list[tuple[str, str]]:
    def ratio(key: str, first: bool) -> str:
        taken = [
            [sum(e[key] for e in (r["epochs"][:1] if first else r["epochs"][1:])) for r in pair]
            for pair in pairs
        ]
        return harness.show(harness.spread([b / a if a else 1.0 for a, b in taken]))

    def seconds(key: str, whose: int) -> str:
        taken = [1e3 * e[key] for pair in pairs for e in pair[whose]["epochs"][1:]]
        return harness.show(harness.spread(taken), 0)

    return [
        (f"{name}: iter() of a later epoch, ms (stock's)", f"{seconds('iter_s', 0)} ({seconds('iter_s', 1)})"),
        (f"{name}: its first batch, ms (stock's)", f"{seconds('first_s', 0)} ({seconds('first_s', 1)})"),
        (f"{name}: first epoch, times as fast", ratio("whole_s", True)),
        (f"{name}: later epochs, times as fast", ratio("whole_s", False)),
        (f"{name}: ... from the second batch on", ratio("rest_s", False)),
        (f"{name}: CPU of later epochs, stock's / ours", ratio("whole_cpu_s", False)),
        (f"{name}: ... from the second batch on", ratio("rest_cpu_s", False)),
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=harness.PHOTOS)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--names", nargs="+", default=NAMES)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--leave-after", type=int, default=0)
    parser.add_argument("--report", default="short_epochs")
    parser.add_argument(
        "--before", help="Python of another build, which takes the stock loader's place"
    )
    args = parser.parse_args()
    photos = harness.describe_photos(args.data)
    adopt_orphans()
    stock = harness.Variant("stock", None)
    if args.before:
        stock = harness.Variant("before", ["--workers", "1"], python=args.before)
    ours = harness.Variant("headrace", ["--workers", "1"])
    rows, measured, equal = [], {}, 0
    with tempfile.TemporaryDirectory() as scratch:
        for name in args.names:
            arguments = [name, str(args.data), scratch, f"--epochs={args.epochs}"]
            arguments += [f"--batches={args.batches}", f"--leave-after={args.leave_after}"]
            pairs = []
            for pair in range(args.pairs + 1):
                print(f"  {name}: pair {pair} of {args.pairs}", flush=True)
                more = ["--digest"] if pair == 0 else [f"--root={os.getpid()}"]
                runs = tuple(harness.run(v, [*arguments, *more], PROGRAM) for v in (ours, stock))
                reap_orphans()
                if pair == 0:
                    equal += runs[0]["digest"] == runs[1]["digest"]
                else:
                    pairs.append(runs)
            measured[name] = pairs
            rows += rows_of(name, pairs)
            print("\n".join(f"{label}: {value}" for label, value in rows[-7:]), flush=True)
    rows.append(("programs whose batches equal stock's", f"{equal} of {len(args.names)}"))
    harness.write_report(
        args.report,
        "Short epochs of Python stages",
        rows,
        {"photos": photos, "equal": equal, "programs": measured},
    )


if __name__ == "__main__":
    main()
