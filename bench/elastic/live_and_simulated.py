"""Two jobs on four workers, live and in `headrace simulate`: does the simulator say when they end?

Each job takes a fixed number of steps, so one ends before the other, and leaves it its cores, cache and
bandwidth. What the simulator is told was measured before, in runs of one job: what a sample costs from
its file and from the cache, how large it is in both, and how fast the trainer goes with data ready.
Each setting is run several times, all of them in turns.
"""

import argparse
import csv
import dataclasses
import os
import pathlib
import shutil
import statistics
import tempfile
import time

import cluster as clusters
import harness
import sweep

BATCH = 16
WORKERS = 4


@dataclasses.dataclass(frozen=True)
class Setting:
    """What the four workers have together; 0 is no limit of `source`, and no cache."""

    name: str
    cores: float
    cached: float  # share of both jobs' decoded data that fits
    source: float  # bytes/s
    steps: tuple[int, int]  # of each job


SETTINGS = (
    Setting("the source binds, half of the data fits", 2, 0.5, 12e6, (2000, 1000)),
    Setting("the source binds, no cache", 2, 0, 16e6, (660, 330)),
    Setting("cores bind, no cache", 0.8, 0, 0, (2000, 1000)),
    Setting("cores and source, three quarters fit", 0.8, 0.75, 20e6, (2000, 1000)),
)
STEPS_S = (0.015, 0.06)  # of the hungry job and of the light one
CALIBRATION_S = 14.0
WARM_S = 7.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=harness.PHOTOS)
    parser.add_argument("--policy", default="utilization")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument(
        "--program", default=str(harness.ROOT / "build" / "release" / "cli" / "headrace")
    )
    args = parser.parse_args()
    photos = harness.describe_photos(args.data)
    with tempfile.TemporaryDirectory(dir=args.data.parent) as folder:
        halves = divide(args.data, pathlib.Path(folder))
        terms = {
            cores: [
                calibrate(half, step, cores) for half, step in zip(halves, STEPS_S, strict=True)
            ]
            for cores in sorted({setting.cores for setting in SETTINGS})
        }
        print(terms, flush=True)
        live: dict[str, list[dict]] = {setting.name: [] for setting in SETTINGS}
        for _ in range(args.runs):
            for setting in SETTINGS:
                live[setting.name].append(run_live(args, halves, terms[setting.cores], setting))
                print(setting.name, live[setting.name][-1], flush=True)
        cells = []
        for setting in SETTINGS:
            simulated = simulate(args, pathlib.Path(folder), terms[setting.cores], setting)
            cells.append(
                {"setting": dataclasses.asdict(setting), "simulated_s": simulated}
                | {"live_s": [each["ends_s"] for each in live[setting.name]]}
            )
    rows = [row for cell in cells for row in report_rows(cell)]
    errors = [error for cell in cells for error in mean_errors(cell)]
    rows.insert(
        0, ("mean completion time, live over simulated", harness.show(harness.spread(errors)))
    )
    harness.write_report(
        "live_and_simulated",
        "Two jobs on four workers, live and simulated",
        rows,
        {
            "photos": photos,
            "terms": {str(cores): each for cores, each in terms.items()},
            "cells": cells,
        },
    )


def divide(data: pathlib.Path, folder: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
    """Every second photograph of each class to each of two data sets. Copies: no file is in both, or twice
    in one, as it may be in `data` by links. One content has one entry in the cache."""
    halves = (folder / "hungry", folder / "light")
    for k, photo in enumerate(sorted(path for path in data.rglob("*") if path.is_file())):
        place = halves[k % 2] / photo.relative_to(data)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(photo, place)
    return halves


def limits_of(cores: float) -> list[clusters.CpuLimit | None]:
    """A bound of each worker's CPU; None where there are as many cores as the host has."""
    if cores >= os.cpu_count():
        return [None] * WORKERS
    return [clusters.CpuLimit(f"worker-{k}", cores / WORKERS) for k in range(WORKERS)]


def calibrate(data: pathlib.Path, step: float, cores: float) -> dict:
    """The terms of one job on `data`, whose trainer computes `step` seconds a batch.

    What a sample costs is all that the workers' processes take, on workers of the same size."""
    samples = sum(1 for path in data.rglob("*") if path.is_file())
    missed = run_alone(data, step, 0, cores)
    whole = run_alone(data, step, 4 << 30, cores)
    return {
        "samples": samples,
        "step_s": BATCH * whole["step_s"] / whole["samples"],
        "miss_cost": missed["cpu_s"] / missed["misses"],
        "hit_cost": whole["cpu_s"] / whole["hits"],
        "sample_bytes": missed["source_bytes"] / missed["misses"],
        "decoded_bytes": whole["cache_bytes"] / samples,
    }


def run_alone(data: pathlib.Path, step: float, cache: int, cores: float) -> dict:
    limits = limits_of(cores)
    try:
        with clusters.Cluster() as cluster:
            for limit in limits:
                cluster.worker("--threads", "1", "--cache", str(cache // WORKERS), limit=limit)
            trainer = start(cluster, data, step, 0, CALIBRATION_S)
            trainer.go()
            time.sleep(WARM_S)
            before = counters(cluster)
            time.sleep(CALIBRATION_S - WARM_S - 1)
            after = counters(cluster)
            cached = sum(each["cache_bytes"] for each in cluster.show("workers")["workers"])
            trainer.result()
    finally:
        for limit in limits:
            if limit:
                limit.close()
    grown = {key: after[key] - before[key] for key in before}
    return {**grown, "cache_bytes": cached}


def start(
    cluster: clusters.Cluster, data: pathlib.Path, step: float, steps: int, seconds: float
) -> clusters.Trainer:
    return clusters.Trainer(
        cluster,
        data,
        f"{seconds}:{step}",
        "--from-start",
        "--passes",
        f"--steps={steps}",
        f"--batch-size={BATCH}",
        "--num-workers=2",  # 8 batches ahead: a quarter of a pass
        "--prefetch=4",
        *(["run:--epochs=1"] if steps else []),  # what is left is known, as it is to the simulator
    )


def counters(cluster: clusters.Cluster) -> dict:
    [session] = cluster.show("jobs")["jobs"][0]["sessions"]
    return {
        "samples": session["samples"],
        "step_s": session["step_seconds"],
        "hits": session["hit_samples"],
        "misses": session["miss_samples"],
        "cpu_s": sum(each["cpu_seconds"] for each in cluster.show("workers")["workers"]),
        "source_bytes": session["source_bytes"],
    }


def cache_bytes(terms: list[dict], setting: Setting) -> float:
    return setting.cached * sum(each["samples"] * each["decoded_bytes"] for each in terms)


def run_live(args: argparse.Namespace, halves: tuple, terms: list[dict], setting: Setting) -> dict:
    """When each job has taken its steps, in seconds since both began."""
    limits = limits_of(setting.cores)
    options = ["--threads", "1", "--cache", str(int(cache_bytes(terms, setting)) // WORKERS)]
    coordinator = ["--policy", args.policy]
    if setting.source:
        coordinator += ["--source-bytes-per-second", str(int(setting.source))]
    try:
        with clusters.Cluster(*coordinator) as cluster:
            for limit in limits:
                cluster.worker(*options, limit=limit)
            trainers = [
                start(cluster, half, step, steps, 600)
                for half, step, steps in zip(halves, STEPS_S, setting.steps, strict=True)
            ]
            for trainer in trainers:
                trainer.go()
            ends = [trainer.result()["steps"][-1][0] for trainer in trainers]
    finally:
        for limit in limits:
            if limit:
                limit.close()
    return {"ends_s": [end + step for end, step in zip(ends, STEPS_S, strict=True)]}


def simulate(
    args: argparse.Namespace, folder: pathlib.Path, terms: list[dict], setting: Setting
) -> list[float]:
    """The same by `headrace simulate`."""
    trace, ends = folder / "trace.csv", folder / "jobs.csv"
    columns = (
        "job_id,arrival_s,gpus,iterations,step_s,input_s,hit_input_s,profile_cores,batch,dataset,"
        "dataset_gb,sample_bytes,entry_bytes\n"
    )
    rows = [
        f"{k},0,1,{steps},{each['step_s']},{BATCH * each['miss_cost']},{BATCH * each['hit_cost']},1,"
        f"{BATCH},of-{k},{each['samples'] * each['decoded_bytes'] / 1e9},{each['sample_bytes']},"
        f"{each['decoded_bytes']}\n"
        for k, (steps, each) in enumerate(zip(setting.steps, terms, strict=True))
    ]
    trace.write_text(columns + "".join(rows))
    options = ["--trace", trace, "--gpus", 2, "--cpu-per-gpu", setting.cores / 2]
    options += ["--policy", args.policy, "--cache-gb", cache_bytes(terms, setting) / 1e9]
    if setting.source:
        options += ["--source-gbps", setting.source * 8 / 1e9]
    sweep.simulate(args.program, [*options, "--jobs-out", ends])
    with ends.open() as file:
        by_job = {row["job_id"]: row for row in csv.DictReader(file)}
    return [float(by_job[str(k)]["finish_s"]) for k in range(len(terms))]


def mean_errors(cell: dict) -> list[float]:
    """Mean completion time of each live run over the simulated one."""
    simulated = statistics.mean(cell["simulated_s"])
    return [statistics.mean(ends) / simulated for ends in cell["live_s"]]


def report_rows(cell: dict) -> list[tuple[str, str]]:
    name = cell["setting"]["name"]
    rows = [(f"{name}: mean, live / simulated", harness.show(harness.spread(mean_errors(cell))))]
    for k, job in enumerate(("hungry", "light")):
        lived = harness.spread([ends[k] for ends in cell["live_s"]])
        simulated = cell["simulated_s"][k]
        rows.append(
            (
                f"{name}: the {job} job ends after, s",
                f"{harness.show(lived, 1)}, simulated {simulated:.1f} "
                f"({100 * (lived['median'] / simulated - 1):+.1f}%)",
            )
        )
    return rows


if __name__ == "__main__":
    main()
