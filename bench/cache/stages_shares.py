"""Parts of stages.py: what several jobs have of one cache, what goes first, what orders and tiers do."""

from __future__ import annotations

import contextlib
import json
import pathlib
import subprocess
import tempfile
import time
from collections.abc import Iterator

import numpy as np
from stages_cluster import MB, Cluster, clusters, grown, hit_share

POLICIES = ("fifo", "sjf", "max_min_fair", "utilization")
TEXTS, POINTS = 96, (4000, 4)


def make_texts(folder: pathlib.Path) -> pathlib.Path:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(TEXTS):
        points = np.random.default_rng(number).normal(size=POINTS)
        if not (folder / f"{number}.txt").exists():
            np.savetxt(folder / f"{number}.txt", points)
    return folder


@contextlib.contextmanager
def halves_of(photos: pathlib.Path) -> Iterator[list[pathlib.Path]]:
    """Two folders with every other photograph."""
    with tempfile.TemporaryDirectory(dir=photos.parent) as place:
        halves = [pathlib.Path(place, name) for name in ("one", "other")]
        for at, half in enumerate(halves):
            half.mkdir()
            for path in sorted(photos.rglob("*.jpg"))[at::2]:
                (half / f"{path.parent.name}-{path.name}").hardlink_to(path)
        yield halves


def held(cluster: Cluster, name: str) -> dict:
    """Quota and bytes of a data set on all workers."""
    rows = [
        row
        for worker in cluster.show("cache")["workers"]
        for row in worker["datasets"]
        if row["name"] == name
    ]
    keys = ("quota_bytes", "bytes", "entries", "hits", "misses")
    return {key: sum(row[key] for row in rows) for key in keys}


def together(cluster: Cluster, texts, photos, seconds: float) -> list[dict]:
    """Both programs for a while. What each data set has, every two seconds."""
    seen = []
    end = time.monotonic() + seconds
    started = [(texts, 2), (photos, 2)]
    for program, epochs in started:
        program.begin(epochs, 0.03)
    while time.monotonic() < end:
        for program, epochs in started:
            program.wait()
            program.begin(epochs, 0.03)
        seen.append({name: held(cluster, name) for name in ("Texts", "Photos")})
    for program, _ in started:
        program.wait()
    return seen


def policies(photos: pathlib.Path, texts: pathlib.Path) -> list[tuple[str, str]]:
    """Two stages and a cache for a part of what they read: the one whose byte saves more comes second."""
    rows = []
    size = 60 * MB
    for policy in POLICIES:
        with Cluster(size, "--policy", policy) as cluster:
            cheap = cluster.program(photos, "--persistent")
            cheap.epochs(6)
            dear = cluster.program(texts, "--persistent", "--what=Texts")
            seen = together(cluster, dear, cheap, 14)
            last, before = seen[-1], seen[len(seen) // 2]
            over = max(
                each[name]["bytes"] - each[name]["quota_bytes"] for each in seen for name in each
            )
            quotas = max(sum(each[name]["quota_bytes"] for name in each) for each in seen)
            cells = []
            for name in ("Texts", "Photos"):
                share = hit_share(grown(last[name], before[name]))
                cells.append(
                    f"{name.lower()} {last[name]['quota_bytes'] / MB:.0f} MB granted, "
                    f"{last[name]['bytes'] / MB:.0f} used, hits {share:.2f}"
                )
            rows.append((f"{policy}, a cache of {size / MB:.0f} MB: the end", "; ".join(cells)))
            rows.append(
                (
                    f"{policy}: most of both quotas, most use beyond a quota",
                    f"{quotas / MB:.1f} MB, {max(0, over) / MB:.1f} MB",
                )
            )
    return rows


def tenants(photos: pathlib.Path, texts: pathlib.Path) -> list[tuple[str, str]]:
    """Bounds of tenants and of data sets by name. Two jobs of one tenant."""
    rows = []
    with tempfile.TemporaryDirectory() as place, halves_of(photos) as halves:
        rules = {
            "tenants": [{"name": "vision", "cache_bytes": 40e6}],
            "datasets": {"Texts": {"cache_bytes": 8e6}},
        }
        path = pathlib.Path(place, "tenants.json")
        path.write_text(json.dumps(rules))
        with Cluster(400 * MB, "--tenants", str(path)) as cluster:
            of_tenant = ("--tenant", "vision")
            one = cluster.program(halves[0], "--persistent", run=of_tenant)
            two = cluster.program(halves[1], "--persistent", "--what=MorePhotos", run=of_tenant)
            bounded = cluster.program(texts, "--persistent", "--what=Texts")
            for _ in range(12):
                for program in (one, two, bounded):
                    program.begin(1, 0.03)
                for program in (one, two, bounded):
                    program.wait()
            cluster.settled()
            for name in ("Photos", "MorePhotos", "Texts"):
                found = held(cluster, name)
                bound = "8 MB by name" if name == "Texts" else "40 MB of its tenant's for both"
                rows.append(
                    (
                        f"{name}, bounded by {bound}: granted, used",
                        f"{found['quota_bytes'] / MB:.1f} MB, {found['bytes'] / MB:.1f} MB",
                    )
                )
    return rows


def evictions(photos: pathlib.Path, texts: pathlib.Path) -> list[tuple[str, str]]:
    """What two ended programs have left, when a third one wants a part of the room."""
    rows = []
    for order in ("value", "lru"):
        tier = ("--cache-tier", f"memory:size=172000000,eviction={order}")
        with Cluster(0, worker=tier) as cluster:
            first = cluster.program(texts, "--what=Texts")
            first.epochs(3)
            cluster.settled()
            first.close()
            second = cluster.program(photos, "--what=Photos")
            second.epochs(4)
            cluster.settled()
            second.close()
            third = cluster.program(photos, "--what=Declared")
            third.epochs(4)
            cluster.settled()
            third.close()
            shares = []
            for data, kind in ((texts, "Texts"), (photos, "Photos"), (photos, "Declared")):
                before = cluster.settled()
                again = cluster.program(data, f"--what={kind}")
                again.epochs(1)
                shares.append(hit_share(grown(cluster.settled(), before)))
                again.close()
            rows.append(
                (
                    f"eviction `{order}`: still there of texts, photographs, results of the third",
                    ", ".join(f"{share:.2f}" for share in shares),
                )
            )
    return rows


def tiers(photos: pathlib.Path) -> list[tuple[str, str]]:
    """A small memory with a disk tier: later epochs, the next program, and after the worker's restart."""
    rows = []
    place = clusters.HERE.parents[1] / "build"
    with tempfile.TemporaryDirectory(dir=place) as folder:
        disk = ("--cache-tier", f"disk:size=1G,directory={folder}")
        with Cluster(30 * MB, worker=disk) as cluster:
            first = cluster.program(photos)
            first.epochs(4)
            cluster.settled()
            before = cluster.counts()
            first.epochs(2)
            done = grown(cluster.settled(), before)
            found = [
                (tier["tier"], tier["entries"], tier["hits"])
                for tier in cluster.show("workers")["workers"][0]["cache_tiers"]
            ]
            said = "; ".join(f"{name} {entries}, {hits}" for name, entries, hits in found)
            rows.append(("memory of 30 MB and a disk tier: entries, hits", said))
            rows.append(("hits of later epochs", f"{hit_share(done):.2f}"))
            first.close()
            before = cluster.settled()
            cluster.program(photos, "--seed=3").epochs(1)
            done = grown(cluster.settled(), before)
            rows.append(("first epoch of the next program: hits", f"{hit_share(done):.2f}"))
            cluster.stack.close()
            cluster.stop_worker()
            cluster.worker("--threads", "2", "--cache", "30M", *disk)
            cluster.program(photos, "--seed=4").epochs(1)
            done = cluster.settled()
            rows.append(("the same after the worker's restart", f"{hit_share(done):.2f}"))
    return rows


def orders(photos: pathlib.Path, texts: pathlib.Path) -> list[tuple[str, str]]:
    """A pin of what an ended program has left, and a drop."""
    rows = []
    for pinned in (True, False):
        with Cluster(170 * MB) as cluster:
            first = cluster.program(photos)
            first.epochs(4)
            cluster.settled()
            if pinned:
                cluster.order("pin", "Photos")
            first.close()
            cluster.program(photos, "--what=Found").epochs(5)
            before = cluster.settled()
            again = cluster.program(photos, "--seed=2")
            again.epochs(1)
            share = hit_share(grown(cluster.settled(), before))
            again.close()
            label = "pinned" if pinned else "not pinned"
            rows.append((f"{label}: hits of the first epoch after another program", f"{share:.2f}"))
            if pinned:
                cluster.order("drop", "Found")
                rows.append(("entries after a drop of the other one", held_text(cluster)))
    return rows


def held_text(cluster: Cluster) -> str:
    counts = cluster.settled()
    return f"{counts['entries']} in {counts['bytes'] / MB:.0f} MB"


def speeds(photos: pathlib.Path) -> list[tuple[str, str]]:
    """Two programs with half of the photographs each and a cache for one: the one that goes faster has more."""
    rows = []
    with halves_of(photos) as halves:
        with Cluster(75 * MB, "--policy", "utilization") as cluster:
            one = cluster.program(halves[0], "--persistent")
            two = cluster.program(halves[1], "--persistent", "--what=MorePhotos")
            for fast, slow, label in (
                (one, two, "first"),
                (two, one, "second"),
                (one, two, "first"),
            ):
                end = time.monotonic() + 20
                while time.monotonic() < end:
                    fast.begin(8, 0.02)
                    slow.begin(1, 0.16)
                    fast.wait()
                    slow.wait()
                found = [held(cluster, name) for name in ("Photos", "MorePhotos")]
                said = ", ".join(
                    f"{f['quota_bytes'] / MB:.0f} MB ({f['bytes'] / MB:.0f})" for f in found
                )
                rows.append((f"the {label} is eight times as fast: quotas (use)", said))
    return rows


def advice(photos: pathlib.Path) -> list[tuple[str, str]]:
    """What is advised to a program that its own --cache keeps from a free cache, and what it then has."""
    rows = []
    for bound in ("30M", "8G"):
        with Cluster(400 * MB) as cluster:
            program = cluster.program(photos, "--persistent", run=("--cache", bound))
            program.epochs(10)
            before = cluster.jobs()[0]["totals"]
            program.epochs(10)
            [job] = cluster.jobs()
            samples = job["totals"]["samples"] - before["samples"]
            cost = 1e3 * (job["totals"]["cpu_seconds"] - before["cpu_seconds"]) / samples
            need = job["need"]
            rows.append(
                (
                    f"--cache {bound}: CPU ms a sample, hits; a hit and a miss by the estimator",
                    f"{cost:.2f}, {need['hit_share']:.2f}; {1e3 * need['core_seconds_per_hit']:.2f} and "
                    f"{1e3 * need['core_seconds_per_miss']:.2f}",
                )
            )
            shown = [str(clusters.HEADRACE), "jobs", "show", str(job["job"])]
            done = subprocess.run(
                [*shown, "--coordinator", cluster.address],
                capture_output=True,
                text=True,
                check=True,
            )
            said = [line for line in done.stdout.splitlines() if "waits" in line]
            rows.append((f"--cache {bound}: `headrace jobs show`", " ".join(said) or "nothing"))
            asked = [str(clusters.HEADRACE), "advise", "--coordinator", cluster.address]
            done = subprocess.run(asked, capture_output=True, text=True, check=False)
            print(done.stdout, done.stderr, flush=True)
    return rows
