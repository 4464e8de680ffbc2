"""The iterator of a served loader, in the place of torch's own."""

import math
import os
import weakref
from typing import Any

from torch.utils.data import _utils
from torch.utils.data.dataloader import _BaseDataLoaderIter, _MultiProcessingDataLoaderIter

from ..admission import samples
from ..capture import NativePlan
from ..native import binding
from ..service import service
from . import torch_frame
from .live_samples import LiveSamples
from .loader_state import LoaderState
from .position import Lanes, Placed, batches_to_pull_freely, looks_at_nothing_else, position_of
from .served import Served, batch_of
from .state import seed_behind
from .worker_processes import WithWorkers


class ServedIter(Served, Placed, _BaseDataLoaderIter):
    """Yields what the stock iterator would, made elsewhere. One thread; of no use after fork."""

    def __init__(self, loader: Any, state: LoaderState, captured: NativePlan) -> None:
        self._serve(loader, state, captured, _window(loader))
        self._pull_freely = batches_to_pull_freely(loader)
        self._position = position_of(loader, draws=True)
        torch_frame.init(self, loader)
        if not self._lazy:
            _BaseDataLoaderIter._reset(
                self, loader, first_iter=True
            )  # the stock iterator starts samplers twice
        kind = "SingleProcess" if self._lazy else "MultiProcessing"
        self._profile_name = f"enumerate(DataLoader)#_{kind}DataLoaderIter.__next__"
        self._begin(continue_lanes=False)

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        """persistent_workers: the next epoch of the same workers."""
        self._check_process()
        self._position = position_of(loader, draws=False)
        _BaseDataLoaderIter._reset(self, loader, first_iter)
        # Lanes go on. Seeds of samples would come again, with the same augmentations.
        sample = self._captured.plan.rng == "sample"
        self._base_seed = seed_behind(self._drawn) if sample else self._drawn
        self._begin(continue_lanes=True)

    def _start_again(self, loader: Any) -> None:
        self._position = position_of(loader, draws=True)
        _BaseDataLoaderIter._reset(self, loader)
        self._base_seed = self._drawn
        self._begin(continue_lanes=False)

    def _begin(self, continue_lanes: bool) -> None:
        self._take_handle()
        position = self._position
        position.start.rng = self._captured.plan.rng
        self._primed = self._done = False
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
        self._now = None
        if self._lazy:
            assert isinstance(self._captured, NativePlan)  # no code runs in the trainer
            live = self._state.learned.live_of(self._dataset, self._captured)
            self._now = LiveSamples(live, self._base_seed)
        for _ in range(passed):
            index = self._next_index()
            if self._captured.plan.rng == "sample":  # counts how often a key comes
                keys = self._keys(batch_of(index))[0]
                service.call(self._handle.raw.skip, keys)
                if self._now is not None:
                    self._now.skip(keys)
        self._pulled = passed
        if position.start.taken and self._pull_freely < math.inf:
            self._pull_freely = 0
        if not self._lazy:
            self._prime()

    def _can_skip(self, position: Any) -> bool:
        if self._captured.plan.rng != "torch":
            return True
        return position.lane_draws is not None

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
        self._submit(batch_of(index))

    def _submit(self, index: Any) -> int:
        number = super()._submit(index)
        if self._now is not None:
            self._now.asked(number, self._keys(index)[0])
        return number

    def _assemble(self, batch: Any) -> Any:
        changed = self._now.if_changed(batch.batch) if self._now is not None else None
        return super()._assemble(batch) if changed is None else self._made_anew(batch, *changed)

    def _made_anew(self, batch: Any, keys: list[int], seeds: list[int]) -> Any:
        """Makes the batch again with the data set's own code, which has changed since, from the
        workers' seeds."""
        self._state.report.changed += 1
        gaps = {gap.position: gap for gap in batch.missing}
        made_now: dict[int, Any] = {}
        bad = []
        for position, (key, seed) in enumerate(zip(keys, seeds, strict=True)):
            seed = gaps[position].seed if seed < 0 else seed
            made = self._make(batch.batch, position, key, b"", seed)
            if made.error is None:
                made_now[position] = made.value
            elif self._bad.goes_on:
                bad.append((position, made))
            else:
                samples.raise_made(made.error, self._dataset, made.key)
        if bad:
            made_now = self._without(batch.batch, keys, made_now, bad)
        self._odd.pop(batch.batch, None)
        return self._collate(batch.batch, [made_now[position] for position in sorted(made_now)])

    def _next_data(self) -> Any:
        self._check_process()
        if self._rewound is not None:
            self._follow_rewind()
        entered = self._enter_next()
        try:
            batch = self._receive()
            while self._replay > 0:
                self._replay -= 1
                self._drop(batch)
                batch = self._receive()
            self._position.batches += 1
            return self._deliver(batch)
        finally:
            self._leave_next(entered)

    def _receive(self) -> Any:
        """The next batch. Like the stock iterator, asks for another one before anything else."""
        one_by_one = self._lazy and self._window == 1
        if not self._done and (not self._primed or one_by_one):
            self._prime()
        if self._lazy and not self._done and self._handle.raw.outstanding == 0:
            self._submit_next(wanted=True)
        if self._done or self._handle.raw.outstanding == 0:
            self._finish()
            raise StopIteration
        batch = self._wait()
        if not one_by_one:
            self._submit_next()
        return batch

    def _drop(self, batch: Any) -> None:
        """A batch that the program received before it was resumed."""
        with self._bad.silent():
            try:
                self._make_missing(batch)
            except Exception:
                self._made.clear()

    # The end.

    def _finish(self) -> None:
        self._done = self._position.finished = True
        try:
            self._comparison.finish()
        finally:
            if not self._persistent_workers:
                self._reference.close()
                self._position.freeze()
                self._give_handle()

    def lane_draws(self) -> list[int] | None:
        if self._captured.plan.rng != "torch":
            return None
        try:
            return self._handle.raw.lane_draws() if self._handle is not None else None
        except binding.HeadraceError:
            return None  # not known, or the service has ended

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None and os is not None:
            if os.getpid() == self._pid:
                self._abandon()

    def _abandon(self) -> None:
        """A break, an exception, a del: what is outstanding is cancelled and freed at once."""
        self._position.freeze()
        handle, self._handle = self._handle, None
        handle.close()


class ServedWorkersIter(  # type: ignore[override]  # nobody sets _workers
    WithWorkers, ServedIter, _MultiProcessingDataLoaderIter
):
    """Does what ServedIter does, with num_workers > 0."""

    def __init__(self, loader: Any, state: LoaderState, captured: NativePlan) -> None:
        self._may_have_workers(loader)
        self._prefetch_factor, self._in_order = loader.prefetch_factor, loader.in_order
        self._worker_init_fn = loader.worker_init_fn
        self._shutdown = False
        super().__init__(loader, state, captured)

    def _next_data(self) -> Any:
        if self._shutdown:
            raise StopIteration
        return super()._next_data()

    def _finish(self) -> None:
        super()._finish()
        if not self._persistent_workers:
            self._end_workers()

    def _has_ended(self) -> bool:
        return self._shutdown or (self._done and not self._persistent_workers)

    def _shutdown_workers(self) -> None:
        if _utils is None or _utils.python_exit_status in (True, None):
            return  # the interpreter ends, and torch's own code does nothing either
        if self._pid != os.getpid():
            return
        self._shutdown = True
        if self._handle is not None:
            self._reference.close()
            self._abandon()
        self._end_workers()

    def __del__(self) -> None:
        super().__del__()
        if os is not None:
            self._end_workers()


def _window(loader: Any) -> int:
    """Most batches asked for and not yet received."""
    if loader.num_workers > 0:
        return int(loader.prefetch_factor * loader.num_workers)
    # The stock loader asks the sampler when the batch is wanted. One batch ahead makes no
    # difference to samplers that are known to look at nothing else.
    return 2 if looks_at_nothing_else(loader) else 1


class _Lanes(Lanes):
    """Asks an iterator that may be gone."""

    def __init__(self, iterator: ServedIter) -> None:
        self._iterator = weakref.ref(iterator)

    def draws(self) -> list[int] | None:
        iterator = self._iterator()
        return iterator.lane_draws() if iterator is not None else None
