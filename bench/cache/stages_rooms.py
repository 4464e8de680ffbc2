"""Parts of stages.py: what a cache smaller than the data hits, and what the estimator says of it; two jobs on one data
set; results of functions."""

from __future__ import annotations

import os
import pathlib
import shutil
import tempfile

from stages_cluster import Cluster, grown, hit_share

WARM, MEASURED = 5, 8  # epochs


def whole(photos: pathlib.Path) -> dict:
    """All leaves of the photographs: bytes in the cache and number."""
    with Cluster(1e9) as cluster:
        cluster.program(photos).epochs(6)
        return cluster.settled()


def room(photos: pathlib.Path, size: float, workers: int = 1) -> dict:
    """One job alone, with caches of `size` bytes together."""
    with Cluster(size / workers, workers=workers) as cluster:
        program = cluster.program(photos, "--persistent")
        program.epochs(WARM)
        before, cost = cluster.settled(), cluster.jobs()[0]["totals"]
        program.epochs(MEASURED)
        after, [job] = cluster.settled(), cluster.jobs()
        samples = job["totals"]["samples"] - cost["samples"]
        cpu = job["totals"]["cpu_seconds"] - cost["cpu_seconds"]
        done = grown(after, before)
        return {
            "hits": hit_share(done),
            "lookups": done["hits"] + done["misses"],
            "entries": after["entries"],
            "bytes": after["bytes"],
            "granted": job["cache_bytes_granted"],
            "ms": 1e3 * cpu / samples,
            "need": job["need"],
        }


def rooms(photos: pathlib.Path) -> list[tuple[str, str]]:
    all_of_it = whole(photos)
    rows = [("all leaves of the photographs", f"{all_of_it['entries']} in {mb(all_of_it)}")]
    shares = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.2)
    cells = {share: room(photos, share * all_of_it["bytes"]) for share in shares}
    terms = cells[0.5]["need"]
    for share, cell in cells.items():
        said = cell["hits"] * terms["core_seconds_per_hit"]
        said += (1 - cell["hits"]) * terms["core_seconds_per_miss"]
        error = 100 * (1e3 * said / cell["ms"] - 1)
        kept = cell["entries"] / all_of_it["entries"]
        rows.append(
            (
                f"one worker, a cache of {share:g} of them: kept, hits, CPU ms a sample",
                f"{kept:.3f}, {cell['hits']:.3f}, {cell['ms']:.2f} (by the terms at 0.5 {error:+.0f}%)",
            )
        )
    for workers in (2, 4):
        for share in (0.25, 0.9):
            cell = room(photos, share * all_of_it["bytes"], workers)
            kept = cell["entries"] / all_of_it["entries"]
            label = f"{workers} workers, caches of {share:g} of them together: kept, hits"
            rows.append((label, f"{kept:.3f}, {cell['hits']:.3f}"))
    return rows


def mb(counts: dict) -> str:
    return f"{counts['bytes'] / 1e6:.0f} MB"


def _links(photos: pathlib.Path, place: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
    soft, hard = place / "soft", place / "hard"
    soft.symlink_to(photos.resolve())
    hard.mkdir()
    for path in photos.rglob("*.jpg"):
        os.link(path, hard / f"{path.parent.name}-{path.name}")
    return soft, hard


def sharing(photos: pathlib.Path) -> list[tuple[str, str]]:
    """Misses of all jobs, where one job alone has those of its first epochs."""
    rows = []
    epochs = 4

    def misses(workers: int, run) -> int:
        with Cluster(1e9, workers=workers) as cluster:
            run(cluster)
            return cluster.settled()["misses"]

    def together(cluster: Cluster, *programs: tuple[str, ...]) -> None:
        started = [cluster.program(photos, *words) for words in programs]
        for each in started:
            each.begin(epochs, 0.01)
        for each in started:
            each.wait()

    def one(cluster: Cluster) -> None:
        cluster.program(photos).epochs(epochs)

    def after(cluster: Cluster) -> None:
        first = cluster.program(photos)
        first.epochs(epochs)
        cluster.settled()
        first.close()
        other = cluster.program(photos, "--batch=24", "--seed=1", "--size=64")
        other.epochs(epochs)

    def while_it_runs(cluster: Cluster) -> None:
        first = cluster.program(photos)
        first.epochs(epochs)
        cluster.settled()
        other = cluster.program(photos, "--batch=24", "--seed=1")
        first.begin(epochs)
        other.begin(epochs)
        first.wait()
        other.wait()

    def links(cluster: Cluster) -> None:
        with tempfile.TemporaryDirectory(dir=photos.parent) as place:
            soft, hard = _links(photos, pathlib.Path(place))
            one(cluster)
            cluster.settled()
            cluster.program(soft, "--seed=1").epochs(epochs)
            cluster.program(hard, "--seed=2").epochs(epochs)
            shutil.rmtree(hard)

    other = ("--batch=24", "--seed=1", "--size=64")
    cases = {
        "one job alone": one,
        "two at once, other orders, batches and crops": lambda c: together(c, (), other),
        "two at once, the same order": lambda c: together(c, (), ()),
        "one after the other has ended": after,
        "one comes while the other runs": while_it_runs,
        "three, by a symbolic link and by hard links": links,
    }
    for name, run in cases.items():
        found = [misses(workers, run) for workers in (1, 4)]
        rows.append((f"decodes, {name}: 1 worker, 4 workers", ", ".join(map(str, found))))
    return rows


def functions(photos: pathlib.Path) -> list[tuple[str, str]]:
    """Results of functions: counted as leaves are?"""
    rows = []
    for kind in ("Photos", "Declared", "Found"):
        with Cluster(1e9) as cluster:
            program = cluster.program(photos, f"--what={kind}")
            costs = []
            for _ in range(6):
                before = cluster.jobs()[0]["totals"]["cpu_seconds"] if costs else 0.0
                program.epochs(1)
                cluster.settled()
                costs.append(cluster.jobs()[0]["totals"]["cpu_seconds"] - before)
            found, row = cluster.counts(), cluster.dataset(kind)
            need = cluster.jobs()[0]["need"]
            rows.append(
                (
                    f"{kind}: entries, hits and misses of 6 epochs; in `headrace datasets`",
                    f"{found['entries']} in {mb(found)}, {found['hits']} and {found['misses']}; "
                    f"{row['cached_bytes'] / 1e6:.0f} of {row['bytes'] / 1e6:.0f} MB, form {row['form']}, "
                    f"hits {row['hit_share']:.2f}",
                )
            )
            rows.append(
                (
                    f"{kind}: CPU of the first, second and sixth epoch, s; a miss and a hit by the estimator, ms",
                    f"{costs[0]:.2f}, {costs[1]:.2f}, {costs[-1]:.2f}; "
                    f"{1e3 * need['core_seconds_per_miss']:.2f} and {1e3 * need['core_seconds_per_hit']:.2f}",
                )
            )
    return rows
