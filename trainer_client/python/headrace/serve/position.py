"""An iteration's place in its epoch, and how an iterator is brought back to one."""

import math
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch.utils.data import (
    BatchSampler,
    DistributedSampler,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from torch.utils.data.dataloader import _InfiniteConstantSampler

from ..errors import HeadraceError
from . import state
from .remainder import rest_of, shape_of
from .state import LoaderPlace, seed_behind

_DRAWS_NOTHING = (SequentialSampler, DistributedSampler, _InfiniteConstantSampler)
PLAIN = (*_DRAWS_NOTHING, RandomSampler, SubsetRandomSampler, WeightedRandomSampler)


def sampler_of(loader: Any) -> Any:
    """The sampler of single keys, also inside a BatchSampler; None if it cannot be seen."""
    batch_sampler = loader.batch_sampler
    return loader.sampler if batch_sampler is None else getattr(batch_sampler, "sampler", None)


def looks_at_nothing_else(loader: Any) -> bool:
    """True for torch's own samplers, which may run one batch ahead of the program: they look at
    their own generator only, or at the program's when they start."""
    if loader.batch_sampler is not None and type(loader.batch_sampler) is not BatchSampler:
        return False
    sampler = sampler_of(loader)
    if getattr(sampler, "replacement", False) and sampler.generator is not None:
        return False  # draws from the program's generator all along
    return type(sampler) in PLAIN


def batches_to_pull_freely(loader: Any) -> float:
    """How many batches may be pulled before the program asks for them."""
    sampler = sampler_of(loader)
    if loader.num_workers > 0 or type(sampler) is not RandomSampler or sampler.generator is None:
        return math.inf
    # It draws again from the program's generator when its last key has been taken.
    return len(loader) - 1


def has_place(loader: Any) -> bool:
    """Whether a loaded state waits for its iterator."""
    return hasattr(loader, "_headrace_take_place") and loader._resumable().pending is not None


def position_of(loader: Any, draws: bool) -> "Position":
    """The position of an iteration that starts now. `draws`: it draws a base seed."""
    if not hasattr(loader, "_headrace_take_place"):
        return Position(loader, None, track=False, draws=draws)
    position = Position(loader, loader._headrace_take_place(), track=True, draws=draws)
    loader._resumable().position = position
    return position


class Lanes:
    """What an iterator knows of its lanes' generators. This one: nothing."""

    def draws(self) -> list[int] | None:
        """Outputs used by each lane so far, where that is all there is to its state."""
        return None

    def states(self, end: bool) -> list[str] | None:
        """Their states where the epoch began or, `end`, where it ended; None: not known, or just
        seeded."""
        return None


class _Known(Lanes):
    def __init__(self, lanes: Lanes, states: list[str] | None) -> None:
        self._draws, self._states = lanes.draws(), states

    def draws(self) -> list[int] | None:
        return self._draws

    def states(self, end: bool) -> list[str] | None:
        return self._states


class Position:
    """Made before the iterator draws anything; not shared between iterations.

    `resume`: the loaded place to start from. `track`: note what a later state_dict() needs.
    """

    def __init__(self, loader: Any, resume: LoaderPlace | None, track: bool, draws: bool) -> None:
        self._resume = resume
        self.tracks = track
        self._generator = loader.generator
        self._sampler = sampler_of(loader)
        self._batch_sampler = loader.batch_sampler
        self.sampler_started = not track and resume is None
        self.finished = False
        self.lanes = Lanes()
        self.batches = 0
        self.base_seed: int | None = None
        self.lane_draws: list[int] | None = None
        self.lane_states: list[bytes] = []
        self.lanes_from = 0
        self.start = LoaderPlace(num_workers=loader.num_workers, drew_base_seed=draws)
        self.start.batch_size, self.start.replicas = shape_of(loader)
        if resume is not None:
            if resume.mid_epoch:
                self.batches, self.lanes_from = resume.batches, resume.lanes_from
                self.start.taken, self.start.lanes_from = resume.taken, resume.lanes_from
            self.base_seed = resume.base_seed
            self.lane_draws = resume.lane_draws
            self.lane_states = state.decode_lanes(resume.lane_states)
            if self.base_seed is not None:
                self._kept = torch.get_rng_state()
                self.start.drew_base_seed = resume.drew_base_seed and resume.mid_epoch
            state.set_state(self._generator, resume.generator)
        if track:
            self.start.generator = state.encode(self._generator)

    def base_seed_drawn(self, drawn: int) -> int:
        """The base seed to use instead of the one just drawn. That of a resumed epoch was drawn
        when it first began, so the program's random numbers do not move again."""
        if self.base_seed is not None:
            torch.set_rng_state(self._kept)
            if not self.start.drew_base_seed and self._resume is not None:
                state.set_state(self._generator, self._resume.generator)
        self.start.base_seed = drawn if self.base_seed is None else self.base_seed
        return self.start.base_seed

    @contextmanager
    def sampler_starting(self) -> Iterator[None]:
        """The sampler's first next() is made inside."""
        self.sampler_started = True
        resume, sampler = self._resume, self._sampler
        again = resume if resume is not None and resume.mid_epoch else None
        kept = torch.get_rng_state()
        own = getattr(sampler, "generator", None)
        if resume is not None and own is not self._generator:
            state.set_state(own, resume.sampler_generator)
        if again is not None and again.global_rng is not None:
            torch.set_rng_state(state.decode(again.global_rng))
        seed = again.sampler_seed if again is not None and own is None else None
        if seed is not None:
            sampler.generator = torch.Generator()
            sampler.generator.manual_seed(seed)
        if self.tracks:
            self._note_sampler(own, again)
        try:
            yield
        finally:
            if seed is not None:
                sampler.generator = None
            if again is not None:
                torch.set_rng_state(kept)

    def _note_sampler(self, own: torch.Generator | None, again: LoaderPlace | None) -> None:
        if own is not None:
            if own is not self._generator:
                self.start.sampler_generator = state.encode(own)
        elif again is not None:
            self.start.sampler_seed = again.sampler_seed
            self.start.global_rng = again.global_rng
        elif type(self._sampler) is RandomSampler:
            copy = torch.Generator()
            copy.set_state(torch.get_rng_state())
            seed = torch.empty((), dtype=torch.int64).random_(generator=copy)
            self.start.sampler_seed = int(seed.item())
        elif type(self._sampler) not in _DRAWS_NOTHING:
            self.start.global_rng = state.encode(torch.default_generator)

    def rest(self) -> Iterator[Any] | None:
        """Replaces the index sampler's iterator if the epoch began with other numbers."""
        taken = self.start.taken
        return rest_of(self._sampler, self._batch_sampler, taken) if taken else None

    def place(self, persistent: bool) -> LoaderPlace:
        """What the program has received, for state_dict()."""
        lane_draws, lane_states = self.lanes.draws(), self.lanes.states(self.finished)
        if not self.finished:
            self.start.mid_epoch, self.start.batches = True, self.batches
            self.start.lane_draws, self.start.lane_states = lane_draws, lane_states
            self.start.lanes_from = self.lanes_from
            return replace(self.start)
        between = LoaderPlace(num_workers=self.start.num_workers)
        if persistent and self.start.base_seed is not None:
            between.rng = self.start.rng
            between.lane_draws, between.lane_states = lane_draws, lane_states
            known = lane_draws is not None or lane_states is not None
            seed = self.start.base_seed
            between.base_seed = seed if known else seed_behind(seed)
        return between

    def freeze(self) -> None:
        """The iterator is about to end: keeps what place() will be asked for."""
        if not self.tracks:
            return
        try:
            states = self.lanes.states(self.finished)
        except HeadraceError:
            states = None  # the service has ended
        self.lanes = _Known(self.lanes, states)


class Placed:
    """Mixed in front of a DataLoader iterator: its draws and its sampler follow a Position."""

    _position: Position
    _rewound: Any = None  # a weak reference to the loader whose place was loaded after iter()

    def rewind(self, loader: Any) -> None:
        """Follows a load_state_dict after iter(): the next batch is the loaded place's."""
        self._rewound = weakref.ref(loader)

    def _follow_rewind(self) -> None:
        """Starts again at the loaded place. REQUIRES: rewind was called."""
        loader, self._rewound = self._rewound(), None
        if loader is not None and has_place(loader):
            self._start_again(loader)

    def _start_again(self, loader: Any) -> None:
        raise NotImplementedError

    @property
    def _base_seed(self) -> Any:  # to torch it is any number
        return self._drawn

    @_base_seed.setter
    def _base_seed(self, drawn: int) -> None:
        self._drawn = self._position.base_seed_drawn(drawn)

    def _next_index(self) -> Any:
        if self._position.sampler_started:
            return super()._next_index()  # type: ignore[misc]  # torch's
        with self._position.sampler_starting():
            rest = self._position.rest()
            if rest is not None:
                self._sampler_iter = rest
            return super()._next_index()  # type: ignore[misc]  # torch's
