"""The estimator against the real system: samples a second over cores, cached share and source limit.

Every cell is predicted twice. Before it is run: from terms that were measured in three runs of their
own (nothing cached, all cached, and the trainer with data always ready). And from the terms that were
metered in the cell itself, as the coordinator does it online.
"""

import argparse
import itertools
import pathlib
import statistics
import time

import cluster as clusters
import harness

BATCH = 32


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=harness.PHOTOS)
    parser.add_argument("--seconds", type=float, default=12)
    parser.add_argument("--warm", type=float, default=6, help="seconds before the measurement")
    parser.add_argument("--step", type=float, default=0.02, help="seconds of the trainer's step")
    parser.add_argument("--cores", type=float, nargs="+", default=[0.4, 0.8, 1.2])
    parser.add_argument("--cached", type=float, nargs="+", default=[0, 0.25, 0.5, 0.75, 0.95])
    parser.add_argument(
        "--limits", type=float, nargs="+", default=[0, 20e6], help="bytes/s; 0: none"
    )
    args = parser.parse_args()
    photos = harness.describe_photos(args.data)

    missed = run(args, 1.0, 0, 0)
    whole = run(args, 1.0, 8 << 30, 0)
    decoded = whole["cache_bytes"]
    terms = {
        "ready_rate": whole["ready_rate"],
        "hit_cost": whole["hit_cpu_s"] / whole["hits"],
        "miss_cost": missed["miss_cpu_s"] / missed["misses"],
        "miss_bytes": missed["source_bytes"] / missed["misses"],
        "decoded_bytes": decoded,
    }
    print(terms)
    cells = []
    for cores, share, limit in itertools.product(args.cores, args.cached, args.limits):
        expected = predict(terms, cores, share, limit)
        got = run(args, cores, int(share * decoded), limit)
        online = predict(metered(terms, got), cores, got["hit_share"], limit)
        error = abs(expected - got["rate"]) / got["rate"]
        cells.append(
            {"cores": cores, "cached": share, "limit": limit, "predicted": expected, **got}
            | {"error": error, "online": online, "error_online": abs(online / got["rate"] - 1)}
        )
        print(
            f"cores {cores} cached {share} limit {limit:.0f}: predicted {expected:.0f}, "
            f"measured {got['rate']:.0f}, error {100 * error:.1f}%, hits {got['hit_share']:.3f}"
        )
    harness.write_report(
        "estimator_grid",
        "The estimator against the real system",
        report_rows(cells),
        {"photos": photos, "terms": terms, "cells": cells},
    )


def report_rows(cells: list[dict]) -> list[tuple[str, str]]:
    errors = [cell["error"] for cell in cells]
    online = [cell["error_online"] for cell in cells]
    hits = [abs(cell["hit_share"] - cell["cached"]) for cell in cells if cell["cached"] > 0]
    return [
        ("cells", str(len(cells))),
        ("error of what was predicted before, median", f"{100 * statistics.median(errors):.1f} %"),
        ("the same, worst", f"{100 * max(errors):.1f} %"),
        ("error with the cell's own terms, median", f"{100 * statistics.median(online):.1f} %"),
        ("the same, worst", f"{100 * max(online):.1f} %"),
        ("hit share minus cached share, largest", f"{max(hits):.3f}"),
        *(
            (
                f"{cell['cores']} cores, {100 * cell['cached']:.0f}% cached, "
                + (f"{cell['limit'] / 1e6:.0f} MB/s" if cell["limit"] else "no limit"),
                f"predicted {cell['predicted']:.0f}, measured {cell['rate']:.0f} samples/s "
                f"({100 * (cell['predicted'] / cell['rate'] - 1):+.1f}%; with its own terms "
                f"{100 * (cell['online'] / cell['rate'] - 1):+.1f}%)",
            )
            for cell in cells
        ),
    ]


def metered(terms: dict, cell: dict) -> dict:
    """The cell's own terms; `terms` where it has no sample of a path."""
    own = {**terms, "ready_rate": cell["ready_rate"]}
    if cell["hits"]:
        own["hit_cost"] = cell["hit_cpu_s"] / cell["hits"]
    if cell["misses"]:
        own["miss_cost"] = cell["miss_cpu_s"] / cell["misses"]
        own["miss_bytes"] = cell["source_bytes"] / cell["misses"]
    return own


def predict(terms: dict, cores: float, hit: float, limit: float) -> float:
    """coordinator/estimate/estimator.h, Throughput."""
    cost = hit * terms["hit_cost"] + (1 - hit) * terms["miss_cost"]
    rate = min(terms["ready_rate"], cores / cost)
    source = (1 - hit) * terms["miss_bytes"]
    return min(rate, limit / source) if limit and source else rate


def run(args: argparse.Namespace, cores: float, cache: int, limit: float) -> dict:
    bound = clusters.CpuLimit("worker", cores)
    seconds = args.warm + args.seconds
    options = ["--threads", "2", "--cache", str(cache)]
    if limit:
        options += ["--source-bytes-per-second", str(int(limit))]
    try:
        with clusters.Cluster() as cluster:
            cluster.worker(*options, limit=bound)
            trainer = clusters.Trainer(
                cluster,
                args.data,
                f"{seconds}:{args.step}",
                *(("run:--cache", f"run:{cache}") if cache else ()),
                f"--batch-size={BATCH}",
            )
            trainer.go()
            time.sleep(args.warm)
            before = counters(cluster)
            time.sleep(args.seconds - 1.5)
            after = counters(cluster)
            cache_bytes = cluster.show("workers")["workers"][0]["cache_bytes"]
            result = trainer.result()
    finally:
        bound.close()
    grown = {key: after[key] - before[key] for key in before}
    steps = clusters.steps_between(result, args.warm, seconds)
    reads = grown["hits"] + grown["misses"]
    return {
        **grown,
        "rate": steps * BATCH / args.seconds,
        "ready_rate": grown["samples"] / grown["step_s"],
        "hit_share": grown["hits"] / reads if reads else 0,
        "cache_bytes": cache_bytes,
    }


def counters(cluster: clusters.Cluster) -> dict:
    [session] = cluster.show("jobs")["jobs"][0]["sessions"]
    return {
        "samples": session["samples"],
        "step_s": session["step_seconds"],
        "hits": session["hit_samples"],
        "misses": session["miss_samples"],
        "hit_cpu_s": session["hit_cpu_seconds"],
        "miss_cpu_s": session["miss_cpu_seconds"],
        "source_bytes": session["source_bytes"],
    }


if __name__ == "__main__":
    main()
