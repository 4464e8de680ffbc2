"""What the division of cores gives, what the order of GPUs gives, and which share of the bounds is reached."""

from __future__ import annotations

import itertools
import pathlib
import statistics
import tempfile

import sweep

MURI = {"testbed": "cluster_trace_64gpu_testbed.csv", "trace3": "trace3.csv"}
SEEDS = (5, 6)  # by which nothing was chosen
DEMANDS = (1, 4)
ORDERS = (
    "fifo",
    "sjf",
    "max_min",
    "least_work",
    "packed",
    "least_service",
    "least_attained",
    "sia",
)
BASELINES = ("fixed", "synergy-opt")
# `sjf` divides as `utilization` does.
DIVISIONS = (*BASELINES, "fifo", "max_min_fair", "utilization")
RESTARTS = (0, 30, 250)
PREEMPTING = (("max_min_fair", "max_min"), ("utilization", "least_work"), ("utilization", "packed"))
# More traces, on which `packed` was tried after its rule was chosen: jobs, load, demand.
OTHERS = {"jobs": 300, "seeds": (21, 22), "demands": (1, 2, 4, 8), "loads": (0.7, 1.2)}
TRIED = (
    ("fixed", "fifo"),
    ("utilization", "fifo"),
    ("utilization", "least_work"),
    ("utilization", "packed"),
    ("synergy-opt", "packed"),
)


def traces(options, folder: pathlib.Path) -> dict[str, list]:
    """Cell -> arguments. 64 GPUs, 3 cores each."""
    cells = {}
    for demand, seed in itertools.product(DEMANDS, SEEDS):
        path = folder / f"{seed}_{demand}.csv"
        sweep.generate(
            options.program,
            [400, "--gpus", 64, "--load", 1, "--median-s", 7200, "--vision", 0.6, "--seed", seed],
            path,
        )
        sweep.scale_input(path, demand)
        cells[f"generated, seed {seed}, demand x{demand}"] = ["--trace", path]
    for (name, file), separable in itertools.product(MURI.items(), (False, True)):
        cells[f"{name}, {'all separable' if separable else 'RL stays'}"] = [
            "--trace", f"{options.traces}/{file}", *(["--all-separable"] if separable else []),
        ]  # fmt: skip
    return {
        name: [*each, "--gpus", 64, "--cpu-per-gpu", 3] for name, each in cells.items()
    }  # fmt: skip


def other_traces(options, folder: pathlib.Path) -> dict[str, list]:
    cells = {}
    for demand, load, seed in itertools.product(
        OTHERS["demands"], OTHERS["loads"], OTHERS["seeds"]
    ):
        path = folder / f"other_{seed}_{demand}_{load}.csv"
        sweep.generate(
            options.program,
            [OTHERS["jobs"], "--gpus", 64, "--load", load, "--median-s", 3600, "--vision", 0.4,
             "--speech", 0.3, "--seed", seed],
            path,
        )  # fmt: skip
        sweep.scale_input(path, demand)
        cells[f"seed {seed}, load {load}, demand x{demand}"] = ["--trace", path]
    for separable in (False, True):
        cells[f"trace1, {'all separable' if separable else 'RL stays'}"] = [
            "--trace", f"{options.traces}/trace1.csv", *(["--all-separable"] if separable else []),
        ]  # fmt: skip
    return {name: [*each, "--gpus", 64, "--cpu-per-gpu", 3] for name, each in cells.items()}


def run_others(options) -> dict:
    with tempfile.TemporaryDirectory() as name:
        cells = {
            (cell, policy, order, sweep.RESTART_S): [
                *arguments, "--policy", policy, "--order", order, "--restart-s", sweep.RESTART_S,
                *(["--bound"] if policy == "fixed" else []),
            ]
            for cell, arguments in other_traces(options, pathlib.Path(name)).items()
            for policy, order in TRIED
        }  # fmt: skip
        return sweep.simulate_all(options, cells)


def others_text(results: dict) -> str:
    names = list(dict.fromkeys(cell for cell, *_ in results))

    def of(cell: str, tried: tuple[str, str], key: str) -> float:
        return results[(cell, *tried, sweep.RESTART_S)][key]

    def bound(cell: str, key: str) -> float:
        return results[cell, "fixed", "fifo", sweep.RESTART_S]["bounds"][key]

    rows = [
        [cell, *(f"{bound(cell, 'avg_jct_s') / of(cell, tried, 'avg_jct_s'):.2f}" for tried in TRIED)]
        for cell in names
    ]  # fmt: skip
    means = [
        ("mean", lambda cell, tried: bound(cell, "avg_jct_s") / of(cell, tried, "avg_jct_s")),
        ("99th percentile, `fixed` over each",
         lambda cell, tried: of(cell, TRIED[0], "p99_jct_s") / of(cell, tried, "p99_jct_s")),
        ("useful over held GPU time", lambda cell, tried: of(cell, tried, "gpu_util_held")),
        ("use of all GPUs while jobs arrive", lambda cell, tried: of(cell, tried, "gpu_util_window")),
    ]  # fmt: skip
    for title, value in means:
        rows.append([
            f"**{title}**",
            *(f"{statistics.geometric_mean([value(cell, tried) for cell in names]):.2f}" for tried in TRIED),
        ])  # fmt: skip
    return (
        f"\n## Other traces\n\nGenerated traces of {OTHERS['jobs']} jobs, by which nothing was chosen, and "
        "Muri's trace 1, which was in sight when the constant of `packed` was. Share of the bound on the average completion time; "
        "the last rows are geometric means.\n\n"
        + sweep.table(["cell", *(f"{policy}, {order}" for policy, order in TRIED)], rows)
    )


def run(options) -> dict:
    with tempfile.TemporaryDirectory() as name:
        cells = {}
        for cell, arguments in traces(options, pathlib.Path(name)).items():
            for policy, order in itertools.product(DIVISIONS, ORDERS):
                cells[cell, policy, order, sweep.RESTART_S] = [
                    *arguments, "--policy", policy, "--order", order, "--restart-s", sweep.RESTART_S,
                ]  # fmt: skip
            cells[cell, "fixed", "fifo", sweep.RESTART_S].append("--bound")
            for restart, (policy, order) in itertools.product(RESTARTS, PREEMPTING):
                cells[cell, policy, order, restart] = [
                    *arguments, "--policy", policy, "--order", order, "--restart-s", restart,
                ]  # fmt: skip
        return sweep.simulate_all(options, cells)


def text_of(results: dict) -> str:
    names = list(dict.fromkeys(cell for cell, *_ in results))

    def of(cell: str, policy: str, order: str, restart: float = sweep.RESTART_S) -> dict:
        return results[cell, policy, order, restart]

    def spread(values: list[float]) -> str:
        mean = statistics.geometric_mean(values)
        return f"{mean:.2f} [{min(values):.2f}, {max(values):.2f}]"

    def grid(title: str, value) -> str:
        rows = [
            [policy, *(spread([value(cell, policy, order) for cell in names]) for order in ORDERS)]
            for policy in DIVISIONS
        ]  # fmt: skip
        return f"\n## {title}\n\n" + sweep.table(["division \\ order of GPUs", *ORDERS], rows)

    text = (
        f"64 GPUs, 3 cores each, profiles of 3; {len(names)} cells. Geometric means [least, greatest]. "
        f"A restart takes {sweep.RESTART_S} s.\n"
    )
    text += grid(
        "What the division gives: average completion time of `fixed` in the same order over each",
        lambda cell, policy, order: (
            of(cell, "fixed", order)["avg_jct_s"] / of(cell, policy, order)["avg_jct_s"]
        ),
    )
    text += grid(
        "Both together: average completion time of `fixed` in order of arrival over each",
        lambda cell, policy, order: (
            of(cell, "fixed", "fifo")["avg_jct_s"] / of(cell, policy, order)["avg_jct_s"]
        ),
    )
    text += grid(
        "99th percentile of `fixed` in the same order over each",
        lambda cell, policy, order: (
            of(cell, "fixed", order)["p99_jct_s"] / of(cell, policy, order)["p99_jct_s"]
        ),
    )
    for title, key, invert in (
        ("Share of the bound on the average completion time", "avg_jct_s", True),
        ("Share of the bound on useful over held GPU time", "gpu_util_held", False),
        ("Share of the bound on the use of all GPUs while jobs arrive", "gpu_util_window", False),
    ):
        text += grid(title, lambda cell, policy, order, key=key, invert=invert: (
            of(cell, "fixed", "fifo")["bounds"][key] / of(cell, policy, order)[key]
        ) ** (1 if invert else -1))  # fmt: skip
    return (
        text + cells_text(names, of) + fairness_text(names, of) + restarts_text(names, of, spread)
    )


def cells_text(names: list[str], of) -> str:
    rows = []
    for cell in names:
        bounds = of(cell, "fixed", "fifo")["bounds"]
        fixed, ours = of(cell, "fixed", "fifo"), of(cell, "utilization", "fifo")
        best = of(cell, "utilization", "packed")
        rows.append([
            cell, f"{bounds['avg_jct_s'] / 3600:.1f}",
            *(f"{bounds['avg_jct_s'] / each['avg_jct_s']:.2f}" for each in (fixed, ours, best)),
            *(f"{each['gpu_util_window'] / bounds['gpu_util_window']:.2f}" for each in (fixed, ours, best)),
            *(f"{each['gpu_util'] / bounds['gpu_util']:.2f}" for each in (fixed, ours, best)),
        ])  # fmt: skip
    heads = ["`fixed`", "`utilization`", "with `packed`"]
    return (
        "\n## Shares of the bounds, cell by cell\n\nOf the bound on the average completion time; of that on "
        "the use of all GPUs while jobs arrive; of that for the makespan.\n\n"
        + sweep.table(["cell", "bound, hours", *heads, *heads, *heads], rows)
    )


FAIRNESS = {
    "fairness_min": "least", "fairness_p1": "1st percentile", "fairness_p5": "5th percentile",
    "fairness_jain": "Jain", "finish_time_median": "finish-time fairness, median",
    "finish_time_p99": "99th percentile", "finish_time_unfair": "share of jobs harmed",
}  # fmt: skip


def fairness_text(names: list[str], of) -> str:
    rows = []
    for policy, order in (*((each, "fifo") for each in DIVISIONS), *PREEMPTING):
        each = [of(cell, policy, order) for cell in names]
        rows.append(
            [f"{policy}, {order}", *(sweep.spread([e[key] for e in each]) for key in FAIRNESS)]
        )
    return (
        "\n## Fairness\n\nMedian [least, greatest] of the cells. The first four are of a job's mean rate over "
        "that with its own share; the others of its completion time over that in an equal part of the cluster.\n\n"
        + sweep.table(["division, order", *FAIRNESS.values()], rows)
    )


def restarts_text(names: list[str], of, spread) -> str:
    rows = []
    for policy, order in PREEMPTING:
        row = [
            spread([of(cell, "fixed", "fifo")["avg_jct_s"] / of(cell, policy, order, each)["avg_jct_s"]
                    for cell in names])
            for each in (*RESTARTS[:2], sweep.RESTART_S, *RESTARTS[2:])
        ]  # fmt: skip
        rows.append([f"{policy}, {order}", *row])
    heads = [f"{each} s" for each in (*RESTARTS[:2], sweep.RESTART_S, *RESTARTS[2:])]
    return (
        "\n## What a restart costs\n\nAverage completion time of `fixed` in order of arrival over each, by "
        "seconds of a restart.\n\n" + sweep.table(["division, order", *heads], rows)
    )


def main() -> None:
    made = sweep.parser(__doc__)
    made.add_argument("--traces", required=True, help="folder with Muri's traces")
    options = made.parse_args()
    results, others = run(options), run_others(options)
    figures = []
    for (cell, policy, order, restart), figure in (results | others).items():
        figure.pop("setting")
        figures.append({"cell": cell, "policy": policy, "order": order, "restart_s": restart,
                        **figure})  # fmt: skip
    sweep.write("simulate_orders", "Division of cores and order of GPUs apart",
                "bench/simulate/orders.py --traces MURI", figures,
                text_of(results) + others_text(others))  # fmt: skip


if __name__ == "__main__":
    main()
