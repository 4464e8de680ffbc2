"""The first epoch of images from a store of objects, of which each answer takes 50 ms, or over a link of
20 MB/s, against the same files in a folder that is in memory: two compute threads."""

import argparse
import contextlib
import os
import pathlib
import statistics
import subprocess
import sys

import harness

PROGRAM = harness.ROOT / "bench" / "e2e" / "objects_program.py"
SERVER = harness.ROOT / "bench" / "e2e" / "objects_server.py"


@contextlib.contextmanager
def server(folder, milliseconds, rate):
    """The URL, and a list with what the server says at its end."""
    command = [sys.executable, str(SERVER), str(folder), str(milliseconds), str(rate)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        said = []
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}", said
        process.stdin.close()
        said += map(float, process.stdout.read().split())


def measure(folder, milliseconds, rate, times):
    """Samples a second of an epoch in which each image comes so often; the server's CPU seconds and
    bytes."""
    options = ["--workers", "1", "--threads", "2"]
    if milliseconds is None:
        variant = harness.Variant("folder", options)
        made = harness.run(variant, ["--folder", str(folder), "--times", str(times)], PROGRAM)
        return rates_of(made)
    with server(folder, milliseconds, rate) as (url, said):
        allowed = {"HEADRACE_ALLOW_ENDPOINTS": url.removeprefix("http://")}
        variant = harness.Variant("objects", options, environment=allowed)
        made = harness.run(variant, ["--url", url, "--times", str(times)], PROGRAM)
    return {**rates_of(made), "server_cpu_s": said[0], "bytes": said[1]}


def rates_of(made):
    paths = [loader["path"] for loader in made["report"]["loaders"]]
    assert paths == ["native"], paths
    return {"rate": made["samples"] / made["seconds"], "later_rate": made["later_rate"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=harness.PHOTOS)
    parser.add_argument("--pairs", type=int, default=5)
    arguments = parser.parse_args()
    photos = harness.describe_photos(arguments.data)
    runs = []
    for number in range(arguments.pairs):
        print(f"  round {number + 1} of {arguments.pairs}", file=sys.stderr, flush=True)
        runs.append(
            {
                "folder": measure(arguments.data, None, 0, 8),
                "near": measure(arguments.data, 0, 0, 8),
                "slow": measure(arguments.data, 50, 0, 8),
                "narrow": measure(arguments.data, 0, 20e6, 2),
            }
        )
    mean = photos["mean_kb"] * 1e3

    def allowed(run):
        return min(run["folder"]["rate"], 20e6 / mean)

    def shown(value, digits=2):
        return harness.show(harness.spread([value(run) for run in runs]), digits)

    cpu = statistics.median(run["slow"]["server_cpu_s"] for run in runs)
    rows = [
        ("folder in memory, samples/s from iter() on", shown(lambda r: r["folder"]["rate"], 0)),
        ("no delay, samples/s", shown(lambda r: r["near"]["rate"], 0)),
        ("50 ms an answer, samples/s", shown(lambda r: r["slow"]["rate"], 0)),
        ("share of the folder's rate", shown(lambda r: r["slow"]["rate"] / r["folder"]["rate"])),
        (
            "share of the rate without the delay: what cores allow that also serve and receive",
            shown(lambda r: r["slow"]["rate"] / r["near"]["rate"]),
        ),
        (
            "the same from the first batch on, without the start",
            shown(lambda r: r["slow"]["later_rate"] / r["near"]["later_rate"]),
        ),
        ("link of 20 MB/s, samples/s", shown(lambda r: r["narrow"]["rate"], 0)),
        ("share of what link and cores allow", shown(lambda r: r["narrow"]["rate"] / allowed(r))),
        ("CPU seconds of the server, on the same cores, with 50 ms", f"{cpu:.1f}"),
        ("load of the machine at the end, nearly all of it by others", f"{os.getloadavg()[0]:.1f}"),
    ]
    harness.write_report(
        "objects", "The first epoch from a store of objects", rows, {"photos": photos, "runs": runs}
    )


if __name__ == "__main__":
    main()
