"""A pool on Kubernetes: a real coordinator and real workers, which a strict double of a cluster starts."""

import os
import signal

import pytest
from support.headrace_program import headrace, wait_for
from support.pool_program import PATIENCE, PoolHead, PoolProgram, large_photos, stock_sums
from support.servers.kubernetes import NAMESPACE, TOKEN, kubernetes, rights, role


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    return large_photos(tmp_path_factory.mktemp("photos"))


@pytest.fixture
def cluster(tmp_path):
    with kubernetes(tmp_path / "cluster") as made:
        yield made


class Head(PoolHead):
    """A coordinator whose workers are Pods of the cluster."""

    def __init__(self, cluster, folder, *words, keys=None, image="headrace-worker"):
        self.cluster = cluster
        super().__init__(folder, *cluster.words(image), *words, keys=keys)

    def pods(self):
        """By name, those that nobody has told to end."""
        return {
            pod["metadata"]["name"]: pod
            for pod in self.cluster.pods()
            if "deletionTimestamp" not in pod["metadata"]
        }

    def story(self):
        logs = {pod.name: pod.read_text() for pod in (self.cluster.folder / "logs").iterdir()}
        return f"{self.said()}{self.cluster.pods()}{logs}"


def make_keys(folder, cluster):
    """Keys of a cluster, in a folder for the coordinator and in a Secret for workers."""
    made = headrace("keys", str(folder))
    assert made.returncode == 0, made.stderr
    files = {name: (folder / name).read_text() for name in ("allow", "worker.key")}
    cluster.do("secret", namespace=NAMESPACE, name="headrace-worker-keys", files=files)
    return folder


def test_workers_follow_demand(cluster, photos, tmp_path):
    """A program wants one worker, then more, and ends."""
    with (
        Head(cluster, tmp_path, "--workers", "1", "--max-workers", "4") as head,
        PoolProgram(photos, tmp_path, head.address) as program,
    ):
        (first,) = head.until_ready(1)
        program.wait_for_a_batch()
        program.step(0)
        head.until(lambda: len(now := head.members()) >= 3 and first in now, "more workers")
        batches = program.sums()
        assert batches and batches == stock_sums(photos, len(batches))
        head.until_ready(1)
        head.until(lambda: len(cluster.pods()) == 1, "end of the others")
    assert cluster.do("forced") == 0, "no Pod was deleted while its worker ran"


def test_nothing_is_lost_whatever_dies(cluster, photos, tmp_path):
    """Four workers, of which one is killed; then a node is lost, and then the coordinator is killed. Workers
    have keys from a Secret, and the coordinator has rights from the Role of rbac.yaml alone."""
    keys = make_keys(tmp_path / "keys", cluster)
    uid = cluster.do(
        "workload", resource="statefulsets", namespace=NAMESPACE, name="headrace",
        spec={"replicas": 0, "selector": {"matchLabels": {"app": "headrace"}}},
    )  # fmt: skip
    words = "--workers", "4", "--kubernetes-keys-secret", "headrace-worker-keys"
    words += "--kubernetes-owner", "statefulset/headrace"
    with (
        Head(cluster, tmp_path, *words, keys=keys) as head,
        PoolProgram(photos, tmp_path, head.address, keys) as program,
    ):
        first, *_ = head.until_ready(4)
        owners = [one["metadata"]["ownerReferences"] for one in cluster.pods()]
        assert [one["uid"] for owner in owners for one in owner] == [uid] * 4
        program.wait_for_a_batch()
        program.step(0)

        victim = next(name for name in head.members() if name != first)
        os.kill(head.pods()[victim]["pid"], signal.SIGKILL)
        head.until(
            lambda: victim not in (now := head.members()) and len(now) == 4, "another in its place"
        )

        # The engine says nothing of it. What was there is replaced before.
        node = head.pods()[first]["spec"]["nodeName"]
        lost = {name for name, pod in head.pods().items() if pod["spec"]["nodeName"] == node}
        cluster.do("lose_node", name=node)
        head.until(
            lambda: not lost & set(now := head.members()) and len(now) == 4, "others in their place"
        )
        assert {head.pods()[name]["status"]["phase"] for name in lost} == {"Running"}

        # The next coordinator has the same workers.
        before = set(head.members())
        epochs = {pod["metadata"]["labels"]["headrace.io/epoch"] for pod in head.pods().values()}
        assert TOKEN not in head.said()
        head.kill()
        head.start()
        head.until(lambda: before == set(head.members()), "adopted workers")
        assert epochs == {
            pod["metadata"]["labels"]["headrace.io/epoch"] for pod in head.pods().values()
        }, "the coordinator that was killed has started all of them"

        batches = program.sums()
        assert batches and batches == stock_sums(photos, len(batches))
        said = head.said()
    wait_for(lambda: not set(head.pods()) - lost, "end with the coordinator", PATIENCE)
    assert TOKEN not in said
    assert rights(role("rbac.yaml")) == cluster.do("used"), "the Role has what is used, no more"
    assert cluster.do("forced") == 0, "no Pod was deleted while its worker ran"


def test_what_kubernetes_does_not_give_is_told_once(cluster, tmp_path):
    """A Role without `create`, then a quota, then an image that there is not."""
    cluster.allow(
        [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch", "delete"]}]
    )
    with Head(cluster, tmp_path, "--workers", "2", "--queued-s", "3") as head:
        missing = "needs the verb create on pods"
        head.until(lambda: missing in head.said(), "reason")
        asked = cluster.do("calls").count("create pods")
        head.until(lambda: cluster.do("calls").count("create pods") > asked, "another try")
        assert head.said().count(missing) == 1, head.said()
        said = head.diagnosis("kubernetes")
        assert "it is forbidden" in said and missing in said and "rbac.yaml" in said, said
        assert head.ask("doctor").returncode == 1

        cluster.do("quota", pods=1)
        cluster.allow(role("rbac.yaml"))
        head.until_ready(1)
        head.until(lambda: "exceeded quota: workers" in head.said(), "reason of the quota")
        # The trouble ends with the first worker and begins with the next refusal.
        said = head.until(
            lambda: (
                (now := head.diagnosis("kubernetes")).startswith("warning")
                and "1 worker is ready" in now
                and now
            ),
            "warning",
        )
        assert "a quota or limit is used up" in said, said
        assert "have the quota raised" in said, said
        (pool,) = head.pools().values()
        assert (pool["trouble"]["kind"], pool["troubled"]) == ("quota", 1)
        cluster.do("quota", pods=None)
        head.until_ready(2)
        said = head.diagnosis("kubernetes")
        assert said.startswith("ok") and "2 workers are ready, 2 wanted" in said, said
        assert not head.pools()["kubernetes"]["trouble"]["stands"]
    never = tmp_path / "never"
    never.mkdir()
    with Head(cluster, never, "--workers", "1", "--queued-s", "3", image="no-such-image") as head:
        head.until(lambda: "no worker within 3 s (" in head.said(), "reason")
        assert 'ErrImagePull: image "no-such-image" not found' in head.said()
        said = head.diagnosis("kubernetes")
        assert "its image does not come" in said and "--kubernetes-image" in said, said
        head.until(lambda: cluster.do("calls").count("delete pods") > 2, "end of what waits")


def test_two_pools_on_two_kinds_of_nodes(cluster, tmp_path):
    """The cheapest is filled first, and both are found again by a coordinator that comes after."""
    cluster.do("node", name="s1", cores=2, labels={"kind": "spot"})
    cluster.do("node", name="d1", cores=2, labels={"kind": "on-demand"})
    dear = "kubernetes:name=dear,price=0.04,node-selector=kind=on-demand"
    spot = "kubernetes:name=spot,price=0.01,preemptible,node-selector=kind=spot"
    words = [word for word in cluster.words() if word not in ("--pool", "kubernetes")]
    words += "--pool", dear, "--pool", spot, "--workers", "3", "--next-pool-s", "8"
    with PoolHead(tmp_path, *words) as head:
        head.until(lambda: head.pools()["spot"]["running"] == 2, "workers of the cheap pool")
        assert head.pools()["dear"]["wanted_workers"] == 0, "the cheapest first"
        head.until(lambda: head.pools()["dear"]["running"] == 1, "one of the next pool")
        pools = head.pools()
        assert list(pools) == ["spot", "dear"]
        assert [pool["cost_per_hour"] for pool in pools.values()] == [0.02, 0.04]
        assert pools["spot"]["state"] == "late" and pools["spot"]["queued"] == 1

        places = {pod["metadata"]["name"]: pod["spec"].get("nodeName") for pod in cluster.pods()}
        before = set(head.members())
        assert sorted(places[name] for name in before) == ["d1", "s1", "s1"]
        head.kill()
        head.start()
        head.until(lambda: before == set(head.members()), "adopted workers")
        head.until(
            lambda: [pool["running"] for pool in head.pools().values()] == [2, 1],
            "each in its own pool",
        )
        assert (
            places.items()
            >= {
                pod["metadata"]["name"]: pod["spec"].get("nodeName") for pod in cluster.pods()
            }.items()
        ), "nobody was started anew"
    wait_for(lambda: not cluster.pods(), "end of both pools", PATIENCE)


def doctor_on(server, ca_file, token_file):
    return headrace(
        "doctor", "--kubernetes", "--kubernetes-server", server, "--kubernetes-ca-file", ca_file,
        "--kubernetes-token-file", str(token_file), "--kubernetes-namespace", NAMESPACE,
    )  # fmt: skip


def test_the_doctor_tells_what_the_role_lacks(cluster):
    token = cluster.folder / "token"
    answer = doctor_on(cluster.address, cluster.ca_file, token)
    assert answer.returncode == 0 and "may make workers as Pods" in answer.stdout, answer
    cluster.allow([{"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "delete"]}])
    answer = doctor_on(cluster.address, cluster.ca_file, token)
    assert answer.returncode == 1 and "lacks on pods: watch, create\n" in answer.stdout, answer
    token.write_text("no-such-token\n")
    answer = doctor_on(cluster.address, cluster.ca_file, token)
    assert answer.returncode == 1 and "401 Unauthorized" in answer.stdout, answer
    assert "no-such-token" not in answer.stdout


def test_a_drained_node_and_an_eviction_are_drains(cluster, photos, tmp_path):
    with (
        Head(cluster, tmp_path, "--workers", "2") as head,
        PoolProgram(photos, tmp_path, head.address) as program,
    ):
        first = head.until_ready(2)
        program.wait_for_a_batch()
        program.step(0)
        cluster.do("drain_node", name=head.pods()[first[0]]["spec"]["nodeName"])
        head.until(lambda: not set(first) & set(now := head.members()) and len(now) == 2, "others")
        evicted, _ = head.members()
        cluster.do("end_pod", namespace=NAMESPACE, name=evicted, reason="Evicted")
        head.until(lambda: evicted not in (now := head.members()) and len(now) == 2, "another")
        batches = program.sums()
        assert batches and batches == stock_sums(photos, len(batches))
        assert "lost" not in head.said() and "ended before" not in head.said(), head.said()


def test_a_deployment_is_scaled_where_nobody_may_make_pods(cluster, photos, tmp_path):
    """Driver B: the Role of scale.yaml, and workers that a Deployment starts."""
    cluster.allow(role("scale.yaml"))
    head = Head(
        cluster, tmp_path, "--workers", "1", "--max-workers", "3",
        "--kubernetes-scale", "deployments/headrace-workers",
    )  # fmt: skip
    # What is cached needs no second worker.
    arguments = "worker", "--coordinator", head.address, "--threads", "1", "--cache", "0"
    container = {
        "name": "worker", "image": "headrace-worker",
        "args": [*arguments, "--pool-member", "$(POD_NAME)"],
        "env": [{"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
    }  # fmt: skip
    cluster.do(
        "workload", resource="deployments", namespace=NAMESPACE, name="headrace-workers",
        spec={
            "selector": {"matchLabels": {"app": "w"}},
            "template": {"metadata": {"labels": {"app": "w"}}, "spec": {"containers": [container]}},
        },
    )  # fmt: skip
    with head, PoolProgram(photos, tmp_path, head.address) as program:
        head.until_ready(1)
        program.wait_for_a_batch()
        program.step(0)
        head.until(lambda: len(head.members()) >= 2, "more workers")
        batches = program.sums()
        assert batches and batches == stock_sums(photos, len(batches))
        head.until_ready(1)
        # Who drains is not ready any more, and has its Pod for a while.
        head.until(lambda: len(head.pods()) == 1, "one Pod")
    wait_for(lambda: not head.pods(), "end with the coordinator", PATIENCE)
    assert rights(role("scale.yaml")) == cluster.do("used")


def test_settings_of_the_pool_are_its_own():
    answer = headrace("coordinator", "--pool", "local", "--kubernetes-image", "x")
    assert answer.returncode != 0
    assert "--kubernetes-image is for --pool kubernetes" in answer.stderr
    answer = headrace("coordinator", "--pool", "kubernetes", "--kubernetes-image", "x")
    assert answer.returncode != 0 and "this is no Pod of Kubernetes" in answer.stderr
