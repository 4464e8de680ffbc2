"""Chaos for as long as wanted, and a report of it.

One run is one program with faults for half a minute; the scenarios take turns. A run that finds
something is told at once, with its seed, and the rest goes on. `--only WORD` takes the scenarios
with the word in their names, `--seed N` repeats.
"""

import argparse
import itertools
import json
import os
import pathlib
import random
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench" / "e2e")]

import harness as reports  # noqa: E402  # of bench/e2e
from support.photos import write_jpegs  # noqa: E402

from chaos.harness import chaos  # noqa: E402
from chaos.oracle import Expected, Verdict  # noqa: E402
from chaos.records import Budget, Outcome, Trial  # noqa: E402
from chaos.scenarios import SCENARIOS, possible  # noqa: E402

TRAINING_SEED = 7


def rounds(args: argparse.Namespace, place: pathlib.Path) -> list[Outcome]:
    photos = write_jpegs(place / "photos", 4, 48)
    expected = Expected(place, photos, TRAINING_SEED)
    rng = random.Random(args.seed)
    end = time.monotonic() + args.minutes * 60
    wanted = [s for s in SCENARIOS if args.only in s.name and not possible(s)]
    outcomes = []
    for number, scenario in enumerate(itertools.cycle(wanted)):
        if time.monotonic() > end:
            return outcomes
        outcome = chaos(
            scenario,
            rng.randrange(2**32),
            place=place / f"run{number}",
            photos=photos,
            expected=expected,
            training_seed=TRAINING_SEED,
            budget=Budget(min(args.seconds, end - time.monotonic())),
            patient=True,
        )
        outcomes.append(outcome)
        kills = sum(trial.kills for trial in outcome.trials)
        print(
            f"{number}: {scenario.name}, seed {outcome.seed}: {outcome.verdict.batches} batches, "
            f"{len(outcome.trials)} faults, {kills} kills",
            *outcome.problems,
            *([outcome.story] if outcome.story else []),
            sep="\n  ",
            file=sys.stderr,
            flush=True,
        )
    return outcomes


def _row(kind: str, trials: list[Trial], of: list[Outcome]) -> str:
    pauses = [trial.pause for trial in trials]
    return (
        f"| {kind} | {len(trials)} | {sum(t.kills for t in trials)} "
        f"| {sum(len(o.verdict.lost) for o in of)} "
        f"| {sum(len(o.verdict.wrong) + len(o.verdict.out_of_order) for o in of)} "
        f"| {sum(len(o.verdict.again) for o in of)} "
        f"| {statistics.median(pauses):.2f} | {max(pauses):.2f} |"
    )


def table(outcomes: list[Outcome]) -> list[str]:
    """By kind of fault. What was lost counts for every kind of its run: nobody knows which did it."""
    trials: dict[str, list[Trial]] = defaultdict(list)
    of: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        for trial in outcome.trials:
            trials[trial.kind].append(trial)
            if outcome not in of[trial.kind]:
                of[trial.kind].append(outcome)
    head = "| fault | times | processes killed | batches lost | wrong or out of order | made twice "
    lines = [head + "| pause, median, s | worst |", "|---|---|---|---|---|---|---|---|"]
    lines += [_row(kind, trials[kind], of[kind]) for kind in sorted(trials)]
    every = [trial for found in trials.values() for trial in found]
    return [*lines, _row("all", every, outcomes)] if every else lines


def scenarios(outcomes: list[Outcome]) -> list[str]:
    lines = [
        "| program and what serves it | runs | batches | faults | found |",
        "|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(outcome.scenario for outcome in outcomes):
        mine = [outcome for outcome in outcomes if outcome.scenario == name]
        found = [outcome for outcome in mine if outcome.problems]
        seeds = ", ".join(f"seed {outcome.seed}" for outcome in found)
        lines.append(
            f"| {name} | {len(mine)} | {sum(o.verdict.batches for o in mine)} "
            f"| {sum(len(o.trials) for o in mine)} | {seeds or 'nothing'} |"
        )
    return lines


def write(path: pathlib.Path, args: argparse.Namespace, outcomes: list[Outcome], load: Any) -> None:
    about = reports.machine()
    lines = ["# Chaos", ""]
    lines += [
        f"Command: `.venv/bin/python tests/chaos/run.py --minutes {args.minutes:g} "
        f"--seconds {args.seconds:g} --seed {args.seed}`",
        "",
        f"Machine: {about['cpu']}, {about['cpus']} CPUs, load {load[0]:.1f} at the start and "
        f"{os.getloadavg()[0]:.1f} at the end; Python {about['python']}, torch {about['torch']}.",
        "",
        "Each run compares all batches with the stock loader's, in order. The pause is the longest "
        "between two batches from a fault until the program goes on; a fault that lasts (a stop, a "
        "network that is away, a pool that is started again after 0 to 5 s) is part of it.",
        "",
        *table(outcomes),
        "",
        *scenarios(outcomes),
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".md").write_text("\n".join(lines) + "\n")
    runs = []
    for outcome in outcomes:
        told = outcome.as_dict()
        del told["story"]
        for trial in told["trials"]:
            trial["pause"] = round(trial["pause"], 4)
            del trial["began"], trial["settled"], trial["what"]
        runs.append(told)
    data = {"machine": about, "seed": args.seed, "load": load, "runs": runs}
    path.with_suffix(".json").write_text(json.dumps(data) + "\n")
    print("\n".join(lines))


def read(path: pathlib.Path) -> list[Outcome]:
    """The runs of an earlier report."""
    outcomes = []
    for told in json.loads(path.read_text())["runs"]:
        told["trials"] = [Trial(began=0, what="", **trial) for trial in told["trials"]]
        told["verdict"] = Verdict(**told["verdict"])
        outcomes.append(Outcome(**told))
    return outcomes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seconds", type=float, default=30, help="of faults, for each program")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--only", default="", metavar="WORD")
    parser.add_argument(
        "--add", type=pathlib.Path, action="append", default=[], help="another's JSON"
    )
    parser.add_argument("--report", type=pathlib.Path, help="without its suffix")
    args = parser.parse_args()
    print(f"HEADRACE_TEST_SEED={args.seed}", file=sys.stderr, flush=True)
    load = os.getloadavg()
    place = pathlib.Path(tempfile.mkdtemp(prefix="chaos-"))
    outcomes = rounds(args, place)
    for file in args.add:
        outcomes += read(file)
    write(args.report or place / "report", args, outcomes, load)
    if any(outcome.problems for outcome in outcomes):
        raise SystemExit(f"something was found; what is left of it is in {place}")


if __name__ == "__main__":
    main()
