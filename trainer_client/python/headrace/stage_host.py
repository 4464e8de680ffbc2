"""The subprocess of a data worker that runs pipelines which have no native form.

    python -m headrace.stage_host FD

FD is one end of a socket pair; the worker holds the other. Nothing but the standard library, torch
and cloudpickle is needed here.

One *zygote* a session imports torch and unpickles the bundle. It forks a *host* for each lane (virtual
DataLoader worker), as the stock loader forks its workers: each begins with a copy of the dataset as it
was in the trainer. A host makes the batches of its lane one after the other; the state of its random
generators comes with each request and goes back with the answer, so any worker can go on with the lane.

The bundle is a cloudpickle (protocol 5) of a dict:

    dataset          a map-style dataset
    collate_fn       of the loader
    worker_init_fn   of the loader, or None
    auto_collation   bool: False for batch_size=None, where a batch is one key
    drop_last        bool
    num_workers      int: of the loader; 0 means that get_worker_info() is None

Messages, in both directions: u32 kind, u32 number of parts, u64 size of each part, the parts; little
endian. Descriptors ride on a message's first byte.

    worker -> zygote   START  [json]     + bundle       once, first
                       FORK   [u64 id]   + socket       a host that serves on that socket
    zygote -> worker   READY  [text]                    why it can't serve; empty: it can
                       FORKED [u64 id, u64 pid]
                       ENDED  [u64 id, text]            a host has ended, and how
    worker -> host     ARENA             + memory       where the buffers of the next batches go
                       BATCH  [u64 request]  + request  a memory file: see Request
    host -> worker     DONE   [u64 request, u64 outcome, u64 needed, pickle, u64 offsets, u64 sizes,
                               state, error, output]
"""

import ctypes
import gc
import importlib
import io
import json
import mmap
import os
import pickle
import random
import select
import signal
import socket
import struct
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

START, FORK, READY, FORKED, ENDED, ARENA, BATCH, DONE = range(1, 9)
# Outcomes of a batch.
MADE, RAISED, TOO_SMALL = range(3)

# Buffers below this stay inside the pickle.
SMALLEST_BUFFER = 512
ALIGNMENT = 64
PR_SET_PDEATHSIG = 1


# --- What a pickled batch refers to; called in the trainer ----------------------------------------


def rebuild_tensor(buffer: Any, dtype: str, shape: tuple[int, ...]) -> Any:
    """A tensor that is the memory of `buffer`."""
    import torch

    kind = getattr(torch, dtype)
    if 0 in shape:
        return torch.empty(shape, dtype=kind)
    return torch.frombuffer(buffer, dtype=kind).view(shape)


def by_name(module: str, qualname: str) -> Any:
    """The trainer's own class or function of that name."""
    found: Any = importlib.import_module(module)
    for part in qualname.split("."):
        found = getattr(found, part)
    return found


def exception_by_name(module: str, qualname: str) -> Any:
    """As by_name; RuntimeError where the trainer has no such type (one made inside of a function)."""
    try:
        return by_name(module, qualname)
    except (ImportError, AttributeError):
        return RuntimeError


# --- Messages -------------------------------------------------------------------------------------


def send(sock: socket.socket, kind: int, *parts: bytes) -> None:
    head = struct.pack(f"<II{len(parts)}Q", kind, len(parts), *map(len, parts))
    sock.sendall(head + b"".join(parts))


def receive(sock: socket.socket) -> tuple[int, list[bytes], list[int]]:
    """Kind, parts, descriptors. EOFError when the other side is gone."""
    head, fds = _receive_exactly(sock, 8)
    kind, count = struct.unpack("<II", head)
    sizes, more = _receive_exactly(sock, 8 * count)
    fds += more
    parts = []
    for size in struct.unpack(f"<{count}Q", sizes):
        part, more = _receive_exactly(sock, size)
        parts.append(part)
        fds += more
    return kind, parts, fds


def _receive_exactly(sock: socket.socket, size: int) -> tuple[bytes, list[int]]:
    data, fds = bytearray(), []
    while len(data) < size:
        piece, new_fds, _, _ = socket.recv_fds(sock, size - len(data), 4)
        fds += new_fds
        if not piece:
            raise EOFError
        data += piece
    return bytes(data), fds


def _numbers(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}Q", *values)


# --- Requests -------------------------------------------------------------------------------------


class Request:
    """One batch, as the worker wrote it into a memory file.

    u64: lane, base_seed, slot_offset, slot_bytes, number of keys, of seeds, bytes of state; then the
    keys (i64), the seeds (u64: RngMode sample, one a key) and the state (pickled; empty: the lane
    begins).
    """

    HEAD = struct.Struct("<7Q")

    def __init__(self, data: bytes) -> None:
        head = self.HEAD.unpack_from(data)
        self.lane, self.base_seed, self.slot_offset, self.slot_bytes = head[:4]
        keys, seeds, state = head[4:]
        at = self.HEAD.size
        self.keys = list(struct.unpack_from(f"<{keys}q", data, at))
        at += 8 * keys
        self.seeds = list(struct.unpack_from(f"<{seeds}Q", data, at))
        at += 8 * seeds
        self.state = data[at : at + state]

    @classmethod
    def read(cls, fd: int) -> "Request":
        with os.fdopen(fd, "rb") as file:
            file.seek(0)
            return cls(file.read())


# --- Memory of the batch --------------------------------------------------------------------------


class Arena:
    """The memory that batches are written to: the trainer's arena, or memory of the worker."""

    def __init__(self, fd: int) -> None:
        import torch

        self._map = mmap.mmap(fd, os.fstat(fd).st_size)
        os.close(fd)
        self.memory = memoryview(self._map)
        self.address = torch.frombuffer(self.memory[:1], dtype=torch.uint8).data_ptr()


class Slot:
    """Places buffers one behind the other. Goes on counting when there is no room."""

    def __init__(self, arena: Arena | None, offset: int, size: int) -> None:
        self.arena, self.offset, self.size = arena, offset, size
        self.needed = 0

    def take(self, size: int) -> int | None:
        """Offset in the slot, or None: no room, or no arena."""
        begin = (self.needed + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
        self.needed = begin + size
        return begin if self.arena is not None and self.needed <= self.size else None

    def view(self, begin: int, size: int) -> memoryview:
        assert self.arena is not None
        return self.arena.memory[self.offset + begin : self.offset + begin + size]

    def find(self, address: int, size: int) -> int | None:
        """Offset of memory that lies in the slot already."""
        if self.arena is None:
            return None
        begin = address - self.arena.address - self.offset
        return begin if 0 <= begin and begin + size <= self.size else None


def _storage_maker(slot: Slot) -> Callable[..., Any]:
    """For default_collate, which in a worker stacks tensors into shared storage: it gets the slot."""
    import torch

    def new_shared(cls: Any, size: int, *, device: Any = "cpu") -> Any:
        if size > 0 and (begin := slot.take(size)) is not None:
            return torch.frombuffer(slot.view(begin, size), dtype=torch.uint8).untyped_storage()
        return torch.UntypedStorage(size)

    return new_shared


class BatchPickler(pickle.Pickler):
    """Tensors and arrays out of band; classes that came by value are named, not copied back."""

    def __init__(self, file: Any, buffer_callback: Callable[[pickle.PickleBuffer], Any]) -> None:
        super().__init__(file, protocol=5, buffer_callback=buffer_callback)

    def reducer_override(self, obj: Any) -> Any:
        import torch

        if type(obj) is torch.Tensor:
            return _reduce_tensor(obj)
        if isinstance(obj, type | _FUNCTION) and not _is_importable(obj):
            if "<locals>" in obj.__qualname__:
                raise pickle.PicklingError(f"Can't pickle local object {obj.__qualname__!r}")
            is_exception = isinstance(obj, type) and issubclass(obj, BaseException)
            find = exception_by_name if is_exception else by_name
            return find, (obj.__module__, obj.__qualname__)
        return NotImplemented


_FUNCTION = type(lambda: None)


def _reduce_tensor(tensor: Any) -> Any:
    import torch

    if (
        tensor.device.type != "cpu"
        or tensor.layout != torch.strided
        or tensor.requires_grad
        or tensor.is_quantized
        or tensor.is_conj()
        or tensor.is_neg()
        or not tensor.is_contiguous()
        or tensor.__dict__
    ):
        return NotImplemented  # torch's own way, inside the pickle
    dtype = str(tensor.dtype).removeprefix("torch.")
    shape = tuple(tensor.shape)
    if tensor.numel() == 0:
        return rebuild_tensor, (None, dtype, shape)
    flat = tensor.detach().view(-1).view(torch.uint8).numpy()
    return rebuild_tensor, (pickle.PickleBuffer(flat), dtype, shape)


def _is_importable(obj: Any) -> bool:
    found: Any = sys.modules.get(obj.__module__)
    for part in obj.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is obj


def pickle_batch(value: Any, slot: Slot) -> tuple[bytes, list[int], list[int]]:
    """The pickle, and where in the slot its buffers lie. MemoryError when the slot is too small."""
    import numpy as np

    offsets: list[int] = []
    sizes: list[int] = []
    fits = True

    def place(buffer: pickle.PickleBuffer) -> bool:
        nonlocal fits
        raw = buffer.raw()
        size = raw.nbytes
        address = np.frombuffer(raw, dtype=np.uint8).__array_interface__["data"][0]
        begin = slot.find(address, size) if size else None
        if begin is None:
            if size < SMALLEST_BUFFER:
                return True  # stays in the pickle
            begin = slot.take(size)
            if begin is None:
                fits = False
                begin = 0
            else:
                slot.view(begin, size)[:] = raw
        offsets.append(begin)
        sizes.append(size)
        return False

    with io.BytesIO() as file:
        BatchPickler(file, place).dump(value)
        if not fits:
            raise MemoryError
        return file.getvalue(), offsets, sizes


# --- Random generators ----------------------------------------------------------------------------


def seed_lane(base_seed: int, lane: int) -> None:
    """As torch.utils.data._utils.worker._worker_loop does it."""
    import torch
    from torch.utils.data._utils.worker import _generate_state

    random.seed(base_seed + lane)
    torch.manual_seed(base_seed + lane)
    if (numpy := _numpy()) is not None:
        numpy.random.seed(_generate_state(base_seed, lane))


def seed_sample(seed: int) -> None:
    import torch

    random.seed(seed)
    torch.manual_seed(seed)
    if (numpy := _numpy()) is not None:
        numpy.random.seed(seed & 0xFFFFFFFF)


def _numpy() -> Any:
    try:
        import numpy
    except ImportError:
        return None
    return numpy


def get_state() -> bytes:
    import torch

    numpy = _numpy()
    return pickle.dumps(
        (
            torch.get_rng_state().numpy().tobytes(),
            random.getstate(),
            numpy.random.get_state() if numpy is not None else None,
        ),
        protocol=5,
    )


def set_state(state: bytes) -> None:
    import torch

    of_torch, of_random, of_numpy = pickle.loads(state)
    torch.set_rng_state(torch.frombuffer(bytearray(of_torch), dtype=torch.uint8))
    random.setstate(of_random)
    if of_numpy is not None and (numpy := _numpy()) is not None:
        numpy.random.set_state(of_numpy)


# --- A host ---------------------------------------------------------------------------------------


class Host:
    """Makes the batches of one lane."""

    def __init__(self, bundle: SimpleNamespace) -> None:
        self.bundle = bundle
        self.arena: Arena | None = None
        self.fetcher: Any = None  # None: the lane has not begun
        self.begin_error: bytes = b""

    def begin(self, lane: int, base_seed: int) -> None:
        """What a worker process does before its first batch."""
        import torch
        from torch._utils import ExceptionWrapper
        from torch.utils.data._utils import fetch, worker

        torch.set_num_threads(1)
        bundle = self.bundle
        if bundle.num_workers > 0:
            seed_lane(base_seed, lane)
            worker._worker_info = worker.WorkerInfo(
                id=lane,
                num_workers=bundle.num_workers,
                seed=base_seed + lane,
                dataset=bundle.dataset,
            )
        try:
            if bundle.worker_init_fn is not None and bundle.num_workers > 0:
                bundle.worker_init_fn(lane)
        except Exception:
            self.begin_error = pickle_error(ExceptionWrapper(where=_where(lane)))
        self.fetcher = fetch._MapDatasetFetcher(
            bundle.dataset, bundle.auto_collation, bundle.collate_fn, bundle.drop_last
        )

    def make(self, request: Request) -> tuple[bytes, ...]:
        """The parts of DONE, without the request's number and the output."""
        import torch
        from torch._utils import ExceptionWrapper

        if self.fetcher is None:
            self.begin(request.lane, request.base_seed)
        if request.state:
            set_state(request.state)
        slot = Slot(self.arena, request.slot_offset, request.slot_bytes)
        original = torch.UntypedStorage.__dict__.get("_new_shared")
        torch.UntypedStorage._new_shared = classmethod(_storage_maker(slot))
        outcome, body, offsets, sizes, error = MADE, b"", [], [], self.begin_error
        try:
            if error:
                outcome = RAISED
            else:
                value = self.fetch(request)
                try:
                    body, offsets, sizes = pickle_batch(value, slot)
                except MemoryError:
                    outcome = TOO_SMALL
        except Exception:
            where = _where(request.lane) if self.bundle.num_workers > 0 else ""
            outcome, error = RAISED, pickle_error(ExceptionWrapper(where=where))
        finally:
            if original is None:
                del torch.UntypedStorage._new_shared
            else:
                torch.UntypedStorage._new_shared = original
        return (
            _numbers(outcome),
            _numbers(slot.needed),
            body,
            _numbers(*offsets),
            _numbers(*sizes),
            get_state(),
            error,
        )

    def fetch(self, request: Request) -> Any:
        bundle = self.bundle
        keys: Any = request.keys if bundle.auto_collation else request.keys[0]
        if not request.seeds:
            return self.fetcher.fetch(keys)
        if not bundle.auto_collation or getattr(bundle.dataset, "__getitems__", None):
            seed_sample(request.seeds[0])  # made in one call, so there is one seed for all
            return self.fetcher.fetch(keys)
        data = []
        for key, seed in zip(keys, request.seeds, strict=True):
            seed_sample(seed)
            data.append(bundle.dataset[key])
        return bundle.collate_fn(data)

    def serve(self, sock: socket.socket, output: "Output") -> None:
        while True:
            kind, parts, fds = receive(sock)
            if kind == ARENA:
                self.arena = Arena(fds[0])
            elif kind == BATCH:
                answer = self.make(Request.read(fds[0]))
                send(sock, DONE, parts[0], *answer, output.take())


def _where(lane: int) -> str:
    return f"in DataLoader worker process {lane}"


def pickle_error(wrapper: Any) -> bytes:
    """Of an ExceptionWrapper; an exception type that can't travel becomes RuntimeError with its text."""
    for kind in (wrapper.exc_type, RuntimeError):
        wrapper.exc_type = kind
        try:
            with io.BytesIO() as file:
                BatchPickler(file, lambda _: True).dump(wrapper)
                return file.getvalue()
        except Exception:
            wrapper.exc_msg = f"{kind.__qualname__} can't be pickled: {wrapper.exc_msg}"
    raise AssertionError("RuntimeError pickles")


class Output:
    """What user code prints: left alone, or caught for the trainer to show (other hosts)."""

    def __init__(self, catch: bool) -> None:
        self.file = -1
        if catch:
            self.file = os.memfd_create("headrace-output", os.MFD_CLOEXEC)
            os.dup2(self.file, 1)
            os.dup2(self.file, 2)

    def take(self) -> bytes:
        sys.stdout.flush()
        sys.stderr.flush()
        if self.file < 0 or (size := os.fstat(self.file).st_size) == 0:
            return b""
        text = os.pread(self.file, size, 0)
        os.ftruncate(self.file, 0)
        os.lseek(self.file, 0, os.SEEK_SET)
        return text


# --- The zygote -----------------------------------------------------------------------------------


def die_with_parent() -> None:
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def load(settings: dict[str, Any], bundle_fd: int) -> SimpleNamespace:
    """Raises what keeps this interpreter from running the trainer's code."""
    mine = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if settings["version"] != mine:
        raise RuntimeError(f"the trainer runs Python {settings['version']}, this worker {mine}")
    sys.path[:] = settings["sys_path"] + [p for p in sys.path if p not in settings["sys_path"]]
    if os.path.isdir(settings["working_directory"]):
        os.chdir(settings["working_directory"])
    # Before the fork, so that hosts share it; one thread, because a fork keeps only one.
    import torch
    import torch.utils.data

    torch.set_num_threads(1)
    with os.fdopen(bundle_fd, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        with mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as data:
            bundle = SimpleNamespace(**pickle.loads(data))
    for name, version in settings["packages"].items():
        found = getattr(sys.modules.get(name), "__version__", version)
        if str(found) != version:
            raise RuntimeError(f"the trainer has {name} {version}, this worker {found}")
    gc.freeze()  # a collection in a host must not copy the pages that it shares
    return bundle


class Zygote:
    def __init__(self, control: socket.socket) -> None:
        self.control = control
        self.bundle: SimpleNamespace | None = None
        self.catch_output = False
        self.hosts: dict[int, int] = {}  # pid -> id

    def run(self) -> None:
        wake_read, wake_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        poll.register(wake_read, select.POLLIN)
        while True:
            for fd, _ in poll.poll():
                if fd == wake_read:
                    os.read(wake_read, 4096)
                    self.reap()
                else:
                    self.handle(*receive(self.control))

    def handle(self, kind: int, parts: list[bytes], fds: list[int]) -> None:
        if kind == START:
            settings = json.loads(parts[0])
            self.catch_output = settings["catch_output"]
            problem = ""
            try:
                self.bundle = load(settings, fds[0])
            except Exception as error:
                problem = f"{type(error).__name__}: {error}"
            send(self.control, READY, problem.encode())
        elif kind == FORK:
            (host,) = struct.unpack("<Q", parts[0])
            self.fork(host, socket.socket(fileno=fds[0]))

    def fork(self, host: int, sock: socket.socket) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid:
            self.hosts[pid] = host
            sock.close()
            send(self.control, FORKED, _numbers(host), _numbers(pid))
            return
        status = 1
        try:
            die_with_parent()
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self.control.close()
            assert self.bundle is not None
            Host(self.bundle).serve(sock, Output(self.catch_output))
        except EOFError:
            status = 0  # the worker needs this host no more
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(status)

    def reap(self) -> None:
        while self.hosts:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            if (host := self.hosts.pop(pid, None)) is None:
                continue
            if os.WIFSIGNALED(status):
                how = f"is killed by signal: {signal.strsignal(os.WTERMSIG(status))}."
            else:
                how = f"exited unexpectedly with exit code {os.WEXITSTATUS(status)}."
            send(
                self.control, ENDED, _numbers(host), f"DataLoader worker (pid {pid}) {how}".encode()
            )


def main() -> None:
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the trainer's matter
    control = socket.socket(fileno=int(sys.argv[1]))
    try:
        Zygote(control).run()
    except (EOFError, ConnectionError):
        os._exit(0)  # the session has ended; hosts see it at their own sockets


if __name__ == "__main__":
    # By its name, so that what it pickles refers to headrace.stage_host, not to __main__.
    from headrace import stage_host

    stage_host.main()
