"""The stock iterators, counted. What they yield is untouched."""

import contextlib
import time
from typing import Any

import torch
from torch.utils.data.dataloader import (
    _DatasetKind,
    _MultiProcessingDataLoaderIter,
    _SingleProcessDataLoaderIter,
)

from .bad_samples import BadSamples
from .loader_state import LoaderState
from .position import Placed, position_of


def batch_length(data: Any) -> int:
    """Samples in a batch: the first dimension of the first tensor found; 1 if there is none."""
    if type(data) is list and data and type(data[0]) is torch.Tensor:  # what most batches are
        sides = data[0].shape
        return sides[0] if sides else 1
    shape = getattr(data, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else 1
    if isinstance(data, dict):
        return batch_length(next(iter(data.values()))) if data else 0
    if isinstance(data, list | tuple):
        first = next((item for item in data if not isinstance(item, str | bytes)), None)
        return len(data) if first is None else batch_length(first)
    return 1


class _Local(Placed):
    """Mixed in front of a stock iterator: counts, and can start in the middle of an epoch."""

    # Attributes of torch's iterator.
    _auto_collation: bool
    _num_workers: int
    _dataset_kind: int

    _state: LoaderState
    _bad: BadSamples
    _left: float  # when next() returned last; 0: it has not

    def _next_data(self) -> Any:
        if self._rewound is not None:
            self._follow_rewind()
        started = time.perf_counter()
        step = started - self._left if self._left else 0.0
        try:
            data = super()._next_data()  # type: ignore[misc]  # torch's
        except StopIteration:
            self._position.finished = True
            raise
        finally:
            self._left = time.perf_counter()
        self._position.batches += 1
        self._bad.take()
        samples = batch_length(data) if self._auto_collation else 1
        self._state.report.delivered("local", samples, self._left - started, step)
        return data

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        if not first_iter:
            self._position = position_of(loader, draws=False)
            self._state.report.epochs += 1
            self._base_seed = self._drawn
        super()._reset(loader, first_iter)  # type: ignore[misc]  # torch's

    def _start_again(self, loader: Any) -> None:
        if isinstance(self, LocalMulti):
            self._shutdown_workers()
        _start(self, loader, self._state)

    def _skip(self) -> None:
        """Passes the batches that were received before. Their errors were, too."""
        keys_only = self._num_workers == 0 and self._dataset_kind == _DatasetKind.Map
        for _ in range(self._position.batches):
            if keys_only:
                self._next_index()
                continue
            with contextlib.suppress(Exception):
                super()._next_data()  # type: ignore[misc]  # torch's


class LocalSingle(_Local, _SingleProcessDataLoaderIter):
    """A batch may take some ten microseconds: what is added to it is kept below one."""

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        self._dataset_fetcher = self._bad.over(self._dataset_fetcher, self._base_seed)

    def _next_index(self) -> Any:
        index = super()._next_index()
        # The sampler has begun, so its place needs no look any more.
        self._next_index = self._sampler_iter.__next__  # type: ignore[method-assign]  # faster
        return index

    def _next_data(self) -> Any:
        if self._rewound is not None:
            self._follow_rewind()
        started = time.perf_counter()
        try:
            data = _SingleProcessDataLoaderIter._next_data(self)
        except StopIteration:
            self._position.finished = True
            self._left = time.perf_counter()
            raise
        except BaseException:
            self._left = time.perf_counter()
            raise
        if self._bad.guard is not None:
            self._bad.take()
        report, left, self._left = self._state.report, self._left, time.perf_counter()
        samples = batch_length(data) if self._auto_collation else 1
        self._position.batches += 1
        report.batches += 1
        report.samples += samples
        report.samples_by_path["local"] += samples
        report.stall_seconds += self._left - started
        report.step_seconds += started - left if left else 0.0
        return data


class LocalMulti(_Local, _MultiProcessingDataLoaderIter):
    pass


def local_iterator(loader: Any, stock: Any, state: LoaderState) -> Any:
    """torch's own iterator for this loader."""
    state.report.path, state.report.rng = "local", ""
    if stock.__module__ != "torch.utils.data.dataloader":
        BadSamples(loader, state.report, state.report.name).cannot()
        return stock(loader)  # somebody else's hook, after ours
    if loader.num_workers > 0:
        loader.check_worker_number_rationality()
    cls = LocalMulti if loader.num_workers > 0 else LocalSingle
    iterator = cls.__new__(cls)
    _start(iterator, loader, state)
    return iterator


def _start(iterator: Any, loader: Any, state: LoaderState) -> None:
    iterator._state = state
    iterator._left = 0.0
    iterator.__dict__.pop("_next_index", None)
    iterator._position = position_of(loader, draws=True)
    state.report.epochs += 1
    iterator._bad = BadSamples(loader, state.report, state.report.name)
    iterator.__init__(iterator._bad.shown(loader))
    stock = type(iterator).__mro__[3]
    iterator._profile_name = f"enumerate(DataLoader)#{stock.__name__}.__next__"
    iterator._skip()
