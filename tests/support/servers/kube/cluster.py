"""What runs beside the API server: a scheduler, kubelets, and the controllers of what has replicas."""

import signal
import threading
import time
from dataclasses import dataclass
from typing import Any

from .containers import Container, Runtime, Waits
from .fields import bytes_of
from .objects import ApiError, Object, Store, now

_LOOK = 0.02  # s, after the ends of processes
_COST = "controller.kubernetes.io/pod-deletion-cost"


@dataclass
class Node:
    name: str
    cores: float
    memory: float
    labels: dict[str, str]
    taints: list[str]  # keys, NoSchedule
    lost: bool = False
    cordoned: bool = False


@dataclass
class Running:
    """A Pod on a kubelet."""

    container: Container | None = None
    told: bool = False  # SIGTERM was sent
    kill_at: float | None = None
    forced: str | None = None  # how its phase ends, where the node ended it
    restarts: int = 0


class Cluster:
    """One thread does all of it, in the order of names, so that tests can tell what happens."""

    def __init__(self, store: Store, runtime: Runtime, scale: float) -> None:
        self.store, self.runtime = store, runtime
        self.nodes: dict[str, Node] = {}
        self.frozen = False  # no Pod is bound to a node
        self.forced = 0  # Pods that were deleted without any grace while they ran
        self._scale = scale  # seconds here for one of Kubernetes'
        self._running: dict[str, Running] = {}  # by uid
        self._stopped = False
        self._thread = threading.Thread(target=self._run)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped = True
        with self.store.changed:
            self.store.changed.notify_all()
        self._thread.join()
        for running in self._running.values():
            if running.container:
                running.container.end(signal.SIGKILL)
                running.container.process.wait()

    def process_of(self, pod: Object) -> int:
        running = self._running.get(pod["metadata"]["uid"])
        return running.container.process.pid if running and running.container else 0

    # What tests do to it.

    def lose(self, name: str) -> None:
        """Its processes are gone and its kubelet is silent; nobody is told."""
        with self.store.changed:
            self.nodes[name].lost = True
            for pod in self._pods():
                running = self._running.get(pod["metadata"]["uid"])
                if pod["spec"].get("nodeName") == name and running and running.container:
                    running.container.end(signal.SIGKILL)

    def forget(self, name: str) -> None:
        """The node's object is deleted: its Pods go too (the Pod garbage collector)."""
        with self.store.changed:
            del self.nodes[name]
            for pod in self._pods():
                if pod["spec"].get("nodeName") == name:
                    self._remove(pod)

    def drain(self, name: str) -> None:
        """As `kubectl drain`: nothing new comes, and each Pod is evicted by the API."""
        with self.store.changed:
            self.nodes[name].cordoned = True
            for pod in self._pods():
                if pod["spec"].get("nodeName") == name:
                    self.delete(pod, None)

    def end_pod(self, namespace: str, name: str, reason: str) -> None:
        """The node ends it: "Evicted" for lack of memory, "Terminated" where the host goes down."""
        with self.store.changed:
            pod = self.store.get("pods", namespace, name)
            running = self._running[pod["metadata"]["uid"]]
            running.forced = reason
            self._tell(running, pod["spec"].get("terminationGracePeriodSeconds", 30))

    # What the API server has it do.

    def delete(self, pod: Object, grace: int | None) -> Object:
        """A DELETE of a Pod: its object as it is then."""
        with self.store.changed:
            metadata, spec = pod["metadata"], pod["spec"]
            ended = pod["status"]["phase"] in ("Succeeded", "Failed")
            if grace is None:
                grace = spec.get("terminationGracePeriodSeconds", 30)
            if ended or not spec.get("nodeName"):
                grace = 0
            if grace == 0:
                if not ended and self.process_of(pod):
                    self.forced += 1
                return self._remove(pod)

            def mark(changed: Object) -> None:
                old = changed["metadata"].get("deletionGracePeriodSeconds", grace)
                changed["metadata"].setdefault("deletionTimestamp", now())
                changed["metadata"]["deletionGracePeriodSeconds"] = min(old, grace)

            return self.store.change("pods", metadata["namespace"], metadata["name"], mark)

    def _remove(self, pod: Object) -> Object:
        running = self._running.pop(pod["metadata"]["uid"], None)
        if running and running.container:
            running.container.end(signal.SIGKILL)
        self.runtime.forget(pod)
        return self.store.remove("pods", pod["metadata"]["namespace"], pod["metadata"]["name"])

    def _pods(self) -> list[Object]:
        with self.store.changed:
            keys = [key for key in self.store.objects if key[0] == "pods"]
            return [self.store.get(*key) for key in sorted(keys)]

    def _run(self) -> None:
        seen = -1
        while not self._stopped:
            with self.store.changed:
                if seen == self.store.version:
                    self.store.changed.wait(_LOOK)
                seen = self.store.version
                self._replicate()
                for pod in self._pods():
                    if not pod["spec"].get("nodeName"):
                        self._schedule(pod)
                    elif self.nodes[pod["spec"]["nodeName"]].lost:
                        continue
                    else:
                        self._keep(pod)
                self._collect()

    def _change(self, pod: Object, how: Any) -> None:
        self.store.change("pods", pod["metadata"]["namespace"], pod["metadata"]["name"], how)

    def _schedule(self, pod: Object) -> None:
        spec = pod["spec"]
        if spec.get("schedulingGates"):
            return self._unscheduled(pod, "SchedulingGated", "Scheduling is blocked due to non-empty scheduling gates")  # fmt: skip
        wanted = _requests(pod)
        why: dict[str, int] = {}
        for node in self.nodes.values():
            lacks = self._lacks(node, spec, wanted)
            if not lacks and not self.frozen:
                return self._change(pod, lambda changed, place=node.name: _bind(changed, place))
            reason = lacks or "the scheduler is held"
            why[reason] = why.get(reason, 0) + 1
        text = ", ".join(f"{count} {reason}" for reason, count in sorted(why.items()))
        self._unscheduled(pod, "Unschedulable", f"0/{len(self.nodes)} nodes are available: {text}.")

    def _lacks(self, node: Node, spec: Object, wanted: dict[str, float]) -> str:
        if node.lost or node.cordoned:
            return "node(s) were unschedulable"
        tolerated = {one.get("key") for one in spec.get("tolerations", [])}
        if any(taint not in tolerated for taint in node.taints):
            return "node(s) had untolerated taint"
        if any(node.labels.get(k) != v for k, v in spec.get("nodeSelector", {}).items()):
            return "node(s) didn't match Pod's node affinity/selector"
        there = [
            _requests(pod)
            for pod in self._pods()
            if pod["spec"].get("nodeName") == node.name
            and pod["status"]["phase"] in ("Pending", "Running")
        ]
        if sum(one["cpu"] for one in there) + wanted["cpu"] > node.cores:
            return "Insufficient cpu"
        if sum(one["memory"] for one in there) + wanted["memory"] > node.memory:
            return "Insufficient memory"
        return ""

    def _unscheduled(self, pod: Object, reason: str, message: str) -> None:
        def say(changed: Object) -> None:
            changed["status"]["conditions"] = [
                {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
            ]

        self._change(pod, say)

    def _keep(self, pod: Object) -> None:
        """As the kubelet of its node."""
        metadata = pod["metadata"]
        running = self._running.setdefault(metadata["uid"], Running())
        if pod["status"]["phase"] in ("Succeeded", "Failed"):
            if metadata.get("deletionTimestamp"):
                self._remove(pod)
            return
        deleted = metadata.get("deletionTimestamp") is not None
        if deleted:
            self._tell(running, metadata["deletionGracePeriodSeconds"])
        if running.container is None:
            if deleted:
                self._remove(pod)
            else:
                self._begin(pod, running)
            return
        if running.kill_at is not None and time.monotonic() > running.kill_at:
            running.container.end(signal.SIGKILL)
        ended = running.container.terminated()
        if ended is None:
            return
        restarts = pod["spec"].get("restartPolicy", "Always") == "Always"
        if restarts and not deleted and running.forced is None:
            running.container, running.restarts = None, running.restarts + 1
            return self._begin(pod, running)
        self._change(pod, lambda changed: _end(changed, ended, running.forced))
        if deleted:
            self._remove(self.store.get("pods", metadata["namespace"], metadata["name"]))

    def _tell(self, running: Running, grace: float) -> None:
        kill_at = time.monotonic() + grace * self._scale
        running.kill_at = min(kill_at, running.kill_at or kill_at)
        if not running.told and running.container:
            running.container.end(signal.SIGTERM)
        running.told = True

    def _begin(self, pod: Object, running: Running) -> None:
        try:
            running.container = self.runtime.start(pod)
            state: Object = {"running": {"startedAt": now()}}
        except Waits as e:
            state = {"waiting": {"reason": e.reason, "message": e.message}}

        def say(changed: Object) -> None:
            if running.container:
                changed["status"]["phase"] = "Running"
            old = changed["status"].get("containerStatuses", [{}])[0].get("state", {})
            if "waiting" in state and old == state:
                return
            changed["status"]["containerStatuses"] = [
                {"name": pod["spec"]["containers"][0]["name"], "state": state,
                 "ready": running.container is not None, "restartCount": running.restarts}
            ]  # fmt: skip

        self._change(pod, say)

    def _replicate(self) -> None:
        """As the controllers of Deployments and StatefulSets do, of what tests need of them."""
        for (resource, namespace, name), owner in list(self.store.objects.items()):
            if resource not in ("deployments", "statefulsets"):
                continue
            selector = _selector(owner)
            pods = [
                pod
                for pod in self.store.list("pods", namespace, selector)
                if not pod["metadata"].get("deletionTimestamp")
            ]
            live = [p for p in pods if p["status"]["phase"] in ("Pending", "Running")]
            lacking = owner["spec"].get("replicas", 0) - len(live)
            for _ in range(max(lacking, 0)):
                self._make(resource, namespace, name, owner, {p["metadata"]["name"] for p in live})
            victims = sorted(live, key=_rank if resource == "deployments" else _ordinal)
            for pod in victims[: max(-lacking, 0)]:
                self.delete(pod, None)

    def _make(
        self, resource: str, namespace: str, name: str, owner: Object, names: set[str]
    ) -> None:
        template = owner["spec"]["template"]
        kind = "Deployment" if resource == "deployments" else "StatefulSet"
        metadata: Object = {
            "labels": dict(template["metadata"]["labels"]),
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": kind, "name": name,
                 "uid": owner["metadata"]["uid"], "controller": True}
            ],
        }  # fmt: skip
        if resource == "deployments":
            metadata["generateName"] = f"{name}-6d4b75cb6d-"
        else:
            taken = {p["metadata"]["name"] for p in self._pods()} | names
            metadata["name"] = next(n for i in range(9999) if (n := f"{name}-{i}") not in taken)
            names.add(metadata["name"])
        spec = dict(template["spec"]) | {"restartPolicy": "Always"}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        self.store.create("pods", namespace, pod | {"status": {"phase": "Pending"}})

    def _collect(self) -> None:
        """As the garbage collector: what an object owned goes after it."""
        kinds = {"StatefulSet": "statefulsets", "Deployment": "deployments", "Pod": "pods"}
        for pod in self._pods():
            for owner in pod["metadata"].get("ownerReferences", []):
                try:
                    place = pod["metadata"]["namespace"]
                    found = self.store.get(kinds[owner["kind"]], place, owner["name"])
                    there = found["metadata"]["uid"] == owner["uid"]
                except (ApiError, KeyError):
                    there = owner["kind"] not in kinds
                if not there and not pod["metadata"].get("deletionTimestamp"):
                    self.delete(pod, None)


def _requests(pod: Object) -> dict[str, float]:
    total = {"cpu": 0.0, "memory": 0.0}
    for container in pod["spec"]["containers"]:
        asked = container.get("resources", {}).get("requests", {})
        for name in total:
            total[name] += bytes_of(asked.get(name, 0))
    return total


def _bind(pod: Object, node: str) -> None:
    pod["spec"]["nodeName"] = node
    pod["status"]["conditions"] = [{"type": "PodScheduled", "status": "True"}]


def _end(pod: Object, ended: Object, forced: str | None) -> None:
    status = pod["status"]
    status["phase"] = "Failed" if forced or ended["exitCode"] != 0 else "Succeeded"
    if forced:
        status["reason"] = forced
        status["message"] = {
            "Evicted": "The node was low on resource: memory.",
            "Terminated": "Pod was terminated in response to imminent node shutdown.",
        }[forced]
    status["containerStatuses"] = [
        {"name": pod["spec"]["containers"][0]["name"], "state": {"terminated": ended},
         "ready": False, "restartCount": 0}
    ]  # fmt: skip


def _selector(owner: Object) -> str:
    return ",".join(f"{k}={v}" for k, v in owner["spec"]["selector"]["matchLabels"].items())


def _rank(pod: Object) -> tuple[bool, bool, int, str]:
    """The order in which a ReplicaSet gives Pods up."""
    cost = int(pod["metadata"].get("annotations", {}).get(_COST, "0"))
    bound, runs = bool(pod["spec"].get("nodeName")), pod["status"]["phase"] == "Running"
    return bound, runs, cost, pod["metadata"]["name"]


def _ordinal(pod: Object) -> int:
    """A StatefulSet gives up the last one."""
    return -int(pod["metadata"]["name"].rpartition("-")[2])
