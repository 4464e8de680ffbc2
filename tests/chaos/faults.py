"""What can go wrong, each as a function of the run that it happens to."""

import random
import resource
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from chaos.service import cpu_ticks, send

if TYPE_CHECKING:
    from chaos.harness import Run


class Done(NamedTuple):
    """What a fault met: how many processes were killed, and what it was in words."""

    kills: int
    what: str


# A fault does its harm, draws how long that lasts, and leaves the mending to the supervisor. None:
# there was nothing that it could harm.
Fault = Callable[["Run", random.Random], Done | None]


def _working(run: "Run", rng: random.Random, pids: list[int]) -> int:
    """One that has worked since the last look, if there is one: it has batches to lose."""
    ticks = {pid: cpu_ticks(pid) for pid in pids}
    worked = [pid for pid in pids if ticks[pid] > run.ticks.get(pid, 0)]
    run.ticks = ticks
    return rng.choice(worked or pids)


def worker_killed(run: "Run", rng: random.Random) -> Done | None:
    pids = run.pool.worker_pids()
    if not pids:
        return None
    killed = send([_working(run, rng, pids)], signal.SIGKILL)
    return Done(len(killed), f"worker {killed}")


def workers_one_by_one(run: "Run", rng: random.Random) -> Done:
    """Several, each before the program has got over the one before."""
    killed = []
    for _ in range(rng.randint(3, 6)):
        pids = run.pool.worker_pids()
        if pids:
            killed += send([_working(run, rng, pids)], signal.SIGKILL)
        run.away(rng.uniform(0.01, 0.3))
        run.mend()
    return Done(len(killed), f"workers {killed}")


def all_workers_killed(run: "Run", rng: random.Random) -> Done | None:
    killed = send(run.pool.worker_pids(), signal.SIGKILL)
    # Now and then long enough for the trainer to make its samples itself.
    run.away(rng.choice([0, 0, 0.2, 1] + ([5] if run.patient else [])))
    return Done(len(killed), f"workers {killed}") if killed else None


def coordinator_killed(run: "Run", rng: random.Random) -> Done | None:
    killed = send(run.pool.coordinators(), signal.SIGKILL)
    run.away(rng.choice([0, 0, 0.2, 1]))
    return Done(len(killed), f"coordinator {killed}") if killed else None


def everything_killed(run: "Run", rng: random.Random) -> Done | None:
    pids = [*run.pool.coordinators(), *run.pool.worker_pids()]
    rng.shuffle(pids)
    killed = send(pids, signal.SIGKILL)
    run.away(rng.choice([0, 0, 0.2, 1]))
    return Done(len(killed), f"all {killed}") if killed else None


def _stage_killed(kind: str) -> Fault:
    def kill(run: "Run", rng: random.Random) -> Done | None:
        pids = run.pool.stages()[kind]
        if not pids:
            return None
        killed = send([rng.choice(pids)], signal.SIGKILL)
        return Done(len(killed), f"{kind} {killed}")

    return kill


def trainer_killed(run: "Run", rng: random.Random) -> Done:
    run.trainer.kill()
    return Done(1, f"trainer {run.trainer.pid}")


def lane_killed(run: "Run", rng: random.Random) -> Done | None:
    """torch's own error then ends the program, which goes on from its state."""
    pids = run.lanes()
    if not pids:
        return None
    killed = send([rng.choice(pids)], signal.SIGKILL)
    return Done(len(killed), f"lane {killed}")


def _stopped(which: Callable[["Run", random.Random], list[int]]) -> Fault:
    def stop(run: "Run", rng: random.Random) -> Done | None:
        pids = send(which(run, rng), signal.SIGSTOP)
        if not pids:
            return None
        seconds = rng.choice([0.1, 0.5, 1.5] + ([3, 6] if run.patient else []))
        run.away(seconds)
        send(pids, signal.SIGCONT)
        return Done(0, f"stopped {pids} for {seconds} s")

    return stop


def _one_worker(run: "Run", rng: random.Random) -> list[int]:
    pids = run.pool.worker_pids()
    return [_working(run, rng, pids)] if pids else []


def _one_host(run: "Run", rng: random.Random) -> list[int]:
    pids = run.pool.stages()["host"]
    return [rng.choice(pids)] if pids else []


def journal_full(run: "Run", rng: random.Random) -> Done | None:
    """The next record finds no room, as on a full disk. The coordinator ends, and starts with room."""
    assert run.pool.coordinator is not None
    resource.prlimit(run.pool.coordinator.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    if not run.waited(lambda: run.pool.coordinator.ended() is not None, seconds=10):
        resource.prlimit(
            run.pool.coordinator.pid,
            resource.RLIMIT_FSIZE,
            (resource.RLIM_INFINITY, resource.RLIM_INFINITY),
        )
        return None  # nothing was written: one epoch goes on
    return Done(0, f"the coordinator ended with {run.pool.coordinator.ended()}")


def network_cut(run: "Run", rng: random.Random) -> Done | None:
    name, link = rng.choice(list(run.links.items()))
    met = run.network.cut(link)
    return Done(0, f"cut {met} connections of {name}") if met else None


def network_half_open(run: "Run", rng: random.Random) -> Done | None:
    name, link = rng.choice(list(run.links.items()))
    met = run.network.half_open(link)
    return Done(0, f"half open {met} connections of {name}") if met else None


def network_partition(run: "Run", rng: random.Random) -> Done:
    names = rng.sample(sorted(run.links), rng.randint(1, len(run.links)))
    seconds = rng.choice([0.2, 1, 2.5] + ([7, 12] if run.patient else []))
    for name in names:
        run.network.hold(run.links[name], True)
    run.away(seconds)
    for name in names:
        if rng.random() < 0.5:  # the kernel gave it up meanwhile
            run.network.cut(run.links[name])
        run.network.hold(run.links[name], False)
    return Done(0, f"nothing crossed {', '.join(names)} for {seconds} s")


def network_slow(run: "Run", rng: random.Random) -> Done:
    delay, jitter, seconds = rng.uniform(0, 0.1), rng.uniform(0, 0.2), rng.uniform(0.5, 2)
    for link in run.links.values():
        run.network.slow(link, delay, jitter)
    run.away(seconds)
    for link in run.links.values():
        run.network.slow(link, 0, 0)
    return Done(0, f"{delay:.3f} to {delay + jitter:.3f} s slower for {seconds:.1f} s")


FAULTS: dict[str, Fault] = {
    "a worker killed": worker_killed,
    "workers killed one after the other": workers_one_by_one,
    "all workers killed": all_workers_killed,
    "coordinator killed": coordinator_killed,
    "coordinator and all workers killed": everything_killed,
    "stage host killed": _stage_killed("host"),
    "process that hosts are forked from killed": _stage_killed("zygote"),
    "interpreter of sessions killed": _stage_killed("base"),
    "lane killed, program resumed": lane_killed,
    "trainer killed, program resumed": trainer_killed,
    "a worker stopped": _stopped(_one_worker),
    "all workers stopped": _stopped(lambda run, rng: run.pool.worker_pids()),
    "coordinator stopped": _stopped(lambda run, rng: run.pool.coordinators()),
    "stage host stopped": _stopped(_one_host),
    "trainer stopped": _stopped(lambda run, rng: [run.trainer.pid]),
    "journal without room": journal_full,
    "connections cut": network_cut,
    "connections half open": network_half_open,
    "network parted": network_partition,
    "network slow": network_slow,
}
