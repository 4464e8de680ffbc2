"""The fields that objects have, by Kubernetes' published API reference, as far as this project uses them.

A field that is not here is refused, also where the real server knows it: add it, by the reference.
"""

import re
from typing import Any

from .objects import ApiError, Object

ANY = None  # whatever the server takes there
TEXT, NUMBER, FLAG = str, int, bool
LABELS = {"*": TEXT}
QUANTITY = re.compile(r"^\d+(\.\d+)?(m|[kMGTPE]|[KMGTPE]i)?$")
_LABEL = re.compile(r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$")
_NAME = re.compile(r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")
_WORD = re.compile(r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")

METADATA = {
    "name": TEXT, "generateName": TEXT, "namespace": TEXT, "labels": LABELS, "annotations": LABELS,
    "ownerReferences": [{
        "apiVersion": TEXT, "kind": TEXT, "name": TEXT, "uid": TEXT, "controller": FLAG,
        "blockOwnerDeletion": FLAG,
    }],
}  # fmt: skip
_FIELD = {"apiVersion": TEXT, "fieldPath": TEXT}
_KEY = {"name": TEXT, "key": TEXT, "optional": FLAG}
ENV = [{"name": TEXT, "value": TEXT, "valueFrom": {
    "fieldRef": _FIELD, "secretKeyRef": _KEY, "configMapKeyRef": _KEY}}]  # fmt: skip
_SECCOMP = {"type": TEXT, "localhostProfile": TEXT}
_PORT = (TEXT, NUMBER)
_PROBE = {
    "httpGet": {"path": TEXT, "port": _PORT, "scheme": TEXT, "host": TEXT, "httpHeaders": ANY},
    "tcpSocket": {"port": _PORT, "host": TEXT}, "exec": {"command": [TEXT]},
    "initialDelaySeconds": NUMBER, "periodSeconds": NUMBER, "timeoutSeconds": NUMBER,
    "failureThreshold": NUMBER, "successThreshold": NUMBER,
}  # fmt: skip
CONTAINER = {
    "name": TEXT, "image": TEXT, "imagePullPolicy": TEXT, "command": [TEXT], "args": [TEXT],
    "workingDir": TEXT, "env": ENV, "envFrom": ANY,
    "resources": {"requests": {"*": _PORT}, "limits": {"*": _PORT}},
    "volumeMounts": [{
        "name": TEXT, "mountPath": TEXT, "subPath": TEXT, "readOnly": FLAG, "mountPropagation": TEXT}],
    "ports": [{"name": TEXT, "containerPort": NUMBER, "protocol": TEXT, "hostPort": NUMBER}],
    "securityContext": {
        "allowPrivilegeEscalation": FLAG, "readOnlyRootFilesystem": FLAG, "privileged": FLAG,
        "runAsNonRoot": FLAG, "runAsUser": NUMBER, "runAsGroup": NUMBER, "seccompProfile": _SECCOMP,
        "capabilities": {"drop": [TEXT], "add": [TEXT]}},
    "terminationMessagePath": TEXT, "terminationMessagePolicy": TEXT,
    "livenessProbe": _PROBE, "readinessProbe": _PROBE, "startupProbe": _PROBE, "lifecycle": ANY,
    "tty": FLAG, "stdin": FLAG,
}  # fmt: skip
VOLUME = {
    "name": TEXT, "emptyDir": {"medium": TEXT, "sizeLimit": _PORT},
    "secret": {"secretName": TEXT, "defaultMode": NUMBER, "optional": FLAG, "items": ANY},
    "configMap": {"name": TEXT, "defaultMode": NUMBER, "optional": FLAG, "items": ANY},
    "persistentVolumeClaim": {"claimName": TEXT, "readOnly": FLAG},
    "hostPath": {"path": TEXT, "type": TEXT}, "nfs": ANY, "csi": ANY, "projected": ANY,
}  # fmt: skip
POD_SPEC = {
    "containers": [CONTAINER], "initContainers": [CONTAINER], "volumes": [VOLUME],
    "restartPolicy": TEXT, "terminationGracePeriodSeconds": NUMBER, "activeDeadlineSeconds": NUMBER,
    "serviceAccountName": TEXT, "automountServiceAccountToken": FLAG, "nodeName": TEXT,
    "nodeSelector": LABELS, "affinity": ANY, "topologySpreadConstraints": ANY,
    "tolerations": [{
        "key": TEXT, "operator": TEXT, "value": TEXT, "effect": TEXT, "tolerationSeconds": NUMBER}],
    "priorityClassName": TEXT, "schedulerName": TEXT, "schedulingGates": [{"name": TEXT}],
    "securityContext": {
        "runAsNonRoot": FLAG, "runAsUser": NUMBER, "runAsGroup": NUMBER, "fsGroup": NUMBER,
        "fsGroupChangePolicy": TEXT, "seccompProfile": _SECCOMP, "supplementalGroups": [NUMBER]},
    "imagePullSecrets": [{"name": TEXT}], "dnsPolicy": TEXT, "hostNetwork": FLAG, "hostIPC": FLAG,
    "enableServiceLinks": FLAG, "runtimeClassName": TEXT, "shareProcessNamespace": FLAG,
}  # fmt: skip
_HEAD = {"apiVersion": TEXT, "kind": TEXT, "metadata": METADATA}
POD = {**_HEAD, "spec": POD_SPEC}
_TEMPLATE = {"metadata": METADATA, "spec": POD_SPEC}
_SELECTOR = {"matchLabels": LABELS, "matchExpressions": ANY}
_PEER = {"podSelector": _SELECTOR, "namespaceSelector": _SELECTOR,
         "ipBlock": {"cidr": TEXT, "except": [TEXT]}}  # fmt: skip
_POLICY_PORT = {"port": _PORT, "endPort": NUMBER, "protocol": TEXT}
# By kind, for the manifests in deploy/kubernetes.
KINDS: dict[str, tuple[str, Any]] = {
    "Pod": ("v1", POD),
    "Namespace": ("v1", _HEAD),
    "ServiceAccount": ("v1", {**_HEAD, "automountServiceAccountToken": FLAG}),
    "Secret": ("v1", {**_HEAD, "type": TEXT, "data": LABELS, "stringData": LABELS}),
    "ConfigMap": ("v1", {**_HEAD, "data": LABELS}),
    "Service": ("v1", {**_HEAD, "spec": {
        "selector": LABELS, "type": TEXT, "clusterIP": TEXT, "publishNotReadyAddresses": FLAG,
        "ports": [{"name": TEXT, "port": NUMBER, "targetPort": _PORT, "protocol": TEXT}]}}),
    "PersistentVolumeClaim": ("v1", {**_HEAD, "spec": ANY}),
    "StatefulSet": ("apps/v1", {**_HEAD, "spec": {
        "replicas": NUMBER, "serviceName": TEXT, "selector": _SELECTOR, "template": _TEMPLATE,
        "podManagementPolicy": TEXT, "updateStrategy": ANY, "minReadySeconds": NUMBER,
        "volumeClaimTemplates": [{"metadata": METADATA, "spec": {
            "accessModes": [TEXT], "storageClassName": TEXT,
            "resources": {"requests": {"storage": TEXT}}}}]}}),
    "Deployment": ("apps/v1", {**_HEAD, "spec": {
        "replicas": NUMBER, "selector": _SELECTOR, "template": _TEMPLATE, "strategy": ANY}}),
    "Role": ("rbac.authorization.k8s.io/v1", {**_HEAD, "rules": [{
        "apiGroups": [TEXT], "resources": [TEXT], "verbs": [TEXT], "resourceNames": [TEXT]}]}),
    "RoleBinding": ("rbac.authorization.k8s.io/v1", {
        **_HEAD, "roleRef": {"apiGroup": TEXT, "kind": TEXT, "name": TEXT},
        "subjects": [{"kind": TEXT, "name": TEXT, "namespace": TEXT, "apiGroup": TEXT}]}),
    "NetworkPolicy": ("networking.k8s.io/v1", {**_HEAD, "spec": {
        "podSelector": _SELECTOR, "policyTypes": [TEXT],
        "ingress": [{"from": [_PEER], "ports": [_POLICY_PORT]}],
        "egress": [{"to": [_PEER], "ports": [_POLICY_PORT]}]}}),
    "PodDisruptionBudget": ("policy/v1", {**_HEAD, "spec": {
        "selector": _SELECTOR, "minAvailable": _PORT, "maxUnavailable": _PORT}}),
}  # fmt: skip


def unknown(value: Any, known: Any, path: str = "") -> list[str]:
    """The places in `value` that are not as the reference has them."""
    if known is ANY:
        return []
    if isinstance(known, (type, tuple)):
        right = isinstance(value, known) and (known is not NUMBER or not isinstance(value, bool))
        return [] if right else [f"{path}: {type(value).__name__}"]
    if isinstance(known, list):
        if not isinstance(value, list):
            return [f"{path}: no list"]
        return [w for i, one in enumerate(value) for w in unknown(one, known[0], f"{path}[{i}]")]
    if not isinstance(value, dict):
        return [f"{path}: no object"]
    wrong = []
    for name, one in value.items():
        below = f"{path}.{name}" if path else str(name)
        kind = known.get(name, known.get("*", "none"))
        wrong += [below] if kind == "none" else unknown(one, kind, below)
    return wrong


def bytes_of(quantity: str | int) -> float:
    """Of a quantity of memory or CPU."""
    text = str(quantity)
    if not QUANTITY.match(text):
        raise ValueError(f"quantities must match the regular expression {QUANTITY.pattern!r}")
    for power, unit in enumerate("KMGTPE", 1):
        if text.endswith(unit + "i"):
            return float(text[:-2]) * 1024**power
        if text.endswith(unit) or (unit == "K" and text.endswith("k")):
            return float(text[:-1]) * 1000**power
    return float(text[:-1]) / 1000 if text.endswith("m") else float(text)


def check_pod(pod: Object, strict: bool) -> None:
    """Raises what the server answers to a Pod that is none."""
    if pod.get("kind") != "Pod" or pod.get("apiVersion") != "v1":
        raise ApiError(400, "BadRequest", "the object provided is unrecognized: kind, apiVersion")
    if wrong := unknown(pod, POD):
        text = ", ".join(f'unknown field "{one}"' for one in wrong)
        if strict or any(":" in one for one in wrong):
            message = (
                f'Pod in version "v1" cannot be handled as a Pod: strict decoding error: {text}'
            )
            raise ApiError(400, "BadRequest", message)
    metadata, spec = pod.get("metadata", {}), pod.get("spec", {})
    wrong = list(_wrong_metadata(metadata)) + list(_wrong_spec(spec))
    if wrong:
        name = metadata.get("name") or metadata.get("generateName", "")
        raise ApiError(422, "Invalid", f'Pod "{name}" is invalid: {"; ".join(wrong)}')


def _wrong_metadata(metadata: Object) -> Any:
    name, prefix = metadata.get("name"), metadata.get("generateName")
    if not name and not prefix:
        yield "metadata.name: Required value: name or generateName is required"
    if name and not _NAME.match(name):
        yield f'metadata.name: Invalid value: "{name}"'
    if prefix and not _NAME.match(prefix + "x"):
        yield f'metadata.generateName: Invalid value: "{prefix}"'
    for key, value in metadata.get("labels", {}).items():
        if not _LABEL.match(key.rpartition("/")[2]) or (value and not _LABEL.match(value)):
            yield f'metadata.labels: Invalid value: "{value}"'
    for owner in metadata.get("ownerReferences", []):
        if not all(owner.get(part) for part in ("apiVersion", "kind", "name", "uid")):
            yield "metadata.ownerReferences.uid: Invalid value: must not be empty"


def _wrong_spec(spec: Object) -> Any:
    containers = spec.get("containers", [])
    if not containers:
        yield "spec.containers: Required value"
    if spec.get("restartPolicy", "Always") not in ("Always", "OnFailure", "Never"):
        yield f'spec.restartPolicy: Unsupported value: "{spec["restartPolicy"]}"'
    if spec.get("terminationGracePeriodSeconds", 30) < 0:
        yield "spec.terminationGracePeriodSeconds: Invalid value: must be greater than or equal to 0"
    volumes = {volume["name"] for volume in spec.get("volumes", [])}
    if len(volumes) != len(spec.get("volumes", [])):
        yield "spec.volumes: Duplicate value"
    for i, container in enumerate(containers):
        at = f"spec.containers[{i}]"
        if not _WORD.match(container.get("name", "")):
            yield f"{at}.name: Invalid value"
        if not container.get("image"):
            yield f"{at}.image: Required value"
        for mount in container.get("volumeMounts", []):
            if mount["name"] not in volumes:
                yield f'{at}.volumeMounts: Not found: "{mount["name"]}"'
        yield from _wrong_resources(container.get("resources", {}), at)
    for toleration in spec.get("tolerations", []):
        if toleration.get("operator") == "Exists" and toleration.get("value"):
            yield "spec.tolerations.operator: Invalid value: value must be empty when Exists"


def _wrong_resources(resources: Object, at: str) -> Any:
    limits = resources.get("limits", {})
    try:
        most = {name: bytes_of(value) for name, value in limits.items()}
        wanted = {name: bytes_of(value) for name, value in resources.get("requests", {}).items()}
    except ValueError as e:
        raise ApiError(400, "BadRequest", f"{at}.resources: {e}") from None
    for name, value in wanted.items():
        if value > most.get(name, value):
            yield f"{at}.resources.requests: must be less than or equal to {name} limit"
