"""What the start of a Python stage costs beside epochs of several lengths, with us and without, in alternation.

The program is short_epochs_program.py's `clouds`: some milliseconds of NumPy for each sample. A start is paid
once a program, so what it takes of the first epoch shrinks with the epoch's length. CPU is that of all
processes.
"""

import argparse
import os
import pathlib
import tempfile

import harness
from processes import adopt_orphans, reap_orphans
from short_epochs import PROGRAM


def rows_of(batches: int, pairs: list[tuple[dict, dict]]) -> list[tuple[str, str]]:
    def ratio(key: str, epochs: slice) -> str:
        sums = [[sum(e[key] for e in run["epochs"][epochs]) for run in pair] for pair in pairs]
        return harness.show(harness.spread([stock / ours for ours, stock in sums]))

    def more_ms(key: str) -> str:
        """By how much our first epoch is longer than a later one, less the same of stock's."""
        found = []
        for pair in pairs:
            ours, stock = (run["epochs"][0][key] - run["epochs"][1][key] for run in pair)
            found.append(1e3 * (ours - stock))
        return harness.show(harness.spread(found), 0)

    seconds = harness.spread([stock["epochs"][1]["whole_s"] for _, stock in pairs])
    first, later = slice(0, 1), slice(1, None)
    label = f"{batches} batches"
    return [
        (f"{label}: stock's later epoch, s", harness.show(seconds)),
        (f"{label}: first epoch, times as fast", ratio("whole_s", first)),
        (f"{label}: first epoch, CPU, stock's / ours", ratio("whole_cpu_s", first)),
        (f"{label}: later epochs, times as fast", ratio("whole_s", later)),
        (f"{label}: later epochs, CPU, stock's / ours", ratio("whole_cpu_s", later)),
        (f"{label}: the start, ms beyond stock's", more_ms("whole_s")),
        (f"{label}: the start, ms of CPU beyond stock's", more_ms("whole_cpu_s")),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--batches", type=int, nargs="+", default=[10, 40, 160, 640])
    args = parser.parse_args()
    adopt_orphans()
    ours, stock = harness.Variant("headrace", []), harness.Variant("stock", None)
    rows, measured = [], {}
    with tempfile.TemporaryDirectory() as scratch:
        for batches in args.batches:
            arguments = ["clouds", scratch, str(pathlib.Path(scratch, str(batches)))]
            arguments += ["--epochs=3", f"--batches={batches}", f"--root={os.getpid()}"]
            pairs = []
            for pair in range(args.pairs + 1):
                print(f"  {batches} batches: pair {pair} of {args.pairs}", flush=True)
                runs = tuple(harness.run(one, arguments, PROGRAM) for one in (ours, stock))
                reap_orphans()
                if pair:  # the first one writes the files
                    pairs.append(runs)
            measured[batches] = pairs
            rows += rows_of(batches, pairs)
            print("\n".join(f"{label}: {value}" for label, value in rows[-7:]), flush=True)
    harness.write_report(
        "epoch_lengths", "The start of a Python stage, by the length of an epoch", rows,
        {"batches": measured},
    )  # fmt: skip


if __name__ == "__main__":
    main()
