"""Demand goes to four times and back: how fast the cores follow, and the waiting meanwhile.

A trainer whose steps take four times, once and four times as long, on two workers of one core.
"""

import argparse
import pathlib
import threading
import time

import cluster as clusters
import harness


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=harness.PHOTOS)
    parser.add_argument(
        "--phase", type=float, default=30, help="seconds of each of the three phases"
    )
    parser.add_argument("--slow", type=float, default=0.2, help="seconds of a step at first")
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    photos = harness.describe_photos(args.data)
    runs = []
    for _ in range(args.runs):
        runs.append(one(args))
    phase = args.phase
    reactions = [reaction(run["result"], phase) for run in runs]
    rows = [
        ("waiting in the slow phase before", share(runs, 0.3 * phase, phase)),
        ("waiting in the fast phase, first two control periods", share(runs, phase, phase + 2)),
        ("waiting in the fast phase, behind them", share(runs, phase + 2, 2 * phase)),
        ("waiting in the slow phase after", share(runs, 2 * phase, 3 * phase)),
        (
            "seconds from the step until the waiting of a second is under 5%",
            harness.show(harness.spread(reactions), 1),
        ),
        ("cores granted at the end of each phase", "; ".join(map(granted_text, runs))),
    ]
    harness.write_report(
        "ramp", "Demand that goes to four times and back", rows, {"photos": photos, "runs": runs}
    )


def one(args: argparse.Namespace) -> dict:
    schedule = ",".join(f"{args.phase}:{step}" for step in (args.slow, args.slow / 4, args.slow))
    granted: list[tuple[float, float, float]] = []
    with clusters.Cluster() as cluster:
        cluster.worker("--threads", "1")
        cluster.worker("--threads", "1")
        trainer = clusters.Trainer(cluster, args.data, schedule)
        begin = time.perf_counter()
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(0.5):
                for job in cluster.show("jobs")["jobs"]:
                    now = time.perf_counter() - begin
                    granted.append((now, job["granted_cores"], job["demand_cores"]))

        trainer.go()
        watcher = threading.Thread(target=watch)
        watcher.start()
        result = trainer.result()
        ended.set()
        watcher.join()
    return {"result": result, "granted": granted, "phase": args.phase}


def share(runs: list[dict], begin: float, end: float) -> str:
    values = [100 * clusters.wait_share(run["result"], begin, end) for run in runs]
    return harness.show(harness.spread(values), 1) + " %"


def reaction(result: dict, phase: float) -> float:
    at = phase
    while at + 1 <= 2 * phase:
        if clusters.wait_share(result, at, at + 1) < 0.05:
            return at - phase
        at += 0.1
    return phase


def granted_text(run: dict) -> str:
    ends = []
    for k in (1, 2, 3):
        before = [cores for at, cores, _ in run["granted"] if at < k * run["phase"] - 0.5]
        ends.append(f"{before[-1]:.2f}" if before else "?")
    return " -> ".join(ends)


if __name__ == "__main__":
    main()
