"""A strict double of a Kubernetes cluster (kube/), started for a test: nodes whose Pods are processes."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from support import tree
from support.headrace_program import HEADRACE

NAMESPACE = "ml"
MANIFESTS = tree.ROOT / "deploy" / "kubernetes"
TOKEN = "token-of-the-coordinator"


def manifests(name: str) -> list[dict[str, Any]]:
    """The objects of a file in deploy/kubernetes."""
    return [one for one in yaml.safe_load_all((MANIFESTS / name).read_text()) if one]


def role(name: str) -> list[dict[str, list[str]]]:
    """The rules of the Role in a file."""
    (found,) = [one["rules"] for one in manifests(name) if one["kind"] == "Role"]
    return list(found)


def rights(rules: list[dict[str, list[str]]]) -> list[list[str]]:
    """Each verb, group and resource of the rules."""
    return sorted(
        [verb, group, resource]
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    )


@dataclass
class Kubernetes:
    folder: Path
    process: subprocess.Popen[str]
    address: str
    ca_file: str

    def do(self, order: str, **fields: Any) -> Any:
        """The value of an order of kube/__main__.py."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps({"do": order} | fields) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert answer["ok"], f"{order} {fields}: {answer}"
        return answer["value"]

    def allow(self, rules: list[dict[str, list[str]]]) -> None:
        self.do("account", name="headrace", namespace=NAMESPACE, token=TOKEN, rules=rules)

    def words(self, image: str = "headrace-worker") -> list[str]:
        """Options of a coordinator whose workers are Pods here."""
        return [
            "--pool", "kubernetes", "--kubernetes-server", self.address,
            "--kubernetes-ca-file", self.ca_file, "--kubernetes-namespace", NAMESPACE,
            "--kubernetes-token-file", str(self.folder / "token"),
            "--kubernetes-image", image, "--kubernetes-memory", "512M",
        ]  # fmt: skip

    def pods(self) -> list[dict[str, Any]]:
        return list(self.do("pods", namespace=NAMESPACE))

    def log_of(self, pod: str) -> str:
        return (self.folder / "logs" / pod).read_text(errors="replace")


@contextlib.contextmanager
def kubernetes(folder: Path, nodes: int = 4, cores: int = 4) -> Iterator[Kubernetes]:
    """A cluster with the image `headrace-worker` and an account with the Role of deploy/kubernetes."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "token").write_text(TOKEN + "\n")
    tests = str(Path(__file__).resolve().parents[2])
    with open(folder / "server.log", "w") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "support.servers.kube", str(folder)],
            env=os.environ | {"PYTHONPATH": tests},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
        )
    assert process.stdin and process.stdout
    try:
        place = json.loads(process.stdout.readline())
        cluster = Kubernetes(
            folder, process, f"https://127.0.0.1:{place['port']}", place["ca_file"]
        )
        cluster.do("image", name="headrace-worker", program=HEADRACE)
        for number in range(1, nodes + 1):
            cluster.do("node", name=f"n{number}", cores=cores)
        cluster.allow(role("rbac.yaml"))
        yield cluster
    finally:
        process.stdin.close()
        process.wait(30)
        process.stdout.close()
