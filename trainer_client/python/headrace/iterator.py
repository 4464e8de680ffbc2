"""The iterator of a served loader, in the place of torch's own."""

import math
import os
import secrets
import weakref
from typing import Any

from torch.utils.data.dataloader import _BaseDataLoaderIter, _DatasetKind

from . import binding, service, torch_frame
from .position import (
    Lanes,
    Placed,
    batches_to_pull_freely,
    looks_at_nothing_else,
    position_of,
)
from .report import say
from .served import Served
from .stage.epoch import told_epoch
from .state import encode_lanes, seed_behind
from .turns import Turns


class ServedIter(Served, Placed, _BaseDataLoaderIter):
    """Yields what the stock iterator would, made elsewhere. One thread; of no use after fork."""

    def __init__(self, loader: Any, state: Any, captured: Any) -> None:
        self._serve(loader, state, captured, _window(loader))
        self._pull_freely = batches_to_pull_freely(loader)
        self._replayed = captured.plan.python is not None and captured.plan.python.replayed
        self._position = position_of(loader, draws=True)
        torch_frame.init(self, loader)
        if not self._lazy:
            super()._reset(loader, first_iter=True)  # the stock iterator starts samplers twice
        kind = "SingleProcess" if self._lazy else "MultiProcessing"
        self._profile_name = f"enumerate(DataLoader)#_{kind}DataLoaderIter.__next__"
        self._begin(continue_lanes=False)

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        """persistent_workers: the next epoch of the same workers."""
        self._check_process()
        self._position = position_of(loader, draws=False)
        super()._reset(loader, first_iter)
        # Lanes go on. Seeds of samples would come again, with the same augmentations.
        sample = self._captured.plan.rng == "sample"
        self._base_seed = seed_behind(self._drawn) if sample else self._drawn
        self._begin(continue_lanes=True)

    def _start_again(self, loader: Any) -> None:
        self._position = position_of(loader, draws=True)
        super()._reset(loader)
        self._base_seed = self._drawn
        self._begin(continue_lanes=False)

    def _begin(self, continue_lanes: bool) -> None:
        opened = self._take_handle()
        position = self._position
        position.start.rng = self._captured.plan.rng
        self._primed = self._done = False
        self._behind: dict[int, bytes] = {}  # lane -> its generators, as far as was received
        self._turns: Turns | None = None
        if self._dataset_kind == _DatasetKind.Iterable:
            self._turns = Turns(self._num_workers, self._window, self._session_key[2])
            self._epoch = [secrets.randbits(62), told_epoch(self._dataset)]
        position.lanes = _Lanes(self)
        # Lanes whose generators are not known run the epoch again up to the place.
        again = position.batches > position.lanes_from and not self._can_skip(position)
        passed = position.lanes_from if again else position.batches
        self._replay = position.batches - passed
        self._begin_lanes(
            continue_lanes=continue_lanes,
            first_batch=passed,
            lane_draws=() if again else position.lane_draws or (),
            lane_states=position.lane_states,
        )
        for _ in range(passed):
            index = self._next_index()
            if self._captured.plan.rng == "sample":  # counts how often a key comes
                service.call(self._handle.raw.skip, self._keys(index)[0])
        self._pulled = passed
        if position.start.taken and self._pull_freely < math.inf:
            self._pull_freely = 0
        if not self._lazy:
            self._prime()
        if opened:
            self._await_served()

    def _can_skip(self, position: Any) -> bool:
        if self._captured.plan.rng != "torch":
            return True
        return self._captured.path == "native" and position.lane_draws is not None

    def _prime(self) -> None:
        self._primed = True
        for _ in range(self._window):
            self._submit_next()

    def _submit_next(self, wanted: bool = False) -> None:
        """`wanted`: by the program, now."""
        if self._pulled >= self._pull_freely and not wanted:
            return
        self._pulled += 1
        try:
            index = self._next_index()
        except StopIteration:
            return
        if self._turns is None:
            self._submit(index)
        elif (lane := self._turns.next()) is not None:
            number = service.call(self._handle.raw.submit, self._epoch, lane=lane)
            self._turns.submitted(number, lane)

    def _next_data(self) -> Any:
        self._check_process()
        if self._rewound is not None:
            self._follow_rewind()
        entered = self._enter_next()
        try:
            batch = self._receive()
            self._note_lane(batch)
            while self._replay > 0:
                self._replay -= 1
                self._drop(batch)
                batch = self._receive()
                self._note_lane(batch)
            self._position.batches += 1
            return self._deliver(batch)
        finally:
            self._leave_next(entered)

    def _receive(self) -> Any:
        """The next batch. Like the stock iterator, asks for another one before anything else."""
        one_by_one = self._lazy and self._window == 1
        while True:
            if not self._done and (not self._primed or one_by_one):
                self._prime()
            if self._lazy and not self._done and self._handle.raw.outstanding == 0:
                self._submit_next(wanted=True)
            if self._done or self._handle.raw.outstanding == 0:
                self._finish()
                raise StopIteration
            batch = self._wait()
            if self._turns is not None:
                self._turns.delivered(batch.batch, batch.lane_ended)
            if not one_by_one:
                self._submit_next()
            if not batch.lane_ended:
                return batch
            self._show(batch)

    def _drop(self, batch: Any) -> None:
        """A batch that the program received before it was resumed."""
        if self._captured.path == "native":
            try:
                self._make_missing(batch)
            except Exception:
                self._made.clear()

    # The end.

    def _finish(self) -> None:
        if self._turns is not None and (idle := self._turns.idle_lanes()):
            say(self._state.report, self._captured.name, idle)
        self._done = self._position.finished = True
        if not self._persistent_workers:
            self._position.freeze()
            self._give_handle()

    def lane_draws(self) -> list[int] | None:
        if self._captured.path != "native" or self._captured.plan.rng != "torch":
            return None
        try:
            return self._handle.raw.lane_draws() if self._handle is not None else None
        except binding.HeadraceError:
            return None  # not known, or the service has ended

    def _note_lane(self, batch: Any) -> None:
        if self._captured.path == "python" and self._captured.plan.rng == "torch":
            if self._position.tracks and not self._replayed:
                self._behind[batch.batch % self._num_workers] = batch.lane_state

    def lane_states(self, end: bool) -> list[str] | None:
        if self._captured.path != "python" or self._captured.plan.rng != "torch":
            return None
        if self._handle is None or (end and not self._persistent_workers):
            return None
        if self._replayed:  # known where their epoch began
            if not self._persistent_workers:
                return None
            return encode_lanes(service.call(self._handle.raw.lane_states, end=end))
        lanes = range(self._num_workers)
        if end or not all(lane in self._behind for lane in lanes):
            states = service.call(self._handle.raw.lane_states, end=end)
        if not end:
            states = [self._behind[i] if i in self._behind else states[i] for i in lanes]
            if not all(self._behind.values()):
                return None  # of a batch that no worker could make
        return encode_lanes(states)

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None and os is not None:
            if os.getpid() == self._pid:
                self._abandon()

    def _abandon(self) -> None:
        """A break, an exception, a del: what is outstanding is cancelled and freed at once."""
        self._position.freeze()
        handle, self._handle = self._handle, None
        handle.close()


def _window(loader: Any) -> int:
    """Most batches asked for and not yet received."""
    if loader.num_workers > 0:
        return loader.prefetch_factor * loader.num_workers
    # The stock loader asks the sampler when the batch is wanted. One batch ahead makes no
    # difference to samplers that are known to look at nothing else.
    return 2 if looks_at_nothing_else(loader) else 1


class _Lanes(Lanes):
    """Asks an iterator that may be gone."""

    def __init__(self, iterator: ServedIter) -> None:
        self._iterator = weakref.ref(iterator)
        self.replayed = iterator._replayed

    def draws(self) -> list[int] | None:
        iterator = self._iterator()
        return iterator.lane_draws() if iterator is not None else None

    def states(self, end: bool) -> list[str] | None:
        iterator = self._iterator()
        return iterator.lane_states(end) if iterator is not None else None
