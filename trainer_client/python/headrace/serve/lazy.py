"""The iterator of a served loader with num_workers=0: torch's own, with another fetcher.

torch's code asks the sampler, then the fetcher for its batch, in the program's thread, at next().
Ours gives the batch that the service made, where that is the very one that the stock fetcher would
make now, and otherwise has the stock fetcher make it (docs/adr/0027-num-workers-0.md).
"""

import os
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from torch.utils.data.dataloader import _SingleProcessDataLoaderIter

from ..admission import lane_state, samples
from ..capture import NativePlan
from ..capture.live import Live, Stamps
from ..errors import HeadraceError
from ..native import binding
from ..records import dataclass
from ..service import service
from ..service.report import say
from . import stays as local
from .foresight import Recapture
from .keys_ahead import KeysAhead
from .loader_state import LoaderState
from .remaining import tell

_SLICE = 0.1  # longest wait without a look at signals, seconds
_INTEGERS = (int, np.int64, np.int32)  # which libraries' data sets take alike
Anew = Callable[[], NativePlan | None]  # the loader as it is now
_DEPTH = 2  # batches ahead: one that is ready, and one that is being made


@dataclass
class _Asked:
    """A batch that the service will make."""

    number: int
    keys: list[int]
    stamps: Stamps


class Ahead:
    """Replaces a loader's fetcher, `stock`. `capture()`: captures the loader again, None if it has
    no native form any more. One thread; in a forked child it is the stock fetcher."""

    def __init__(self, stock: Any, state: LoaderState, captured: NativePlan, capture: Anew) -> None:
        self._stock = stock
        self._state = state
        self._capture = capture
        self._pid = os.getpid()
        self._handle: Any = None
        self._foresight, self._pace = state.learned.foresight, state.learned.pace
        self._rest = Recapture()
        self.keys_ahead: KeysAhead | None = None
        self.path = "local"  # of the last batch
        self._ended = False
        try:
            self._begin_with(captured)
        except HeadraceError as error:
            self._end(f"stays in the trainer: {error}")

    def _begin_with(self, captured: NativePlan) -> None:
        self._captured = captured
        self._random = captured.plan.is_random
        self._state_now = partial(lane_state.state_bytes, captured.plan.other_generators)
        self._stuck_at = -1  # number of a batch that waits for the trainer to make a sample
        self._live: Live | None = self._state.learned.live_of(self._stock.dataset, captured)
        self._asked: deque[_Asked] = deque()
        self._expected: bytes | None = None  # torch's state with which the first of them begins
        self._key = (captured.signature, _DEPTH, True, self._pid)
        self._handle = self._state.take_session(self._key)
        if self._handle is None:
            self._handle = self._state.open_session(captured, self._key)

    def fetch(self, index: Any) -> Any:
        """The batch of these keys, as the stock fetcher would give it now."""
        self.path = "local"
        if self._ended or os.getpid() != self._pid:
            return self._stock.fetch(index)
        if self._pace.stays():
            self._pace.made_here(0.0)
            if self.keys_ahead is not None:
                self.keys_ahead.skip()
            return self._stock.fetch(index)
        if self.keys_ahead is not None and not self.keys_ahead.passed(index):
            self.keys_ahead = None
        started = time.perf_counter()
        if self._pace.stock_is_next():
            return self._timed(index)
        try:
            keys = self._usable_keys(index)
            data = self._by_service(keys) if keys is not None else None
        except HeadraceError as error:
            self._end(f"goes on in the trainer: {error}")
            return self._stock.fetch(index)
        except BaseException:  # Ctrl-C in the middle of it
            self._drop()
            raise
        if keys is None:
            return self._stock.fetch(index)
        if data is None:
            return self._by_stock(index)
        self.path = "native"
        self._look_ahead()
        self._pace.served(time.perf_counter() - started)
        return data

    def _usable_keys(self, index: Any) -> list[int] | None:
        """`index` for the service; None: the stock way."""
        if self._live is None and not self._captured_anew():
            return None
        live = self._known()
        if not live.process_same():
            self._end("")
            return None
        if not live.objects_same():
            self._changed()
            return None
        count = self._captured.rows.count
        if type(index) is not list or not index:
            return None
        types = self._captured.rows.index_types or _INTEGERS
        if not all(type(k) in types and 0 <= k < count for k in index):
            return None
        keys = list(map(int, index))
        if not live.rows_same(keys):
            self._changed()
            return None
        return keys

    def _known(self) -> Live:
        """REQUIRES: the data set is known as it was captured."""
        assert self._live is not None
        return self._live

    # Made by the service.

    def _by_service(self, keys: list[int]) -> Any:
        """None: there is a sample that it can't make, or somebody draws at the same time."""
        self._refused = []
        now = self._state_now() if self._random else b""
        if self._asked:
            if self._is_asked(keys, now):
                self._foresight.held()
                self._state.report.made_ahead += 1
            else:
                self._foresight.failed()
                self._state.report.mispredicted += 1
                self._drop()
        else:
            self._foresight.made_without()
        if not self._asked:
            if self._expected is None or self._expected != now:
                self._begin(now)
            self._ask(keys, None)
        batch = self._receive()
        if batch is None:
            self._drop()
            self._refused = [self._stuck_key]
            return None
        if batch.missing:
            self._expected = batch.lane_state
            self._refused = [missing.key for missing in batch.missing]
            return None
        if self._random:
            if self._state_now() != now:  # another thread has drawn: the order is as it happens
                self._drop()
                return None
            lane_state.set_state(batch.lane_state)
        self._expected = batch.lane_state
        fields = self._captured.tensors(batch)
        assert fields is not None  # such plans have no targets
        if batch.copy_advised:
            fields = self._captured.copies(fields)
        return samples.joined(self._stock.collate_fn, fields, self._captured)

    def _is_asked(self, keys: list[int], now: bytes) -> bool:
        first = self._asked[0]
        if first.keys != keys or self._expected != now or first.stamps is None:
            return False
        return first.stamps == self._known().stamps(keys)

    def _begin(self, state: bytes) -> None:
        """What was asked for is withdrawn."""
        self._asked.clear()
        self._stuck_at = -1
        states = [state] if self._random else []
        service.call(self._handle.raw.begin, base_seed=0, lane_states=states)
        self._expected = state

    def _ask(self, keys: list[int], stamps: Stamps) -> None:
        number = service.call(self._handle.raw.submit, keys)
        self._asked.append(_Asked(number, keys, stamps))

    def _receive(self) -> Any:
        """The batch that was asked for first; None: a sample of it must be made here before the
        service can go on."""
        first = self._asked.popleft()
        while self._stuck_at != first.number:
            event = service.call(self._handle.raw.next, _SLICE)
            if type(event) is binding.Batch:
                return event
            if event is not None:
                self._stuck_at, self._stuck_key = event.batch, event.key
        return None

    def _drop(self) -> None:
        """What was asked for is of no use. It is withdrawn with the next beginning."""
        self._asked.clear()
        self._expected = None

    def _look_ahead(self) -> None:
        """Asks for the batches that come next, if nothing changes until then."""
        if self.keys_ahead is None or not self._foresight.wanted():
            return
        while len(self._asked) < _DEPTH:
            keys = self.keys_ahead.peek(len(self._asked))
            if keys is None:
                return
            live = self._known()
            stamps = live.stamps(keys) if live.rows_same(keys) else None
            if stamps is None:
                return
            self._ask(keys, stamps)

    # Made by the stock fetcher.

    def _timed(self, index: Any) -> Any:
        """Makes the batch in the stock way and measures its time, for the choice between the
        ways."""
        self._drop()
        started = time.perf_counter()
        data = self._stock.fetch(index)
        self._pace.made_here(time.perf_counter() - started)
        if self._pace.stays() and self._handle is not None:
            try:  # what comes now is none of its program's steps
                service.call(self._handle.raw.begin, base_seed=0)
            except HeadraceError as error:
                self._end(f"goes on in the trainer: {error}")
        return data

    def _by_stock(self, index: Any) -> Any:
        """What the service could not make. Where it ends as was planned, what follows holds."""
        after = self._expected
        self._pace.refused()
        try:
            data = self._stock.fetch(index)
        except Exception as error:
            samples.add_note(error, self._stock.dataset, self._refused)
            raise
        if after is None or (self._random and self._state_now() != after):
            self._drop()
        return data

    def _changed(self) -> None:
        """The data set is not what the plan was made of."""
        self._state.report.changed += 1
        self._rest.changed()
        self._give_handle(keep=False)
        self._live = None

    def _captured_anew(self) -> bool:
        if not self._rest.due():
            return False
        captured = self._capture()
        if captured is None:
            self._end("")
            return False
        self._begin_with(captured)
        return True

    # The end.

    def _end(self, why: str) -> None:
        """The rest of the epoch is the stock fetcher's. `why`: to say; empty: nothing."""
        if why:
            say(self._state.report, self._captured.name, why)
        self._ended, self._live = True, None
        self._give_handle(keep=False)

    def finish(self) -> None:
        """The epoch has ended: the next one may go on with the session."""
        self._ended = True
        if os.getpid() == self._pid:
            self._give_handle(keep=True)

    def close(self) -> None:
        """A break, an exception, a del: what is outstanding is withdrawn at once."""
        self._ended = True
        if os.getpid() == self._pid:
            self._give_handle(keep=False)

    def _give_handle(self, keep: bool) -> None:
        handle, self._handle = self._handle, None
        self._asked.clear()
        self._expected = None
        if handle is not None and keep:
            self._state.give_session(self._key, handle)
        elif handle is not None:
            handle.close()

    @property
    def handle(self) -> Any:
        """The session; None: there is none, it is a parent process's, or is not asked for now."""
        if self._handle is None or self._pace.stays() or os.getpid() != self._pid:
            return None
        return self._handle


class _Foreseen(_SingleProcessDataLoaderIter):
    """Tells its fetcher when the sampler begins, and its session how long it takes."""

    _sampler_begun: bool
    _first_sampler_iter: Any

    def _next_index(self) -> Any:
        ahead = self._dataset_fetcher
        if not self._sampler_begun:
            self._sampler_begun = True
            if self._sampler_iter is self._first_sampler_iter:  # else a resumed epoch's rest
                ahead.keys_ahead = KeysAhead.of(self._index_sampler, self._dataset)
        handle = ahead.handle
        if handle is None:
            return super()._next_index()  # type: ignore[no-untyped-call]  # torch's
        handle.raw.enter_sampler()
        try:
            return super()._next_index()  # type: ignore[no-untyped-call]  # torch's
        finally:
            handle.raw.leave_sampler()


class LazyIter(local._Local, _Foreseen):
    """Yields what the stock iterator would. One thread at a time."""

    def _init(self, loader: Any, state: LoaderState, captured: NativePlan, capture: Anew) -> None:
        self._captured_first, self._capture = captured, capture
        self._sampler_begun = False
        local._start(self, loader, state)
        self._profile_name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
        if self._dataset_fetcher.handle is not None or state.learned.pace.stays():
            state.report.path, state.report.rng = "native", captured.plan.rng
        tell(self._dataset_fetcher.handle, loader, state, captured.name, self._position.batches)

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        self._first_sampler_iter = self._sampler_iter
        stock, state = self._bad.over(self._dataset_fetcher, self._base_seed), self._state
        self._dataset_fetcher = Ahead(stock, state, self._captured_first, self._capture)

    def _skip(self) -> None:
        for _ in range(self._position.batches):
            index = self._next_index()
            foreseen = self._dataset_fetcher.keys_ahead
            if foreseen is not None and not foreseen.passed(index):
                self._dataset_fetcher.keys_ahead = None

    def _next_data(self) -> Any:
        if self._rewound is not None:
            self._follow_rewind()
        ahead = self._dataset_fetcher
        started = time.perf_counter()
        handle = ahead.handle
        if handle is not None:
            handle.enter_next()
        try:
            data = _SingleProcessDataLoaderIter._next_data(self)
        except StopIteration:
            self._position.finished = True
            ahead.finish()
            raise
        finally:
            if handle is not None:
                handle.leave_next()
            step, self._left = started - (self._left or started), time.perf_counter()
        self._position.batches += 1
        self._bad.take()
        times = (0.0, 0.0) if handle is not None else (self._left - started, step)  # it knows them
        self._state.report.delivered(ahead.path, local.batch_length(data), *times)
        return data

    def _start_again(self, loader: Any) -> None:
        self._dataset_fetcher.close()
        self._init(loader, self._state, self._captured_first, self._capture)

    def __del__(self) -> None:
        ahead = getattr(self, "_dataset_fetcher", None)
        if type(ahead) is Ahead and os is not None:
            ahead.close()


def lazy_iterator(loader: Any, state: LoaderState, captured: NativePlan, capture: Anew) -> Any:
    """`captured`: native, with the stock loader's random numbers. `capture`: as for Ahead."""
    iterator = LazyIter.__new__(LazyIter)
    iterator._init(loader, state, captured, capture)
    return iterator
