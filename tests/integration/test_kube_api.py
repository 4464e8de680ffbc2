"""The double of Kubernetes (tests/support/servers/kube) beside the real API server.

The real one's answers are recorded, so that the double is compared with them everywhere. Where there is a
real one (HEADRACE_TEST_KUBE), they are compared with it again, and the pool itself runs on it."""

import os
import signal

import pytest
from support.headrace_program import headrace, wait_for
from support.pool_program import PATIENCE, PoolHead, PoolProgram, large_photos, stock_sums
from support.servers.kube_api import PODS, Kubelet, kube_api, missing
from support.servers.kube_talk import (
    DoubleSide,
    RealSide,
    differences,
    missing_fields,
    record,
    recorded,
    talk,
)
from support.servers.kubernetes import kubernetes

real = pytest.mark.skipif(bool(missing()), reason=missing())
# What the pool reads of each answer (kube_reply.cc, pod_seen.cc, scale_pool.cc).
_POD = ["metadata.name", "metadata.uid", "metadata.resourceVersion", "metadata.labels"]
_STATUS = ["kind", "status", "message", "reason", "code"]
_READ = {
    "create": [*_POD, "status.phase"],
    "list": ["metadata.resourceVersion", *(f"items.{path}" for path in [*_POD, "spec.nodeName"])],
    "delete with a grace": ["metadata.deletionTimestamp", "metadata.deletionGracePeriodSeconds"],
    "list after an eviction": ["items.metadata.deletionTimestamp"],
    "watch": ["type", *(f"object.{path}" for path in _POD)],
    "watch from too long ago": ["type", *(f"object.{path}" for path in _STATUS)],
    "get of an owner": ["metadata.uid"],
    "scale to two": ["spec.replicas"],
    "create beyond the quota": _STATUS,
    "create of nonsense": _STATUS,
    "an unknown token": _STATUS,
    "get without the right": _STATUS,
}


@pytest.fixture(scope="module")
def doubles(tmp_path_factory):
    with kubernetes(tmp_path_factory.mktemp("double")) as cluster:
        yield talk(DoubleSide(cluster))


@pytest.mark.parametrize("what", sorted(recorded()))
def test_the_double_answers_as_the_server_did(doubles, what):
    """Codes, kinds, reasons, messages and types of fields are the same; it may leave out fields that the pool
    does not read."""
    theirs = recorded()[what]
    assert not differences(theirs, doubles[what])
    for shape in theirs, doubles[what]:
        assert not missing_fields(shape["body"], _READ.get(what, [])), shape


def test_a_difference_is_seen():
    theirs = recorded()["create"]
    for change in ({"code": 200}, {"content-type": "text/plain"}, {"body": [{"kind": "Job"}]},
                   {"body": [{"metadata": {"name": "int"}}]}, {"body": [{"x": "str"}]}):  # fmt: skip
        assert differences(theirs, theirs | change), change
    assert missing_fields(theirs["body"], ["metadata.none"])


@pytest.mark.parametrize("what", ["watch", "watch with bookmarks"])
def test_events_of_a_watch_are_those_of_the_server(doubles, what):
    """And replicas of 0 are left out by both."""
    theirs, ours = ([one["type"] for one in side[what]["body"]] for side in (recorded(), doubles))
    assert theirs == ours and ("BOOKMARK" in ours) == ("bookmarks" in what)
    for side in recorded(), doubles:
        assert side["scale to none"]["body"][0]["spec"] == {}


@real
def test_the_record_is_of_the_server(tmp_path):
    with kube_api(tmp_path / "kube") as api:
        said = talk(RealSide(api))
    if os.environ.get("HEADRACE_UPDATE_DOCS"):
        record(said)
    assert said == recorded()


@real
def test_the_doctor_on_the_server(tmp_path):
    with kube_api(tmp_path / "kube") as api:
        words = "doctor", "--kubernetes", *api.access()
        before, after = headrace(*words), (api.apply("rbac.yaml"), headrace(*words))[1]
    assert "lacks on pods: list, watch, create, delete" in before.stdout, before
    assert "may make workers as Pods" in after.stdout, after


@real
def test_the_pool_on_the_server(tmp_path):
    """Workers are Pods of the real API server, by the Role of rbac.yaml. One is killed, one is evicted, and the
    coordinator is killed; nothing is lost."""
    (tmp_path / "photos").mkdir()
    photos = large_photos(tmp_path / "photos")
    with kube_api(tmp_path / "kube") as api:
        api.apply("rbac.yaml")
        kubelet = Kubelet(api)
        kubelet.start()
        try:
            _run_the_pool(api, kubelet, photos, tmp_path)
        finally:
            kubelet.stop()


def _run_the_pool(api, kubelet, photos, folder):
    words = "--workers", "1", "--max-workers", "3"
    with (
        PoolHead(folder, *api.words(), *words) as head,
        PoolProgram(photos, folder, head.address) as program,
    ):
        (first,) = head.until_ready(1)
        program.wait_for_a_batch()
        program.step(0)
        killed, evicted = sorted(set(head.until_ready(3)) - {first})
        os.kill(kubelet.pid_of(killed), signal.SIGKILL)
        head.until(lambda: killed not in (now := head.members()) and len(now) == 3, "another")
        api.client().do("POST", f"{PODS}/{evicted}/eviction", {
            "apiVersion": "policy/v1beta1", "kind": "Eviction", "metadata": {"name": evicted},
        })  # fmt: skip
        head.until(lambda: evicted not in (now := head.members()) and len(now) == 3, "another")
        before = set(head.members())
        head.kill()
        head.start()
        head.until(lambda: before == set(head.members()), "adopted workers")
        batches = program.sums()
        assert batches and batches == stock_sums(photos, len(batches))
        head.until_ready(1)
        head.until(lambda: len(api.pods()) == 1, "end of the others")
    wait_for(lambda: not api.pods(), "end with the coordinator", PATIENCE)
