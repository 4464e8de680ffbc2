"""Tries the pipeline's code on copies of it, before any batch is served.

The same sample, from the same random state, is made by a copy that has made others before and by
one that has not. If they differ, or leave other random states behind, the code keeps state, and only
the workers that the stock loader starts can run it. Caches pass: they change, but no sample does.

Each copy is a fork of the zygote, so nothing that the code does here is seen later.
"""

import hashlib
import os
import pickle
import select
import signal
import sys
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from .randomness import get_state, seed_sample

_SEED = 0x48656164  # any

BY_ITS_PAST = "when it has made others before"

Step = tuple[int, int]  # key, seed


class _TooLong(Exception):
    """There is no telling in the time given."""


class _Untried(Exception):
    """A fork failed, and not by an error of a sample."""


def dry_run(bundle: SimpleNamespace, make_host: Callable[[SimpleNamespace], Any]) -> str:
    """How the code keeps state; empty: it does not, or there is no telling."""
    keys = bundle.dry_run
    if not keys:
        return ""
    deadline = time.monotonic() + bundle.dry_run_seconds
    first, second = keys[0], keys[-1]
    try:
        used = _make(bundle, make_host, [(first, 1), (second, 2), (first, 3)], deadline)
        fresh = [
            _make(bundle, make_host, [step], deadline)[0] for step in ((second, 2), (first, 3))
        ]
        again = _make(bundle, make_host, [(first, 3)], deadline)[0]
    except _TooLong:
        return ""
    except _Untried as error:
        return f"could not be tried: {error}"
    if fresh[1] != again:
        return "makes another sample at each try, from the same random numbers"
    for key, mine, theirs in ((second, used[1], fresh[0]), (first, used[2], fresh[1])):
        if mine[0] != theirs[0]:
            return f"makes another sample of index {key} {BY_ITS_PAST}"
        if mine[1] != theirs[1]:
            return f"draws other random numbers for index {key} {BY_ITS_PAST}"
    return ""


def _make(
    bundle: SimpleNamespace, make_host: Any, steps: list[Step], deadline: float
) -> list[tuple[bytes, bytes]]:
    """Digests of the samples and of the random states behind them, made by a fork."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(read)
            with os.fdopen(write, "wb") as file:
                pickle.dump(_made_here(bundle, make_host, steps), file)
        finally:
            os._exit(0)
    os.close(write)
    try:
        return _read(read, deadline)
    finally:
        os.close(read)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _made_here(bundle: SimpleNamespace, make_host: Any, steps: list[Step]) -> Any:
    """In the fork. A text: what went wrong, and was not an error of a sample."""
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        sys.stdout = sys.stderr = silent = open(os.devnull, "w")
        os.dup2(silent.fileno(), 1)
        os.dup2(silent.fileno(), 2)
        host = make_host(bundle)
        host.begin(0, _SEED)
        return [_step(host, *step) for step in steps]
    except BaseException as error:
        return f"{type(error).__name__}: {error}"


def _read(fd: int, deadline: float) -> Any:
    data = b""
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([fd], [], [], left)[0]:
            raise _TooLong
        piece = os.read(fd, 1 << 16)
        if not piece:
            break
        data += piece
    if not data:
        raise _TooLong  # the code ended the process: it will say so where it is served
    made = pickle.loads(data)
    if isinstance(made, str):
        raise _Untried(made)
    return made


def _step(host: Any, key: int, seed: int) -> tuple[bytes, bytes]:
    seed_sample(seed, host.roots)
    try:
        value = host.fetcher.fetch([key] if host.bundle.auto_collation else key)
    except Exception as error:
        value = f"{type(error).__qualname__}: {error}"
    digest = hashlib.sha256()
    _digest(value, digest.update, 0)
    return digest.digest(), hashlib.sha256(get_state(host.roots)).digest()


def _digest(value: Any, add: Callable[[bytes], Any], depth: int) -> None:
    """Adds all that a program could see of a value, but no addresses."""
    import torch

    add(f"({type(value).__module__}.{type(value).__qualname__}".encode())
    if isinstance(value, torch.Tensor):
        plain = value.detach().as_subclass(torch.Tensor)
        add(f"{plain.dtype}{tuple(plain.shape)}".encode())
        if plain.layout == torch.strided and not plain.is_quantized:
            add(plain.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    elif isinstance(value, dict):
        for key, item in value.items():
            _digest(key, add, depth + 1)
            _digest(item, add, depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            _digest(item, add, depth + 1)
    elif isinstance(value, set | frozenset):
        add(repr(sorted(map(repr, value))).encode())
    elif isinstance(value, str | int | float | complex | bool | type(None)):
        add(repr(value).encode())
    elif isinstance(value, bytes | bytearray):
        add(bytes(value))
    elif hasattr(value, "__array_interface__"):  # NumPy's, and PIL's images
        import numpy

        array = numpy.asarray(value)
        add(f"{array.dtype}{array.shape}".encode())
        add(pickle.dumps(array.tolist()) if array.dtype.hasobject else array.tobytes())
    elif depth < 20:
        _digest(dict(getattr(value, "__dict__", {})), add, depth + 1)
    add(b")")
