"""Two jobs on two cores, one hungry for CPU and one not: the joint allocation against every static split.

Steps a second of both together. In a static split each job has a worker of its own whose CPU is
bounded by the kernel (needs root); in the joint run both lease one worker of two threads.
"""

import argparse
import pathlib

import cluster as clusters
import harness

SPLITS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75)  # cores of the hungry job, of two


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=harness.PHOTOS)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--hungry", type=float, default=0.02, help="seconds of its step")
    parser.add_argument("--light", type=float, default=0.1, help="seconds of its step")
    parser.add_argument("--policy", default="utilization")
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    photos = harness.describe_photos(args.data)
    joint, static = [], {split: [] for split in SPLITS}
    for _ in range(args.runs):  # in turns: the machine is not the same all the time
        joint.append(run_joint(args))
        for split in SPLITS:
            static[split].append(run_static(args, split))
            joint_now = joint[-1]["total"]
            print(f"split {split}: {static[split][-1]['total']:.1f}, joint {joint_now:.1f}")
    ratios = []
    for k in range(args.runs):
        best = max(static[split][k]["total"] for split in SPLITS)
        ratios.append(joint[k]["total"] / best)
    rows = [
        ("joint, steps/s of both", show([each["total"] for each in joint])),
        ("joint, hungry and light", f"{joint[-1]['hungry']:.1f} and {joint[-1]['light']:.1f}"),
        *(
            (
                f"static, {split} cores for the hungry job, {2 - split} for the light one",
                show([each["total"] for each in static[split]]),
            )
            for split in SPLITS
        ),
        ("joint / best static split of the same round", show(ratios)),
    ]
    harness.write_report(
        "two_jobs",
        "Two jobs on two cores: joint allocation against static splits",
        rows,
        {"photos": photos, "joint": joint, "static": {str(k): v for k, v in static.items()}},
    )


def show(values: list[float]) -> str:
    return harness.show(harness.spread(values))


def schedule(args: argparse.Namespace, step: float) -> str:
    return f"{args.seconds}:{step}"


def measured(args: argparse.Namespace, hungry: clusters.Trainer, light: clusters.Trainer) -> dict:
    for trainer in (hungry, light):
        trainer.go()
    rates = []
    for trainer in (hungry, light):
        # After the first quarter: what was made while it waited for the others is used up.
        begin = args.seconds / 4
        steps = clusters.steps_between(trainer.result(), begin, args.seconds)
        rates.append(steps / (args.seconds - begin))
    return {"hungry": rates[0], "light": rates[1], "total": sum(rates)}


def run_joint(args: argparse.Namespace) -> dict:
    with clusters.Cluster("--policy", args.policy) as cluster:
        cluster.worker("--threads", "2")
        hungry = clusters.Trainer(cluster, args.data, schedule(args, args.hungry))
        light = clusters.Trainer(cluster, args.data, schedule(args, args.light))
        return measured(args, hungry, light)


def run_static(args: argparse.Namespace, split: float) -> dict:
    limits = [clusters.CpuLimit("hungry", split), clusters.CpuLimit("light", 2 - split)]
    try:
        with clusters.Cluster() as first, clusters.Cluster() as second:
            first.worker("--threads", "2", limit=limits[0])
            second.worker("--threads", "2", limit=limits[1])
            hungry = clusters.Trainer(first, args.data, schedule(args, args.hungry))
            light = clusters.Trainer(second, args.data, schedule(args, args.light))
            return measured(args, hungry, light)
    finally:
        for limit in limits:
            limit.close()


if __name__ == "__main__":
    main()
