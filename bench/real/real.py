"""Programs in the shapes of well-known repositories' data code, with the stock loader and served, in alternation.

Of each program: how its samples were made and why, wall and CPU seconds of the first epoch and of later
ones against stock's, the first batch, and memory. Every batch and every state of the random generators of
every run is compared with the first stock run's. The programs are in programs/, and what they read is made
by made_data.py. CPU seconds are those of all processes (a control group counts them, which takes root).
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys

import made_data
import measured
from measured import harness

DATA = harness.ROOT / "build" / "real" / "data"
RUNS = harness.ROOT / "build" / "real" / "runs.json"


def measure(name: str, args: argparse.Namespace) -> dict:
    """All runs of one program, stock and served by turns, and one pair that is watched for its memory."""
    options = ["--epochs", str(args.epochs)]
    result: dict = {"pairs": []}
    for pair in range(args.pairs):
        print(f"  {name}: pair {pair + 1} of {args.pairs}", file=sys.stderr, flush=True)
        both = [measured.run(name, args.data, way, options, False) for way in (None, args.served)]
        if "failed" in both[0] or "failed" in both[1]:
            result["failed"] = both[1].get("failed") or both[0]["failed"]
            return result
        result["pairs"].append(both)
    if args.memory and (memory := watch(name, args)):
        result["memory"] = memory
    stock = result["pairs"][0][0]
    result["unequal_stock"] = [
        d for one, _ in result["pairs"] for d in measured.differences(stock, one)
    ]
    result["unequal"] = [d for _, one in result["pairs"] for d in measured.differences(stock, one)]
    result["way"] = measured.way(result["pairs"][0][1])
    result["reasons"] = measured.reasons(result["pairs"][0][1])
    for pair in result["pairs"]:
        for one in pair:
            for epoch in one["epochs"]:
                epoch["batches"] = len(epoch["batches"])  # they have been compared
    return result


def watch(name: str, args: argparse.Namespace) -> list[int] | None:
    """The most memory in KiB of a stock and of a served run; None where one failed."""
    options = ["--epochs", str(args.epochs)]
    both = [measured.run(name, args.data, way, options, True) for way in (None, args.served)]
    return None if any("failed" in one for one in both) else [one["memory_kb"] for one in both]


def ratio(result: dict, kind: str, epochs: slice) -> dict | None:
    """Stock's seconds by ours, pair by pair. Later epochs are taken together."""
    ratios = []
    for pair in result["pairs"]:
        stock, ours = ([epoch[kind] for epoch in one["epochs"][epochs]] for one in pair)
        if not stock or None in stock or None in ours or not sum(ours):
            return None
        ratios.append(sum(stock) / sum(ours))
    return harness.spread(ratios)


def later_ms(result: dict) -> float:
    """By how much our first batch comes after stock's."""
    waits = [
        b["epochs"][0]["first_batch_s"] - a["epochs"][0]["first_batch_s"]
        for a, b in result["pairs"]
    ]
    return harness.spread(waits)["median"] * 1000


FIGURES = {
    "first epoch": ("wall_s", slice(0, 1)),
    "later epochs": ("wall_s", slice(1, None)),
    "CPU, first epoch": ("cpu_s", slice(0, 1)),
    "CPU, later epochs": ("cpu_s", slice(1, None)),
}


# Without the start of a program, which the first batch has a figure for.
THEN_FIGURES = {
    "first epoch, from the second batch on": ("then_s", slice(0, 1)),
    "CPU, first epoch, from the second batch on": ("then_cpu_s", slice(0, 1)),
}
LATER_FIGURES = {name: figure for name, figure in FIGURES.items() if "later" in name}


def row(name: str, result: dict) -> str:
    if "failed" in result:
        return f"| {name} | **failed** | | | | | | | | |"
    cells = []
    for kind, epochs in FIGURES.values():
        found = ratio(result, kind, epochs)
        cells.append("" if found is None else f"{found['median']:.2f}")
    then = ratio(result, *THEN_FIGURES["CPU, first epoch, from the second batch on"])
    cells.append("" if then is None else f"{then['median']:.2f}")
    memory = result.get("memory")
    cells.append(f"{later_ms(result):.0f}")
    cells.append(f"{memory[1] / memory[0]:.2f}" if memory else "")
    equal = "yes" if not result["unequal"] else "**no**"
    if result["unequal_stock"]:
        equal = "stock's neither"
    return f"| {name} | {result['way']} | {' | '.join(cells)} | {equal} |"


def summary(results: dict) -> list[str]:
    """Medians, tenths and the worst of each figure, over the programs that ran."""
    good = {name: one for name, one in results.items() if "failed" not in one}
    lines = ["| figure | median | lowest tenth | highest tenth | worst |", "|---|---|---|---|---|"]
    for label, (kind, epochs) in {**FIGURES, **THEN_FIGURES}.items():
        found = [(ratio(one, kind, epochs), name) for name, one in good.items()]
        lines.append(
            _spread_row(f"{label}, times stock's speed", [(r["median"], n) for r, n in found if r])
        )
    for label, (kind, epochs) in LATER_FIGURES.items():
        found = [
            (ratio(one, kind, epochs), name)
            for name, one in good.items()
            if name in measured.DETERMINISTIC
        ]
        text = f"{label}, programs whose items draw nothing ({len(found)})"
        lines.append(_spread_row(text, [(r["median"], n) for r, n in found if r]))
    found = [(-later_ms(one), name) for name, one in good.items()]
    lines.append(
        _spread_row("first batch after stock's, ms (negative: before)", found, sign=-1, digits=0)
    )
    found = [
        (-one["memory"][1] / one["memory"][0], name)
        for name, one in good.items()
        if "memory" in one
    ]
    lines.append(_spread_row("memory, times stock's", found, sign=-1))
    return [line for line in lines if line]


def _spread_row(label: str, found: list[tuple[float, str]], sign: int = 1, digits: int = 2) -> str:
    """`found`: (greater is better, program)."""
    if not found:
        return ""
    found.sort()
    at = [found[int(share * (len(found) - 1))][0] * sign for share in (0.5, 0.1, 0.9)]
    cells = [f"{value:.{digits}f}" for value in at]
    return f"| {label} | {' | '.join(cells)} | {found[0][0] * sign:.{digits}f} ({found[0][1]}) |"


def write(results: dict, about: dict, report: str) -> None:
    command = harness.os.path.relpath(sys.argv[0], harness.ROOT)
    command += " " + " ".join(about["names"]) if about["names"] else ""
    good = [one for one in results.values() if "failed" not in one]
    ways: dict[str, int] = {}
    for one in good:
        ways[one["way"]] = ways.get(one["way"], 0) + 1
    lines = [
        "# Programs in the shapes of well-known repositories' data code", "",
        f"Command: `.venv/bin/python {command} --pairs {about['pairs']} --epochs {about['epochs']}`", "",
        f"Machine: {about['cpu']}, {about['cpus']} CPUs; Python {about['python']}, torch {about['torch']}, "
        f"torchvision {about['torchvision']}, Pillow {about['PIL']}.", "",
        f"{len(results)} programs, written for this project ([how](../real/README.md)); "
        "stock and `headrace run` in alternation. Ratios are stock's seconds by ours: more than 1 is faster.", "",
        *summary(results), "",
        "Made: " + ", ".join(f"{count} {way}" for way, count in sorted(ways.items(), key=lambda w: -w[1])) + ".", "",
        f"Batches and random states of every run equal stock's: {sum(not one['unequal'] for one in good)} of {len(results)}.", "",
        "| program | made | first epoch | later epochs | CPU, first | CPU, later | CPU, first, from the second batch on | first batch, ms after | memory | equal |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *(row(name, results[name]) for name in sorted(results)), "",
        "Why they are not native, or local:", "",
        *(f"- {name}: {'; '.join(results[name]['reasons']) or 'nothing was said'}"
          for name in sorted(results) if results[name].get("way", "native") != "native"),
    ]  # fmt: skip
    text = (
        "\n".join(lines)
        .replace(f"{harness.ROOT}/", "")
        .replace(str(harness.pathlib.Path.home()), "~")
    )
    harness.REPORTS.mkdir(parents=True, exist_ok=True)
    (harness.REPORTS / f"{report}.md").write_text(text + "\n")
    kept = json.dumps({"machine": about, "programs": _without_samples(results)}, indent=1)
    (harness.REPORTS / f"{report}.json").write_text(kept.replace(f"{harness.ROOT}/", "") + "\n")
    print("\n".join(lines))


def _without_samples(results: dict) -> dict:
    """What the report is made of, and no more: full reports of runs are large."""
    kept = {}
    for name, one in results.items():
        pairs = [
            [{key: run[key] for key in ("epochs", "process_s")} for run in pair]
            for pair in one["pairs"]
        ]
        kept[name] = {**one, "pairs": pairs}
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=measured.program_names())
    parser.add_argument("--data", type=pathlib.Path, default=DATA)
    parser.add_argument(
        "--share",
        type=float,
        default=1,
        help="of the files that the data have, for data of their own",
    )
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument(
        "--no-memory",
        dest="memory",
        action="store_false",
        help="no pair that is watched for memory",
    )
    parser.add_argument(
        "--runs", type=pathlib.Path, default=RUNS, help="where runs are kept meanwhile"
    )
    parser.add_argument(
        "--go-on", action="store_true", help="with the programs that --runs does not have"
    )
    parser.add_argument(
        "--only-memory",
        action="store_true",
        help="of the programs that --runs has, which keep their times",
    )
    parser.add_argument("--no-report", action="store_true")
    parser.add_argument("--report", default="real", help="its name in bench/report")
    parser.add_argument(
        "--served", nargs="*", default=[], help="options of headrace run, as NAME=VALUE"
    )
    args = parser.parse_args()
    args.served = [f"--{word}" for word in args.served]
    args.data = made_data.make(args.data, share=args.share).resolve()
    named = [] if args.names == measured.program_names() else args.names
    about = {**measured.machine(), "pairs": args.pairs, "epochs": args.epochs, "names": named}
    kept = (args.go_on or args.only_memory) and args.runs.exists()
    results = json.loads(args.runs.read_text()) if kept else {}
    for name in args.names if args.only_memory else []:
        if name in results and (memory := watch(name, args)):
            print(f"{name}: {memory[1] / memory[0]:.2f} of stock's memory", file=sys.stderr)
            results[name]["memory"] = memory
            args.runs.write_text(json.dumps(results))
    for name in [] if args.only_memory else args.names:
        if name in results:
            continue
        results[name] = measure(name, args)
        print(row(name, results[name]), file=sys.stderr, flush=True)
        for text in results[name].get("unequal", []) + [results[name].get("failed", "")]:
            print(f"    {text}" if text else "", file=sys.stderr, end="\n" if text else "")
        args.runs.write_text(json.dumps(results))
    if not args.no_report:
        write(results, about, args.report)
    if any("failed" in one or one["unequal"] for one in results.values()):
        raise SystemExit("programs failed, or their batches differ from the stock loader's")


if __name__ == "__main__":
    main()
