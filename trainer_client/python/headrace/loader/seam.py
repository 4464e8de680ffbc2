"""Decides, at each iter() of a DataLoader, where its batches come from."""

import sys
import threading
import weakref
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch.utils.data

from ..admission.reference import Reference
from ..capture import Captured, NativePlan, Served, StagePlan, StaysLocal, capture
from ..capture.capture import describe
from ..errors import CoordinatorUnavailable, OutOfMemory, Unsupported, WorkersUnavailable
from ..native.plan import Local
from ..process import collection
from ..process.own_imports import Late
from ..process.standard_streams import keep_numbers
from ..serve.heritage import HERITAGE
from ..serve.lane_iterator import LaneIter
from ..serve.loader_state import LoaderState
from ..serve.served import await_served, session_key
from ..service import options, service
from ..service.report import say
from . import inspection
from .names import STATEFUL

if TYPE_CHECKING:
    from ..admission import admission
    from ..serve import iterator, lazy, stays, warm
else:
    admission = Late("headrace.admission.admission")
    iterator, lazy = Late("headrace.serve.iterator"), Late("headrace.serve.lazy")
    stays, warm = Late("headrace.serve.stays"), Late("headrace.serve.warm")

_OFFER = (
    "num_workers=0: draws the program's own random numbers, as ever; where the program draws on the "
    "CPU between batches too, `--rng sample` would be faster, with other numbers"
)

_states: "weakref.WeakKeyDictionary[Any, LoaderState]" = weakref.WeakKeyDictionary()
_states_lock = threading.Lock()


def state_of(loader: Any) -> LoaderState:
    with _states_lock:
        state = _states.get(loader)
        if state is None:
            state = LoaderState(describe(loader.dataset), loader.num_workers)
            _states[loader] = state
            HERITAGE.follow(loader, state)
        return state


def make_iterator(loader: Any, stock: Any, rng: str = "") -> Any:
    """The iterator of `loader`: served, or the stock one. `stock`: torch's own _get_iterator;
    `rng`: the loader's own choice, if it has one."""
    if torch.utils.data.get_worker_info() is not None:
        collection.release()
        return stock(loader)
    keep_numbers()
    if inspection.wanted():
        inspection.reached(loader)
    state = state_of(loader)
    state.compares = not inspection.wanted()
    state.reference = Reference(loader.dataset, loader.num_workers)
    try:
        return _make_iterator(loader, stock, state, rng)
    finally:
        state.take_reference(loader).close()  # unless the iterator has taken it
        if loader.num_workers == 0:  # lanes had it done before they were forked
            state.give_back(loader)


def _make_iterator(loader: Any, stock: Any, state: LoaderState, rng: str) -> Any:
    captured = decide(loader, state, rng or options.from_environment().rng)
    _explain(loader, state, captured)
    if options.from_environment().warm:
        warm.warm_and_end(loader, state, captured)
    if isinstance(captured, StaysLocal):
        return stays.local_iterator(loader, stock, state)
    in_turn = loader.num_workers == 0 and captured.plan.rng != "sample"
    if in_turn and isinstance(captured, NativePlan):
        if captured.plan.rng == "torch" and (rng or options.from_environment().rng) == "auto":
            say(state.report, captured.name, _OFFER)
        return lazy.lazy_iterator(loader, state, captured, _native_again(loader, state, rng))
    return _class_for(loader, isinstance(captured, StagePlan))(loader, state, captured)


def _native_again(loader: Any, state: LoaderState, rng: str) -> Any:
    """Makes a native iterator again, for lazy_iterator. Keeps no loader alive."""
    kept = weakref.ref(loader)

    def capture_again() -> NativePlan | None:
        loader = kept()
        if loader is None:
            return None
        captured = decide(loader, state, rng or options.from_environment().rng)
        _explain(loader, state, captured)
        if isinstance(captured, NativePlan) and captured.plan.rng != "sample":
            return captured
        return None

    return capture_again


def _class_for(loader: Any, in_lanes: bool = False) -> Any:
    """The iterator class. Raises Local."""
    stateful = _stateful_for(loader)
    if stateful is None:
        if in_lanes:
            return LaneIter
        return iterator.ServedWorkersIter if loader.num_workers > 0 else iterator.ServedIter
    if in_lanes:
        from ..serve.stateful_lanes import StatefulLaneIter

        return StatefulLaneIter
    return stateful.StatefulIter


def _stateful_for(loader: Any) -> Any:
    """serve/stateful.py, if the loader is torchdata's; else None. Raises Local."""
    torchdata = sys.modules.get(STATEFUL)
    if torchdata is None or not isinstance(loader, torchdata.StatefulDataLoader):
        return None
    try:
        from ..serve import stateful
    except ImportError as error:
        raise Local(f"this torchdata is not known: {error}") from None
    stateful.check_servable(loader)
    return stateful


def decide(loader: Any, state: LoaderState, rng: str) -> Captured:
    """How the loader's batches are to be made."""
    before = state.captured
    try:
        _stateful_for(loader)
        captured = capture(loader, rng, before)
    except Local as reason:
        captured = StaysLocal(describe(loader.dataset), str(reason), reason.remedy)
    finally:
        collection.release()
    state.captured = captured
    verdict = state.verdict
    if isinstance(captured, StaysLocal):
        verdict = captured
    elif (
        verdict is None
        or not _lasts(verdict)
        or not _is_same(before, captured)
        or _is_withdrawn(verdict, captured)
    ):
        verdict = _admit(loader, state, captured)
    if isinstance(verdict, NativePlan) and isinstance(captured, NativePlan):
        live = {
            of: getattr(captured, of)
            for of in ("seeding", "python_seeding", "numpy_seeding", "targets")
        }
        verdict = replace(verdict, **live)
    state.verdict = verdict
    return verdict


def _lasts(verdict: Captured) -> bool:
    return not isinstance(verdict, StaysLocal) or verdict.lasts


def _is_same(before: Captured | None, captured: Served) -> bool:
    return isinstance(before, Served) and before.signature == captured.signature


def _is_withdrawn(verdict: Captured, captured: Served) -> bool:
    """A comparison found its samples to differ while it was native."""
    if not isinstance(verdict, NativePlan) or not isinstance(captured, NativePlan):
        return False
    return admission.is_withdrawn(captured)


def _admit(loader: Any, state: LoaderState, captured: Served) -> Captured:
    """As _admit_now, or what is done while no worker serves."""
    choice = options.from_environment().no_workers
    while True:
        try:
            return _admit_now(loader, state, captured)
        except Unsupported:
            raise
        except WorkersUnavailable as error:
            if choice == "fail":
                raise
            if choice == "local":
                return StaysLocal(captured.name, str(error), lasts=False)
            say(state.report, captured.name, f"waits: {error}")


def _admit_now(loader: Any, state: LoaderState, captured: Served) -> Captured:
    try:
        service.client()
    except CoordinatorUnavailable as error:
        if options.from_environment().coordinator:
            raise
        return StaysLocal(captured.name, str(error))
    try:
        admitted: Captured = captured
        if isinstance(captured, NativePlan):
            admitted = admission.admit(loader, captured, state.reference)
        if isinstance(admitted, StagePlan):
            return _try_code(loader, state, admitted)
        return admitted
    except OutOfMemory as error:  # a limit of this process leaves no room for any batch
        return StaysLocal(captured.name, str(error))


def _try_code(loader: Any, state: LoaderState, captured: StagePlan) -> Captured:
    """Opens the loader's session: there must be a worker that takes its plan."""
    key = session_key(loader, captured, loader.prefetch_factor * loader.num_workers)
    session = state.open_session(captured, key)
    try:
        await_served(session)
    except Unsupported as error:
        session.close()
        return StaysLocal(captured.name, str(error))
    state.give_session(key, session)
    return captured


def _explain(loader: Any, state: LoaderState, captured: Captured) -> None:
    """One line on stderr for each new reason."""
    if isinstance(captured, NativePlan):
        return
    what = "stays in the trainer" if loader.num_workers == 0 else "keeps its own workers"
    if isinstance(captured, StagePlan):
        what = "runs as Python in its own workers"
    say(state.report, captured.name, f"{what}: {captured.reason}")
    if isinstance(captured, StagePlan) and captured.stays:
        say(state.report, captured.name, f"its code stays on this host: {captured.stays}")


def note(loader: Any, text: str) -> None:
    """A line about the loader on stderr, once."""
    say(state_of(loader).report, describe(loader.dataset), text)
