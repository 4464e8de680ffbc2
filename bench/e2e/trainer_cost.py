"""What loading costs the training process itself, when the data is there in time.

The program sleeps between batches, so every batch is ready when next() is called. CPU is that of the
whole training process (all its threads) from iter() to the last batch. The program's own sleeps and
the wake-ups of the delivering thread are costs of waiting, not of data: a control with the same sleeps
and no loader gives the first, and both the raw and the net figure are reported.
"""

import argparse
import pathlib
import subprocess
import sys

import harness

CONTROL = """
import sys, time
n, seconds = int(sys.argv[1]), float(sys.argv[2])
cpu = time.process_time()
for _ in range(n):
    time.sleep(seconds)
print(time.process_time() - cpu)
"""


def cpu_per_thousand(result: dict) -> float:
    """Milliseconds of the process's CPU per 1,000 samples, epochs after the first."""
    epochs = result["epochs"][1:]
    return 1e6 * sum(e["process_cpu_s"] for e in epochs) / sum(e["samples"] for e in epochs)


def next_micros(result: dict) -> list[float]:
    """Times of next() in microseconds without the first of each epoch (nothing is prefetched there)."""
    return sorted(1e6 * t for e in result["epochs"][1:] for t in e["next_s"][4:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=harness.PHOTOS)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--step-ms", type=float, default=60.0)
    args = parser.parse_args()
    photos = harness.describe_photos(args.data)

    program = [
        str(args.data),
        "--num-workers",
        "2",
        "--epochs",
        "4",
        "--step-ms",
        str(args.step_ms),
        "--next-times",
    ]
    ours = harness.Variant("headrace", ["--cache", "2G"])
    stock = harness.Variant("stock", None)
    results = harness.alternate(ours, stock, program, args.pairs)

    batches = sum(e["batches"] for e in results[0][0]["epochs"][1:])
    samples = sum(e["samples"] for e in results[0][0]["epochs"][1:])
    control = float(
        subprocess.run(
            [sys.executable, "-c", CONTROL, str(batches), str(args.step_ms / 1e3)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )
    control_ms = 1e6 * control / samples

    ours_ms = harness.spread([cpu_per_thousand(a) for a, _ in results])
    stock_ms = harness.spread([cpu_per_thousand(b) for _, b in results])
    ratio = harness.spread([cpu_per_thousand(a) / cpu_per_thousand(b) for a, b in results])
    times = [next_micros(a) for a, _ in results]
    stock_times = [next_micros(b) for _, b in results]

    def quantile(runs: list[list[float]], q: float) -> dict:
        return harness.spread(
            [values[min(len(values) - 1, int(q * len(values)))] for values in runs]
        )

    rows = [
        ("stock loader: ms CPU of the trainer per 1,000 samples", harness.show(stock_ms)),
        ("Headrace: the same", harness.show(ours_ms)),
        ("of that the program's own sleeps (control)", f"{control_ms:.2f}"),
        ("ratio, Headrace / stock", harness.show(ratio, 3)),
        ("Headrace: a ready `next()`, median, microseconds", harness.show(quantile(times, 0.5), 0)),
        ("Headrace: a ready `next()`, 99th percentile", harness.show(quantile(times, 0.99), 0)),
        ("stock loader: a ready `next()`, median", harness.show(quantile(stock_times, 0.5), 0)),
    ]
    for result, _ in results:
        for epoch in result["epochs"]:
            epoch.pop("next_s")
    harness.write_report(
        "trainer_cost",
        "Cost in the training process",
        rows,
        {
            "photos": photos,
            "control_ms_per_1000": control_ms,
            "headrace_ms_per_1000": ours_ms,
            "stock_ms_per_1000": stock_ms,
            "ready_next_us_median": quantile(times, 0.5),
            "headrace": [a for a, _ in results],
        },
    )


if __name__ == "__main__":
    main()
