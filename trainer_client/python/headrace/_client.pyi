"""The C++ client (trainer_client/) for Python. Private: the public surface is the package itself."""

import builtins
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, Literal, final

from typing_extensions import Buffer

# Wire values of headrace::Code -> the class raised for it.
class HeadraceError(Exception):
    code: str  # "NotFound", "Unavailable", ...

class InvalidArgumentError(HeadraceError, ValueError): ...
class NotFoundError(HeadraceError, FileNotFoundError): ...
class UnavailableError(HeadraceError, ConnectionError): ...
class NotAllowedError(UnavailableError, PermissionError): ...  # by the rules of whoever reads
class DeadlineExceededError(HeadraceError, TimeoutError): ...
class CancelledError(HeadraceError): ...
class DataLossError(HeadraceError, OSError): ...
class ResourceExhaustedError(HeadraceError, MemoryError): ...
class InfeasibleError(HeadraceError, ValueError): ...
class InternalError(HeadraceError, RuntimeError): ...
class UnsupportedError(HeadraceError, NotImplementedError): ...
class OtherReleaseError(HeadraceError): ...

def raise_status(code: int, detail: int, message: str) -> None:
    """Raises the error of a headrace::Status that is not ok."""

__version__: str

# Names in Session.stats(): what workers tell of each batch (a part of the counters), what only
# grows, and what is a value of now.
batch_metrics: tuple[str, ...]
session_counters: tuple[str, ...]
session_gauges: tuple[str, ...]
most_ahead_bytes: int  # of a batch that is asked for before the one of its lane before it has come

# Looks at objects that write no reference counts into them: after a fork each count is a copy of a page.

def keys_are(table: object, keys: list[Any]) -> bool:
    """Whether a dict has these very keys, in this order. False: it is of another class."""

def items_are(table: dict[str, Any], items: dict[str, Any]) -> bool:
    """Whether a dict has these very values by these names, and no others."""

def names_are(table: dict[str, Any], names: tuple[str, ...], values: tuple[Any, ...]) -> bool:
    """Whether a dict has these very values by these names."""

def parts_are(functions: list[FunctionType], parts: list[tuple[Any, Any, Any]]) -> bool:
    """Whether the functions' __code__, __defaults__ and __kwdefaults__ are these very objects. In builds for the stable
    ABI this look counts."""

def give_back_attributes(roots: list[Any], most: int) -> int:
    """Under Python 3.11, objects that the roots lead to, `most` at most with what leads to them, keep attributes as
    before somebody asked for their `__dict__`, unless somebody has it. Returns how many did. Elsewhere 0."""

@final
class Blob:
    """Content that a plan refers to by its hash: any contiguous buffer, not copied, kept alive."""

    def __init__(self, data: Buffer) -> None: ...
    @property
    def hash(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

def encode_file_table(root: str, paths: Sequence[str], labels: Sequence[int] | Buffer) -> Blob:
    """`paths` relative to `root` or absolute; `labels` one int64 each (a list or an int64 buffer)."""

def encode_packed_file_table(root: str, pool: Buffer, ends: Buffer, labels: Buffer) -> Blob:
    """The same of names that lie one after the other in `pool`: name i ends at ends[i] (uint32)."""

@final
class ObjectReader:
    """Reads the objects below a base ("s3://bucket/prefix", "gs://...", "https://host/path") with this process's
    AWS credentials. Its calls wait, without the GIL. Of one process: after a fork, make another."""

    def __init__(
        self,
        base: str,
        endpoint: str = "",
        region: str = "",
        addressing: str = "",
        anonymous: bool = False,
    ) -> None: ...
    @property
    def base(self) -> str:
        """With one "/" at its end. Each name begins with it."""
    def read(self, name: str) -> bytes: ...
    def list(self, query: str) -> bytes:
        """What the bucket answers to a query, which is encoded and sorted."""
    def read_range(
        self, name: str, first: int, bytes: int, version: str = "", size: int = 0
    ) -> tuple[builtins.bytes, int, str]:
        """The bytes from `first` on, fewer at the object's end; its size and version. `version`, `size`:
        what is meant, for readers that keep ranges; this one keeps none."""
    def look(self, name: str) -> tuple[int, str]:
        """Size and version; an empty one: the store tells none."""

class TarScan:
    """Lists a tar from pieces of it (trainer_client/shards/tar_scan.h). One thread at a time."""

    def __init__(
        self, size: int, images: Sequence[str], targets: Sequence[str], kept: str
    ) -> None: ...
    def wants(self) -> tuple[int, int] | None:
        """Where bytes are wanted next, and how many at least. None: it is over."""
    def take(self, bytes: Buffer) -> None:
        """Raises HeadraceError and ValueError."""
    def samples(self) -> dict[str, builtins.bytes]:
        """The arrays of TarSamples, as bytes."""

class ZipScan:
    """Lists a zip from its directory (trainer_client/shards/zip_scan.h). One thread at a time."""

    def __init__(self, size: int, images: Sequence[str], folder: str, by_class: bool) -> None: ...
    def wants(self) -> tuple[int, int] | None:
        """Where bytes are wanted next, and how many at least. None: it is over."""
    def take(self, bytes: Buffer) -> None:
        """Raises HeadraceError and ValueError."""
    def samples(self) -> dict[str, builtins.bytes]:
        """The arrays of ZipSamples, as bytes."""

def encode_range_table(
    root: str,
    shards: Sequence[str],
    versions: Sequence[str],
    row_ends: Buffer,
    firsts: Buffer,
    sizes: Buffer,
    labels: Buffer,
    members: Buffer,
) -> Blob:
    """For the leaf's `table` (schemas/wire/range_table.h). `members`: three uint32 a row, or empty.
    Raises ValueError."""

def build_torch_exp(
    exp: Callable[[memoryview], Buffer], ranges: Sequence[tuple[float, float, bool]]
) -> Blob:
    """The plan constant "torch_exp": where the caller's exp is not correctly rounded for what
    uniform_(low, high) can draw. `exp` gets a buffer of float32 and returns one of the same size.
    A range is (low, high, fused), as exp_ranges says; fused (the default) is how uniform_ rounds
    on AVX2 and later."""

def exp_ranges(plan: dict[str, Any]) -> list[tuple[float, float, bool]]:
    """The draws of a plan's chain that go through torch.exp: what "torch_exp" must cover."""

def gaussian_weights(positions: Sequence[float], sigma: float, api: int) -> bytes:
    """torchvision's _get_gaussian_kernel1d for these positions, as float32, by the functions of the
    loaded torch. `api`: 1 or 2. UnsupportedError: there is no torch that can be called."""

def check_plan(plan: dict[str, Any]) -> None:
    """Raises UnsupportedError (naming the node) if the plan's chain has no native form."""

def sample_seed(base_seed: int, key: int, occurrence: int) -> int:
    """The seed of one sample with rng "sample". `occurrence`: how often the key came before."""

@final
class PickleBuffer:
    """One out-of-band buffer of a batch's pickle: writable, one-dimensional bytes. Keeps its memory."""

    def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class MissingSample:
    """A row that no worker could make natively: the caller makes it."""

    @property
    def position(self) -> int: ...
    @property
    def key(self) -> int: ...
    @property
    def code(self) -> str: ...
    @property
    def detail(self) -> str: ...  # base/result.h, Detail: "OtherContent"; empty: none
    @property
    def message(self) -> str: ...
    @property
    def torch_state(self) -> bytes: ...  # torch.get_rng_state() before the sample; rng "torch" only
    @property
    def torch_state_after(self) -> bytes: ...  # the same after it, as planned; empty: not planned
    @property
    def seed(self) -> int: ...  # rng "sample" only

@final
class Batch:
    @property
    def batch(self) -> int: ...
    # DLPack capsules of tensors [B, ...] in the plan's order, for one torch.from_dlpack each; the
    # tensor is that memory and keeps it. Empty when no row could be made natively: then every row
    # is missing.
    @property
    def fields(self) -> list[Any]: ...
    @property
    def missing(self) -> list[MissingSample]: ...  # by position
    @property
    def keys(self) -> list[int]: ...  # of all samples, if some are missing
    # True: few slots are left, so the caller copies the data out and drops the tensors.
    @property
    def copy_advised(self) -> bool: ...
    # Python plans: pickle (protocol 5) of the collated batch with out-of-band `buffers`, or the
    # pickled exception wrapper.
    @property
    def pickle(self) -> bytes: ...
    @property
    def buffers(self) -> list[PickleBuffer]: ...
    @property
    def python_error(self) -> bytes: ...
    # The pickle's names, if a worker elsewhere made it: it may look up no others. None: a process of
    # the program's made it.
    @property
    def names(self) -> list[tuple[str, str]] | None: ...
    # Python plans with rng "torch": its lane's generators after it, for Session.begin.
    @property
    def lane_state(self) -> bytes: ...
    @property
    def output(self) -> str: ...
    @property
    def error_output(self) -> str: ...
    @property
    def worker(self) -> int: ...
    @property
    def transport(self) -> str: ...  # "shm" or "tcp"
    @property
    def nbytes(self) -> int: ...

def pickle_names(pickle: bytes, buffers: int = 0) -> set[tuple[str, str, str]]:
    """(use, module, name) of all that a pickle of protocol 5 looks up. HeadraceError: it is none, or
    does more than that (trainer_client/session/pickle_names.h)."""

@final
class SampleNeeded:
    """The planner needs torch's state after a sample whose size no worker can read. The caller
    makes it from `torch_state` and calls Session.resolve_sample. Its row is then `missing` in its
    batch."""

    @property
    def batch(self) -> int: ...
    @property
    def position(self) -> int: ...
    @property
    def key(self) -> int: ...
    @property
    def torch_state(self) -> bytes: ...

@final
class StateChange:
    @property
    def judged(self) -> bool: ...
    @property
    def what(self) -> str: ...
    @property
    def worker(self) -> int: ...
    @property
    def host(self) -> str: ...
    @property
    def consumed(self) -> int: ...
    @property
    def batches(self) -> list[int]: ...

@final
class Suspicion:
    @property
    def id(self) -> int: ...
    @property
    def batch(self) -> int: ...
    @property
    def worker(self) -> int: ...
    @property
    def host(self) -> str: ...
    @property
    def here(self) -> Batch: ...
    @property
    def there(self) -> Batch: ...

@final
class Session:
    def begin(
        self,
        *,
        base_seed: int,
        continue_lanes: bool = False,
        first_batch: int = 0,
        lane_draws: Sequence[int] = (),
        lane_seeds: Sequence[int] = (),
        lane_states: Sequence[Buffer] = (),
        doubts: Buffer | None = None,
        lane_window: int = 1,
    ) -> None:
        """`doubts`: a number of 8 bytes in memory that outlives the process's clients. next() tells each growth
        of it before it gives another batch. Ignored with continue_lanes."""
    def skip(self, keys: Sequence[int] | Buffer) -> None:
        """Resume: keys of the batches before first_batch, so that rng "sample" counts them."""
    def submit(self, keys: Sequence[int] | Buffer, rows: int | None = None) -> int:
        """Number of the batch. ValueError when outstanding == max_outstanding.

        With `rows`: -1, and nothing is submitted, unless each key is an integer in [0, rows)."""
    def next(
        self, timeout: float
    ) -> Batch | SampleNeeded | Suspicion | StateChange | Literal[True] | None:
        """None: nothing yet after `timeout` seconds. True: the number of doubts has grown. Releases the GIL;
        Ctrl-C works."""
    def resolve_sample(
        self, batch: int, position: int, state_after: Buffer, failed: bool = False
    ) -> None: ...
    def judge(self, suspicion: int, *, equal: bool) -> tuple[int, list[int]]:
        """Judges whether the two batches have equal values. Returns how many batches of that worker
        were taken, and which of this iteration."""
    def learn_names(self, pickle: bytes) -> None:
        """Workers elsewhere may use what this pickle uses, as if an answer of this host had."""
    def undecided(self) -> int:
        """The number of taken batches for which next() will report what a comparison or replay has
        found."""
    def make_again(self, lanes: Sequence[int]) -> int:
        """After a doubt: has the lanes begin again and make all their batches again. Returns how many had been
        made that next() has not given; -1: it is not known any more what the lanes were asked for."""
    def replan_lane(self, batch: int, state_after: Buffer) -> None: ...
    def report_bad_sample(
        self, key: int, *, name: str, cause: str, hold_back: bool = False, left_out: bool = False
    ) -> None:
        """Says what became of a sample: headrace::BadSampleReport."""
    def lane_draws(self) -> list[int]:
        """UnsupportedError when a lane's state did not come from draws alone."""
    def lane_states(self, *, end: bool) -> list[bytes]:
        """Python stages: each lane's state where the iteration began, or after all that was
        submitted. Empty: the lane had not begun. UnsupportedError for other plans."""
    @property
    def outstanding(self) -> int: ...
    @property
    def max_outstanding(self) -> int: ...
    def stats(self) -> dict[str, Any]:
        """Fields of headrace::SessionStats by name (docs/reference/metrics.md)."""
    # What the coordinator decided: a line for each node that stays in the trainer, how many nodes
    # run on workers, and how many of them lie before the cache point (0: encoded bytes only).
    @property
    def cache_node(self) -> int: ...
    @property
    def tail_node(self) -> int: ...
    # Memory of this process, by addresses; a large one with a few threads. Without the GIL.
    def copy(self, to: int, from_: int, nbytes: int) -> None: ...
    def interrupt(self) -> None: ...
    # The trainer's thread enters and leaves next(), and the sampler in it: headrace::Session.
    def enter_next(self) -> None: ...
    def leave_next(self) -> None: ...
    def enter_sampler(self) -> None: ...
    def leave_sampler(self) -> None: ...
    def add_idle(self, ns: int) -> None: ...
    # The samples that the program will still take, later iterations included; -1: not known.
    def expect(self, samples: int) -> None: ...
    def add_comparison(self, equal: bool) -> None: ...
    # Whether a worker has said that the plan runs there; raises when all say that it does not.
    def await_served(self, timeout: float) -> bool: ...
    # Called just before a fork. Returns a descriptor to close in the parent and to leave open in
    # the child, or -1.
    def before_fork(self) -> int: ...
    def close(self) -> None: ...

@final
class Client:
    def __init__(
        self,
        *,
        coordinator: str = "",
        binary: str = "",
        workers: int = 1,
        threads: int = 0,
        cache_bytes: int | None = None,
        job_name: str = "",
        local_worker: bool = True,
        tenant: str = "",
        priority: int = 0,
        group: str = "",
        rank: int = -1,
        connect_timeout: float = 10.0,
        keys: str = "",
        link: int = 0,
        rack: str = "",
        warm: bool = False,
    ) -> None: ...
    def open_session(
        self,
        plan: dict[str, Any],
        *,
        max_outstanding: int,
        in_order: bool = True,
        slot_bytes_hint: int = 1 << 20,
        max_arena_bytes: int = 16 << 30,
        gives_lanes: bool = False,
        compare_every: int = 256,
        only_worker: int = -1,
        wire: str = "auto",
        no_workers: str = "fail",
        tell_draws: bool = False,
        answer_names: Sequence[str] = (),
        closed_modules: Sequence[str] = (),
        sample_deadline: float = 60.0,
    ) -> Session:
        """`plan` has the fields of headrace::Plan (base/graph.h); blobs stand in it as Blob objects:

        {"name": str,
         "leaves": [{"source": "local_dir", "args": {...}, "rows": int, "table": Blob} |
                    {"source": "arrays", "rows": int,
                     "arrays": [{"blob": Blob, "dtype": "uint8", "row_shape": [32, 32, 3]}]}],
         "row_map": Blob | None,                  # int64[]
         "chain": [{"op": str, "args": {str: int | float | str | bytes | list[int] | list[float]},
                    "purity": "pure" | "random" | "stateful", "form": "native" | "python",
                    "label": str, "reason": str}],
         "fields": [{"kind": "chain" | "array", "index": int}],
         "rng": "none" | "torch" | "sample", "lanes": int,
         "libraries": {"pillow": str, "torch": str, "torchvision": str, "cpu_capability": str},
         "constants": {str: Blob},
         "python": None | {"bundle": Blob, "executable": str, "version": str, "sys_path": [str],
                           "working_directory": str, "packages": {str: str}}}
        Keys may be left out where the C++ struct has a default; an unknown key is a ValueError."""
    def workers(self) -> list[tuple[int, str, str]]:
        """The workers that the coordinator knows: number, host name, state ("ready", "draining",
        "lost")."""
    def data(self) -> dict[str, Any]:
        """The largest data set that this job reads, as workers have it in their caches: "name" (empty:
        none is known yet), "phase" ("filling", "steady", "not cached"), "rows", "entries", "bytes",
        "quota_bytes"."""
    def service_cpu_seconds(self) -> float: ...
    @property
    def coordinator_endpoint(self) -> str: ...
    def close(self) -> None: ...
