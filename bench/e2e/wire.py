"""What uint8 on the wire gains: a worker on another host, batches as made against uint8 finished here.

The other host is a network namespace, joined by a pair of virtual interfaces whose rate the kernel
bounds. So it needs root and iproute2. The worker makes all samples from its decoded cache, so that it
is not what limits. CPU is that of the training process, with the client's threads.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import harness

HERE, THERE, PORT = "10.199.7.1", "10.199.7.2", 27970
HOST, OURS, THEIRS = "hrwire", "hrw0", "hrw1"
HEADRACE = pathlib.Path(sys.executable).with_name("headrace")
FORMS = ("as-made", "uint8")


def ip(*words: str, check: bool = True) -> None:
    subprocess.run(["ip", *words], check=check, capture_output=True)


@contextlib.contextmanager
def other_host(rate: str) -> Iterator[None]:
    """`rate`: as tc has it, or "unlimited"."""
    ip("netns", "add", HOST)
    try:
        ip("link", "add", OURS, "type", "veth", "peer", "name", THEIRS, "netns", HOST)
        ip("addr", "add", f"{HERE}/30", "dev", OURS)
        ip("link", "set", OURS, "up")
        ip("-n", HOST, "addr", "add", f"{THERE}/30", "dev", THEIRS)
        ip("-n", HOST, "link", "set", THEIRS, "up")
        if rate != "unlimited":
            bound = ["tbf", "rate", rate, "burst", "1mb", "latency", "50ms"]
            shape = ["tc", "qdisc", "add", "dev", THEIRS, "root", *bound]
            subprocess.run(["ip", "netns", "exec", HOST, *shape], check=True)
        yield
    finally:
        ip("link", "del", OURS, check=False)
        ip("netns", "del", HOST, check=False)


@contextlib.contextmanager
def pool(cache: str) -> Iterator[str]:
    """A coordinator here and a worker there: the coordinator's address."""
    address = f"tcp://{HERE}:{PORT}"
    quiet = {**os.environ, "HEADRACE_LOG": "error"}
    with tempfile.TemporaryDirectory() as private, contextlib.ExitStack() as stack:

        def start(*command: str) -> None:
            process = subprocess.Popen(command, env={**quiet, "XDG_RUNTIME_DIR": private})
            stack.callback(process.wait, 30)
            stack.callback(process.terminate)

        start(str(HEADRACE), "coordinator", "--listen", address)
        # Mounts of its own: its socket for shared memory is not to be seen from here.
        worker = (
            f"mount -t tmpfs none {private} && exec {HEADRACE} worker --coordinator {address} "
            f"--cache {cache} --listen tcp://{THERE}:0 --threads 1"
        )
        start("ip", "netns", "exec", HOST, "unshare", "--mount", "sh", "-c", worker)
        for _ in range(100):
            asked = [str(HEADRACE), "workers", "--json", "--coordinator", address]
            seen = subprocess.run(asked, capture_output=True, text=True, check=False)
            if seen.returncode == 0 and json.loads(seen.stdout)["workers"]:
                break
            time.sleep(0.1)
        yield address


def figures(result: dict) -> dict:
    """Of the last epoch, and of all of the program for bytes."""
    last = result["epochs"][-1]
    (loader,) = result["report"]["loaders"]
    assert loader["bytes"]["shm"] == 0, "the worker shares memory with the trainer"
    return {
        "rate": last["samples"] / last["wall_s"],
        "cpu_ms": 1e6 * last["process_cpu_s"] / last["samples"],
        "kb": loader["counts"]["received_bytes"] / loader["samples"] / 1e3,
        "finished": loader["counts"]["finished_batches"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=harness.PHOTOS)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--rates", nargs="+", default=["1gbit", "10gbit", "unlimited"])
    parser.add_argument("--cache", default="2G")
    args = parser.parse_args()
    photos = harness.describe_photos(args.data)
    program = [str(args.data), "--num-workers", "2", "--epochs", "3"]

    rows: list[tuple[str, str]] = []
    data: dict = {"photos": photos}
    for rate in args.rates:
        with other_host(rate), pool(args.cache) as address:
            launch = ["--coordinator", address, "--remote-only", "--wire"]
            made, uint8 = (harness.Variant(form, [*launch, form]) for form in FORMS)
            harness.run(made, program)  # fills the cache
            pairs = [
                (figures(a), figures(b))
                for a, b in harness.alternate(made, uint8, program, args.pairs)
            ]
        assert all(a["finished"] == 0 and b["finished"] > 0 for a, b in pairs)
        gain = harness.spread([b["rate"] / a["rate"] for a, b in pairs])
        cpu = harness.spread([b["cpu_ms"] / a["cpu_ms"] for a, b in pairs])
        rows.append((f"{rate}: uint8 / as made, samples/s", harness.show(gain)))
        rows.append((f"{rate}: uint8 / as made, CPU of the trainer a sample", harness.show(cpu)))
        for i, form in enumerate(FORMS):
            middle = {key: statistics.median(pair[i][key] for pair in pairs) for key in pairs[0][i]}
            rows.append(
                (
                    f"{rate}, {form}",
                    f"{middle['rate']:.0f} samples/s, {middle['kb']:.0f} kB and "
                    f"{middle['cpu_ms'] / 1e3:.3f} ms of the trainer's CPU a sample",
                )
            )
        data[rate] = {"gain": gain, "cpu": cpu, "pairs": pairs}
    harness.write_report("wire", "uint8 on the wire between hosts", rows, data)


if __name__ == "__main__":
    main()
