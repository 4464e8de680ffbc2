"""A pool on Ray: a cluster of several nodes on this host, of the package that users have."""

import os
import signal

import pytest
from support.headrace_program import free_address, wait_for
from support.pool_program import PATIENCE, PoolHead, PoolProgram, large_photos, stock_sums
from support.servers.ray_cluster import PYTHON, Machines, missing, ray_cluster

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with ray_cluster(tmp_path_factory.mktemp("ray")) as made:
        made.do("add_node", name="n1", cpus=4)
        made.do("add_node", name="n2", cpus=4)
        yield made


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    return large_photos(tmp_path_factory.mktemp("photos"))


class Head(PoolHead):
    """A coordinator whose workers are actors of the cluster."""

    def __init__(self, cluster, folder, *words):
        self.cluster = cluster
        super().__init__(folder, *cluster.words(), *words)
        self.name = f"headrace-{self.address.removeprefix('tcp://').replace(':', '-')}"

    def actors(self):
        return [one for one in self.cluster.do("actors") if one.startswith(f"{self.name}.")]

    def pids(self):
        """Of its ready workers, by member."""
        return {one["member"]: one["pid"] for one in self.workers() if one["state"] == "ready"}

    def nodes(self):
        return {member: self.cluster.do("node_of", pid=pid) for member, pid in self.pids().items()}


def parent_of(pid):
    with open(f"/proc/{pid}/stat") as stat:
        return int(stat.read().rpartition(")")[2].split()[1])


def test_nothing_is_lost_whatever_dies(cluster, photos, tmp_path):
    """A program wants one worker, then four, and ends. Meanwhile a worker is killed, then an actor, then a
    node, then the coordinator."""
    with (
        Head(cluster, tmp_path, "--workers", "1", "--max-workers", "4") as head,
        PoolProgram(photos, tmp_path, head.address) as program,
    ):
        (first,) = head.until_ready(1)
        assert first.startswith(head.name) and head.actors() == [first]
        program.step(0)
        assert first in head.until_ready(4)

        pids = head.pids()
        worker, actor = sorted(set(pids) - {first})[:2]
        os.kill(pids[worker], signal.SIGKILL)
        os.kill(parent_of(pids[actor]), signal.SIGKILL)
        head.until(lambda: not {worker, actor} & set(now := head.members()) and len(now) == 4,
                   "others in their place")  # fmt: skip
        wait_for(
            lambda: not os.path.exists(f"/proc/{pids[actor]}"), "end of the actor's worker", 60
        )

        nodes = head.nodes()
        assert set(nodes.values()) <= {"n1", "n2"}
        victim = nodes[first]
        lost = {member for member, node in nodes.items() if node == victim}
        cluster.do("kill_node", name=victim)
        cluster.do("add_node", name=f"{victim}-again", cpus=4)
        head.until(lambda: not lost & set(now := head.members()) and len(now) == 4,
                   "others in place of a node's")  # fmt: skip

        # The next coordinator has the same workers.
        before = set(head.members())
        head.kill()
        head.start()
        head.until(lambda: before == set(head.members()), "adopted workers")
        assert len({member.split(".")[-2] for member in before}) == 1, (
            "all by the one that was killed"
        )

        batches = program.sums()
        assert batches and batches == stock_sums(photos, len(batches))
        head.until_ready(1)
        head.until(lambda: len(head.actors()) == 1, "end of the others")
    wait_for(lambda: not head.actors(), "end with the coordinator", PATIENCE)


def test_a_pool_of_another_engine_is_beside_it(cluster, tmp_path):
    """Processes of this host are cheaper, and there may be one of them. Both pools are found again."""
    local = "exec:name=local,price=0.01,most=1"
    words = "--pool", local, "--exec-command", "{program} {args}", "--core-price", "0.04"
    with Head(cluster, tmp_path, "--workers", "3", *words) as head:
        before = set(head.until_ready(3))
        pools = head.pools()
        assert list(pools) == ["local", "ray"], "the cheapest first"
        assert [pool["running"] for pool in pools.values()] == [1, 2]
        assert [pool["cost_per_hour"] for pool in pools.values()] == [0.01, 0.08]
        assert len(head.actors()) == 2
        head.kill()
        head.start()
        head.until(lambda: before == set(head.members()), "adopted workers")
        head.until(
            lambda: [pool["running"] for pool in head.pools().values()] == [1, 2],
            "each in its own pool",
        )
        (left,) = [pid for member, pid in head.pids().items() if "-local." in member]
    os.kill(left, signal.SIGTERM)  # without --exec-stop, nobody ends a process that was adopted
    wait_for(lambda: not head.actors(), "end with the coordinator", PATIENCE)


@pytest.mark.full
def test_a_node_that_is_taken_back_is_a_drain(cluster, photos, tmp_path):
    """As where a spot instance ends: Ray knows of it before."""
    cluster.do("add_node", name="spot", cpus=1, labels={"kind": "spot"})
    with Head(cluster, tmp_path, "--workers", "1", "--ray-labels", "kind=spot") as head:
        (first,) = head.until_ready(1)
        assert head.nodes() == {first: "spot"}
        cluster.do("add_node", name="spot-again", cpus=1, labels={"kind": "spot"})
        cluster.do("drain_node", name="spot", seconds=600)
        head.until(lambda: first not in (now := head.members()) and len(now) == 1, "another")
        assert list(head.nodes().values()) == ["spot-again"]
        assert "lost" not in head.said() and "ended" not in head.said(), head.said()


@pytest.mark.full
def test_what_ray_does_not_give_is_told(cluster, tmp_path):
    """Fewer CPUs than are wanted: who waits says why, and is taken back in the end."""
    words = "--workers", "2", "--ray-cores", "4", "--ray-labels", "kind=large", "--queued-s", "8"
    cluster.do("add_node", name="large", cpus=4, labels={"kind": "large"})
    with Head(cluster, tmp_path, *words) as head:
        head.until_ready(1)
        head.until(lambda: "no worker within 8 s (Ray has no room" in head.said(), "reason")
        assert "a worker wants CPU 4, memory 0.2G" in head.said()
    wait_for(lambda: not head.actors(), "end with the coordinator", PATIENCE)


def test_a_cluster_without_room_gets_a_node_and_may_give_it_back(tmp_path):
    """Ray's own autoscaler sees actors that wait as demand, and starts a node for them."""
    with ray_cluster(tmp_path / "ray", Machines(cpus=2)) as grown:
        assert grown.do("machines") == 0
        with Head(grown, tmp_path, "--workers", "2") as head:
            head.until_ready(2)
            assert grown.do("machines") == 1
        wait_for(lambda: not head.actors(), "end of the actors", PATIENCE)
        wait_for(lambda: grown.do("machines") == 0, "end of the node", PATIENCE)


def test_no_ray_is_told_with_what_to_do(tmp_path):
    words = "--pool", "ray", "--workers", "1", "--ray-memory", "256M"
    plain = tmp_path / "plain"
    plain.mkdir()
    with PoolHead(plain, *words, "--ray-python", "/usr/bin/python3") as head:
        head.until(lambda: "--ray-python is an interpreter that has it" in head.said(), "reason")
        said = head.diagnosis("ray")
        assert "its engine is not reached" in said and "--ray-address" in said, said
    address = free_address().removeprefix("tcp://")
    with PoolHead(tmp_path, *words, "--ray-python", PYTHON, "--ray-address", address) as head:
        head.until(lambda: f"no Ray cluster at {address}: nobody listens" in head.said(), "reason")
