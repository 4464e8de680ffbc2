"""A real Ray cluster on this host, of several nodes, started by a test.

The packages of the tests and Ray's are apart: Ray is in an environment of its own (HEADRACE_TEST_RAY, which
./dev makes), whose interpreter runs this file as a program: one order a line comes in, as JSON, and one
answer a line goes out."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PYTHON = os.environ.get("HEADRACE_TEST_RAY", "")


def missing() -> str:
    """Why there is no Ray here; empty: it can run."""
    if not PYTHON:
        return "HEADRACE_TEST_RAY names no interpreter with Ray; ./dev test makes one"
    return "" if os.access(PYTHON, os.X_OK) else f"HEADRACE_TEST_RAY: there is no {PYTHON}"


@dataclass
class Ray:
    process: subprocess.Popen[str]
    address: str

    def do(self, order: str, **fields: Any) -> Any:
        """The value of an order of `_Control`."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps({"do": order} | fields) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert answer["ok"], f"{order} {fields}: {answer}"
        return answer["value"]

    def words(self) -> list[str]:
        """Options of a coordinator whose workers are actors here."""
        return ["--pool", "ray", "--ray-python", PYTHON, "--ray-address", self.address,
                "--ray-memory", "256M"]  # fmt: skip


@contextlib.contextmanager
def ray_cluster(folder: Path) -> Iterator[Ray]:
    """Its first node has no CPU for workers. All of it ends with the test."""
    folder.mkdir(parents=True, exist_ok=True)
    variables = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    with open(folder / "ray.log", "w") as said:
        process = subprocess.Popen(
            [PYTHON, "-P", __file__],
            # Paths of sockets are short; Ray would report its use, and ask for more memory.
            env=variables | {"RAY_TMPDIR": "/tmp", "RAY_USAGE_STATS_ENABLED": "0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
            start_new_session=True,
        )
    assert process.stdin and process.stdout
    try:
        line = process.stdout.readline()
        assert line, (folder / "ray.log").read_text()
        yield Ray(process, json.loads(line)["address"])
    finally:
        process.stdin.close()
        process.wait(60)
        process.stdout.close()


class _Control:
    """Orders of a test. Each is a method. Runs with Ray's interpreter."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        self._cluster = Cluster(
            initialize_head=True,
            head_node_args={"num_cpus": 0, "include_dashboard": False, "object_store_memory": 80 << 20},
        )  # fmt: skip
        self.address = self._cluster.address
        self._nodes: dict[str, Any] = {}

    def add_node(self, name: str, cpus: int, labels: Any = None) -> None:
        self._nodes[name] = self._cluster.add_node(
            num_cpus=cpus, object_store_memory=80 << 20, labels=labels or {}
        )

    def kill_node(self, name: str) -> None:
        """Nothing of it is left."""
        self._cluster.remove_node(self._nodes.pop(name), allow_graceful=False)

    def drain_node(self, name: str, seconds: float) -> None:
        """As a cloud that takes a spot instance back, and `ray drain-node`."""
        import time

        from ray._raylet import GcsClient
        from ray.core.generated.autoscaler_pb2 import DrainNodeReason

        deadline = int((time.time() + seconds) * 1000)
        reason = DrainNodeReason.Value("DRAIN_NODE_REASON_PREEMPTION")
        accepted, why = GcsClient(self.address).drain_node(
            self._nodes[name].node_id, reason, "a test", deadline
        )
        assert accepted, why

    def node_of(self, pid: int) -> str | None:
        """The node whose raylet has started the process, or one above it."""
        raylets = {
            one.all_processes["raylet"][0].process.pid: name for name, one in self._nodes.items()
        }
        while pid > 1:
            if pid in raylets:
                return raylets[pid]
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        return None

    def actors(self) -> list[str]:
        import ray

        if not ray.is_initialized():
            ray.init(address=self.address, namespace="headrace", log_to_driver=False)
        return sorted(ray.util.list_named_actors())

    def end(self) -> None:
        self._cluster.shutdown()


def _main() -> None:
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what Ray prints must not come between the answers
    control = _Control()
    out.write(json.dumps({"address": control.address}) + "\n")
    out.flush()
    try:
        for line in sys.stdin:
            order = json.loads(line)
            try:
                answer = {"ok": True, "value": getattr(control, order.pop("do"))(**order)}
            except Exception as error:
                answer = {"ok": False, "why": repr(error)}
            out.write(json.dumps(answer) + "\n")
            out.flush()
    finally:
        control.end()


if __name__ == "__main__":
    _main()
