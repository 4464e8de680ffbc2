"""What headrace.cached gains: stock, served, and served with the beginning of each sample declared, in alternation.

Two programs (declared_functions_program.py), wall and CPU seconds of their first, second and later epochs. CPU is
that of all processes (a control group counts it, which takes root). Batches and random states are compared.
"""

from __future__ import annotations

import argparse
import pathlib
import shutil
import statistics
import sys

import declared_functions_program as program
import harness

sys.path.insert(0, str(harness.ROOT / "bench" / "real"))
import measured  # noqa: E402

PROGRAM = str(pathlib.Path(program.__file__).with_suffix(""))
DATA = harness.ROOT / "build" / "declared_functions"
WAYS = ("stock", "served", "declared", "found")


def run(what: str, way: str, args: argparse.Namespace) -> dict:
    options = ["--what", what, "--epochs", str(args.epochs)]
    served = None if way == "stock" else ["--workers", "1", "--cache", "2G"]
    if way in ("served", "declared"):
        served.append("--no-found-functions")
    if way == "declared":
        options.append("--declared")
    result = measured.run(PROGRAM, DATA, served, options, memory=False)
    if "failed" in result:
        raise SystemExit(result["failed"])
    return result


def seconds(result: dict, kind: str, epochs: slice) -> float:
    return statistics.mean(epoch[kind] for epoch in result["epochs"][epochs])


def rows(what: str, rounds: list[dict[str, dict]], epochs: int) -> dict[str, str]:
    """Figures by name, medians over the rounds."""
    found: dict[str, str] = {}
    later = slice(epochs // 2, None)
    parts = {"first epoch": slice(0, 1), "second epoch": slice(1, 2), "later epochs": later}
    for name, part in parts.items():
        for kind, text in (("wall_s", "wall"), ("cpu_s", "CPU")):
            if rounds[0]["stock"]["epochs"][0][kind] is None:
                continue
            stock = [seconds(one["stock"], kind, part) for one in rounds]
            found[f"{what}, {name}, {text}: stock, s"] = f"{statistics.median(stock):.2f}"
            for way in WAYS[1:]:
                ratios = [
                    s / seconds(one[way], kind, part) for s, one in zip(stock, rounds, strict=True)
                ]
                spread = f"[{min(ratios):.2f}, {max(ratios):.2f}]"
                found[f"{what}, {name}, {text}: {way}, times as fast"] = (
                    f"{statistics.median(ratios):.2f} {spread}"
                )
    for way in ("declared", "found"):
        functions = [one[way]["report"]["cached_functions"] for one in rounds]
        for key in ("kept", "hits", "compared"):
            name = "hits" if key == "hits" else f"results {key}"
            found[f"{what}, {way}: {name}"] = str(
                statistics.median(sum(one[key] for one in each) for each in functions)
            )
    unequal = [
        text
        for one in rounds
        for way in WAYS
        for text in measured.differences(rounds[0]["stock"], one[way])
    ]
    found[f"{what}: batches and random states equal in all runs"] = (
        "no: " + "; ".join(unequal) if unequal else "yes"
    )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--count", type=int, default=200, help="files of each kind")
    parser.add_argument("--report", default="declared_functions", help="its name in bench/report")
    args = parser.parse_args()
    if len(list(DATA.glob("*.jpg"))) != args.count:
        shutil.rmtree(DATA, ignore_errors=True)
        program.make_data(DATA, args.count)
    found: dict[str, str] = {}
    for what in ("speech", "pages"):
        rounds = []
        for number in range(args.rounds):
            print(f"  {what}: round {number + 1} of {args.rounds}", file=sys.stderr, flush=True)
            rounds.append({way: run(what, way, args) for way in WAYS})
        found |= rows(what, rounds, args.epochs)
    harness.write_report(
        args.report,
        args.report.replace("_", " ").capitalize(),
        list(found.items()),
        {"figures": found},
        "Median [least, greatest] over rounds of one run of each, in turn. `served` is `headrace run --workers 1"
        " --cache 2G --no-found-functions`, `declared` the same with `headrace.cached` on the deterministic part,"
        " `found` is `served` without that last option. Later epochs are the second half.",
    )


if __name__ == "__main__":
    main()
