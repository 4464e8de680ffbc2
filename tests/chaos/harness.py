"""A run: one training program, the pool that serves it, and faults until it has had enough."""

import contextlib
import itertools
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from support.headrace_program import HEADRACE, headrace

from chaos.faults import FAULTS
from chaos.network import Link, Network
from chaos.oracle import PROGRAM, Expected, code_ran_once, entries, judge, read_batches
from chaos.records import Budget, Outcome, Scenario, Trial
from chaos.service import Child, Pool, marked

STUCK = 120  # seconds without a batch: longer than every bound that docs/failure-modes.md names
MOST_EPOCHS = 100_000
_numbers = itertools.count()


class Stuck(AssertionError):
    """No batch came within any bound."""


class Run:
    """Faults act on it. `patient`: faults may last longer than the timeouts of those who notice."""

    def __init__(
        self,
        scenario: Scenario,
        seed: int,
        place: pathlib.Path,
        photos: pathlib.Path,
        patient: bool,
    ) -> None:
        self.scenario = scenario
        self.patient = patient
        self.rng = random.Random(seed)
        self.place = place
        self.ticks: dict[int, int] = {}
        self.links: dict[str, Link] = {}
        self.network = Network(self.rng)
        self.settings = {
            "persistent": self.rng.random() < 0.5 and not scenario.resume,
            "step_ms": self.rng.choice([0, 1, 3]),
        }
        # Not below `place`: the path of a socket has at most 107 bytes.
        self.private = pathlib.Path(tempfile.mkdtemp(prefix="chaos-", dir="/tmp"))
        self._batches = place / "batches"
        # No other run of this machine has these addresses of loopback.
        number = os.getpid() * 8 + next(_numbers) % 8
        self._net = f"127.{64 + number // 250 % 128}.{number % 250}"
        self._options = [str(photos), str(place), "--plan", scenario.plan]
        self._options += ["--epochs", str(MOST_EPOCHS), "--step-ms", str(self.settings["step_ms"])]
        self._options += ["--persistent"] if self.settings["persistent"] else []
        self._options += ["--resume"] if scenario.resume else []

    # What serves.

    def prepare(self, training_seed: int) -> None:
        environment = {"XDG_RUNTIME_DIR": str(self.private), "OMP_NUM_THREADS": "1"}
        words = ["--report", str(self.place / "report")]
        coordinator, workers = None, []
        if self.scenario.transport == "private":
            words += ["--workers", str(self.scenario.workers)]
        else:
            own = f"tcp://{self._net}.1:7070"
            coordinator = Child(
                "coordinator",
                [
                    HEADRACE,
                    "coordinator",
                    "--listen",
                    own,
                    "--state-dir",
                    str(self.place / "state.d"),
                ],
                self.place,
                environment,
            )
            workers = [
                self._worker(i, self._through(3, "workers-coordinator"), environment)
                for i in range(self.scenario.workers)
            ]
            environment = environment | {
                "HEADRACE_COORDINATOR": self._through(2, "trainer-coordinator")
            }
            if self.scenario.transport in ("tcp", "relay"):
                environment["HEADRACE_TRANSPORT"] = "tcp"
            if self.scenario.transport == "elsewhere":  # compared with what this host makes
                environment |= {"HEADRACE_TRUST_CODE": "1", "HEADRACE_LOCAL_WORKER": "on"}
        self.own_coordinator = f"tcp://{self._net}.1:7070"
        command = [HEADRACE, "run", *words, "--", sys.executable, str(PROGRAM), *self._options]
        command += ["--seed", str(training_seed)]
        self.trainer = Child("trainer", command, self.place, environment)
        self.pool = Pool(coordinator, workers, self.place)

    def _through(self, last: int, name: str) -> str:
        """An address that leads to the coordinator."""
        if self.scenario.transport != "relay":
            return f"tcp://{self._net}.1:7070"
        if name not in self.links:
            near, far = (f"{self._net}.{last}", 7070), (f"{self._net}.1", 7070)
            self.links[name] = self.network.link(near, far)
        return f"tcp://{self._net}.{last}:7070"

    def _worker(self, i: int, coordinator: str, environment: dict[str, str]) -> Child:
        directory = self.private / f"worker{i}"
        directory.mkdir(mode=0o700)
        own, seen = f"{self._net}.{10 + i}", f"{self._net}.{100 + i}"
        words = ["worker", "--coordinator", coordinator, "--threads", "1"]
        words += ["--directory", str(directory), "--listen", f"tcp://{own}:7100"]
        command = [HEADRACE, *words]
        if self.scenario.transport == "relay":
            self.links[f"trainer-worker{i}"] = self.network.link((seen, 7100), (own, 7100))
            command += ["--advertise", seen]
        elif self.scenario.transport == "elsewhere":
            # Loopback serves its own host alone. An address as one number is no literal of loopback.
            parts = [int(part) for part in own.split(".")]
            command += ["--advertise", f"127.{parts[1] << 16 | parts[2] << 8 | parts[3]}"]
            boot = self.place / f"boot{i}"
            boot.write_text(f"8a1b2c3d-0000-4000-8000-00000000000{i}\n")
            steps = f'hostname chaos{i} && mount --bind {boot} /proc/sys/kernel/random/boot_id && exec "$@"'
            command = ["unshare", "--mount", "--uts", "sh", "-c", steps, "sh", *command]
        return Child(f"worker{i}", command, self.place, environment)

    # What faults need.

    def count(self) -> int:
        with contextlib.suppress(FileNotFoundError):
            with open(self._batches, "rb") as file:
                return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
        return 0

    def waited(self, condition: Callable[[], Any], seconds: float) -> bool:
        """Until the condition holds: whether it did in time."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.005)
        return True

    def away(self, seconds: float) -> None:
        """What is gone, stopped or parted stays so for that long."""
        time.sleep(seconds)

    def mend(self) -> None:
        """Starts what has ended, as an operator's engine does."""
        for child in self.pool.dead():
            child.start()
        if self.scenario.resume and self.trainer.ended() not in (None, 0):
            self.trainer.start()

    def lanes(self) -> list[int]:
        """Processes that the trainer forked for its lanes: they have its command line."""
        mine = str(PROGRAM)
        found = []
        for file in pathlib.Path(f"/proc/{self.trainer.pid}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                for child in file.read_text().split():
                    if mine in pathlib.Path(f"/proc/{child}/cmdline").read_text():
                        found.append(int(child))
        return found

    def more(self, batches: int) -> None:
        """Until the program has got so many more."""
        wanted = self.count() + batches

        def enough() -> bool:
            if self.trainer.ended() is not None:
                assert self.scenario.resume, f"the program ended with {self.trainer.ended()}"
                self.mend()
            if self.pool.dead():
                self.mend()
            return self.count() >= wanted

        if not self.waited(enough, STUCK):
            raise Stuck(f"no {batches} batches within {STUCK} s")

    # The course of it.

    def start(self) -> None:
        self.pool.start()
        if self.pool.coordinator:
            wanted = self.scenario.workers
            ready = self.waited(lambda: self._ready() == wanted, 60)
            assert ready, f"{self._ready()} of {wanted} workers are ready"
        self.trainer.start()
        self.more(8)

    def _ready(self) -> int:
        answer = headrace("workers", "--json", "--coordinator", self.own_coordinator)
        return answer.stdout.count('"ready"')

    def disturb(self, budget: Budget, outcome: Outcome) -> None:
        while budget(outcome.trials):
            kind = self.rng.choice(self.scenario.kinds)
            self.more(self.rng.choice([0, 1, 5, 20]))
            trial = Trial(kind, "", 0, time.monotonic())
            done = FAULTS[kind](self, self.rng)
            if done is None:
                self.more(1)
                continue
            trial.kills, trial.what = done
            outcome.trials.append(trial)
            self.mend()
            self.more(self.rng.choice([2, 5, 12]))
            assert self.network.works(), "the relays of the harness have ended"
            trial.settled = time.monotonic()

    def finish(self) -> list[str]:
        """Lets program and pool end in order. What is wrong with how they ended."""
        problems = []
        (self.place / "stop").touch()
        if not self.waited(self._trainer_done, STUCK):
            raise Stuck(f"the program does not end within {STUCK} s")
        if self.trainer.ended() != 0:
            problems.append(f"the program ended with {self.trainer.ended()}")
        for child in [
            *self.pool.workers,
            *([self.pool.coordinator] if self.pool.coordinator else []),
        ]:
            if (code := child.end()) != 0:
                problems.append(f"{child.name} ended with {code}")
        if not self.waited(lambda: not marked(self.place), 20):
            problems.append(f"processes are left: {marked(self.place)}")
        return problems

    def _trainer_done(self) -> bool:
        self.mend()
        return self.trainer.ended() == 0 or (
            self.trainer.ended() is not None and not self.scenario.resume
        )

    def kill(self) -> None:
        """Everything that is left of the run."""
        for _ in range(3):
            for pid in marked(self.place):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        for child in (*self.pool.children(), self.trainer):
            if child.process:
                child.process.kill()
                child.process.wait()

    def tails(self, lines: int = 30) -> str:
        told = []
        for log in sorted(self.place.glob("*.log")):
            told.append(f"--- {log.name}\n" + "\n".join(log.read_text().splitlines()[-lines:]))
        return "\n".join(told)


def chaos(
    scenario: Scenario,
    seed: int,
    *,
    place: pathlib.Path,
    photos: pathlib.Path,
    expected: Expected,
    training_seed: int,
    budget: Budget,
    patient: bool = False,
) -> Outcome:
    """Runs until `budget` says no. Problems of the outcome are told, not raised."""
    place.mkdir(parents=True)
    run = Run(scenario, seed, place, photos, patient)
    outcome = Outcome(scenario.name, seed, run.settings)
    memory = pathlib.Path("/dev/shm")
    before = entries(memory)
    with run.network:
        run.prepare(training_seed)
        try:
            run.start()
            run.disturb(budget, outcome)
            outcome.problems += run.finish()
        except AssertionError as error:
            outcome.problems.append(str(error) + _stacks(run))
        finally:
            run.kill()
    if not run.waited(lambda: not entries(memory) - before, 20):
        outcome.problems.append(f"left in /dev/shm: {sorted(entries(memory) - before)}")
    _next_worker_tidies(run)
    if left := _left(run):
        outcome.problems.append(f"left in the private directory: {sorted(left)}")
    shutil.rmtree(run.private)
    _compare(run, outcome, expected)
    if outcome.problems:
        outcome.story = _story(run, outcome)
    else:
        shutil.rmtree(place)
    return outcome


def _next_worker_tidies(run: Run) -> None:
    """The trainer's own worker may have been killed as the last thing. The next one on the host, of
    whatever program, removes what that left."""
    shared = run.private / "headrace"
    if not list(shared.glob("w*")):
        return
    words = ["worker", "--coordinator", f"ipc://{run.private}/nobody", "--directory", str(shared)]
    worker = Child("next", [HEADRACE, *words], run.place, {})
    worker.start()
    own = f"w{worker.pid}."
    run.waited(lambda: all(file.name.startswith(own) for file in shared.glob("w*")), 20)
    worker.end()


def _left(run: Run) -> set[str]:
    """Of the run's private directory, without what the harness made there and the lock by which
    the workers of trainers' hosts know each other, which stays."""
    mine = {str(run.private / f"worker{i}") for i in range(run.scenario.workers)}
    shared = str(run.private / "headrace")
    return {
        name
        for name in entries(run.private) - mine
        if name != shared and not (name.startswith(f"{shared}/local-") and name.endswith(".lock"))
    }


def _compare(run: Run, outcome: Outcome, expected: Expected) -> None:
    came = read_batches(run.place / "batches")
    if not came:
        outcome.problems.append("no batch came")
        return
    outcome.epochs = max(batch.key[0] for batch in came) + 1
    wanted = expected.first(outcome.epochs, run.scenario.plan, run.settings["persistent"])
    if outcome.problems:  # it did not come to its end: up to where it came
        wanted = {key: digest for key, digest in wanted.items() if key <= came[-1].key}
    outcome.verdict = verdict = judge(came, wanted, run.scenario.resume)
    for name in ("lost", "wrong", "again", "out_of_order"):
        if keys := getattr(verdict, name):
            outcome.problems.append(f"{len(keys)} batches {name}: {keys[:5]}")
    if run.scenario.plan == "lanes":
        # The program's end comes with an epoch's, so that none was made ahead.
        samples = len(came) * 8
        outcome.problems += code_ran_once(run.place / "calls", samples)
    times = [batch.time for batch in came]
    for trial in outcome.trials:
        settled = trial.settled or time.monotonic()
        pauses = [
            b - a for a, b in zip(times, times[1:], strict=False) if b > trial.began and a < settled
        ]
        trial.pause = max(pauses, default=0)


def _stacks(run: Run) -> str:
    """Where the program stands, in its log, for one that is stuck."""
    if run.trainer.process and run.trainer.ended() is None:
        os.kill(run.trainer.pid, signal.SIGUSR1)
        time.sleep(1)
    return ""


def _story(run: Run, outcome: Outcome) -> str:
    faults = "\n".join(
        f"{trial.began:.3f} {trial.kind}: {trial.what} (pause {trial.pause:.3f} s)"
        for trial in outcome.trials
    )
    return (
        f"scenario {outcome.scenario!r}, HEADRACE_TEST_SEED={outcome.seed}, {outcome.settings}, "
        f"in {run.place}\n{faults}\n{run.tails()}"
    )
