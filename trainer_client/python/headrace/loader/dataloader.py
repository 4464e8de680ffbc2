"""headrace.DataLoader: torch's, always served, with a choice of random numbers and a state."""

import weakref
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import torch.utils.data

from ..errors import OptionError
from ..serve import state
from ..serve.position import Position, sampler_of
from ..serve.remainder import fit
from ..serve.state import LoaderPlace
from ..service import options
from . import aside, hook, seam

_TorchLoader = torch.utils.data.DataLoader
_Sample = TypeVar("_Sample", covariant=True)


class _Resumable:
    """What belongs to a loader but must not be copied or pickled with it."""

    def __init__(self) -> None:
        self.pending: LoaderPlace | None = None
        self.iterator: Any = None  # weak reference to the newest
        self.position: Position | None = None  # of the newest, also when it is gone


_resumables: "weakref.WeakKeyDictionary[Any, _Resumable]" = weakref.WeakKeyDictionary()


class DataLoader(_TorchLoader[_Sample]):
    """torch.utils.data.DataLoader with the same arguments and semantics, and

    rng: "torch" (the stock loader's random numbers), "sample" (a seed for each sample, whatever
        num_workers is) or "auto" (torch).
    on_bad_sample: what is done where a sample can't be made: "raise" its exception, "skip" it or
        "substitute" another one (docs/reference/bad-samples.md). None: what HEADRACE_ON_BAD_SAMPLE says.

    state_dict() is what the program has received so far. It may be taken at any time, is JSON, and
    may be loaded before or after iter(); the next batch is then the one that would have come.
    """

    rng: str
    on_bad_sample: str | None

    if TYPE_CHECKING:  # torch's signature, for type checkers; its own defaults hold when it runs

        def __init__(
            self,
            dataset: torch.utils.data.Dataset[_Sample],
            batch_size: int | None = 1,
            shuffle: bool | None = None,
            sampler: torch.utils.data.Sampler[Any] | Iterable[Any] | None = None,
            batch_sampler: torch.utils.data.Sampler[list[Any]] | Iterable[list[Any]] | None = None,
            num_workers: int = 0,
            collate_fn: Callable[[list[Any]], Any] | None = None,
            pin_memory: bool = False,
            drop_last: bool = False,
            timeout: float = 0,
            worker_init_fn: Callable[[int], None] | None = None,
            multiprocessing_context: Any = None,
            generator: torch.Generator | None = None,
            *,
            prefetch_factor: int | None = None,
            persistent_workers: bool = False,
            pin_memory_device: str = "",
            in_order: bool = True,
            rng: str = "auto",
            on_bad_sample: str | None = None,
        ) -> None: ...

    else:

        def __init__(
            self, *args: Any, rng: str = "auto", on_bad_sample: str | None = None, **kwargs: Any
        ) -> None:
            if rng not in options.RNG_MODES:
                raise OptionError(f"rng={rng!r}: write one of {', '.join(options.RNG_MODES)}")
            known = options.ON_BAD_SAMPLE
            if on_bad_sample is not None and on_bad_sample not in known:
                raise OptionError(
                    f"on_bad_sample={on_bad_sample!r}: write one of {', '.join(known)}"
                )
            self.rng, self.on_bad_sample = rng, on_bad_sample
            super().__init__(*args, **kwargs)

    def _get_iterator(self) -> Any:
        stock = hook.stock_of(_TorchLoader)
        if options.is_off():
            return stock(self)
        rng = "" if self.rng == "auto" else self.rng
        with aside.in_the_seam():
            iterator = seam.make_iterator(self, stock, rng)
        self._resumable().iterator = weakref.ref(iterator)
        return iterator

    def __iter__(self) -> Any:
        if self._resumable().pending is not None:
            self._iterator = None  # a loaded state starts from lanes of its own
        return super().__iter__()

    def state_dict(self) -> dict[str, Any]:
        mine = self._resumable()
        if mine.pending is not None:
            return mine.pending.as_dict()
        if mine.position is not None:
            place = mine.position.place(self.persistent_workers)
        else:
            place = LoaderPlace(num_workers=self.num_workers)
        if not place.mid_epoch:
            sampler = getattr(sampler_of(self), "generator", None)
            place.generator = state.encode(self.generator)
            if sampler is not self.generator:
                place.sampler_generator = state.encode(sampler)
        return place.as_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        place, note = fit(state.parse(state_dict), self)
        if note:
            seam.note(self, note)
        mine = self._resumable()
        mine.pending = place
        iterator = mine.iterator() if mine.iterator is not None else None
        if iterator is not None and hasattr(iterator, "rewind"):
            iterator.rewind(self)

    def _resumable(self) -> _Resumable:
        mine = _resumables.get(self)
        if mine is None:
            mine = _resumables[self] = _Resumable()
        return mine

    def _headrace_take_place(self) -> LoaderPlace | None:
        """The loaded place, for the iterator that starts from it."""
        mine = self._resumable()
        place, mine.pending = mine.pending, None
        return place
