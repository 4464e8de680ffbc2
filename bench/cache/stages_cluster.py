"""A coordinator, workers and programs with Python stages as processes, and what the coordinator says of them."""

from __future__ import annotations

import contextlib
import json
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "elastic"))
import cluster as clusters  # noqa: E402

MB = 1e6


class Program:
    """stages_program.py under `headrace run`. `run` words of headrace's, `words` of the program's."""

    def __init__(
        self, cluster: Cluster, data: pathlib.Path, *words: str, run: tuple[str, ...] = ()
    ) -> None:
        served = [str(clusters.HEADRACE), "run", "--remote-only", "--coordinator", cluster.address]
        cache = () if "--cache" in run else ("--cache", "8G")
        program = [sys.executable, str(HERE / "stages_program.py"), str(data), *words]
        self.process = subprocess.Popen(
            [*served, *cache, *run, *program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        cluster.stack.callback(self.close)
        assert self.process.stdout.readline().strip() == "ready"

    def begin(self, epochs: int, step: float = 0.0) -> None:
        self.process.stdin.write(json.dumps({"epochs": epochs, "step": step}) + "\n")
        self.process.stdin.flush()

    def wait(self) -> list[int]:
        """The hashes of its epochs' batches."""
        return json.loads(self.process.stdout.readline())

    def epochs(self, count: int, step: float = 0.0) -> list[int]:
        self.begin(count, step)
        return self.wait()

    def close(self) -> None:
        if self.process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.communicate(timeout=20)
            self.process.kill()


class Cluster(clusters.Cluster):
    """Ends all that it started when it is left, programs first."""

    def __init__(
        self, cache: float, *options: str, workers: int = 1, worker: tuple[str, ...] = ()
    ) -> None:
        self.stack = contextlib.ExitStack()
        super().__init__("--heartbeat-ms", "200", *options)
        for _ in range(workers):
            self.worker("--threads", "2", "--cache", str(int(cache)), *worker)

    def __exit__(self, *error: object) -> None:
        self.stack.close()
        super().__exit__(*error)

    def stop_worker(self) -> None:
        """Ends the worker that began last, in order."""
        process = self.processes.pop()
        process.terminate()
        process.wait(20)

    def program(self, data: pathlib.Path, *words: str, run: tuple[str, ...] = ()) -> Program:
        return Program(self, data, *words, run=run)

    def counts(self) -> dict:
        """Sums of all workers: lookups, entries and their room."""
        keys = {"hits": "cache_hits", "misses": "cache_misses", "bytes": "cache_bytes"}
        workers = self.show("workers")["workers"]
        found = {key: sum(each[name] for each in workers) for key, name in keys.items()}
        tiers = [tier for each in workers for tier in each["cache_tiers"]]
        found["entries"] = sum(tier["entries"] for tier in tiers)
        found["samples"] = sum(each["samples"] for each in workers)
        found["worker_cpu"] = sum(each["cpu_seconds"] for each in workers)
        return found

    def settled(self) -> dict:
        """The counts once nothing has changed for five heartbeats: lanes tell of lookups late."""
        before, same = {}, 0
        while same < 3:
            time.sleep(0.35)
            now = self.counts()
            plain = {key: value for key, value in now.items() if key != "worker_cpu"}
            same = same + 1 if plain == before else 0
            before = plain
        return now

    def jobs(self) -> list[dict]:
        return sorted(self.show("jobs")["jobs"], key=lambda job: job["job"])

    def dataset(self, name: str) -> dict:
        """The first row of the list with that name; empty: there is none."""
        rows = self.show("datasets")["datasets"]
        return next((row for row in rows if row["name"] == name), {})

    def order(self, *words: str) -> None:
        command = [str(clusters.HEADRACE), "datasets", *words, "--coordinator", self.address]
        subprocess.run(command, check=True, capture_output=True)


def grown(after: dict, before: dict) -> dict:
    return {key: after[key] - before[key] for key in after}


def hit_share(counts: dict) -> float:
    lookups = counts["hits"] + counts["misses"]
    return counts["hits"] / lookups if lookups else 0.0
