"""What a batch costs the training process when it is ready: the time of next(), and CPU.

The service runs on CPU 0 and the trainer on CPU 1, as a trainer has a core of its own. Batches of 64
come from the decoded cache, far faster than the program takes them. Between batches the program does
nothing (batches are taken back to back, as many as are ready), computes, or sleeps. CPU is that of all
the trainer's threads less the program's own steps; how often they were woken stands beside it, and
what a wake-up costs by itself is `WakeUp` in net/transport_bench.

After a step the processor's caches hold other things, which costs any code; so each figure stands
beside a control that loads nothing and runs torch's own part of next() with the same sampler.
"""

import argparse
import pathlib
import statistics

import harness

PROGRAM = pathlib.Path(__file__).with_name("ready_program.py")
STEPS = {
    "none": "back to back",
    "compute": "after 60 ms of computing",
    "sleep": "after 60 ms of sleep",
}


def micros(result: dict) -> float:
    return 1e6 * statistics.median(result["next_s"])


def cpu_per_thousand(result: dict) -> float:
    """Milliseconds."""
    return 1e6 * result["cpu_s"] / result["samples"]


def wake_ups_per_thousand(result: dict) -> float:
    return 1e3 * result["wake_ups"] / result["samples"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=harness.PHOTOS)
    parser.add_argument("--pairs", type=int, default=3)
    args = parser.parse_args()
    photos = harness.describe_photos(args.data)

    ours = harness.Variant(
        "headrace", ["--workers", "1", "--threads", "1", "--cache", "2G"], cpus="0"
    )
    off = harness.Variant("off", None)
    rows, data = [], {"photos": photos}
    for step, label in STEPS.items():
        program = [str(args.data), "--cpu", "1", "--step", step]
        if step == "none":
            program += ["--window", "40", "--batches", "400"]
        runs = {"Headrace": [], "control": [], "stock loader": []}
        for _ in range(args.pairs):
            runs["Headrace"].append(harness.run(ours, program, PROGRAM))
            runs["control"].append(harness.run(off, [*program, "--control"], PROGRAM))
            if step == "sleep":  # enough pause for the stock loader's workers, in part
                runs["stock loader"].append(harness.run(off, program, PROGRAM))
        for name, results in runs.items():
            if not results:
                continue
            taken = harness.spread([micros(r) for r in results])
            cpu = harness.spread([cpu_per_thousand(r) for r in results])
            if name != "stock loader":  # whose batches are not ready
                rows.append((f"{name}, {label}: `next()`, microseconds", harness.show(taken, 0)))
            rows.append(
                (f"{name}, {label}: CPU ms per 1,000 samples, all threads", harness.show(cpu))
            )
            woken = harness.spread([wake_ups_per_thousand(r) for r in results])
            rows.append(
                (
                    f"{name}, {label}: wake-ups of its threads per 1,000 samples",
                    harness.show(woken, 0),
                )
            )
            data[f"{name}, {step}"] = {
                "next_us": taken,
                "cpu_ms_per_1000": cpu,
                "wake_ups_per_1000": woken,
            }
    harness.write_report(
        "trainer_cost", "Cost of a ready batch in the training process", rows, data
    )


if __name__ == "__main__":
    main()
