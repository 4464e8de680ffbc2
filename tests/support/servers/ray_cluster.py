"""A real Ray cluster on this host, of several nodes, started by a test.

The packages of the tests and Ray's are apart: Ray is in an environment of its own (HEADRACE_TEST_RAY, which
./dev makes), whose interpreter runs this file as a program: one order a line comes in, as JSON, and one
answer a line goes out."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

PYTHON = os.environ.get("HEADRACE_TEST_RAY", "")
_MARK = "TEST_RAY_CLUSTER"


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


@dataclass
class Machines:
    """What an autoscaler may start: nodes that are alike."""

    cpus: int
    memory: int = 2 << 30
    most: int = 1
    idle_minutes: float = 0.05  # then one goes


@contextlib.contextmanager
def ray_cluster(folder: Path, machines: Machines | None = None) -> Iterator[Ray]:
    """Its first node has no CPU for workers. With `machines`, Ray's autoscaler starts and ends others. All of it
    ends with the test."""
    folder.mkdir(parents=True, exist_ok=True)
    variables = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    with open(folder / "ray.log", "w") as said:
        process = subprocess.Popen(
            [PYTHON, "-P", __file__, json.dumps(machines and asdict(machines))],
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

    def __init__(self, machines: Any = None) -> None:
        head: dict[str, Any] = {
            "num_cpus": 0, "include_dashboard": False, "object_store_memory": 80 << 20,
        }  # fmt: skip
        # All that the cluster starts has it, also what a node's end leaves behind.
        os.environ[_MARK] = str(os.getpid())
        if machines:
            head |= _autoscaler(machines)
        from ray.cluster_utils import Cluster

        self._cluster = Cluster(initialize_head=True, head_node_args=head)
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
        return sorted(self._ray().util.list_named_actors())

    def machines(self) -> int:
        """Nodes with CPUs, however they came."""
        nodes = self._ray().nodes()
        return sum(1 for node in nodes if node["Alive"] and node["Resources"].get("CPU"))

    def _ray(self) -> Any:
        import ray

        if not ray.is_initialized():
            ray.init(address=self.address, namespace="headrace", log_to_driver=False)
        return ray

    def end(self) -> None:
        import ray

        ray.shutdown()
        self._cluster.shutdown()
        mark = f"{_MARK}={os.getpid()}".encode()
        for place in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                of_this = mark in (place / "environ").read_bytes().split(b"\0")
                if of_this and int(place.name) != os.getpid():
                    os.kill(int(place.name), signal.SIGKILL)


def _autoscaler(machines: dict[str, Any]) -> dict[str, Any]:
    """What the head's node is started with, so that Ray's own autoscaler runs beside it. Where a cloud would give
    a machine, `ray_nodes` starts a node here."""
    # Ray's double of a cloud knows a node by this number in place of an address.
    from ray.autoscaler._private.fake_multi_node.node_provider import FAKE_HEAD_NODE_ID

    os.environ |= {
        "RAY_FAKE_CLUSTER": "1",
        "AUTOSCALER_UPDATE_INTERVAL_S": "1",
        "RAY_OVERRIDE_NODE_ID_FOR_TESTING": FAKE_HEAD_NODE_ID,
        "PYTHONPATH": str(Path(__file__).parent / "ray_cloud"),
    }
    import ray._private.services
    import yaml

    with socket.socket() as free:
        free.bind(("", 0))
        port = free.getsockname()[1]
    ip = ray._private.services.get_node_ip_address()
    settings = {
        "cluster_name": "test",
        "max_workers": machines["most"],
        "idle_timeout_minutes": machines["idle_minutes"],
        "provider": {
            "type": "external",
            "module": "ray_nodes.Nodes",
            "use_node_id_as_ip": True,  # all have this host's
            # There is nobody to log in to.
            "disable_node_updaters": True,
            "disable_launch_config_check": True,
            "gcs_address": f"{ip}:{port}",
            "memory": machines["memory"],
        },
        "available_node_types": {
            "ray.head.default": {"resources": {}, "node_config": {}, "max_workers": 0},
            "machine": {
                "resources": {"CPU": machines["cpus"], "memory": machines["memory"],
                              "object_store_memory": 80 << 20},
                "node_config": {},
                "min_workers": 0,
                "max_workers": machines["most"],
            },
        },
        "head_node_type": "ray.head.default",
        "upscaling_speed": 1.0,
        "auth": {},
        "file_mounts": {},
        "cluster_synced_files": [],
        "file_mounts_sync_continuously": False,
        "initialization_commands": [],
        "setup_commands": [],
        "head_setup_commands": [],
        "worker_setup_commands": [],
        "head_start_ray_commands": [],
        "worker_start_ray_commands": [],
    }  # fmt: skip
    descriptor, path = tempfile.mkstemp(suffix=".yaml")
    with os.fdopen(descriptor, "w") as file:
        yaml.safe_dump(settings, file)
    return {"autoscaling_config": path, "gcs_server_port": port}


def _main() -> None:
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what Ray prints must not come between the answers
    control = _Control(json.loads(sys.argv[1]))
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
