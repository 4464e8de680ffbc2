"""The real API server of Kubernetes with etcd, started for a test, and a kubelet that runs Pods as processes
of this host. HEADRACE_TEST_KUBE names the program kube-apiserver, which deploy/dev/kube_apiserver.sh
builds."""

import contextlib
import http.client
import json
import os
import shutil
import signal
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.headrace_program import HEADRACE, clean_environment, free_port, wait_for

from .kube.__main__ import make_certificate
from .kubernetes import NAMESPACE, TOKEN, manifests
from .processes import processes

PROGRAM = os.environ.get("HEADRACE_TEST_KUBE", "")
ADMIN = "token-of-the-administrator"
Json = dict[str, Any]


def missing() -> str:
    """Why there is no API server here; empty: it can run."""
    if not PROGRAM:
        return "HEADRACE_TEST_KUBE names no kube-apiserver; deploy/dev/kube_apiserver.sh builds one"
    return "" if shutil.which("etcd") else "etcd is not installed here"


@dataclass
class Answer:
    code: int
    content_type: str
    body: list[Json]  # of a watch: its events


@dataclass
class Client:
    """Asks an API server, the real one or its double, as who has the token."""

    port: int
    ca_file: str
    token: str

    def ask(self, method: str, path: str, body: Json | None = None, kind: str = "") -> Answer:
        context = ssl.create_default_context(cafile=self.ca_file)
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.port, timeout=30, context=context
        )
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = kind or "application/json"
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        lines = text.splitlines() if "watch=" in path and answer.status == 200 else [text]
        kind = answer.getheader("Content-Type", "")
        return Answer(answer.status, kind, [json.loads(line) for line in lines if line.strip()])

    def do(self, method: str, path: str, body: Json | None = None, kind: str = "") -> Json:
        answer = self.ask(method, path, body, kind)
        assert answer.code < 300, f"{method} {path}: {answer}"
        return answer.body[0]


@dataclass
class KubeApi:
    folder: Path
    port: int
    ca_file: str
    restart: Callable[[], None]  # etcd keeps what there is; what was watched is forgotten

    def client(self, token: str = ADMIN) -> Client:
        return Client(self.port, self.ca_file, token)

    def apply(self, name: str) -> None:
        """Creates the objects of a file of deploy/kubernetes, as they are there."""
        for made in manifests(name):
            group = made["apiVersion"]
            base = f"/api/{group}" if "/" not in group else f"/apis/{group}"
            place = f"{base}/namespaces/{NAMESPACE}/{made['kind'].lower()}s"
            if made["kind"] == "NetworkPolicy":
                place = place.replace("networkpolicys", "networkpolicies")
            self.client().do("POST", place, made)

    def words(self) -> list[str]:
        """Options of a coordinator whose workers are Pods here."""
        pods = "--kubernetes-image", "headrace-worker", "--kubernetes-memory", "512M"
        return ["--pool", "kubernetes", *self.access(), *pods]

    def access(self) -> list[str]:
        return [
            "--kubernetes-server", f"https://127.0.0.1:{self.port}",
            "--kubernetes-ca-file", self.ca_file, "--kubernetes-namespace", NAMESPACE,
            "--kubernetes-token-file", str(self.folder / "token"),
        ]  # fmt: skip

    def pods(self) -> list[Json]:
        return list(self.client().do("GET", PODS)["items"])


PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"


class Kubelet:
    """Gives each Pod a node, runs its container as a process, and tells the API server of its end."""

    def __init__(self, api: KubeApi) -> None:
        self._api = api
        self._client = api.client()
        self._running: dict[str, subprocess.Popen[bytes]] = {}  # by uid
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()
        for process in self._running.values():
            process.kill()
            process.wait()

    def pid_of(self, name: str) -> int:
        (pod,) = [one for one in self._api.pods() if one["metadata"]["name"] == name]
        return self._running[pod["metadata"]["uid"]].pid

    def _run(self) -> None:
        while not self._over.wait(0.1):
            for pod in self._api.pods():
                with contextlib.suppress(AssertionError):  # it has changed meanwhile
                    self._look_after(pod)

    def _look_after(self, pod: Json) -> None:
        metadata = pod["metadata"]
        place = f"{PODS}/{metadata['name']}"
        process = self._running.get(metadata["uid"])
        if "nodeName" not in pod["spec"]:
            target = {"apiVersion": "v1", "kind": "Node", "name": "n1"}
            self._client.do("POST", f"{place}/binding", {
                "apiVersion": "v1", "kind": "Binding", "metadata": {"name": metadata["name"]},
                "target": target,
            })  # fmt: skip
        elif process is None and "deletionTimestamp" not in metadata:
            self._begin(pod, place)
        elif process is not None and process.poll() is not None:
            if "deletionTimestamp" in metadata:
                self._client.ask("DELETE", place, {"gracePeriodSeconds": 0})
            elif pod["status"]["phase"] == "Running":
                self._tell(pod, place, process.returncode)
        elif process is not None and "deletionTimestamp" in metadata:
            process.send_signal(signal.SIGTERM)
        elif process is None:
            self._client.ask("DELETE", place, {"gracePeriodSeconds": 0})

    def _begin(self, pod: Json, place: str) -> None:
        (container,) = pod["spec"]["containers"]
        named = {}
        for one in container.get("env", []):
            named[one["name"]] = one.get("value") or pod["metadata"]["name"]
        words = [word.replace("$(POD_NAME)", pod["metadata"]["name"]) for word in container["args"]]
        with open(self._api.folder / f"{pod['metadata']['name']}.log", "wb") as said:
            self._running[pod["metadata"]["uid"]] = subprocess.Popen(
                [HEADRACE, *words], env=clean_environment(**named), stdout=said, stderr=said,
                start_new_session=True,
            )  # fmt: skip
        self._say(pod, place, "Running", {"running": {"startedAt": _now()}})

    def _tell(self, pod: Json, place: str, code: int) -> None:
        number = {"signal": -code, "exitCode": 128 - code} if code < 0 else {"exitCode": code}
        ended = number | {"reason": "Error" if code else "Completed", "finishedAt": _now()}
        self._say(pod, place, "Failed" if code else "Succeeded", {"terminated": ended})

    def _say(self, pod: Json, place: str, phase: str, state: Json) -> None:
        status = {"phase": phase, "containerStatuses": [{
            "name": pod["spec"]["containers"][0]["name"], "state": state, "image": "x", "imageID": "x",
            "ready": phase == "Running", "restartCount": 0,
        }]}  # fmt: skip
        self._client.do(
            "PATCH", f"{place}/status", {"status": status}, "application/merge-patch+json"
        )


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


@contextlib.contextmanager
def kube_api(folder: Path) -> Iterator[KubeApi]:
    """With the namespace of the tests, and accounts by token: an administrator, and the service account
    `headrace`, whose rights the test applies."""
    folder.mkdir(parents=True, exist_ok=True)
    certificate, key = make_certificate(folder)
    (folder / "token").write_text(TOKEN + "\n")
    account = f"system:serviceaccount:{NAMESPACE}:headrace"
    (folder / "tokens.csv").write_text(f'{ADMIN},admin,1,"system:masters"\n{TOKEN},{account},2,\n')
    etcd, peer, port = free_port(), free_port(), free_port()
    with processes(folder) as made:
        made.run("openssl", "genrsa", "-out", "accounts.key", "2048")
        made.start(
            "etcd", "--data-dir", "etcd", "--listen-client-urls", f"http://127.0.0.1:{etcd}",
            "--advertise-client-urls", f"http://127.0.0.1:{etcd}",
            "--listen-peer-urls", f"http://127.0.0.1:{peer}",
            "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}",
            "--initial-cluster", f"default=http://127.0.0.1:{peer}",
        )  # fmt: skip
        words = [
            PROGRAM, f"--etcd-servers=http://127.0.0.1:{etcd}", "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1", f"--secure-port={port}", f"--cert-dir={folder}/certs",
            f"--tls-cert-file={certificate}", f"--tls-private-key-file={key}",
            "--service-cluster-ip-range=10.99.0.0/24",
            f"--service-account-key-file={folder}/accounts.key",
            f"--service-account-signing-key-file={folder}/accounts.key",
            "--service-account-issuer=https://headrace.test", "--api-audiences=https://headrace.test",
            "--authorization-mode=RBAC", f"--token-auth-file={folder}/tokens.csv",
            "--disable-admission-plugins=ServiceAccount", "--endpoint-reconciler-type=none",
        ]  # fmt: skip
        servers = [made.start(*words)]

        def answers() -> bool:
            assert servers[-1].poll() is None, made.said()
            try:
                return api.client().ask("GET", "/api/v1/namespaces/default").code == 200
            except (OSError, http.client.HTTPException, ValueError):
                return False

        def restart() -> None:
            servers[-1].kill()
            servers[-1].wait()
            servers.append(made.start(*words))
            wait_for(answers, "API server", 120)

        api = KubeApi(folder, port, str(certificate), restart)
        wait_for(answers, "API server", 120)
        name = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        api.client().do("POST", "/api/v1/namespaces", name)
        yield api
