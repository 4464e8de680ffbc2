"""How completion times grow with the load, and the largest load that each policy sustains.

A ratio of completion times is a figure of the load: where one policy has a queue that grows, and the other
has not, the ratio grows with the length of the trace. The largest sustainable load does not.
"""

from __future__ import annotations

import itertools
import pathlib
import statistics
import tempfile

import chart
import sweep

# A load is sustained if less than this part of all work waits at the last arrival, beyond what would be left
# with GPUs and cores for all at once. Mean of the seeds.
SUSTAINED = 0.05
SEEDS = {"source": (3,), "cores": (3, 11)}
JOBS = 250
SOURCE_LOADS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
CORE_LOADS = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
CORES = (3, 4, 6, 12)
ORDERED = {
    "fixed": ("fixed", "fifo"),
    "synergy-opt": ("synergy-opt", "fifo"),
    "fixed, least work": ("fixed", "least_work"),
    "utilization, least work": ("utilization", "least_work"),
    "utilization, packed": ("utilization", "packed"),
}


def source_cells(options, folder: pathlib.Path) -> dict:
    """SiloD's cell: 96 GPUs, 16 TB, 8 Gbit/s, and data of each job's own."""
    cells = {}
    for seed, load in itertools.product(SEEDS["source"], SOURCE_LOADS):
        trace = folder / f"source_{seed}_{load}.csv"
        sweep.generate(
            options.program,
            [JOBS, "--gpus", 96, "--load", load, "--median-s", 14400, "--large-datasets",
             "--private-datasets", "--seed", seed],
            trace,
        )  # fmt: skip
        common = ["--trace", trace, "--gpus", 96, "--cpu-per-gpu", 3, "--cache-gb", 16000,
                  "--source-gbps", 8, "--restart-s", sweep.RESTART_S]  # fmt: skip
        for policy in sweep.OURS:
            cells["source", 0, policy, load, seed] = [*common, "--policy", policy]
        for cache in ("lru", "minio", "quiver"):
            cells["source", 0, cache, load, seed] = [
                *common, "--policy", "tfdata", "--order", "fifo", "--cache", cache,
            ]  # fmt: skip
    return cells


def core_cells(options, folder: pathlib.Path) -> dict:
    """64 GPUs with 3 to 12 cores each, and jobs that need four times what the profiles say."""
    cells = {}
    for seed, load in itertools.product(SEEDS["cores"], CORE_LOADS):
        trace = folder / f"cores_{seed}_{load}.csv"
        sweep.generate(
            options.program,
            [JOBS, "--gpus", 64, "--load", load, "--median-s", 7200, "--vision", 0.6,
             "--seed", seed],
            trace,
        )  # fmt: skip
        sweep.scale_input(trace, 4)
        for cores in CORES:
            common = ["--trace", trace, "--gpus", 64, "--cpu-per-gpu", cores,
                      "--restart-s", sweep.RESTART_S]  # fmt: skip
            for policy in ("fifo", "utilization", "max_min_fair"):
                cells["cores", cores, policy, load, seed] = [*common, "--policy", policy]
            for name, (policy, order) in ORDERED.items():
                cells["cores", cores, name, load, seed] = [
                    *common, "--policy", policy, "--order", order,
                ]  # fmt: skip
    return cells


def means(results: dict) -> dict:
    """(what binds, cores, policy) -> {load: (backlog, average completion time in hours)}."""
    found: dict = {}
    for (kind, cores, policy, load, _), figure in results.items():
        at = found.setdefault((kind, cores, policy), {}).setdefault(load, [])
        at.append((figure["backlog"], figure["avg_jct_s"] / 3600))
    return {
        key: {load: tuple(map(statistics.mean, zip(*each, strict=True)))
              for load, each in by_load.items()}
        for key, by_load in found.items()
    }  # fmt: skip


def largest(by_load: dict) -> str:
    """The largest load up to which all are sustained."""
    sustained = list(itertools.takewhile(lambda load: by_load[load][0] <= SUSTAINED, by_load))
    if not sustained:
        return f"< {min(by_load):g}"
    return f"{'≥ ' if len(sustained) == len(by_load) else ''}{sustained[-1]:g}"


def text_of(found: dict) -> str:
    text = (
        f"{JOBS} jobs. Where cores bind, means of seeds {' and '.join(map(str, SEEDS['cores']))}. A load is "
        "sustained if less than "
        f"{SUSTAINED:.0%} of all work waits at the last arrival, beyond what would be left with GPUs and "
        f"cores for all. A restart takes {sweep.RESTART_S} s.\n"
    )
    for kind, title, image in (
        ("source", "The source binds: SiloD's cell, 96 GPUs, 16 TB, 8 Gbit/s", "simulate_load_source.svg"),
        ("cores", "Cores bind: 64 GPUs, jobs that need 2 to 35 cores a GPU", "simulate_load_cores.svg"),
    ):  # fmt: skip
        of_kind = {key: value for key, value in found.items() if key[0] == kind}
        columns = sorted({cores for _, cores, _ in of_kind})
        policies = list(dict.fromkeys(policy for _, _, policy in of_kind))
        text += f"\n## {title}\n\n![Average completion time over load]({image})\n\n"
        text += "Largest load that is sustained:\n\n"
        heads = ["largest load"] if kind == "source" else [f"{c} cores a GPU" for c in columns]
        text += sweep.table(
            ["policy", *heads],
            [[policy, *(largest(of_kind[kind, cores, policy]) for cores in columns)]
             for policy in policies],
        )  # fmt: skip
        loads = list(next(iter(of_kind.values())))
        text += "\nAverage completion time, hours (part of the work that waits at the last arrival):\n\n"
        rows = []
        for cores in columns[:1] if kind == "source" else columns:
            for policy in policies:
                by_load = of_kind[kind, cores, policy]
                row = [f"{by_load[load][1]:.1f} ({by_load[load][0]:.0%})" for load in loads]
                rows.append([*([cores] if kind == "cores" else []), policy, *row])
        head = ["cores a GPU"] if kind == "cores" else []
        text += sweep.table([*head, "policy", *(f"load {load:g}" for load in loads)], rows)
    return text


def draw(found: dict) -> None:
    for kind, cores, top, title in (
        ("source", 0, 30, "Average completion time, source and cache bind"),
        ("cores", 6, 15, "Average completion time, 6 cores a GPU"),
    ):
        curves = {
            policy: [(load, hours) for load, (_, hours) in by_load.items()]
            for (of, at, policy), by_load in found.items() if (of, at) == (kind, cores)
        }  # fmt: skip
        svg = chart.lines(title, "load (GPU time asked over GPU time)", "hours", curves, top)
        (sweep.REPORTS / f"simulate_load_{kind}.svg").write_text(svg)


def main() -> None:
    options = sweep.parser(__doc__).parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        cells = source_cells(options, folder) | core_cells(options, folder)
        results = sweep.simulate_all(options, cells)
    figures = []
    for (kind, cores, policy, load, seed), figure in results.items():
        figure.pop("setting")
        figures.append({"binds": kind, "cpu_per_gpu": cores, "policy": policy, "load": load,
                        "seed": seed, **figure})  # fmt: skip
    found = means(results)
    draw(found)
    sweep.write("simulate_load", "Load, and how much of it is sustained", "bench/simulate/load.py",
                figures, text_of(found))  # fmt: skip


if __name__ == "__main__":
    main()
