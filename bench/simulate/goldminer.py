"""Cores pooled between jobs: the shape of one job (T1) and Muri's traces (T2)."""

from __future__ import annotations

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
    return arguments


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
    return text


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
