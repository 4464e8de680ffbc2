"""One cache over hosts: workers on hosts of their own, and a store whose answers take 20 ms. A host here is
a pair of namespaces with a host name and a boot id of its own (root). Prints tables for
bench/report/pool_cache.md, and JSON with --json FILE.

    python bench/e2e/wide_cache.py shares|moves|joins|speed|replicas [--workers N ...]
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import harness
from PIL import Image

PROGRAM = harness.ROOT / "bench" / "e2e" / "wide_cache_program.py"
SERVER = harness.ROOT / "bench" / "e2e" / "objects_server.py"
HEADRACE = pathlib.Path(sys.executable).with_name("headrace")
SAMPLES, SIDE = 1200, 256
AROUND = 128 + 64 + 64 + 224  # bytes of an entry: header, slack, ends of cache lines, index
SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)


def own_address() -> str:
    """An address of this host that is not loopback, as a store's would be. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        return probe.getsockname()[0]


def make_images(folder: pathlib.Path) -> int:
    """Bytes that all of them take in a cache, encoded: of a slow store that is worth most."""
    random.seed(1)
    for number in range(SAMPLES):
        path = folder / f"class{number % 4}" / f"{number:05}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        noise = Image.frombytes("RGB", (16, 16), random.randbytes(16 * 16 * 3))
        noise.resize((SIDE, SIDE)).save(path, quality=90)
    return sum(path.stat().st_size + AROUND for path in folder.rglob("*.jpg"))


@contextlib.contextmanager
def store(folder: pathlib.Path, address: str):
    command = [sys.executable, str(SERVER), str(folder), "20", "0", address]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield f"http://{address}:{process.stdout.readline().strip()}"
        process.stdin.close()
        process.stdout.read()


class Hosts:
    """A coordinator, workers of one thread on hosts of their own, and the program."""

    def __init__(self, stack: contextlib.ExitStack, url: str, cache: int, rules=()):
        self.stack, self.url, self.cache = stack, url, cache
        self.folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.address = f"tcp://127.0.0.1:{probe.getsockname()[1]}"
        self.start([str(HEADRACE), "coordinator", "--listen", self.address, *rules])
        self.workers = []

    def start(self, command, **more):
        environment = {**os.environ, "HEADRACE_LOG": "error", "HEADRACE_LOCAL_WORKER": "off"}
        environment["HEADRACE_ALLOW_ENDPOINTS"] = self.url.removeprefix("http://")
        process = subprocess.Popen(command, env=environment, **more)
        self.stack.callback(process.wait)
        self.stack.callback(process.kill)
        return process

    def add_worker(self):
        number = len(self.workers)
        own = self.folder / f"host{number}"
        own.mkdir(mode=0o700)
        boot = own / "boot_id"
        boot.write_text(f"8a1b2c3d-0000-4000-8000-{number:012}\n")
        # 127.1 is no literal of loopback, and leads there.
        steps = (
            f"hostname host{number} && mount --bind {boot} /proc/sys/kernel/random/boot_id && "
            f"exec {HEADRACE} worker --coordinator {self.address} --directory {own} "
            f"--listen tcp://127.0.0.1:0 --advertise 127.1 --threads 1 --cache {self.cache}"
        )
        self.workers.append(self.start(["unshare", "--mount", "--uts", "sh", "-c", steps]))

    def asked(self, what: str):
        command = [str(HEADRACE), what, "--coordinator", self.address, "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)["datasets" if what == "datasets" else "workers"]

    def await_workers(self, count: int) -> None:
        while sum(worker["state"] == "ready" for worker in self.asked("workers")) < count:
            time.sleep(0.1)

    def open(self) -> None:
        command = [str(HEADRACE), "run", "--coordinator", self.address, "--remote-only"]
        self.program = self.start(
            [*command, sys.executable, str(PROGRAM), self.url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def epoch(self) -> dict:
        self.program.stdin.write("\n")
        self.program.stdin.flush()
        return json.loads(self.program.stdout.readline())

    def cached(self) -> float:
        """Entries in all caches, in parts of the samples, once the workers have said so."""
        time.sleep(2.5)
        entries = 0
        for worker in self.asked("cache"):
            entries += sum(dataset["entries"] for dataset in worker["datasets"])
        return entries / SAMPLES


@contextlib.contextmanager
def hosts(folder: pathlib.Path, address: str, workers: int, cache: float, rules=()):
    """`cache`: bytes of all workers together; `rules`: options of the coordinator."""
    with store(folder, address) as url, contextlib.ExitStack() as stack:
        made = Hosts(stack, url, int(cache / workers), rules)
        for _ in range(workers):
            made.add_worker()
        made.await_workers(workers)
        made.open()
        yield made


def shares(folder, address, data, counts):
    for workers in counts:
        for share in SHARES:
            with hosts(folder, address, workers, share * data) as made:
                for _ in range(6):
                    made.epoch()
                    time.sleep(1)
                cached = made.cached()
                hits = [1 - made.epoch()["reads"] / SAMPLES for _ in range(2)]
                hit = statistics.mean(hits)
                yield {"workers": workers, "share": share, "cached": cached, "hits": hit}


def moves(folder, address, data, _counts):
    """Four workers with room for all; one joins, one is killed, one is drained."""
    with hosts(folder, address, 4, 4 * data) as made:

        def settled(what):
            for _ in range(8):
                made.epoch()
                time.sleep(1)
            return {"what": what, "missed": made.epoch()["reads"] / SAMPLES}

        yield settled("four workers")
        made.add_worker()
        made.await_workers(5)
        time.sleep(3)
        yield {"what": "a fifth has joined", "missed": made.epoch()["reads"] / SAMPLES}
        yield settled("five workers")
        made.workers[0].kill()
        time.sleep(8)
        yield {"what": "one was killed", "missed": made.epoch()["reads"] / SAMPLES}
        yield settled("four workers")
        made.workers[1].send_signal(signal.SIGTERM)
        time.sleep(3)
        yield {"what": "one was drained", "missed": made.epoch()["reads"] / SAMPLES}


def joins(folder, address, data, _counts):
    """Four workers with room for half; a fifth joins."""
    with hosts(folder, address, 4, data / 2) as made:

        def epochs(what, count):
            for number in range(count):
                missed = made.epoch()["reads"] / SAMPLES
                yield {"what": what, "epoch": number + 1, "missed": missed}
                time.sleep(1)
            yield {"what": what, "cached": made.cached()}

        yield from epochs("four workers", 8)
        made.add_worker()
        made.await_workers(5)
        time.sleep(3)
        yield from epochs("a fifth has joined", 8)


def speed(folder, address, data, counts):
    """The same caches, with and without sharing: hosts do not share what has a loopback address."""
    for workers in counts:
        for pair in range(3):
            for shared in (True, False):
                store_at = address if shared else "127.0.0.1"
                with hosts(folder, store_at, workers, 1.2 * data) as made:
                    for _ in range(6):
                        made.epoch()
                        time.sleep(1)
                    epochs = [made.epoch() for _ in range(3)]
                yield {
                    "workers": workers,
                    "pair": pair,
                    "shared": shared,
                    "hits": 1 - statistics.mean(e["reads"] for e in epochs) / SAMPLES,
                    "samples_per_second": SAMPLES / statistics.median(e["seconds"] for e in epochs),
                }


def replicas(folder, address, data, counts):
    """Room for all on each host, with copies of what others own and without; then a host is lost."""
    for workers in counts:
        for pair in range(3):
            for rules in ((), ("--no-replicas",)):
                with hosts(folder, address, workers, 1.3 * data * workers, rules) as made:
                    for _ in range(14):
                        made.epoch()
                    epochs = [made.epoch() for _ in range(5)]
                    shown = made.asked("datasets")[0]
                    made.workers[0].kill()
                    time.sleep(8)
                    lost = made.epoch()["reads"] / SAMPLES
                yield {
                    "workers": workers,
                    "pair": pair,
                    "replicas": not rules,
                    "copies": shown["replica_entries"] / SAMPLES,
                    "hits": 1 - statistics.mean(e["reads"] for e in epochs) / SAMPLES,
                    "samples_per_second": SAMPLES / statistics.median(e["seconds"] for e in epochs),
                    "read_after_a_loss": lost,
                }


def main():
    kinds = {"shares": shares, "moves": moves, "joins": joins, "speed": speed, "replicas": replicas}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=list(kinds))
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2, 4, 8, 16])
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    measure = kinds[arguments.what]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        data = make_images(pathlib.Path(folder))
        for row in measure(pathlib.Path(folder), own_address(), data, arguments.workers):
            rows.append(row)
            print(json.dumps(row), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
