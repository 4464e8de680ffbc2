"""What runs in a reference: reference.py says what it is for.

One thread. Prints nothing, because what code prints there is printed by the worker or the trainer that
makes the sample for the program. Ends when the trainer does, or when it is told to.
"""

import os
import pickle
import random
import signal
import sys
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import torch
from torch._utils import ExceptionWrapper
from torch.utils.data import ConcatDataset, Subset
from torch.utils.data._utils import worker

from ..capture.views import steps_of
from ..process import peak_memory, sockets
from ..service import session
from . import bits, lane_state
from .asks import Ask, Made, Start

_LOOK = 5.0  # seconds between two looks at whether the trainer lives
_CHUNK = 1 << 16
_DRAW_BITS = 48
_OUTPUTS_OF_PAIR = 4


def main(end: sockets.Socket, dataset: Any, num_workers: int, trainer: int) -> None:
    """Does not return."""
    code = 1
    try:
        _settle()
        _serve(Connection(end.detach()), dataset, num_workers, trainer)
        code = 0
    except (EOFError, OSError):
        code = 0  # the trainer has ended, or does not want it any more
    finally:
        os._exit(code)


def _settle() -> None:
    """Sets up the process like a worker of the stock loader, without its seeds."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the trainer's to handle
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    torch.set_num_threads(1)
    session.release_inherited()
    nothing = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nothing, stream)
    sys.stdout = sys.stderr = open(os.devnull, "w")


def _serve(trainer: Connection, dataset: Any, num_workers: int, trainer_pid: int) -> None:
    lanes = _Lanes()
    if num_workers > 0:
        worker._worker_info = worker.WorkerInfo(
            id=0, num_workers=num_workers, seed=0, dataset=dataset
        )
    random.getstate(), np.random.get_state(), torch.get_rng_state()  # none of them is locked
    torch.set_rng_state(torch.get_rng_state())
    trainer.send_bytes(b"begun")
    while True:
        while not trainer.poll(_LOOK):
            if os.getppid() != trainer_pid:
                return
        for ask in pickle.loads(trainer.recv_bytes()):
            _begin(ask.start, lanes)
            began = peak_memory.begin() if ask.measure else 0
            value, error = _make(dataset, ask)
            trainer.send_bytes(_packed(value, error, lanes.others, peak_memory.since(began)))


def _begin(start: Start, lanes: "_Lanes") -> None:
    if start.state:
        lane_state.set_state(start.state)
        lanes.others = lane_state.others_in(start.state)
    elif start.seed is not None:
        seed = start.seed
        torch.default_generator.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed & 0xFFFFFFFF)
    elif start.lane_seed is not None:
        torch.set_rng_state(lanes.state_at(start.lane_seed, start.position))
        lanes.others = (start.python is not None) + (start.numpy is not None)
        if start.python is not None:
            random.setstate(lanes.python_state_at(*start.python))
        if start.numpy is not None:
            np.random.set_state(lanes.numpy_state_at(*start.numpy))


class _Lanes:
    """Generators by their seeds. `others`: as lane_state's, of the present start."""

    def __init__(self) -> None:
        self.others = 0
        self._torch: dict[int, _Lane] = {}
        self._python: dict[int, _PythonLane] = {}
        self._numpy: dict[Any, _NumpyLane] = {}

    def state_at(self, seed: int, position: int) -> torch.Tensor:
        lane = self._torch.get(seed)
        if lane is None or not lane.can_reach(position):
            lane = self._torch[seed] = _Lane(seed)
        return lane.state_at(position)

    def python_state_at(self, seed: int, position: int) -> Any:
        lane = self._python.get(seed)
        if lane is None or lane.draws > _plain_part(position):
            lane = self._python[seed] = _PythonLane(seed)
        return lane.state_at(position)

    def numpy_state_at(self, seed: int | tuple[int, ...], position: int) -> Any:
        lane = self._numpy.get(seed)
        if lane is None or lane.draws > position:
            lane = self._numpy[seed] = _NumpyLane(seed)
        return lane.state_at(position)


class _PythonLane:
    """Python's generator, that goes on from where it was asked for last. Positions are those of
    KeptTwister::position (ops/core/kept_twister.h), which are like those of _Lane."""

    def __init__(self, seed: int) -> None:
        self._generator = random.Random(seed)
        self.draws = 0

    def state_at(self, position: int) -> Any:
        """random.getstate() at that position."""
        plain, since = _plain_part(position), position >> _DRAW_BITS
        self._discard(self._generator, plain - self.draws)
        self.draws = plain
        if not since:
            return self._generator.getstate()
        other = random.Random()
        other.setstate(self._generator.getstate())
        other.gauss(0.0, 1.0)  # two are made, one is kept
        self._discard(other, since - 1)
        return other.getstate()

    @staticmethod
    def _discard(generator: random.Random, count: int) -> None:
        while count > 0:
            some = min(_CHUNK, count)
            generator.getrandbits(32 * some)
            count -= some


class _NumpyLane:
    """The same of NumPy's legacy generator. It keeps no normal number: samples only choose."""

    def __init__(self, seed: int | tuple[int, ...]) -> None:
        self._generator = np.random.RandomState(seed if isinstance(seed, int) else list(seed))
        self.draws = 0

    def state_at(self, draws: int) -> Any:
        """np.random.get_state() after that many outputs of 32 bits."""
        while self.draws < draws:
            some = min(_CHUNK, draws - self.draws)
            self._generator.randint(0, 2**32, some, dtype=np.uint32)
            self.draws += some
        return self._generator.get_state()


class _Lane:
    """A generator that goes on from where it was asked for last. Positions are those of
    TorchGenerator::position (ops/torch/torch_generator.h): outputs since the seed and, in the upper 16
    bits, how many of them ago a normal number was kept, plus one."""

    def __init__(self, seed: int) -> None:
        self._generator = torch.Generator().manual_seed(seed)
        self._draws = 0

    def can_reach(self, position: int) -> bool:
        return self._draws <= _plain_part(position)

    def state_at(self, position: int) -> torch.Tensor:
        plain = _plain_part(position)
        _discard(self._generator, plain - self._draws)
        self._draws = plain
        state = self._generator.get_state()
        since = position >> _DRAW_BITS
        if not since:
            return state
        other = torch.Generator()
        other.set_state(state)
        torch.empty((), dtype=torch.float64).normal_(generator=other)  # two are made, one is kept
        _discard(other, since - 1)
        return other.get_state()


def _plain_part(position: int) -> int:
    """The outputs before the pair of normal numbers of which one is kept, if there is one."""
    draws, since = position % (1 << _DRAW_BITS), position >> _DRAW_BITS
    return draws if not since else draws - (since - 1) - _OUTPUTS_OF_PAIR


def _discard(generator: torch.Generator, count: int) -> None:
    while count > 0:
        # One output of the generator for each element. Source: ATen, random_ of int32.
        some = min(_CHUNK, count)
        torch.empty(some, dtype=torch.int32).random_(generator=generator)
        count -= some


def _make(dataset: Any, ask: Ask) -> tuple[Any, Any]:
    try:
        if ask.length is None:
            return dataset[ask.key], None
        return _prefix(dataset, ask.key, ask.length) if ask.length else None, None
    except Exception:
        return None, ExceptionWrapper(where=ask.where)


def _packed(value: Any, error: Any, others: int, peak_bytes: int) -> bytes:
    state = lane_state.state_bytes(others)
    try:
        return bits.dumps(Made(value, error, state, peak_bytes))
    except Exception as refused:
        what = "sample" if error is None else f"exception {error.exc_type.__name__}"
        try:
            raise RuntimeError(f"the {what} cannot be sent to the trainer: {refused}") from None
        except RuntimeError:
            return pickle.dumps(Made(None, ExceptionWrapper(where=""), state), protocol=5)


def _prefix(dataset: Any, key: int, length: int) -> Any:
    """What comes out of the source and the first length - 1 transforms after it."""
    leaf, index = _leaf(dataset, key)
    transform, leaf.transform = leaf.transform, None  # of this process's own copy
    try:
        value = leaf[index][0]
    finally:
        leaf.transform = transform
    for step in steps_of(transform)[0][: length - 1]:
        value = step(value)
    return value if isinstance(value, torch.Tensor) else torch.from_numpy(np.array(value))


def _leaf(dataset: Any, key: int) -> tuple[Any, int]:
    """The dataset inside of Subset and ConcatDataset that makes this key."""
    if isinstance(dataset, Subset):
        return _leaf(dataset.dataset, dataset.indices[key])
    if isinstance(dataset, ConcatDataset):
        part = int(np.searchsorted(dataset.cumulative_sizes, key, side="right"))
        return _leaf(dataset.datasets[part], key - ([0, *dataset.cumulative_sizes][part]))
    return dataset, key
