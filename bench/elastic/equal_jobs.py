"""Identical jobs that share one worker: do they make equal steps?

Two and three trainers of the same program, data and step, on one worker of one core, which could serve
each of them alone. What is compared are their steps, after the first quarter of the run.
"""

import argparse
import pathlib
import time

import cluster as clusters
import harness

AIM = 1.05  # most steps over least


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=harness.PHOTOS)
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--step", type=float, default=0.02, help="seconds of their steps")
    parser.add_argument("--policies", nargs="+", default=["utilization", "fifo"])
    parser.add_argument("--jobs", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    photos = harness.describe_photos(args.data)
    results: dict[str, list[dict]] = {}
    for _ in range(args.runs):
        for policy in args.policies:
            for jobs in args.jobs:
                done = run(args, policy, jobs)
                results.setdefault(f"{policy}, {jobs} jobs", []).append(done)
                print(policy, jobs, done)
    rows = []
    for name, runs in results.items():
        ratios = [each["most_over_least"] for each in runs]
        steps = ", ".join(f"{rate:.1f}" for rate in runs[-1]["steps"])
        grants = ", ".join(f"{cores:.3f}" for cores in runs[-1]["cores"])
        rows.append(
            (f"{name}: most over least steps (aim: {AIM})", harness.show(harness.spread(ratios)))
        )
        rows.append((f"{name}: steps/s and cores granted, last run", f"{steps}; {grants}"))
    harness.write_report(
        "equal_jobs",
        "Identical jobs on one worker of one core",
        rows,
        {"photos": photos, **results},
    )


def run(args: argparse.Namespace, policy: str, jobs: int) -> dict:
    with clusters.Cluster("--policy", policy) as cluster:
        cluster.worker("--threads", "1")
        trainers = [
            clusters.Trainer(cluster, args.data, f"{args.seconds}:{args.step}") for _ in range(jobs)
        ]
        for trainer in trainers:
            trainer.go()
        begin = args.seconds / 4
        # While all of them still run.
        end = args.seconds - 5
        granted = sampled(cluster, begin, end)
        rates = [
            clusters.steps_between(trainer.result(), begin, end) / (end - begin)
            for trainer in trainers
        ]
    return {"steps": rates, "cores": granted, "most_over_least": max(rates) / min(rates)}


def sampled(cluster: clusters.Cluster, begin: float, end: float) -> list[float]:
    """The mean of each job's granted cores, from looks at the coordinator between `begin` and `end`."""
    started = time.monotonic()
    time.sleep(begin)
    sums: dict[int, float] = {}
    looks = 0
    while time.monotonic() - started < end:
        for job in cluster.show("jobs")["jobs"]:
            sums[job["job"]] = sums.get(job["job"], 0.0) + job["granted_cores"]
        looks += 1
        time.sleep(2)
    return [total / looks for _, total in sorted(sums.items())]


if __name__ == "__main__":
    main()
