"""Pools on a real Slurm of five nodes: slurmctld, slurmd and munged, started by the test."""

import time

import pytest
from support.headrace_program import headrace, wait_for
from support.pool_program import PATIENCE, PoolHead, PoolProgram, large_photos, stock_sums
from support.servers.slurm import slurm


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with slurm(tmp_path_factory.mktemp("cluster") / "slurm", nodes=5) as made:
        yield made


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    return large_photos(tmp_path_factory.mktemp("photos"))


class Head(PoolHead):
    """A coordinator with a pool on the cluster, or several."""

    def __init__(self, cluster, folder, *words, pools=("slurm",)):
        self.cluster = cluster
        super().__init__(
            folder, *(word for pool in pools for word in ("--pool", pool)), "--slurm-memory", "512M", "--slurm-poll-s", "1",
            "--slurm-output", str(folder / "worker-%A_%a"), *words, **cluster.environment,
        )  # fmt: skip

    def jobs(self, states="PENDING,RUNNING", pool=""):
        """Of the pool of that name."""
        place = self.address.removeprefix("tcp://").replace(":", "-")
        mine = f"pool=headrace-{place}{'-' if pool else ''}{pool} "
        return [job for job in self.cluster.jobs(states) if mine in job[3]]

    def states(self):
        """Of its jobs, also of those that have ended."""
        return {job: state for job, state, *_ in self.jobs("all")}

    def story(self):
        return f"{self.said()}{self.cluster.jobs('all')}"


@pytest.fixture(scope="module")
def brief(cluster, tmp_path_factory):
    """Its workers have a minute, the least that Slurm knows. Slurm looks for ends each half a minute, so
    other tests run meanwhile."""
    folder = tmp_path_factory.mktemp("brief")
    words = "--workers", "1", "--slurm-time", "1", "--slurm-notice-s", "58"
    with Head(cluster, folder, *words, "--slurm-submit", "--nodelist=n4") as head:
        yield head


@pytest.fixture(scope="module")
def preempted(cluster, tmp_path_factory):
    """A coordinator and its worker, whose node Slurm wants for a job that is more urgent. That takes half
    a minute too."""
    folder = tmp_path_factory.mktemp("preempted")
    words = "--workers", "1", "--slurm-cores", "4", "--slurm-submit", "--nodelist=n3"
    with Head(cluster, folder, *words) as head:
        (first,) = head.until_ready(1)
        urgent = "--partition=urgent", "--nodelist=n3", "--exclusive", "--mem=0"
        cluster.run("sbatch", "--output=/dev/null", *urgent, "--wrap", "sleep 1000")
        yield head, first


@pytest.fixture(scope="module")
def two_pools(cluster, tmp_path_factory):
    """A coordinator with a pre-emptible pool and another one. Slurm wants the node of the first for a job that is
    more urgent."""
    folder = tmp_path_factory.mktemp("two-pools")
    spot = "slurm:name=spot,partition=preempt,price=0.01,preemptible,submit=--nodelist=n5"
    pools = spot, "slurm:price=0.04,submit=--nodelist=n4"
    with Head(cluster, folder, "--workers", "1", "--slurm-cores", "2", pools=pools) as head:
        (first,) = head.until_ready(1)
        urgent = "--partition=urgent", "--nodelist=n5", "--exclusive", "--mem=0"
        cluster.run("sbatch", "--output=/dev/null", *urgent, "--wrap", "sleep 1000")
        yield head, first


def test_a_pool_has_its_name_in_slurm(brief, preempted, two_pools):
    """The coordinators that the last tests look at. Each has found its own jobs alone."""
    first = brief.until(lambda: brief.states(), "first job")
    assert len(preempted[0].states()) >= 1 and not set(first) & set(preempted[0].states())
    head, cheap = two_pools
    assert [job for job, *_ in head.jobs("all", "spot")] == [cheap], "the cheapest pool comes first"


def test_what_slurm_does_not_give_is_told(cluster, tmp_path):
    """A partition that there is not, and jobs that never begin."""
    words = "--workers", "2", "--slurm-partition", "nowhere"
    with Head(cluster, tmp_path, *words) as head:
        head.until(lambda: "Invalid partition name" in head.said(), "reason")
        time.sleep(2)  # it is tried again
        assert head.said().count("Invalid partition name") == 1
        said = head.diagnosis("slurm")
        assert "there is no such place" in said and "--slurm-partition" in said, said
    never = tmp_path / "never"
    never.mkdir()
    words = "--workers", "2", "--slurm-submit", "--begin=now+1hour", "--queued-s", "3"
    with Head(cluster, never, *words) as head:
        head.until(lambda: "no worker within 3 s (BeginTime)" in head.said(), "reason")
        head.until(lambda: "CANCELLED" in head.states().values(), "jobs that are given up")


def test_a_setting_of_another_pool_is_refused():
    answer = headrace("coordinator", "--pool", "local", "--slurm-partition", "cpu")
    assert answer.returncode != 0 and "--slurm-partition is for --pool slurm" in answer.stderr
    answer = headrace("coordinator", "--pool", "slurm", "--threads", "4")
    assert answer.returncode != 0 and "--threads and --cache are of local workers" in answer.stderr


def test_workers_follow_demand_and_nothing_is_lost(cluster, photos, tmp_path):
    """A program wants one worker, then four, and ends. Meanwhile a node is killed, then the coordinator.

    Afterwards a node fewer is left."""
    words = "--workers", "1", "--max-workers", "4", "--slurm-submit", "--exclude=n3,n4,n5"
    with (
        Head(cluster, tmp_path, *words) as head,
        PoolProgram(photos, tmp_path, head.address) as program,
    ):
        (first,) = head.until_ready(1)
        program.step(0)
        assert first in head.until_ready(4)

        # Slurm does not know of it for a minute. What was there is replaced before.
        (node,) = [node for job, _, node, _ in cluster.jobs() if job == first]
        lost = {job for job, _, on, _ in cluster.jobs() if on == node}
        cluster.kill_node(node)
        head.until(lambda: len(set(head.members()) - lost) == 4, "others in their place")
        assert {head.states()[job] for job in lost} == {"RUNNING"}, "Slurm was waited for"

        # The next coordinator has the same workers.
        before = {member for member in head.members() if member not in lost}
        head.kill()
        head.start()
        head.until(lambda: before <= set(head.members()), "adopted workers")
        epochs = {comment.split("epoch=")[1].split()[0] for _, _, _, comment in head.jobs()}
        assert len(epochs) == 1, "the coordinator that was killed has started all of them"

        batches = program.sums()
        assert batches and batches == stock_sums(photos, len(batches))
        (last,) = head.until_ready(1)
        head.until(
            lambda: {head.states()[member] for member in before - {last}} == {"COMPLETED"},
            "ends in order",
        )
    wait_for(lambda: not head.jobs(), "end with the coordinator", PATIENCE)


def test_preemption_is_a_drain(preempted):
    head, first = preempted
    head.until(lambda: first not in head.members(), "notice")
    head.until(lambda: head.states()[first] in ("COMPLETED", "PREEMPTED"), "end")
    # Another one is asked for, and waits until the urgent job is done.
    head.until(lambda: "PENDING" in head.states().values(), "next one")
    assert "ended" not in head.said(), head.said()


def test_what_slurm_takes_away_comes_from_the_next_pool(two_pools):
    head, first = two_pools
    (second,) = head.until(lambda: [job for job, *_ in head.jobs("all")], "job of the next pool")
    head.until(lambda: head.members() == [second], "its worker")
    said = head.said()  # its worker takes longer to start than the line does to be written
    assert "pool spot: workers were taken away" in said and "ended" not in said, said
    states = {job: state for job, state, *_ in head.jobs("all", "spot")}
    assert states[first] in ("COMPLETED", "PREEMPTED", "RUNNING", "COMPLETING"), states
    assert list(states) == [first], "the pool is held: it was asked for no other"


def test_the_end_of_the_walltime_is_a_drain(brief):
    brief.until(lambda: "COMPLETED" in brief.states().values(), "worker that leaves")
    brief.until(lambda: len(brief.states()) > 1, "next one")
    assert "ended" not in brief.said(), brief.said()
