"""Generated traces: what the division of cores is worth, and what the order of GPUs is."""

from __future__ import annotations

import itertools
import pathlib
import statistics
import tempfile

import sweep

SEEDS = (1, 2, 3)
VISION = (0.2, 0.6, 0.9)
CORES = (3, 4, 6, 12)
DEMANDS = (1, 4)
ORDERS = ("fifo", "sjf", "max_min", "least_work")
BASELINES = ("fixed", "synergy", "synergy-opt", "tfdata")
# `sjf` divides as `utilization` does.
DIVISIONS = (*BASELINES, "fifo", "max_min_fair", "utilization")


def run(options) -> dict:
    cells = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for seed, vision, demand in itertools.product(options.seeds, VISION, DEMANDS):
            trace = folder / f"{seed}_{vision}_{demand}.csv"
            sweep.generate(
                options.program,
                [400, "--gpus", 64, "--load", 1, "--median-s", 7200, "--vision", vision,
                 "--seed", seed],
                trace,
            )  # fmt: skip
            sweep.scale_input(trace, demand)
            for cores in CORES:
                at = (seed, vision, demand, cores)
                common = ["--trace", trace, "--gpus", 64, "--cpu-per-gpu", cores,
                          "--restart-s", sweep.RESTART_S]  # fmt: skip
                for policy, order in itertools.product(DIVISIONS, ORDERS):
                    cells[(*at, policy, order)] = [*common, "--policy", policy, "--order", order]
                cells[(*at, "fixed", "fifo")].append("--bound")
        return sweep.simulate_all(options, cells)


def mean(values: list[float]) -> float:
    return statistics.geometric_mean(values)


def text_of(results: dict) -> str:
    cells = list(dict.fromkeys(key[:4] for key in results))
    bounds = {cell: results[(*cell, "fixed", "fifo")]["bounds"] for cell in cells}

    def gains(policy: str, order: str, base_order: str) -> list[float]:
        return [
            results[(*cell, "fixed", base_order)]["avg_jct_s"]
            / results[(*cell, policy, order)]["avg_jct_s"]
            for cell in cells
        ]

    def of_bound(policy: str, order: str) -> list[float]:
        return [
            bounds[cell]["avg_jct_s"] / results[(*cell, policy, order)]["avg_jct_s"] for cell in cells
        ]

    text = f"{len(cells)} cells; geometric means [least, greatest]. A restart takes {sweep.RESTART_S} s.\n"

    def add(title: str, value) -> None:
        nonlocal text
        text += f"\n## {title}\n\n"
        rows = []
        for policy in DIVISIONS:
            row = []
            for order in ORDERS:
                values = value(policy, order)
                row.append(f"{mean(values):.2f} [{min(values):.2f}, {max(values):.2f}]")
            rows.append([policy, *row])
        text += sweep.table(["division \\ order of GPUs", *ORDERS], rows)

    add("What the division gives: average completion time, `fixed` in the same order over each",
        lambda policy, order: gains(policy, order, order))  # fmt: skip
    add("Both together: `fixed` in order of arrival over each",
        lambda policy, order: gains(policy, order, "fifo"))  # fmt: skip
    add("Share of the bound that is reached", of_bound)
    add("99th percentile: `fixed` in the same order over each", lambda policy, order: [
        results[(*cell, "fixed", order)]["p99_jct_s"]
        / results[(*cell, policy, order)]["p99_jct_s"] for cell in cells
    ])  # fmt: skip
    text += "\n## In order of arrival\n\n"
    rows = []
    for policy in DIVISIONS:
        of = [results[(*cell, policy, "fifo")] for cell in cells]
        gain = gains(policy, "fifo", "fifo")
        best = [
            min(results[(*cell, each, "fifo")]["avg_jct_s"] for each in BASELINES) / mine["avg_jct_s"]
            for cell, mine in zip(cells, of, strict=True)
        ]  # fmt: skip
        rows.append([
            policy, sum(each < 0.97 for each in gain), sum(each < 0.97 for each in best), f"{min(best):.2f}",
            f"{mean([each['gpu_util_held'] for each in of]):.3f}",
            f"{min(each['fairness_min'] for each in of):.2f}",
            f"{min(each['fairness_p1'] for each in of):.2f}",
            f"{min(each['fairness_p5'] for each in of):.2f}",
            f"{statistics.median(each['fairness_jain'] for each in of):.2f}",
            f"{statistics.median(each['finish_time_median'] for each in of):.2f}",
            f"{statistics.median(each['finish_time_p99'] for each in of):.2f}",
        ])  # fmt: skip
    text += sweep.table(
        ["policy", "cells more than 3% slower than `fixed`", "than the best baseline", "worst, over that",
         "useful over held, mean", "least fairness", "p1, least", "p5, least", "Jain, median",
         "finish-time fairness, median", "p99, median"], rows)  # fmt: skip
    return text


def main() -> None:
    made = sweep.parser(__doc__)
    made.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    made.add_argument("--name", default="simulate_generated", help="of the report")
    options = made.parse_args()
    results = run(options)
    figures = []
    for (seed, vision, demand, cores, policy, order), figure in results.items():
        figure.pop("setting")
        figures.append({"seed": seed, "vision": vision, "demand": demand, "cpu_per_gpu": cores,
                        "policy": policy, "order": order, **figure})  # fmt: skip
    command = "bench/simulate/generated.py"
    if tuple(options.seeds) != SEEDS:
        command += f" --seeds {' '.join(map(str, options.seeds))} --name {options.name}"
    sweep.write(options.name, "Generated traces on 64 GPUs", command, figures, text_of(results))


if __name__ == "__main__":
    main()
