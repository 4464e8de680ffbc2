"""What must have come, and what came."""

import collections
import contextlib
import os
import pathlib
import subprocess
import sys
from dataclasses import dataclass, field

from support.headrace_program import clean_environment

PROGRAM = pathlib.Path(__file__).with_name("program.py")

Key = tuple[int, int]  # epoch, number


@dataclass(frozen=True)
class Batch:
    time: float  # monotonic, of this machine
    key: Key
    digest: str


def read_batches(file: pathlib.Path) -> list[Batch]:
    if not file.exists():
        return []
    found = []
    for line in file.read_text().splitlines():
        time, epoch, number, digest = line.split()
        found.append(Batch(float(time), (int(epoch), int(number)), digest))
    return found


class Expected:
    """Batches of the stock loader, undisturbed, of as many epochs as were wanted until now."""

    def __init__(self, folder: pathlib.Path, photos: pathlib.Path, seed: int) -> None:
        self._folder, self._photos, self._seed = folder, photos, seed
        self._known: dict[tuple[str, bool], dict[Key, str]] = {}

    def first(self, epochs: int, plan: str, persistent: bool) -> dict[Key, str]:
        plan = "native" if plan == "code" else plan  # code without state makes the same samples
        known = self._known.get((plan, persistent), {})
        had = max((epoch for epoch, _ in known), default=-1) + 1
        if had < epochs:
            known = self._run(max(epochs, 2 * had), plan, persistent)
            self._known[plan, persistent] = known
        return {key: digest for key, digest in known.items() if key[0] < epochs}

    def _run(self, epochs: int, plan: str, persistent: bool) -> dict[Key, str]:
        out = self._folder / f"stock-{plan}-{persistent}-{epochs}"
        out.mkdir()
        command = [sys.executable, str(PROGRAM), str(self._photos), str(out), "--plan", plan]
        command += ["--epochs", str(epochs), "--seed", str(self._seed)]
        command += ["--persistent"] if persistent else []
        environment = clean_environment(HEADRACE="off", OMP_NUM_THREADS="1")
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        batches = read_batches(out / "batches")
        assert batches and len({batch.key for batch in batches}) == len(batches)
        return {batch.key: batch.digest for batch in batches}


@dataclass
class Verdict:
    """Of one program: what of its batches was not as it should be."""

    batches: int = 0
    lost: list[Key] = field(default_factory=list)
    wrong: list[Key] = field(default_factory=list)
    again: list[Key] = field(default_factory=list)  # more than once, though the program lived
    out_of_order: list[Key] = field(default_factory=list)


def judge(came: list[Batch], expected: dict[Key, str], resumed: bool) -> Verdict:
    """All in order, with the bits of `expected`. A program that is killed after it wrote a line and
    before it saved its state makes that one batch again when it is `resumed`."""
    verdict = Verdict(len(came))
    seen = {batch.key for batch in came}
    verdict.lost = sorted(set(expected) - seen)
    verdict.wrong = [b.key for b in came if expected.get(b.key) != b.digest]
    for before, after in zip(came, came[1:], strict=False):
        if after.key == before.key and resumed:
            continue
        if after.key == before.key:
            verdict.again.append(after.key)
        elif after.key != _next(before.key, expected):
            verdict.out_of_order.append(after.key)
    return verdict


def _next(key: Key, expected: dict[Key, str]) -> Key:
    after = (key[0], key[1] + 1)
    return after if after in expected else (key[0] + 1, 0)


def code_ran_once(calls: pathlib.Path, samples: int) -> list[str]:
    """The lines of code with state: each process counts its own, and no call is one too many."""
    problems = []
    counts: dict[int, list[int]] = collections.defaultdict(list)
    lines = calls.read_text().splitlines()
    for line in lines:
        pid, count, _ = map(int, line.split())
        counts[pid].append(count)
    for pid, found in counts.items():
        # A number of a process that ended may come again.
        wanted = 1
        for count in found:
            if count not in (wanted, 1):
                problems.append(f"process {pid} counts {count} after {wanted - 1}")
            wanted = count + 1
    if len(lines) != samples:
        problems.append(f"{len(lines)} calls made {samples} samples")
    return problems


def entries(folder: pathlib.Path) -> set[str]:
    """What lies in a folder and below."""
    found = set()
    with contextlib.suppress(OSError):
        for place, folders, files in os.walk(folder):
            found |= {os.path.join(place, name) for name in (*folders, *files)}
    return found
