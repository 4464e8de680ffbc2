"""What each loader did, for `headrace run --report FILE`."""

import _socket
import contextlib
import hashlib
import json
import os
import sys
import tempfile
import threading
import time
from dataclasses import field
from typing import Any

from ..native import binding
from ..process.output import tell
from ..records import dataclass
from ..stage import call_board
from ..version import __version__
from . import options

# What stall_seconds is divided into; docs/reference/stall.md.
WAIT_CAUSES = ("sampler", "source", "compute", "python", "queue", "network", "copy")
# Metrics of a session (docs/reference/metrics.md) that have a place of their own below. Of the others
# `worker_seconds` has the times that workers tell of batches, and `counts` has the rest.
_PLACED = {
    "batches", "samples", "iterations", "stall_ns", "step_ns", "idle_ns", "shm_bytes", "tcp_bytes",
    "decoded_hits", "encoded_hits", "misses", "hit_samples", "miss_samples", "source_bytes",
    *(f"wait_{cause}_ns" for cause in WAIT_CAUSES),
}  # fmt: skip


_MOST_BAD_SAMPLES = 64  # that a report names


def _worker_times() -> list[str]:
    return [name for name in binding.batch_metrics if name.endswith("_ns") and name not in _PLACED]


def _counted() -> list[str]:
    elsewhere = _PLACED | set(_worker_times())
    names: tuple[str, ...] = binding.session_counters + binding.session_gauges
    return [name for name in names if name not in elsewhere]


@dataclass
class LoaderReport:
    """One loader's numbers. Filled by its iterators, one thread at a time."""

    name: str
    num_workers: int
    path: str = ""  # of the last iteration: "native", "python" or "local"
    rng: str = ""
    epochs: int = 0
    batches: int = 0
    samples: int = 0
    samples_by_path: dict[str, int] = field(
        default_factory=lambda: {"native": 0, "python": 0, "local": 0}
    )
    samples_by_worker: dict[str, int] = field(default_factory=dict)
    stall_seconds: float = 0.0
    step_seconds: float = 0.0
    bytes: dict[str, int] = field(default_factory=lambda: {"shm": 0, "tcp": 0})
    cache_hits: dict[str, int] = field(
        default_factory=lambda: {"decoded": 0, "encoded": 0, "misses": 0}
    )
    # The hits by the worker's cache tier: {"memory": {"decoded": 0, "encoded": 0}}.
    cache_hits_by_tier: dict[str, dict[str, int]] = field(default_factory=dict)
    # stall_seconds by cause; what a loader waited that stays in the trainer is not divided.
    wait_seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(WAIT_CAUSES, 0.0))
    idle_seconds: float | None = None  # of stall_seconds, with the device idle; None: not measured
    # What workers spent. Wall time of all threads together by kind, and CPU time by path: samples from
    # the decoded cache, and all others.
    worker_seconds: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys(
            (name.removesuffix("_ns") for name in _worker_times()), 0.0
        )
    )
    worker_samples: dict[str, int] = field(default_factory=lambda: {"hit": 0, "miss": 0})
    source_bytes: int = 0
    # num_workers=0: batches that were made before the program asked for them, those of them that were
    # not the ones that it then wanted, and how often the data set had been changed.
    made_ahead: int = 0
    mispredicted: int = 0
    changed: int = 0
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_counted(), 0))
    # Native plans: samples that were made again by the dataset's own code while the program went
    # on, and those of them that were others.
    compared_samples: int = 0
    different_samples: int = 0
    batches_made_again: int = (
        0  # that waited for the program when a result of a function was found to be wrong
    )
    other_files: int = 0  # samples made in the trainer, for a worker has other files than it
    # Samples that could not be made, by what was done then, and the first of them.
    bad_samples: dict[str, int] = field(default_factory=lambda: {"skip": 0, "substitute": 0})
    first_bad_samples: list[dict[str, Any]] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)

    def add_reason(self, reason: str) -> bool:
        """True if it is new."""
        if reason in self.reasons:
            return False
        self.reasons.append(reason)
        return True

    def bad_sample(self, index: Any, path: str, cause: str, way: str) -> None:
        self.bad_samples[way] = self.bad_samples.get(way, 0) + 1
        if len(self.first_bad_samples) < _MOST_BAD_SAMPLES:
            entry = {"index": index, "path": path, "cause": cause, "way": way}
            self.first_bad_samples.append(entry)

    def delivered(self, path: str, samples: int, stall: float = 0.0, step: float = 0.0) -> None:
        """`stall` and `step` of loaders that stay in the trainer; of others the session knows."""
        self.batches += 1
        self.samples += samples
        self.samples_by_path[path] += samples
        self.stall_seconds += stall
        self.step_seconds += step

    def made_here(self, path: str, samples: int) -> None:
        """So many of the samples that were delivered on `path` were the trainer's own work."""
        self.samples_by_path[path] -= samples
        self.samples_by_path["local"] += samples

    def session_ended(self, stats: dict[str, Any]) -> None:
        """Adds what only the native session knows."""
        for worker, samples in stats["samples_by_worker"].items():
            key = str(worker)
            self.samples_by_worker[key] = self.samples_by_worker.get(key, 0) + samples
        for kind in self.bytes:
            self.bytes[kind] += stats[f"{kind}_bytes"]
        for kind in ("decoded", "encoded"):
            self.cache_hits[kind] += stats[f"{kind}_hits"]
        self.cache_hits["misses"] += stats["misses"]
        for tier, hits in stats["hits_by_tier"].items():
            by_kind = self.cache_hits_by_tier.setdefault(tier, {"decoded": 0, "encoded": 0})
            for kind in by_kind:
                by_kind[kind] += hits[kind]
        self.stall_seconds += stats["stall_ns"] * 1e-9
        self.step_seconds += stats["step_ns"] * 1e-9
        for cause in WAIT_CAUSES:
            self.wait_seconds[cause] += stats[f"wait_{cause}_ns"] * 1e-9
        if stats["idle_known"]:
            self.idle_seconds = (self.idle_seconds or 0.0) + stats["idle_ns"] * 1e-9
        for kind in self.worker_seconds:
            self.worker_seconds[kind] += stats[f"{kind}_ns"] * 1e-9
        for kind in self.worker_samples:
            self.worker_samples[kind] += stats[f"{kind}_samples"]
        self.source_bytes += stats["source_bytes"]
        for name in self.counts:
            largest = name in binding.session_gauges
            self.counts[name] = (max if largest else int.__add__)(self.counts[name], stats[name])


_said: set[str] = set()


def say(report: LoaderReport, name: str, text: str) -> None:
    """Writes one line on stderr, once, because many programs make new loaders each epoch."""
    line = f"headrace: DataLoader({name}) {text}"
    if report.add_reason(text) and line not in _said:
        _said.add(line)
        print_line(line)


def print_line(line: str) -> None:
    """On a line of its own, also where a progress bar of tqdm's has not ended its one."""
    tqdm = sys.modules.get("tqdm.std")
    if tqdm is None or not getattr(tqdm.tqdm, "_instances", None):
        tell(line)
        return
    with contextlib.suppress(Exception):  # as tell() does
        tqdm.tqdm.write(line, file=sys.stderr)


def rank() -> str:
    """The rank of this process among those that train together, from launchers and torch."""
    distributed = sys.modules.get("torch.distributed")
    if "RANK" not in os.environ and distributed is not None:
        if distributed.is_available() and distributed.is_initialized():
            return str(distributed.get_rank())
    return os.environ.get("RANK", "0")


class Report:
    """All loaders of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._started = time.monotonic()
        self._loaders: list[LoaderReport] = []
        self._live: list[Any] = []  # weak references to iterators with unreported numbers
        self._coordinator = ""
        self._cpu_seconds = 0.0
        self._rank = "0"
        self._owner = 0  # the process that writes the report itself
        self._claim_fd = -1

    def add(self, name: str, num_workers: int) -> LoaderReport:
        entry = LoaderReport(name, num_workers)
        with self._lock:
            if not self._loaders:
                self._rank = rank()
                self._claim()
            self._loaders.append(entry)
        return entry

    def watch(self, iterator: Any) -> None:
        """`iterator` is a weak reference whose object has flush_report()."""
        with self._lock:
            self._live = [kept for kept in self._live if kept() is not None]
            self._live.append(iterator)

    def service_ended(self, coordinator: str, cpu_seconds: float) -> None:
        self._coordinator = coordinator
        self._cpu_seconds += cpu_seconds

    def as_dict(self) -> dict[str, Any]:
        for kept in self._live:
            iterator = kept()
            if iterator is not None:
                iterator.flush_report()
        return {
            "headrace": __version__,
            "program": sys.argv,
            "pid": os.getpid(),
            "seconds": time.monotonic() - self._started,
            "coordinator": self._coordinator,
            "cpu_seconds": self._cpu_seconds,
            "loaders": [vars(entry) for entry in self._loaders],
            "cached_functions": call_board.told(),
        }

    def write(self) -> None:
        """The file appears whole or not at all."""
        target = self._path()
        if not target:
            return
        text = json.dumps(self.as_dict(), indent=1) + "\n"
        try:
            with tempfile.NamedTemporaryFile(
                "w", dir=os.path.dirname(os.path.abspath(target)), delete=False
            ) as file:
                file.write(text)
            os.chmod(file.name, 0o644)
            os.replace(file.name, target)
        except OSError as error:
            tell(f"headrace: no report: {error}")

    def _path(self) -> str:
        """Ranks beyond the first, and programs started by the program, write beside the report."""
        target = options.from_environment().report
        if not target:
            return ""
        if not self._loaders:
            return "" if os.path.exists(target) else target
        if self._rank != "0":
            return f"{target}.rank{self._rank}"
        return target if self._owner == os.getpid() else f"{target}.{os.getpid()}"

    def _claim(self) -> None:
        """The first process with loaders writes the report itself; those that it starts meanwhile find
        its claim. An abstract socket is one that the kernel lets go with the process, however it ends,
        and the program's environment says nothing of us."""
        target = options.from_environment().report
        if not target:
            return
        name = f"{os.getuid()} {os.path.abspath(target)}".encode()
        claim = _socket.socket(_socket.AF_UNIX)
        try:
            claim.bind(b"\0headrace report " + hashlib.sha256(name).hexdigest().encode())
        except OSError:
            claim.close()
            return
        self._claim_fd, self._owner = claim.detach(), os.getpid()
        os.register_at_fork(after_in_child=self._let_go)

    def _let_go(self) -> None:
        held, self._claim_fd = self._claim_fd, -1
        if held >= 0:
            os.close(held)


REPORT = Report()
