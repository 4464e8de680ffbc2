"""Cores pooled between jobs: the shape of one job (T1) and Muri's traces (T2)."""

from __future__ import annotations

import itertools
import pathlib
import tempfile

import sweep

TRACES = {
    "testbed": "cluster_trace_64gpu_testbed.csv",
    "trace1": "trace1.csv",
    "trace2": "trace2.csv",
    "trace3": "trace3.csv",
}
RATIOS = (1, 1.5, 2, 3, 4, 6, 7.1, 9, 10, 12, 12.1, 12.8, 13.5, 14)
# A queue of 5,000 jobs: fewer cells, and rounds of an hour.
LONG = {"trace2": (3, 12)}
BASELINES = ("fixed", "synergy", "synergy-opt", "tfdata", "cachew")
# At 3 cores a GPU, and profiles of 3: each division of cores in each order of GPUs.
ORDERS = ("fifo", "sjf", "max_min", "least_work")
DIVISIONS = ("fixed", "synergy", "synergy-opt", "tfdata", "fifo", "max_min_fair", "utilization")
RESTARTS = (0, 30, 120, 250)


def one_job(options) -> tuple[list[dict], str]:
    """A trainer with k cores whose input takes `ratio` times its step, and 64 cores elsewhere."""
    figures, rows = [], []
    with tempfile.TemporaryDirectory() as folder:
        cells, ideal = {}, {}
        for cores in (1, 2, 3):
            for ratio in RATIOS:
                path = pathlib.Path(folder) / f"{cores}_{ratio}.csv"
                path.write_text(
                    "job_id,arrival_s,gpus,iterations,step_s,input_s,profile_cores,dataset\n"
                    f"a,0,1,100000,0.1,{0.1 * ratio},{cores},none\n"
                )
                ideal[cores, ratio] = ratio
                common = ["--trace", path, "--gpus", 1, "--cpu-per-gpu", cores]
                cells[cores, ratio, "fixed"] = [*common, "--policy", "fixed"]
                for noise in (0, 0.05):
                    cells[cores, ratio, noise] = [
                        *common, "--extra-cores", 64, "--policy", "utilization", "--noise", noise,
                    ]  # fmt: skip
        results = sweep.simulate_all(options, cells)
    for cores in (1, 2, 3):
        row, worst = [f"{cores}"], 1.0
        for ratio in RATIOS:
            alone = results[cores, ratio, "fixed"]["avg_jct_s"]
            gains = [alone / results[cores, ratio, noise]["avg_jct_s"] for noise in (0, 0.05)]
            share = [gain / ratio for gain in gains]
            worst = min(worst, *share)
            figures.append({"sweep": "T1", "cores": cores, "ratio": ratio, "speedup": gains})
            row.append(f"{gains[0]:.2f}")
        rows.append([*row, f"{100 * worst:.1f}%"])
    header = ["local cores", *(f"{ratio:g}" for ratio in RATIOS), "least share of the ideal"]
    return figures, sweep.table(header, rows)


def cell_arguments(folder, trace, cores, profile, separable, policy, order=None) -> list:
    arguments = ["--trace", f"{folder}/{TRACES[trace]}", "--gpus", 64, "--cpu-per-gpu", cores,
                 "--profile-cores", profile, "--policy", policy]  # fmt: skip
    if separable:
        arguments.append("--all-separable")
    if trace in LONG:
        arguments += ["--round-s", 3600]
    if order:
        arguments += ["--order", order]
    return [*arguments, "--restart-s", sweep.RESTART_S]


def muri(options) -> tuple[list[dict], str]:
    cells = {}
    for trace in TRACES:
        for cores in options.cores:
            if cores not in LONG.get(trace, options.cores):
                continue
            for profile in (3, 1):
                for separable in (False, True):
                    at = (trace, cores, profile, separable)
                    base = (options.traces, *at)
                    for policy in sweep.OURS:
                        cells[(*at, policy, None)] = cell_arguments(*base, policy)
                    for policy in BASELINES:
                        cells[(*at, policy, "fifo")] = cell_arguments(*base, policy, "fifo")
                    for order in ("sjf", "max_min"):
                        cells[(*at, "fixed", order)] = cell_arguments(*base, "fixed", order)
                    for order in ("fifo", "least_work"):
                        cells[(*at, "utilization", order)] = cell_arguments(
                            *base, "utilization", order
                        )
                    cells[(*at, "fixed", "fifo")].append("--bound")
                    if (cores, profile) == (3, 3):
                        for policy, order in itertools.product(DIVISIONS, ORDERS):
                            key = (*at, policy, order)
                            if key not in cells:
                                cells[key] = cell_arguments(*base, policy, order)
                        for restart, (policy, order) in itertools.product(
                            RESTARTS, (("max_min_fair", None), ("utilization", "least_work"))
                        ):
                            if trace in LONG:
                                continue
                            arguments = cell_arguments(*base, policy, order)
                            cells[(*at, policy, f"{order} restart {restart}")] = [
                                *arguments[:-1], restart,
                            ]  # fmt: skip
                    # Cores without limit for everybody: no policy could do more with them.
                    cells[(*at, "unlimited", "fifo")] = [
                        *cell_arguments(*base, "tfdata", "fifo"), "--extra-cores", 1000000,
                    ]  # fmt: skip
    results = sweep.simulate_all(options, cells)
    figures = []
    for (trace, cores, profile, separable, policy, order), figure in results.items():
        figure.pop("setting")
        figures.append(
            {"sweep": "T2", "trace": trace, "cpu_per_gpu": cores, "profile_cores": profile,
             "all_separable": separable, "policy": policy, "order": order, **figure}
        )  # fmt: skip
    return figures, muri_text(options, results)


def bound(figure: dict, cores: float) -> float:
    """Most that the GPUs' use could grow: all work on GPUs and on cores without a gap."""
    gpu = figure["gpu_util"]
    cpu = figure["cpu_util"]
    return 1 / max(gpu, cpu) if cores else 0


def cells_of(results, profile, separable, cores) -> list[tuple]:
    """The keys of `fixed` in order of arrival, trace by trace."""
    return [
        key[:4] for key in results
        if key[1:] == (cores, profile, separable, "fixed", "fifo")
    ]  # fmt: skip


def summary_text(options, results) -> str:
    """Median [least, greatest] of the traces."""
    columns = {
        "fifo": ("fifo", None), "utilization": ("utilization", None),
        "max_min_fair": ("max_min_fair", None), "sjf": ("sjf", None),
        "synergy": ("synergy", "fifo"), "synergy-opt": ("synergy-opt", "fifo"),
        "tfdata": ("tfdata", "fifo"), "cachew": ("cachew", "fifo"),
        "utilization, least work": ("utilization", "least_work"),
        "fixed, sjf": ("fixed", "sjf"), "fixed, max-min": ("fixed", "max_min"),
        "no limit": ("unlimited", "fifo"),
    }  # fmt: skip
    measures = (
        ("Average completion time: `fixed` in order of arrival over each",
         lambda base, mine: base["avg_jct_s"] / mine["avg_jct_s"]),
        ("99th percentile: the same", lambda base, mine: base["p99_jct_s"] / mine["p99_jct_s"]),
        ("Share of the bound on the average completion time that is reached",
         lambda base, mine: base["bounds"]["avg_jct_s"] / mine["avg_jct_s"]),
        ("Useful GPU time over held GPU time: each over `fixed`",
         lambda base, mine: mine["gpu_util_held"] / base["gpu_util_held"]),
        ("Useful GPU time over all GPUs while jobs arrive: share of its bound",
         lambda base, mine: mine["gpu_util_window"] / base["bounds"]["gpu_util_window"]),
        ("Useful GPU time over all GPUs for the makespan: share of its bound",
         lambda base, mine: mine["gpu_util"] / base["bounds"]["gpu_util"]),
    )  # fmt: skip
    text = "\n# Medians [least, greatest] of the traces\n"
    for title, value in measures:
        rows = []
        for profile, separable, cores in itertools.product((3, 1), (False, True), options.cores):
            cells = cells_of(results, profile, separable, cores)
            row = [
                sweep.spread([
                    value(results[(*cell, "fixed", "fifo")], results[(*cell, *column)])
                    for cell in cells
                ])
                for column in (*columns.values(), ("fixed", "fifo"))
            ]  # fmt: skip
            rows.append([profile, "all" if separable else "not RL", cores, *row])
        head = ["profile", "separable", "cores a GPU", *columns, "fixed"]
        text += f"\n## {title}\n\n" + sweep.table(head, rows)
    return text + orders_text(results) + fairness_text(results) + restarts_text(results)


def orders_text(results) -> str:
    text = "\n# Division of cores and order of GPUs apart, at 3 cores a GPU, profiles of 3\n"
    for title, base_order, value in (
        ("`fixed` in the same order of GPUs over each: what the division gives", None, "jct"),
        ("`fixed` in order of arrival over each: both together", "fifo", "jct"),
        ("Share of the bound that is reached", "fifo", "bound"),
    ):
        for separable in (False, True):
            cells = cells_of(results, 3, separable, 3)
            rows = []
            for policy in DIVISIONS:
                row = []
                for order in ORDERS:
                    base = [results[(*cell, "fixed", base_order or order)] for cell in cells]
                    mine = [results[(*cell, policy, order)] for cell in cells]
                    row.append(sweep.spread([
                        (b["bounds"] if value == "bound" else b)["avg_jct_s"] / m["avg_jct_s"]
                        for b, m in zip(base, mine, strict=True)
                    ]))  # fmt: skip
                rows.append([policy, *row])
            reading = "all separable" if separable else "RL stays"
            text += f"\n## {title}; {reading}\n\n"
            text += sweep.table(["division \\ order", *ORDERS], rows)
    return text


FAIRNESS = {
    "fairness_min": "least", "fairness_p1": "1st percentile", "fairness_p5": "5th",
    "fairness_jain": "Jain", "finish_time_median": "finish-time fairness, median",
    "finish_time_p99": "99th percentile", "finish_time_unfair": "harmed",
}  # fmt: skip


def fairness_text(results) -> str:
    rows = []
    for policy, order in (
        ("fixed", "fifo"), ("fifo", None), ("utilization", None), ("max_min_fair", None), ("sjf", None),
        ("synergy", "fifo"), ("synergy-opt", "fifo"), ("tfdata", "fifo"), ("cachew", "fifo"),
        ("utilization", "least_work"),
    ):  # fmt: skip
        of = [results[(*cell, policy, order)] for cell in cells_of(results, 3, False, 3)]
        name = policy if order in (None, "fifo") else f"{policy}, least work"
        rows.append([name, *(sweep.spread([each[key] for each in of]) for key in FAIRNESS)])
    return (
        "\n# Fairness at 3 cores a GPU, profiles of 3, RL stays\n\n"
        "Of a job's mean rate over that with its own share, and of its completion time over that in an equal "
        "part of the cluster.\n\n" + sweep.table(["policy", *FAIRNESS.values()], rows)
    )


def restarts_text(results) -> str:
    rows = []
    for policy, order in (("max_min_fair", None), ("utilization", "least_work")):
        for separable in (False, True):
            cells = [cell for cell in cells_of(results, 3, separable, 3) if cell[0] not in LONG]
            row = [
                sweep.spread([
                    results[(*cell, "fixed", "fifo")]["avg_jct_s"]
                    / results[(*cell, policy, f"{order} restart {restart}")]["avg_jct_s"]
                    for cell in cells
                ])
                for restart in RESTARTS
            ]  # fmt: skip
            name = policy if order is None else f"{policy}, least work"
            rows.append([name, "all" if separable else "not RL", *row])
    head = ["policy", "separable", *(f"{each} s" for each in RESTARTS)]
    return (
        "\n# What a restart costs, at 3 cores a GPU, profiles of 3, without trace2\n\n"
        "`fixed` in order of arrival over each; by seconds of a restart.\n\n"
        + sweep.table(head, rows)
    )


def muri_text(options, results) -> str:
    text = ""
    columns = [
        ("fifo", None), ("utilization", None), ("max_min_fair", None), ("sjf", None),
        ("synergy", "fifo"), ("synergy-opt", "fifo"), ("tfdata", "fifo"), ("cachew", "fifo"),
        ("fixed", "sjf"), ("fixed", "max_min"), ("unlimited", "fifo"),
    ]  # fmt: skip
    names = [
        policy if order in (None, "fifo") else f"{policy} {order}" for policy, order in columns
    ]
    for title, value in (
        ("Average job completion time: `fixed` in order of arrival over each (larger is better)",
         lambda base, mine: base["avg_jct_s"] / mine["avg_jct_s"]),
        ("Useful GPU time over all GPUs for the makespan: each over `fixed`",
         lambda base, mine: mine["gpu_util"] / base["gpu_util"]),
        ("Useful GPU time over that held by jobs: each over `fixed`",
         lambda base, mine: mine["gpu_util_held"] / base["gpu_util_held"]),
    ):  # fmt: skip
        text += f"\n## {title}\n\n"
        rows = []
        for profile in (3, 1):
            for separable in (False, True):
                for cores in options.cores:
                    for trace in TRACES:
                        at = (trace, cores, profile, separable)
                        if (*at, "fixed", "fifo") not in results:
                            continue
                        base = results[(*at, "fixed", "fifo")]
                        row = [value(base, results[(*at, *column)]) for column in columns]
                        rows.append(
                            [profile, "all" if separable else "without RL", cores, trace,
                             *(f"{each:.2f}" for each in row), f"{bound(base, cores):.2f}"]
                        )  # fmt: skip
        header = ["profile cores", "separable", "cores a GPU", "trace", *names, "bound on use"]
        text += sweep.table(header, rows)
    return text + summary_text(options, results)


def main() -> None:
    made = sweep.parser(__doc__)
    made.add_argument("--traces", required=True, help="folder with Muri's traces")
    made.add_argument("--cores", type=int, nargs="+", default=[3, 4, 6, 8, 12])
    options = made.parse_args()
    figures, text = one_job(options)
    sweep.write("simulate_one_job", "One job and a pool of cores", "bench/simulate/goldminer.py",
                figures, text)  # fmt: skip
    figures, text = muri(options)
    sweep.write("simulate_muri", "Muri's traces on 64 GPUs",
                "bench/simulate/goldminer.py --traces MURI", figures, text)  # fmt: skip


if __name__ == "__main__":
    main()
