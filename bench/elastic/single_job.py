"""One job, few cores beside it and a pool of more: how much faster it gets, against the ideal.

The trainer's host has a worker whose CPU the kernel bounds (needs root); the pool is another one. A
step takes 1/R of the time that the own cores need for a batch, so a trainer that never waits is R
times as fast as with its own cores alone; the ideal is that, or all cores over the own ones.
"""

import argparse
import pathlib
import statistics

import cluster as clusters
import harness

BATCH = 32


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=harness.PHOTOS)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--warm", type=float, default=6, help="seconds before the measurement")
    parser.add_argument("--own", type=float, default=0.2, help="cores beside the trainer")
    parser.add_argument("--pool", type=float, default=1.2, help="cores of the pool")
    parser.add_argument("--ratios", type=float, nargs="+", default=[1, 2, 3, 4, 5, 6, 8])
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    photos = harness.describe_photos(args.data)
    # What the own cores make, and all of them, of a trainer that takes everything.
    alone, everything = [], []
    rates: dict[float, list[float]] = {ratio: [] for ratio in args.ratios}
    for _ in range(args.runs):  # in turns: the machine is not the same all the time
        alone.append(run(args, 0.001, pool=False))
        everything.append(run(args, 0.001, pool=True))
        for ratio in args.ratios:
            rates[ratio].append(run(args, BATCH / (alone[-1] * ratio), pool=True))
            print(f"ratio {ratio}: {rates[ratio][-1]:.0f} of {alone[-1]:.0f} samples/s")
    most = (args.own + args.pool) / args.own
    rows = [
        ("samples/s with the own cores alone", show(alone, 0)),
        ("the same with the pool, for a trainer that takes everything", show(everything, 0)),
    ]
    for ratio in args.ratios:
        speed_ups = [rate / own for rate, own in zip(rates[ratio], alone, strict=True)]
        ideal = min(ratio, most)
        rows.append(
            (
                f"ratio {ratio:g}: speed-up, and its share of the ideal of {ideal:.2f}",
                f"{show(speed_ups, 2)}, {100 * statistics.median(speed_ups) / ideal:.0f} %",
            )
        )
    harness.write_report(
        "single_job",
        "One job with few cores of its own, and a pool",
        rows,
        {
            "photos": photos,
            "own_cores": args.own,
            "pool_cores": args.pool,
            "alone": alone,
            "everything": everything,
            "rates": {str(ratio): values for ratio, values in rates.items()},
        },
    )


def show(values: list[float], digits: int) -> str:
    return harness.show(harness.spread(values), digits)


def run(args: argparse.Namespace, step: float, pool: bool) -> float:
    """Samples/s."""
    own, more = clusters.CpuLimit("own", args.own), clusters.CpuLimit("pool", args.pool)
    seconds = args.warm + args.seconds
    try:
        with clusters.Cluster() as cluster:
            cluster.worker("--threads", "1", limit=own)
            if pool:
                cluster.worker("--threads", "2", limit=more)
            schedule = f"{seconds}:{step:.5f}"
            trainer = clusters.Trainer(cluster, args.data, schedule, f"--batch-size={BATCH}")
            trainer.go()
            result = trainer.result()
    finally:
        own.close()
        more.close()
    return clusters.steps_between(result, args.warm, seconds) * BATCH / args.seconds


if __name__ == "__main__":
    main()
