"""What the evidence of found functions costs by itself over the life of a program: CPU of comparisons, watches, names
and the search (evidence_clock.py), as parts of the CPU of all processes after 4, 8 and 30 epochs; and the first epoch
with found functions against that without, in alternation. Prints the tables of bench/report/evidence.md.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile

import made_data
import measured
from measured import harness

DATA = harness.ROOT / "build" / "real" / "data"
AFTER = (4, 8, 30)  # epochs
OFF = "--no-found-functions"
CLOCK = measured.HERE / "evidence_clock.py"


def clocked(name: str, args: argparse.Namespace) -> dict:
    """One run with clocks: CPU of each epoch, and what each kind of evidence had taken at its end."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "evidence.json"
        os.environ["EVIDENCE_FILE"] = str(file)
        options = ["--epochs", str(max(args.after))]
        result = measured.run(name, args.data, [], options, False, within=CLOCK)
        if "failed" in result:
            return result
        evidence = json.loads(file.read_text())
    cpu = [one["cpu_s"] for one in result["epochs"]]
    return {"cpu": cpu, "evidence": evidence}


def first_epochs(name: str, args: argparse.Namespace) -> dict:
    """CPU seconds of epochs, found functions on and off by turns."""
    both: dict[str, list] = {"with": [], "without": []}
    for _ in range(args.rounds):
        for way, served in (("with", []), ("without", [OFF])):
            result = measured.run(name, args.data, served, ["--epochs", str(args.short)], False)
            if "failed" in result:
                return result
            both[way].append([one["cpu_s"] for one in result["epochs"]])
    return both


def rows(name: str, one: dict) -> list[str]:
    lines = []
    for after in one["after"]:
        cpu, told = sum(one["cpu"][:after]), one["evidence"][after - 1]
        compares = told["comparisons"]
        parts = [compares, told["watches"], told["names"], told["search"] + told["trials"]]
        cells = [f"{100 * part / cpu:.1f}" for part in (*parts, sum(parts))]
        counts = f"{told['compared']:.0f} | {told['watched']:.0f} | {told['hits']:.0f}"
        hits = 1000 * told["names_of_hits"] / max(told["hits"], 1)
        lines.append(
            f"| {name} | {after} | {cpu:.2f} | {' | '.join(cells)} | {counts} | {hits:.2f} |"
        )
    return lines


def first_row(name: str, both: dict) -> str:
    medians = {
        way: [statistics.median(column) for column in zip(*both[way], strict=True)] for way in both
    }
    ratio = medians["without"][0] / medians["with"][0]
    cells = [" ".join(f"{seconds:.3f}" for seconds in medians[way]) for way in ("without", "with")]
    return f"| {name} | {' | '.join(cells)} | {ratio:.2f} |"


def tables(results: dict) -> list[str]:
    lines = [
        "| program | epochs | CPU, s | compared | watched | named | searched | all | results compared | watched | hits"
        " | name of a hit, ms |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, one in results.items():
        lines += rows(name, one["clocked"])
    lines += ["", "| program | without | with | first |", "|---|---|---|---|"]
    return lines + [first_row(name, one["first"]) for name, one in results.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=sorted(measured.DETERMINISTIC))
    parser.add_argument("--data", type=pathlib.Path, default=DATA)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--short", type=int, default=4, help="epochs of alternating runs")
    parser.add_argument("--after", type=int, nargs="*", default=AFTER, help="epochs")
    args = parser.parse_args()
    args.data = made_data.make(args.data, share=1).resolve()
    results = {}
    for name in args.names:
        one = {"clocked": clocked(name, args), "first": first_epochs(name, args)}
        for part in one.values():
            if "failed" in part:
                raise SystemExit(f"{name}: {part['failed']}")
        one["clocked"]["after"] = args.after
        results[name] = one
        print(*rows(name, one["clocked"]), first_row(name, one["first"]), sep="\n", file=sys.stderr)
    print(*tables(results), sep="\n")


if __name__ == "__main__":
    main()
