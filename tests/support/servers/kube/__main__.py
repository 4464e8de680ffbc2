"""One order a line on standard input, as JSON, and one answer a line on standard output.

{"do": "calls"} is answered {"ok": true, "value": ["list pods", ...]}. The first line that is written
tells where the server is. When standard input ends, the server ends with all that it has started.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from .cluster import Cluster, Node
from .containers import Runtime
from .objects import Store
from .rights import Account, Rights, as_rules
from .server import Api, Fault, Server


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """A self-made one of 127.0.0.1, which is its own authority."""
    certificate, key = folder / "ca.crt", folder / "server.key"
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
            "-nodes", "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=api server",
            "-addext", "subjectAltName=IP:127.0.0.1",
        ],
        check=True,
        capture_output=True,
    )  # fmt: skip
    return certificate, key


class Control:
    """Orders of a test. Each is a method."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def account(self, name: str, namespace: str, token: str, rules: Any) -> None:
        self._api.rights.add(Account(name, namespace, token, as_rules(rules)))

    def image(self, name: str, program: str) -> None:
        """Without it, no Pod with that image starts."""
        self._api.cluster.runtime.images[name] = program

    def node(
        self, name: str, cores: float, labels: Any = None, taints: Any = (), memory: float = 2**40
    ) -> None:
        node = Node(name, cores, memory, labels or {}, list(taints))
        with self._api.store.changed:
            self._api.cluster.nodes[name] = node

    def secret(self, namespace: str, name: str, files: dict[str, str]) -> None:
        self._api.store.create("secrets", namespace, {"metadata": {"name": name}, "data": files})

    def workload(self, resource: str, namespace: str, name: str, spec: Any) -> str:
        made = {"metadata": {"name": name}, "spec": spec}
        return str(self._api.store.create(resource, namespace, made)["metadata"]["uid"])

    def remove(self, resource: str, namespace: str, name: str) -> None:
        self._api.store.remove(resource, namespace, name)

    def quota(self, pods: int | None) -> None:
        self._api.most_pods = pods

    def freeze(self, on: bool) -> None:
        """No Pod is given a node."""
        self._api.cluster.frozen = on

    def strict(self, on: bool) -> None:
        self._api.strict = on

    def fault(self, **fields: Any) -> None:
        with self._api.store.changed:
            self._api.faults.append(Fault(**fields))

    def cut(self) -> None:
        self._api.store.cut()

    def forget_history(self) -> None:
        self._api.store.forget_history()

    def lose_node(self, name: str) -> None:
        self._api.cluster.lose(name)

    def forget_node(self, name: str) -> None:
        self._api.cluster.forget(name)

    def drain_node(self, name: str) -> None:
        self._api.cluster.drain(name)

    def end_pod(self, namespace: str, name: str, reason: str) -> None:
        self._api.cluster.end_pod(namespace, name, reason)

    def pods(self, namespace: str) -> list[Any]:
        """As stored, each with its process here."""
        with self._api.store.changed:
            found = self._api.store.list("pods", namespace)
            return [pod | {"pid": self._api.cluster.process_of(pod)} for pod in found]

    def get(self, resource: str, namespace: str, name: str) -> Any:
        return self._api.store.get(resource, namespace, name)

    def calls(self) -> list[str]:
        with self._api.store.changed:
            return list(self._api.calls)

    def used(self) -> list[Any]:
        with self._api.store.changed:
            return sorted(self._api.rights.used)

    def forced(self) -> int:
        return self._api.cluster.forced


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--scale", type=float, default=1.0, help="seconds for one of Kubernetes'")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    certificate, key = make_certificate(given.folder)
    store = Store()
    cluster = Cluster(store, Runtime(given.folder, store), given.scale)
    api = Api(store, cluster, Rights())
    cluster.start()
    server = Server(api, certificate, key)
    control = Control(api)
    print(json.dumps({"port": server.port, "ca_file": str(certificate)}), flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        try:
            value = getattr(control, order.pop("do"))(**order)
            print(json.dumps({"ok": True, "value": value}), flush=True)
        except Exception as e:
            print(json.dumps({"ok": False, "error": repr(e)}), flush=True)
    server.stop()
    cluster.stop()


if __name__ == "__main__":
    main()
