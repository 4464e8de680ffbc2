"""DLCache's experiment on eviction: 14,400 runs under each order, beside its published rows."""

from __future__ import annotations

import csv
import io
import pathlib
import statistics
import subprocess

import sweep

# Our order -> the column of the published table. Its columns LRFU and Random are swapped: the program
# returned them in the other order than its table names them.
PUBLISHED = {
    "lru": "LRU",
    "lfu": "LFU",
    "lrfu": "Random",
    "cost": "Greedy",
    "cost_aware_lrfu": "CostAwareLRFU",
}
SETTINGS = ("capacity_gb", "reuse", "share", "window")
LABELS = {
    "cost": "cost (DLCache's Greedy)",
    "cost_aware_lrfu": "cost_aware_lrfu (DLCache's own)",
    "bound": "offline bound",
}


def label(name: str) -> str:
    if name.endswith("_passing"):
        return f"{name.removesuffix('_passing')}, what is refused takes no room"
    return LABELS.get(name, name)


def run(options) -> tuple[list[dict], list[dict]]:
    """Our rows and the published ones, run by run."""
    folder = pathlib.Path(options.traces)
    command = [options.program, "simulate", "--evictions", str(folder / "exp3_Datasets.csv")]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    ours = list(csv.DictReader(io.StringIO(text)))
    with (folder / "exp3_results.csv").open() as stream:
        theirs = list(csv.DictReader(stream))
    if len(ours) != len(theirs):
        raise SystemExit(f"{len(ours)} runs, but {len(theirs)} published rows")
    return ours, theirs


def equal(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-6 * b


def figures_of(ours: list[dict], theirs: list[dict]) -> list[dict]:
    figures = []
    for name in ours[0]:
        if name in SETTINGS:
            continue
        mine = [float(row[name]) for row in ours]
        figure = {"order": name, "mean_s": statistics.mean(mine)}
        if name in PUBLISHED:
            published = [float(row[PUBLISHED[name]]) for row in theirs]
            figure["published_mean_s"] = statistics.mean(published)
            figure["equal_rows"] = sum(map(equal, mine, published))
        capacities = sorted({int(row["capacity_gb"]) for row in ours})
        for capacity in capacities:
            cell = [float(row[name]) for row in ours if int(row["capacity_gb"]) == capacity]
            figure[f"mean_s_{capacity}"] = statistics.mean(cell)
        figures.append(figure)
    return figures


def comparison(ours: list[dict], theirs: list[dict], name: str) -> list:
    """How often an order is better than, equal to and worse than DLCache's, by published rows."""
    pairs = [
        (float(row[name]), float(row_of_theirs["CostAwareLRFU"]))
        for row, row_of_theirs in zip(ours, theirs, strict=True)
    ]
    same = sum(equal(*pair) for pair in pairs)
    better = sum(mine < published and not equal(mine, published) for mine, published in pairs)
    worst = max(mine / published for mine, published in pairs)
    best = min(mine / published for mine, published in pairs)
    return [label(name), better, same, len(pairs) - better - same, f"{best:.2f}", f"{worst:.2f}"]


def text_of(figures: list[dict], ours: list[dict], theirs: list[dict]) -> str:
    runs = len(ours)
    capacities = [key for key in figures[0] if key.startswith("mean_s_")]
    rows = [
        [
            label(figure["order"]),
            f"{figure['mean_s']:.1f}",
            f"{figure['published_mean_s']:.1f}" if "published_mean_s" in figure else "",
            f"{figure['equal_rows']} of {runs}" if "equal_rows" in figure else "",
            *(f"{figure[capacity]:.0f}" for capacity in capacities),
        ]
        for figure in sorted(figures, key=lambda each: each["mean_s"])
    ]
    header = ["order", "mean, s", "published, s", "rows that are equal"]
    header += [f"{capacity.removeprefix('mean_s_')} GB" for capacity in capacities]
    text = (
        "Seconds of data preparation in a run, mean of "
        f"{runs} runs, and of those of each capacity.\n\n" + sweep.table(header, rows)
    )
    names = [name for name in ("value", "value_passing", "bound") if name in ours[0]]
    text += "\nAgainst the published rows of DLCache's own order, run by run:\n\n" + sweep.table(
        ["order", "fewer seconds", "as many", "more", "least ratio", "greatest ratio"],
        [comparison(ours, theirs, name) for name in names],
    )
    random = statistics.mean(float(row["LRFU"]) for row in theirs)
    return text + NOTES.format(random=random)


NOTES = """
What is run: 6 capacities x 3 x 4 x 4 settings x 50 shuffles of jobs that read 77 objects. The jobs are shuffled with NumPy's generator and seed, so each run is the one of the published row.

What is not equal, and why:

- *cost_aware_lrfu, lrfu.* DLCache took ages from the clock of the process that simulated. They are some 100 microseconds a job, so only counts matter, and of equal counts which is older. Where two sums of ages are near, the pace of that process decided. Here jobs are equally far apart.
- *Random* (published mean {random:.1f} s). Its generator had no seed. It is left out.
- The published columns `LRFU` and `Random` are swapped; the table above has them the right way round.

How an order that refuses newcomers is counted: in DLCache an object must lie in the cache while it is used. So what is refused takes room, others go for it if need be, and it goes as soon as the next one needs the room. In a Headrace worker a sample passes by the cache. Then it takes none: the rows "takes no room". Jobs that ask for an object at once share it in both.

The offline bound knows all that comes, may keep parts of objects, and needs no room for an object in use. So no order can reach it in every run. It is a flow of the capacity through the requests (`simulate/eviction/offline_bound.h`).
"""


def main() -> None:
    made = sweep.parser(__doc__)
    made.add_argument(
        "--traces",
        required=True,
        help="folder with DLCache's exp3_Datasets.csv and exp3_results.csv",
    )
    options = made.parse_args()
    ours, theirs = run(options)
    figures = figures_of(ours, theirs)
    sweep.write("dlcache", "DLCache's experiment on eviction",
                "bench/simulate/dlcache.py --traces DLCACHE", figures, text_of(figures, ours, theirs))  # fmt: skip


if __name__ == "__main__":
    main()
