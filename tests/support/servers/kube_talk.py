"""What the pool on Kubernetes asks, said to the real API server and to its double, and the shape of what
they answer.

`kube_api.json` has the shapes of the real one's answers (`./dev test` has no real one). They
have no value that differs from run to run."""

import json
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.headrace_program import wait_for

from .kube_api import PODS, Answer, Client, Json
from .kubernetes import NAMESPACE, TOKEN, Kubernetes, role

RECORDED = Path(__file__).with_name("kube_api.json")
MERGE = "application/merge-patch+json"
_STATEFUL = f"/apis/apps/v1/namespaces/{NAMESPACE}/statefulsets"
_SCALE = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/headrace-workers/scale"
# Their values are a part of the protocol, and are compared. Of all others the type is.
# Words of kubelets and controllers; beside the real server there are none.
_OTHERS = ("containerStatuses", "conditions")
_WORDS = ("kind", "apiVersion", "status", "reason", "code", "type", "restartPolicy",
          "deletionGracePeriodSeconds", "message")  # fmt: skip


def pod(name: str = "") -> Json:
    """As the pool makes them."""
    named = {"name": name} if name else {"generateName": "headrace-x-"}
    labels = {"headrace.io/pool": "p", "headrace.io/epoch": "17", "headrace.io/start": "1"}
    container = {
        "name": "worker", "image": "talk", "args": ["worker"],
        "resources": {"requests": {"cpu": "1", "memory": "536870912"}},
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "env": [{"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
    }  # fmt: skip
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": named | {"labels": labels},
        "spec": {
            "restartPolicy": "Never", "terminationGracePeriodSeconds": 60,
            "automountServiceAccountToken": False, "containers": [container],
        },
    }  # fmt: skip


class Side:
    """One of the two. Its rights are those of rbac.yaml and scale.yaml together."""

    def __init__(self, client: Callable[[str], Client]) -> None:
        self._client = client

    def ask(self, method: str, path: str, body: Json | None = None, kind: str = "") -> Answer:
        return self._client(TOKEN).ask(method, path, body, kind)

    def strangers(self, path: str) -> Answer:
        return self._client("no-such-token").ask("GET", path)

    def bind(self, name: str) -> None:
        raise NotImplementedError

    def evict(self, name: str) -> None:
        raise NotImplementedError

    def freeze(self) -> None:
        """Pods get no node any more, as beside the real server."""

    def wait_in_vain(self, name: str) -> None:
        """A scheduler says that it has no node for the Pod."""

    def quota(self, pods: int | None) -> None:
        raise NotImplementedError

    def forget(self) -> str:
        """What it knew before; a resource version from then."""
        raise NotImplementedError


class RealSide(Side):
    def __init__(self, api: Any) -> None:
        super().__init__(api.client)
        self._admin, self._api = api.client(), api
        api.apply("rbac.yaml")
        self._rights()
        template = {"metadata": {"labels": {"app": "w"}}, "spec": {"containers": [
            {"name": "worker", "image": "x"}]}}  # fmt: skip
        for kind, place, name in (
            ("StatefulSet", _STATEFUL, "headrace"),
            ("Deployment", _SCALE.rpartition("/headrace-workers/")[0], "headrace-workers"),
        ):
            self._admin.do("POST", place, {
                "apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name},
                "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "w"}}, "template": template,
                         **({"serviceName": "x"} if kind == "StatefulSet" else {})},
            })  # fmt: skip

    def _rights(self) -> None:
        """Those of scale.yaml, for the same account."""
        place = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{NAMESPACE}"
        self._admin.do("POST", f"{place}/roles", {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
            "metadata": {"name": "scale"},
            "rules": [r for r in role("scale.yaml") if r["resources"] != ["pods"]],
        })  # fmt: skip
        self._admin.do("POST", f"{place}/rolebindings", {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "metadata": {"name": "scale"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "scale"},
            "subjects": [{"kind": "ServiceAccount", "name": "headrace"}],
        })  # fmt: skip

    def bind(self, name: str) -> None:
        self._admin.do("POST", f"{PODS}/{name}/binding", {
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
            "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"},
        })  # fmt: skip

    def wait_in_vain(self, name: str) -> None:
        why = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "x"}
        self._admin.do("PATCH", f"{PODS}/{name}/status", {"status": {"conditions": [why]}}, MERGE)

    def evict(self, name: str) -> None:
        self._admin.do("POST", f"{PODS}/{name}/eviction", {
            "apiVersion": "policy/v1beta1", "kind": "Eviction", "metadata": {"name": name},
        })  # fmt: skip

    def quota(self, pods: int | None) -> None:
        place = f"/api/v1/namespaces/{NAMESPACE}/resourcequotas"
        if pods is None:
            self._admin.do("DELETE", f"{place}/workers")
            return
        made = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "workers"},
                "spec": {"hard": {"pods": str(pods)}}}  # fmt: skip
        self._admin.do("POST", place, made)
        # What a controller counts elsewhere.
        status = {"status": {"hard": {"pods": str(pods)}, "used": {"pods": str(pods)}}}
        self._admin.do("PATCH", f"{place}/workers/status", status, MERGE)

    def forget(self) -> str:
        before = self._admin.do("GET", PODS)["metadata"]["resourceVersion"]
        for _ in range(3):
            name = self._admin.do("POST", PODS, pod())["metadata"]["name"]
            self._admin.do("DELETE", f"{PODS}/{name}", {"gracePeriodSeconds": 0})
        self._api.restart()
        wait_for(
            lambda: self.ask("GET", PODS).code == 200, "rights", 60
        )  # they come later than it answers
        return str(before)


class DoubleSide(Side):
    def __init__(self, cluster: Kubernetes) -> None:
        port = int(cluster.address.rpartition(":")[2])
        super().__init__(lambda token: Client(port, cluster.ca_file, token))
        self._cluster = cluster
        program = cluster.folder / "talk"
        program.write_text("#!/bin/sh\ntrap '' TERM\nwhile :; do sleep 0.1; done\n")
        program.chmod(0o700)
        cluster.do("image", name="talk", program=str(program))
        cluster.allow(
            [*role("rbac.yaml"), *(r for r in role("scale.yaml") if r["resources"] != ["pods"])]
        )
        template = {"metadata": {"labels": {"app": "w"}}, "spec": {"containers": []}}
        for resource, name in ("statefulsets", "headrace"), ("deployments", "headrace-workers"):
            cluster.do("workload", resource=resource, namespace=NAMESPACE, name=name, spec={
                "replicas": 0, "selector": {"matchLabels": {"app": "w"}}, "template": template,
            })  # fmt: skip

    def bind(self, name: str) -> None:
        def bound() -> bool:
            (found,) = [p for p in self._cluster.pods() if p["metadata"]["name"] == name]
            return bool(found["status"]["phase"] == "Running")

        wait_for(bound, "a node for the Pod", 30)

    def evict(self, name: str) -> None:
        (found,) = [p for p in self._cluster.pods() if p["metadata"]["name"] == name]
        self._cluster.do("drain_node", name=found["spec"]["nodeName"])

    def freeze(self) -> None:
        self._cluster.do("freeze", on=True)

    def quota(self, pods: int | None) -> None:
        self._cluster.do("quota", pods=pods)

    def forget(self) -> str:
        before = self.ask("GET", PODS).body[0]["metadata"]["resourceVersion"]
        self._cluster.do("forget_history")
        return str(before)


def talk(side: Side) -> dict[str, Any]:
    """The shape of each answer, by what was asked."""
    said: dict[str, Answer] = {}
    selector = "labelSelector=headrace.io%2Fpool%3Dp"
    said["an unknown token"] = side.strangers(PODS)
    said["list of none"] = side.ask("GET", f"{PODS}?{selector}")
    begin = said["list of none"].body[0]["metadata"]["resourceVersion"]
    said["list elsewhere"] = side.ask("GET", "/api/v1/namespaces/default/pods")
    said["get without the right"] = side.ask("GET", f"{PODS}/x")
    said["create"] = side.ask("POST", PODS, pod())
    name = said["create"].body[0]["metadata"]["name"]
    assert re.fullmatch("headrace-x-[bcdfghjklmnpqrstvwxz2456789]{5}", name), name
    said["create with a name"] = side.ask("POST", PODS, pod("twice"))
    said["create with a name that is there"] = side.ask("POST", PODS, pod("twice"))
    said["create of nonsense"] = side.ask("POST", PODS, pod() | {"spec": {"containers": []}})
    side.bind(name)
    said["list"] = side.ask("GET", f"{PODS}?{selector}")
    wrong = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": "of-another"}}
    said["delete of another of its name"] = side.ask("DELETE", f"{PODS}/{name}", wrong)
    grace = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 45}
    said["delete with a grace"] = side.ask("DELETE", f"{PODS}/{name}", grace)
    said["delete of none"] = side.ask("DELETE", f"{PODS}/no-such-pod", grace)
    side.bind("twice")
    side.evict("twice")
    said["list after an eviction"] = side.ask("GET", f"{PODS}?{selector}")
    none = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
    for each in name, "twice":
        side.ask("DELETE", f"{PODS}/{each}", none)
    since = f"watch=1&resourceVersion={begin}&timeoutSeconds=2&{selector}"
    said["watch"] = side.ask("GET", f"{PODS}?{since}")
    side.freeze()
    begin = side.ask("GET", PODS).body[0]["metadata"]["resourceVersion"]

    def create() -> None:
        side.ask("POST", PODS, pod("meanwhile"))
        side.wait_in_vain("meanwhile")

    later = threading.Timer(2, create)
    later.start()
    since = f"watch=1&resourceVersion={begin}&timeoutSeconds=9&allowWatchBookmarks=true&{selector}"
    said["watch with bookmarks"] = side.ask("GET", f"{PODS}?{since}")
    later.join()
    side.ask("DELETE", f"{PODS}/meanwhile", none)
    side.quota(0)
    said["create beyond the quota"] = side.ask("POST", PODS, pod())
    side.quota(None)
    said["get of an owner"] = side.ask("GET", f"{_STATEFUL}/headrace")
    said["scale of none"] = side.ask("GET", _SCALE)
    said["scale to two"] = side.ask("PATCH", _SCALE, {"spec": {"replicas": 2}}, MERGE)
    said["scale to none"] = side.ask("PATCH", _SCALE, {"spec": {"replicas": 0}}, MERGE)
    said["scale of another"] = side.ask("GET", _SCALE.replace("/headrace-workers/", "/x/"))
    said["watch from too long ago"] = side.ask(
        "GET", f"{PODS}?watch=1&resourceVersion={side.forget()}&timeoutSeconds=2&{selector}"
    )
    return {what: shape_of(answer) for what, answer in said.items()}


def shape_of(answer: Answer) -> Json:
    bodies = [_shape("", body) for body in answer.body]
    if bodies and "type" in bodies[0]:  # one of each kind of event is enough
        bodies = [
            one
            for i, one in enumerate(bodies)
            if one["type"] not in [b["type"] for b in bodies[:i]]
        ]
    kind = answer.content_type.partition(";")[0]
    return {"code": answer.code, "content-type": kind, "body": bodies}


def _shape(name: str, value: Any) -> Any:
    if isinstance(value, dict):
        kept = {"annotations", "labels", "managedFields"}
        return {
            k: ("..." if k in kept else _shape(k, v))
            for k, v in sorted(value.items())
            if k not in _OTHERS
        }
    if isinstance(value, list):
        return [_shape(name, value[0])] if value else []
    if name == "message" and isinstance(value, str):
        return _plain(value)
    return value if name in _WORDS else type(value).__name__


def _plain(message: str) -> str:
    """Without names and numbers of a run."""
    message = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "UID", message)
    message = re.sub(r"headrace-x-\w*", "NAME", message)
    return re.sub(r"\b\d+\b", "N", message)


def differences(real: Any, double: Any, where: str = "") -> list[str]:
    """What the double says that the real server would not: a field that is not there, another type, another
    word. It may say less."""
    if isinstance(double, dict) and isinstance(real, dict):
        return [
            line
            for key, value in double.items()
            for line in (
                differences(real[key], value, f"{where}.{key}")
                if key in real
                else [f"{where}.{key}: the real server has no such field"]
            )
        ]
    if isinstance(double, list) and isinstance(real, list):
        if not double or not real:
            return [] if not double else [f"{where}: the real server has none"]
        by_type = {one["type"]: one for one in real if isinstance(one, dict) and "type" in one}
        if by_type and "body" in where and "type" in double[0]:
            return [
                line
                for one in double
                for line in (
                    differences(by_type[one["type"]], one, f"{where}.{one['type']}")
                    if one["type"] in by_type
                    else [f"{where}: the real server sends no {one['type']}"]
                )
            ]
        return differences(real[0], double[0], f"{where}[]")
    return [] if real == double else [f"{where}: {double!r}, and the real server says {real!r}"]


def missing_fields(double: Any, paths: list[str]) -> list[str]:
    """Those of the paths, "metadata.uid", that are not there."""
    lacking = []
    for path in paths:
        at = double
        for part in path.split("."):
            at = at[0] if isinstance(at, list) and at else at
            at = at.get(part) if isinstance(at, dict) else None
        if at is None:
            lacking.append(path)
    return lacking


def record(shapes: dict[str, Any]) -> None:
    RECORDED.write_text(json.dumps(shapes, indent=1, sort_keys=True) + "\n")


def recorded() -> dict[str, Any]:
    return dict(json.loads(RECORDED.read_text()))
