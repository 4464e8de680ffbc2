"""Cache and bandwidth of the source divided jointly, against independent caches (T3, T4, T5).

Live workers share a cache over hosts where samples are objects in stores, and within a host where they
are local files. So ours runs twice: with one cache ("joint"), and apart on hosts of 8 GPUs ("apart").
The baselines have one cache in both, as their papers take it.
"""

from __future__ import annotations

import itertools
import pathlib
import statistics
import tempfile

import sweep

CACHES = ("lru", "minio", "quiver")
GPUS_A_HOST = 8
# GPUs, jobs, caches in TB, source in Gbit/s.
GRIDS = (
    (96, 1000, (4, 16, 32, 64), (2, 4, 8)),
    (400, 1000, (64, 128), (8, 16, 32)),
)
METRICS = {
    "T3 average completion time": lambda base, mine: base["avg_jct_s"] / mine["avg_jct_s"],
    "T4 useful GPU time over all GPUs for the makespan": lambda base, mine: (
        mine["gpu_util"] / base["gpu_util"]
    ),
    "T4 useful GPU time over that held by jobs": lambda base, mine: (
        mine["gpu_util_held"] / base["gpu_util_held"]
    ),
    "T5 least fairness": lambda base, mine: mine["fairness_min"] / base["fairness_min"],
}


def run_grid(options, folder: pathlib.Path) -> list[dict]:
    cells = {}
    for gpus, jobs, caches, sources in GRIDS:
        trace = folder / f"{gpus}.csv"
        sweep.generate(
            options.program,
            [jobs, "--gpus", gpus, "--load", 0.8, "--median-s", 14400, "--large-datasets",
             "--private-datasets", "--seed", options.seed],
            trace,
        )  # fmt: skip
        for cache, source in itertools.product(caches, sources):
            common = ["--trace", trace, "--gpus", gpus, "--cpu-per-gpu", 3,
                      "--cache-gb", cache * 1000, "--source-gbps", source,
                      "--restart-s", sweep.RESTART_S]  # fmt: skip
            at = (gpus, cache, source)
            for policy in sweep.OURS:
                cells[(*at, policy, "joint")] = [*common, "--policy", policy]
                cells[(*at, policy, "apart")] = [
                    *common, "--policy", policy, "--cache-hosts", gpus // GPUS_A_HOST,
                ]  # fmt: skip
            # Cores are plenty here: the baselines are schedulers that know no cache, whose cores
            # follow tf.data's rule.
            for order, kind in itertools.product(("fifo", "sjf", "max_min"), CACHES):
                cells[(*at, order, kind)] = [
                    *common, "--policy", "tfdata", "--order", order, "--cache", kind,
                ]  # fmt: skip
    figures = []
    for (gpus, cache, source, policy, kind), figure in sweep.simulate_all(options, cells).items():
        figure.pop("setting")
        figures.append(
            {"gpus": gpus, "cache_tb": cache, "source_gbps": source, "policy": policy,
             "cache": kind, **figure}
        )  # fmt: skip
    return figures


def text_of(figures: list[dict]) -> str:
    by_cell = {}
    for each in figures:
        cell = by_cell.setdefault((each["gpus"], each["cache_tb"], each["source_gbps"]), {})
        cell[each["policy"], each["cache"]] = each
    text = ""
    for title, ratio in METRICS.items():
        text += f"\n## {title}\n\nOurs over the same order of GPUs with each cache; larger is better.\n\n"
        header = ["GPUs", "cache, TB", "source, Gbit/s"]
        for policy in sweep.OURS:
            header += [f"{policy} / {cache}" for cache in CACHES]
        rows, columns, gains = [], {}, {}
        for cell, results in by_cell.items():
            row = list(cell)
            for policy in sweep.OURS:
                for cache in CACHES:
                    base = results[sweep.ORDER[policy], cache]
                    gain = ratio(base, results[policy, "joint"])
                    gains.setdefault((policy, cache), []).append(
                        ratio(base, results[policy, "apart"])
                    )
                    columns.setdefault((policy, cache), []).append(gain)
                    row.append(f"{gain:.2f}")
            rows.append(row)
        text += sweep.table(header, rows)
        text += "\n" + sweep.table(
            ["", *(f"{policy} / {cache}" for policy, cache in columns), "all"],
            [
                ["median", *(f"{statistics.median(v):.2f}" for v in columns.values()),
                 f"{statistics.median(itertools.chain(*columns.values())):.2f}"],
                ["greatest", *(f"{max(v):.2f}" for v in columns.values()),
                 f"{max(map(max, columns.values())):.2f}"],
                ["least", *(f"{min(v):.2f}" for v in columns.values()),
                 f"{min(map(min, columns.values())):.2f}"],
            ],
        )  # fmt: skip
        text += f"\nOurs apart on hosts of {GPUS_A_HOST} GPUs, over the same; median [least, greatest].\n\n"
        text += sweep.table(
            ["ours", *CACHES],
            [[policy, *(sweep.spread(gains[policy, cache]) for cache in CACHES)]
             for policy in sweep.OURS],
        )  # fmt: skip
        best = [
            ratio(base, mine)
            for results in by_cell.values()
            for key, base in results.items() if key[1] in CACHES
            for mine in [max(
                (results[policy, "joint"] for policy in sweep.OURS),
                key=lambda each, base=base: ratio(base, each),
            )]
        ]  # fmt: skip
        text += (
            "\nThe best of ours in a cell against each of the nine combinations of order and cache: "
            f"{sweep.spread(best)} (median [least, greatest]).\n"
        )
    return text


def main() -> None:
    made = sweep.parser(__doc__)
    made.add_argument("--seed", type=int, default=3)
    options = made.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = run_grid(options, pathlib.Path(folder))
    sweep.write("simulate_silod", "Cache and bandwidth on 96 and 400 GPUs",
                "bench/simulate/silod.py", figures, text_of(figures))  # fmt: skip


if __name__ == "__main__":
    main()
