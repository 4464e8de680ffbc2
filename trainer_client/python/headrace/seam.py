"""Decides, at each iter() of a DataLoader, where its batches come from."""

import sys
import threading
import weakref
from dataclasses import replace
from typing import Any

import torch.utils.data

from . import inspection, options, service
from .admission import admit
from .capture import Captured, capture
from .capture.capture import describe, python_capture
from .capture.plan import Local
from .errors import CoordinatorUnavailable, KeepsState
from .hook import STATEFUL
from .iterator import ServedIter
from .local import local_iterator
from .report import REPORT, LoaderReport, say
from .served import KeysNotIntegers, await_served, session_key
from .session import SessionHandle
from .stage.dry_run import BY_ITS_PAST


class LoaderState:
    """What is kept of a DataLoader from iter() to iter()."""

    def __init__(self, name: str, num_workers: int) -> None:
        self.report: LoaderReport = REPORT.add(name, num_workers)
        self.captured: Captured | None = None
        self.verdict: Captured | None = None  # after admission
        self.idle: tuple[Any, Any] | None = None  # (key, session) to go on with

    def open_session(self, captured: Captured, key: Any) -> SessionHandle:
        return SessionHandle(captured.plan, self.report, window=key[1], in_order=key[2])

    def take_session(self, key: Any) -> Any:
        """The session of an iteration that has ended, if its plan still holds."""
        idle, self.idle = self.idle, None
        if idle is None:
            return None
        if idle[0] == key:
            return idle[1]
        idle[1].close()
        return None

    def give_session(self, key: Any, session: Any) -> None:
        if self.idle is not None:
            self.idle[1].close()
        self.idle = (key, session)


_OWN_STATE_REMEDY = "let a sample depend on its index and on random generators alone"

_states: "weakref.WeakKeyDictionary[Any, LoaderState]" = weakref.WeakKeyDictionary()
_states_lock = threading.Lock()


def state_of(loader: Any) -> LoaderState:
    with _states_lock:
        state = _states.get(loader)
        if state is None:
            state = LoaderState(describe(loader.dataset), loader.num_workers)
            _states[loader] = state
        return state


def make_iterator(loader: Any, stock: Any, rng: str = "") -> Any:
    """The iterator of `loader`: served, or the stock one. `stock`: torch's own _get_iterator;
    `rng`: the loader's own choice, if it has one."""
    if torch.utils.data.get_worker_info() is not None:
        return stock(loader)
    if inspection.wanted():
        inspection.reached(loader)
    state = state_of(loader)
    captured = decide(loader, state, rng or options.from_environment().rng)
    _explain(loader, state, captured)
    if captured.path == "local":
        return local_iterator(loader, stock, state)
    generators = torch.get_rng_state(), loader.generator and loader.generator.get_state()
    try:
        return _class_for(loader)(loader, state, captured)
    except KeysNotIntegers as error:
        torch.set_rng_state(generators[0])
        if loader.generator is not None:
            loader.generator.set_state(generators[1])
        state.verdict = Captured("local", captured.name, reasons=[str(error)])
        _explain(loader, state, state.verdict)
        return local_iterator(loader, stock, state)


def _class_for(loader: Any) -> Any:
    """The iterator class. Raises Local."""
    torchdata = sys.modules.get(STATEFUL)
    if torchdata is None or not isinstance(loader, torchdata.StatefulDataLoader):
        return ServedIter
    try:
        from . import stateful
    except ImportError as error:
        raise Local(f"this torchdata is not known: {error}") from None
    stateful.check_servable(loader)
    return stateful.StatefulIter


def decide(loader: Any, state: LoaderState, rng: str) -> Captured:
    """How the loader's batches are to be made."""
    before = state.captured
    try:
        _class_for(loader)
        captured = capture(loader, rng, before)
    except Local as reason:
        captured = Captured(
            "local", describe(loader.dataset), reasons=[str(reason)], remedy=reason.remedy
        )
    state.captured = captured
    unchanged = before is not None and before.signature == captured.signature
    if captured.path == "local":
        state.verdict = captured
    elif not unchanged or state.verdict is None:
        state.verdict = _admit(loader, state, captured)
    if state.verdict.path == captured.path == "native":
        state.verdict = replace(state.verdict, seeding=captured.seeding)
    return state.verdict


def _admit(loader: Any, state: LoaderState, captured: Captured) -> Captured:
    try:
        service.client()
    except CoordinatorUnavailable as error:
        if options.from_environment().coordinator:
            raise
        return Captured("local", captured.name, reasons=[str(error)])
    admitted = admit(loader, captured)
    if admitted.path == "python":
        return _try_code(loader, state, admitted)
    return admitted


def _try_code(loader: Any, state: LoaderState, captured: Captured) -> Captured:
    """Opens the loader's session, whose workers try the code before they serve it."""
    key = session_key(loader, captured, loader.prefetch_factor * loader.num_workers)
    session = state.open_session(captured, key)
    try:
        await_served(session, loader.timeout)
    except KeepsState as error:
        session.close()
        reason = f"its code {error}"
        if BY_ITS_PAST in reason:
            rng = captured.plan.rng
            return python_capture(loader, "", rng, captured.by_pil, _OWN_STATE_REMEDY, reason)
        return Captured("local", captured.name, reasons=[reason], remedy=_OWN_STATE_REMEDY)
    state.give_session(key, session)
    return captured


def _explain(loader: Any, state: LoaderState, captured: Captured) -> None:
    """One line on stderr for each new reason."""
    for reason in captured.reasons:
        if captured.path == "python":
            say(state.report, captured.name, f"runs as Python on the workers: {reason}")
        elif loader.num_workers == 0:
            say(state.report, captured.name, f"stays in the trainer: {reason}")
        else:
            say(state.report, captured.name, f"keeps its own workers: {reason}")
    if captured.plan is not None and captured.plan.rng == "sample" and loader.num_workers == 0:
        say(
            state.report,
            captured.name,
            "num_workers=0: each sample has a random seed of its own (rng=sample)",
        )


def note(loader: Any, text: str) -> None:
    """A line about the loader on stderr, once."""
    say(state_of(loader).report, describe(loader.dataset), text)
