"""Functions that Headrace has found by itself to be worth keeping results of, in a lane.

What is found is served as what is declared (cached_calls.py), but for three things: nobody has said that it may be;
nothing is told of it unless a difference is seen; and most candidates are given up soon, and then cost nothing.

  - A *trial* of a few calls says how long it takes and whether it draws. What takes little, or draws, has its own code
    back at once.
  - A call is named by all that it depends on, each part of which must be known (proven_content.py). Names are
    remembered: what does not come again in later iterations is given up. What comes again is kept at a price, what
    nobody knows of at a smaller one.
  - What is kept was made under watch, functions within it included (call_trace.py, witness.py).

Why so: docs/adr/0093-found-functions.md.
"""

import os
import sys
import threading
import time
import types
from contextlib import ExitStack, suppress
from typing import Any, ClassVar

from .. import declared
from . import call_board, found_rules, leaves
from .cached_calls import (
    CachedCall,
    NeverCall,
    begin,
    evidence,
    found_entry,
    is_lanes_thread,
    key_of,
    meet,
    memo,
    owns,
)
from .call_board import AGAIN, EVIDENCE_NS, HITS, KEPT, NAMED, NAMES_NS, SAVED_NS, TRIAL_NS, TRIALS
from .call_trace import CallTrace
from .content import Content
from .content_values import ORIGINAL, TooMuch
from .fixed_part import part_of
from .found_rules import Gain, Parts, Trial, Watched, is_by_key
from .found_search import find
from .kept_entry import Entry
from .kept_results import NotPacked, Packed, copying, settle
from .proven_content import FoundContent, ProvenContent
from .served_code import as_it_is, code_to_serve, put
from .witness import Witness, differ, generators

_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cached_calls.py")


class FoundCall(CachedCall):
    """Serves the calls of one function in a lane."""

    _kind: ClassVar[type[Content]] = FoundContent

    def __init__(
        self, function: types.FunctionType, found: call_board.Found, board: call_board.Board
    ) -> None:
        super().__init__(function, found.number, board)
        self._known = list(found.known)
        self._iteration = -1
        self._trial = Trial()
        tried = board.count(self._number, TRIALS)
        if tried:
            self._trial.know(board.count(self._number, TRIAL_NS) / tried * 1e-9)
        self._watched, self._gain, self._parts = Watched(), Gain(), Parts()
        self._comes_again = False
        self._changes_seen = 0
        # By what it is remembered if the call at hand changes something: a lane's first one may fill what is empty then.
        self._marks: tuple[int, ...] = ()
        self._within = False
        self._kept_in = 0.0  # seconds that it took to keep the latest result

    def __call__(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        as_it_is(self.of(), self.raw)
        if getattr(evidence, "on", False):
            return self.raw(*args, **named)
        kept = leaves.active()
        if self._board.is_over(self._number):
            self._give_back()
            return self.raw(*args, **named)
        if kept is None or not is_lanes_thread() or sys.getprofile() is not None:
            return self.raw(*args, **named)
        if kept.is_idle:
            kept.missed()  # who looks is given room
            return self.raw(*args, **named)
        if self._within:
            self._give_up(
                "it calls itself"
            )  # our frames among its own would meet Python's limit sooner
            return self.raw(*args, **named)
        self._within = True
        try:
            return self._served(kept, args, named)
        finally:
            self._within = False

    def _served(self, kept: leaves.Leaves, args: Any, named: Any) -> Any:
        if not self._trial.is_over:
            return self._tried(args, named)
        if kept.iteration != self._iteration:
            self._begin(kept)
        if not self._watched.looks(self._trial.seconds, kept.is_first):
            return self._alone(args, named)
        return self._looked_for(kept, args, named)

    def _alone(self, args: Any, named: Any) -> Any:
        """As it is. While it may be kept, no function within it is: one of both is enough."""
        if self._board.is_over(self._number):
            return self.raw(*args, **named)
        evidence.on = True
        try:
            return self.raw(*args, **named)
        finally:
            evidence.on = False

    def _looked_for(self, kept: leaves.Leaves, args: Any, named: Any) -> Any:
        began = time.thread_time()
        content = self._content(args, named)
        if content is None:
            return self.raw(*args, **named)
        entry = found_entry(kept, content)
        looked = time.thread_time() - began
        self._watched.looked(looked)
        if self._watched.is_dear(self._trial.seconds):
            self._give_up("to name its calls takes as long as to make them")
            return self.raw(*args, **named)
        if entry is not None:
            self._comes_again = True
            return self._found(entry, content, began, args, named)
        self._counts(NAMES_NS, looked)
        assert isinstance(content, ProvenContent)
        name = content.number
        again = self._board.meets(self._number, name)
        self._comes_again = self._comes_again or again or self._came_again()
        self._marks = (name,) if self._marks else (name, content.shared)
        if any(self._board.is_known_to_change(self._number, mark) for mark in self._marks):
            self._changes_something()
            return self._alone(args, named)
        likely = self._comes_again or (self._presumes and is_by_key(self.raw, args, named))
        if not kept.may_keep or not self._watched.watches(
            self._trial.seconds, likely and not kept.is_first
        ):
            return self._alone(args, named)
        if threading.active_count() > 1:  # what others do would be taken for its doing
            return self.raw(*args, **named)
        return self._watch(kept, content, args, named)

    def _tried(self, args: Any, named: Any) -> Any:
        looked = time.thread_time()
        before = generators() if self._trial.is_long else None
        began = time.thread_time()
        try:
            return self.raw(*args, **named)
        finally:
            ended = time.thread_time()
            self._trial.note(ended - began)
            if before is not None and differ(before, generators()):
                self._give_up("it draws random numbers")
            elif self._trial.is_over:
                seconds = self._trial.seconds
                self._board.add(self._number, TRIALS, 1)
                self._board.add(self._number, TRIAL_NS, int(seconds * 1e9))
                if why := found_rules.is_too_short(seconds):
                    self._give_up(why)
            self._counts(EVIDENCE_NS, began - looked + time.thread_time() - ended)

    def _begin(self, kept: leaves.Leaves) -> None:
        """An iteration."""
        self._iteration = kept.iteration
        count = self._board.count
        self._comes_again = self._came_again()
        self._watched.is_proven = count(self._number, SAVED_NS) > 0
        if self._iteration > 0:
            self._known.append(count(self._number, NAMED))
        self._presumes = found_rules.is_presumed(self._known)
        if not self._comes_again and found_rules.is_late(self._known):
            self._give_up("it is not called again with the same")

    def _came_again(self) -> bool:
        """Whether a call did, in any lane."""
        count = self._board.count
        return count(self._number, AGAIN) + count(self._number, HITS) > 0

    def _changes_something(self) -> None:
        """A cache of the program's that is filled in is another name, until it is full."""
        self._changes_seen += 1
        if self._changes_seen >= found_rules.MOST_CHANGES:
            self._give_up("it changes what it was given, or what its code reads")

    # What is kept.

    def _watch(self, kept: leaves.Leaves, content: ProvenContent, args: Any, named: Any) -> Any:
        """What the function returns or raises; keeps it, if nothing speaks against it."""
        began = time.thread_time()
        seen, trace = Witness(content.paths), CallTrace(content)
        self._kept_in = 0.0
        try:
            return self._make_watched(kept, content, seen, trace, args, named)
        finally:
            spent = time.thread_time() - began - seen.seconds
            self._counts(EVIDENCE_NS, spent + trace.seconds - self._kept_in)
            self._watched.watched(self._watched.looking + spent + trace.seconds)
            if not kept.is_first and self._watched.costs_too_much(self._trial.seconds):
                self._give_up("to watch its calls takes as long as to make them")

    def _make_watched(
        self,
        kept: leaves.Leaves,
        content: ProvenContent,
        seen: Witness,
        trace: CallTrace,
        args: Any,
        named: Any,
    ) -> Any:
        evidence.on = True
        kept.rests = self._gain.is_sure
        traced, parts = self._watched.traces(), kept.parts
        with ExitStack() as after:
            after.callback(setattr, kept, "rests", False)
            after.callback(setattr, evidence, "on", False)
            with seen:
                if traced:
                    with trace:
                        value = self.raw(*args, **named)
                else:
                    value = self.raw(*args, **named)
                settle(value)
        parts = kept.parts - parts
        if seen.loads:
            return value  # the next call says what it does without that
        if why := seen.deed or trace.problem:
            self._give_up(f"it {why}" if why == seen.deed else why)
            return value
        if self._changes(content, args, named):
            # Each lane that begins makes this call again: then it need not be watched.
            for mark in self._marks:
                self._board.changes(self._number, mark)
            self._changes_something()
            return value
        why = seen.spoilt
        if content.maps and not any(seen.files.values()):
            why = f"{content.maps} reads files that are not seen"
        if not why:
            began = time.thread_time()
            try:
                packed = Packed(value, content.atoms)
                if meet(packed.memory, content.memory):
                    raise NotPacked("it is a part of an argument, or of what the code reads")
                if self._pays(min(seen.seconds, self._trial.seconds), parts, packed.copied):
                    self._keep_found(kept, content, seen, packed, traced)
                return value
            except NotPacked as error:
                why = f"its result is not kept: {error}"
            except Exception as error:  # of a result that is unlike all others
                why = f"its result is not kept: {type(error).__name__}: {error}"
            finally:
                self._kept_in = time.thread_time() - began
        self._unfit(why)
        return value

    def _pays(self, seconds: float, parts: float, copied: int) -> bool:
        """Whether a hit, which copies so many bytes, is likely to, beside leaves of these `parts` of the call."""
        if parts == 0:
            return True
        if self._parts.is_poor(seconds, parts, self._watched.looking + copied * copying()):
            self._give_up("to find its results takes as long as to make them again from leaves")
            return False
        return True

    def _keep_found(
        self,
        kept: leaves.Leaves,
        content: ProvenContent,
        seen: Witness,
        packed: Packed,
        traced: bool,
    ) -> None:
        seconds = self._trial.seconds if traced else seen.seconds
        if not kept.keeps(seconds - self._watched.looking, packed.size):
            if not kept.is_first and kept.may_keep:
                self._unfit("to keep its results costs more than to make them")
            return
        if not seen.holds():
            return
        files = [
            (path, None if state is None else tuple(state)) for path, state in seen.files.items()
        ]
        kept.offer(
            key_of(content.digest(), files), 0, seen.began, packed.parts((files, seconds)), seconds
        )
        self._board.add(self._number, KEPT, 1)
        self._watched.was_kept()

    def _again(self, entry: Entry, compared: int, content: Content, args: Any, named: Any) -> Any:
        began = time.thread_time()
        with suppress(Exception):  # of another release's, or a torn one
            entry.value(content.atoms)
        self._gain.found(self._watched.looking + time.thread_time() - began)
        return super()._again(entry, compared, content, args, named)

    def _was_found(self, seconds: float) -> None:
        self._gain.found(seconds)

    def _was_made_again(self, seconds: float) -> None:
        self._gain.made(seconds)
        if self._gain.is_poor:
            self._give_up("to find its results takes as long as to make them again")

    # Why it is not kept.

    def _say(self, why: str) -> None:
        """Nobody has asked for it: nothing is told."""
        self._unfit(why)

    def _refuse(self, why: str) -> None:
        self._give_up(why)

    def _unfit(self, why: str) -> None:
        if self._watched.is_unfit():
            self._give_up(why)

    def _give_up(self, why: str) -> None:
        self._board.give_up(self._number, why)
        self._give_back()

    def _end(self, why: str) -> None:
        super()._end(why)
        self._give_back()

    def _give_back(self) -> None:
        """The function has its own code from now on."""
        function = self.of()
        if function is not None and vars(function).get(ORIGINAL) is False:
            function.__code__ = self.raw.__code__
            del function.__wrapped__
            delattr(function, ORIGINAL)


def prepare(dataset: Any) -> None:
    """In a process that forks lanes, once an iteration. Runs no code of the program's."""
    board, folder, large = call_board.prepare(), os.getcwd(), False
    if not found_rules.searches(call_board.begun(id(dataset))):
        call_board.begin_again(id(dataset), lambda number: board.count(number, NAMED))
        return
    for candidate in find([dataset]):
        found = call_board.found_of(candidate.function)
        if found is None:
            continue
        found.begin(id(dataset), board.count(found.number, NAMED))
        if candidate.why_not:
            board.give_up(found.number, candidate.why_not)
        elif not board.is_over(found.number):  # its forks find what was looked at
            code_to_serve(candidate.function.__code__.co_freevars, _FILE)
            owner = dataset if owns(type(dataset), candidate.function) else None
            tried = board.count(found.number, TRIALS) > 0
            if large and owner is not None and not tried:
                continue
            most = None if tried else found_rules.MOST_UNTRIED
            try:
                part_of(FoundContent, memo, candidate.function, owner, folder, True, most)
            except TooMuch:
                large = large or owner is not None
            except Exception:  # as the calls will tell
                pass


def may_give(dataset: Any, lanes: int, at_once: bool) -> bool:
    """Whether so many lanes that are forked now may find enough results of what the data set's code calls. `at_once`: also
    of functions of which nobody has kept any, as other programs may have."""
    board, kept = call_board.prepare(), 0.0
    for found in call_board.found.values():
        if board.is_over(found.number) or not found.is_reached_by(id(dataset)):
            continue
        if at_once and found.function is not None:
            return True
        tried = max(board.count(found.number, TRIALS), 1)
        kept += board.count(found.number, KEPT) * board.count(found.number, TRIAL_NS) / tried * 1e-9
    return found_rules.pays_to_begin_again(kept, lanes)


def enable(lane: int) -> None:
    """Once in a lane that is a fork of a process that has prepared, before its first sample, and after the functions
    that are declared."""
    if not call_board.found:
        return
    board = begin(lane)
    for function in declared.never_cached_functions():
        if ORIGINAL not in vars(function):
            put(function, NeverCall(function))
    for found in call_board.found.values():
        function_or_none = found.function
        if function_or_none is None or board.is_over(found.number):
            continue
        if not {declared.CACHED, declared.NEVER, ORIGINAL} & vars(function_or_none).keys():
            with suppress(Exception):  # of a function that is unlike all others
                put(function_or_none, FoundCall(function_or_none, found, board), _FILE)
