"""The double of Kubernetes is as strict as the real one: what it refuses, and in which words.

Codes and reasons are those of the published API conventions. No answer was compared with a recorded one
of a real server.
"""

import json
import os
import ssl
import time
import urllib.error
import urllib.request

import pytest
from support.headrace_program import wait_for
from support.servers.kubernetes import NAMESPACE, TOKEN, kubernetes

PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    with kubernetes(tmp_path_factory.mktemp("cluster"), nodes=1) as made:
        made.do("image", name="shell", program="sh")
        yield made


@pytest.fixture
def cluster(shared):
    verbs = ["get", "list", "watch", "create", "delete", "patch"]
    shared.allow([{"apiGroups": [""], "resources": ["pods"], "verbs": verbs}])
    yield shared
    shared.do("quota", pods=None)
    for pod in shared.pods():
        ask(shared, "DELETE", f"{PODS}/{pod['metadata']['name']}", {"gracePeriodSeconds": 0})


def request(cluster, method, path, body=None, token=TOKEN, kind="application/json"):
    headers = {"Content-Type": kind} | ({"Authorization": f"Bearer {token}"} if token else {})
    made = urllib.request.Request(
        cluster.address + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers=headers,
    )
    context = ssl.create_default_context(cafile=cluster.ca_file)
    return urllib.request.urlopen(made, context=context, timeout=20)


def ask(cluster, method, path, body=None, **how):
    """Code and object."""
    try:
        with request(cluster, method, path, body, **how) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as e:
        with e:
            return e.code, json.loads(e.read())


def a_pod(**spec):
    container = {"name": "worker", "image": "shell", "args": ["-c", "sleep 1000"]}
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "w-", "labels": {"a": "b"}},
        "spec": {"containers": [container]} | spec,
    }  # fmt: skip


def made(cluster, **spec):
    code, pod = ask(cluster, "POST", PODS, a_pod(**spec))
    assert code == 201, pod
    name = pod["metadata"]["name"]
    wait_for(lambda: "Running" in phases(cluster).get(name, ""), "start of the Pod")
    return name


def phases(cluster):
    return {pod["metadata"]["name"]: pod["status"]["phase"] for pod in cluster.pods()}


def test_strangers_get_nothing(cluster):
    for token in ("", "another"):
        code, said = ask(cluster, "GET", PODS, token=token)
        assert (code, said["reason"], said["message"]) == (401, "Unauthorized", "Unauthorized")
    with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
        urllib.request.urlopen(cluster.address + PODS, timeout=20)


def test_rights_are_of_a_verb_a_resource_and_a_namespace(cluster):
    cluster.allow([{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}])
    assert ask(cluster, "GET", PODS)[0] == 200
    code, said = ask(cluster, "POST", PODS, a_pod())
    assert code == 403 and said["message"] == (
        'pods is forbidden: User "system:serviceaccount:ml:headrace" cannot create resource "pods" in '
        'API group "" in the namespace "ml"'
    )
    assert ask(cluster, "GET", "/api/v1/namespaces/kube-system/pods")[0] == 403
    assert ask(cluster, "GET", "/api/v1/namespaces/ml/nodes")[0] == 404


def test_what_is_no_pod_is_refused(cluster):
    strict = PODS + "?fieldValidation=Strict"
    code, said = ask(cluster, "POST", strict, a_pod(nodeSelektor={}))
    assert (
        code == 400
        and 'strict decoding error: unknown field "spec.nodeSelektor"' in said["message"]
    )
    assert ask(cluster, "POST", PODS, a_pod(nodeSelector=7))[0] == 400
    two = {"name": "w", "image": "i", "resources": {"requests": {"cpu": "two"}}}
    assert ask(cluster, "POST", PODS, a_pod(containers=[two]))[0] == 400
    for wrong in (
        a_pod(restartPolicy="Sometimes"),
        a_pod(containers=[]),
        a_pod(containers=[{"name": "worker"}]),
        a_pod(terminationGracePeriodSeconds=-1),
        a_pod() | {"metadata": {}},
        a_pod() | {"metadata": {"generateName": "Upper-"}},
        a_pod() | {"metadata": {"generateName": "w-", "labels": {"a": "b c"}}},
        a_pod() | {"metadata": {"generateName": "w-", "ownerReferences": [{"name": "x"}]}},
        a_pod(containers=[{"name": "w", "image": "i", "resources": {
            "requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}]),
    ):  # fmt: skip
        code, said = ask(cluster, "POST", PODS, wrong)
        assert (code, said["reason"]) == (422, "Invalid"), wrong
    assert ask(cluster, "POST", PODS, a_pod(), kind="text/plain")[0] == 415
    assert ask(cluster, "GET", PODS + "?labelSelektor=a")[0] == 400
    assert phases(cluster) == {}


def test_a_quota_counts_pods(cluster):
    cluster.do("quota", pods=1)
    made(cluster)
    code, said = ask(cluster, "POST", PODS, a_pod())
    assert code == 403 and said["message"].endswith(
        "is forbidden: exceeded quota: workers, requested: pods=1, used: pods=1, limited: pods=1"
    )


def test_a_grace_is_given_and_then_it_ends(cluster):
    stubborn = {"name": "worker", "image": "shell"}
    stubborn["args"] = ["-c", "trap '' TERM; echo deaf; while :; do sleep 0.1; done"]
    name, forced = made(cluster, containers=[stubborn]), cluster.do("forced")
    wait_for(lambda: cluster.log_of(name), "trap")
    (pod,) = cluster.pods()
    code, said = ask(cluster, "DELETE", f"{PODS}/{name}", {"preconditions": {"uid": "another"}})
    assert (code, said["reason"]) == (409, "Conflict")
    began = time.monotonic()
    code, said = ask(cluster, "DELETE", f"{PODS}/{name}", {"gracePeriodSeconds": 1})
    assert code == 200 and said["metadata"]["deletionGracePeriodSeconds"] == 1
    assert os.path.exists(f"/proc/{pod['pid']}")
    wait_for(lambda: not cluster.pods(), "end")
    assert time.monotonic() - began >= 1
    assert ask(cluster, "DELETE", f"{PODS}/{name}")[0] == 404
    assert cluster.do("forced") == forced


def test_a_pod_tells_how_it_ended_and_stays(cluster):
    container = {"name": "worker", "image": "shell", "args": ["-c", "echo no key >&2; exit 3"]}
    container["terminationMessagePolicy"] = "FallbackToLogsOnError"
    code, pod = ask(cluster, "POST", PODS, a_pod(restartPolicy="Never", containers=[container]))
    assert code == 201
    wait_for(lambda: "Failed" in phases(cluster).values(), "end")
    (pod,) = cluster.pods()
    ended = pod["status"]["containerStatuses"][0]["state"]["terminated"]
    assert ended == {"exitCode": 3, "reason": "Error", "message": "no key\n"}
    ask(cluster, "DELETE", f"{PODS}/{pod['metadata']['name']}")
    assert cluster.pods() == [], "no grace for what has ended"


def test_a_watch_goes_on_from_a_version_until_that_is_too_old(cluster):
    _, listed = ask(cluster, "GET", PODS)
    version = listed["metadata"]["resourceVersion"]
    name = made(cluster)
    path = f"{PODS}?watch=1&timeoutSeconds=1&resourceVersion="
    with request(cluster, "GET", path + version) as answer:
        events = [json.loads(line) for line in answer]
    assert [one["type"] for one in events[:3]] == ["ADDED", "MODIFIED", "MODIFIED"]
    assert {one["object"]["metadata"]["name"] for one in events} == {name}
    later = events[0]["object"]["metadata"]["resourceVersion"]
    with request(cluster, "GET", path + later) as answer:
        assert [json.loads(line) for line in answer] == events[1:]
    with request(cluster, "GET", f"{path}{version}&labelSelector=a%3Dc") as answer:
        assert answer.read() == b""
    cluster.do("forget_history")
    with request(cluster, "GET", path + version) as answer:
        (gone,) = [json.loads(line) for line in answer]
    assert gone["type"] == "ERROR" and gone["object"]["code"] == 410


def test_variables_and_secrets_reach_a_container(cluster):
    cluster.do("secret", namespace=NAMESPACE, name="keys", files={"worker.key": "k"})
    container = {
        "name": "worker", "image": "shell",
        "args": ["-c", "cat $KEYS/worker.key; echo \"$1 $2\"; sleep 1000", "x", "$(ME)", "$$(ME)"],
        "env": [
            {"name": "ME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "KEYS", "value": "/etc/keys"},
        ],
        "volumeMounts": [{"name": "v", "mountPath": "/etc/keys"}],
    }  # fmt: skip
    name = made(
        cluster, containers=[container], volumes=[{"name": "v", "secret": {"secretName": "keys"}}]
    )
    wait_for(lambda: cluster.log_of(name) == f"k{name} $(ME)\n", "what it says")
