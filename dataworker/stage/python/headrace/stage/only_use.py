"""Whether a function that reads a picture does nothing with it but hand it to a transform.

A value that the program's code can hold must be what the library makes: code may branch on its type.
So what stands for a picture that nobody has decoded is given out only where no code can look at it. This
is shown from the instructions of the function that called the reader. On every way from there the picture
lies in local variables until it is the one argument of a transform that takes it undecoded
(transforms.py). Nobody loads it for anything else, and no code runs in between that could put
something else in the transform's place. After that nobody uses it: a transform may write into the tensor
that it is given, and a second one, or a return of it, would show that.

What was shown is kept with the looks that it rests on: which object a name leads to, of which type it is.
They are made again at each call. A function with other instructions than those here, with `try` or `with`,
or of another Python than this was written for, gets plain tensors.

Code that reads other functions' local variables can see what stands there, as it can see that functions of
ours are called. A function that reads its own (frame_readers.py) gets plain tensors. While a trace or a
profile function is set, nothing is shown.
"""

import bisect
import dis
import functools
import inspect
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from .frame_readers import may_read_frames
from .function_state import NotShown, State
from .instruction_steps import ANY_CODE, STEPS
from .known_values import PICTURE, Known, Scope, Unknown
from .value_meaning import Meaning

_WRITTEN_FOR = (3, 11)
_MOST_STEPS = 2_000  # of one look at a function
_MOST_CASES = 16  # of objects that names lead to, at one place
_MOST_PLACES = 256
# Functions with local variables of their own, and none that wait in the middle.
_OF_FUNCTIONS = inspect.CO_OPTIMIZED | inspect.CO_NEWLOCALS
_FLAGS = _OF_FUNCTIONS | inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_FLAGS |= inspect.CO_ITERABLE_COROUTINE
_PLAIN_JUMPS = frozenset(("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"))
_NOTHING = frozenset(("RESUME", "NOP", "PRECALL", "EXTENDED_ARG", "COPY_FREE_VARS"))


@functools.lru_cache(maxsize=256)
def _instructions(code: types.CodeType) -> tuple[dis.Instruction, ...]:
    return tuple(dis.get_instructions(code))


class _Look:
    """One look at a function, from the names as they are now."""

    def __init__(self, code: types.CodeType, at: int, meaning: Meaning) -> None:
        self._code, self._meaning = code, meaning
        self._all = _instructions(code)
        offsets = [instruction.offset for instruction in self._all]
        self._at = bisect.bisect_right(offsets, at) - 1
        self._index = {offset: index for index, offset in enumerate(offsets)}
        self._steps = 0

    def show(self) -> None:
        """Raises NotShown."""
        code = self._code
        if code.co_flags & _FLAGS != _OF_FUNCTIONS:
            raise NotShown
        if code.co_exceptiontable or code.co_cellvars:
            raise NotShown
        stored = {i.argval for i in self._all if i.opname in ("STORE_FAST", "DELETE_FAST")}
        count = self._code.co_argcount + self._code.co_kwonlyargcount
        names = {
            name: Known((("local", name),), True)
            for name in self._code.co_varnames[:count]
            if name not in stored
        }
        before = self._walk(0, State([], names, False)).get((self._at, False))
        if before is None:
            raise NotShown
        call = self._all[self._at]
        after = before.copy()
        if call.opname != "CALL" or not self._meaning.reads(after, call.arg or 0):
            raise NotShown
        after.has_keywords = False
        after.stack.append(PICTURE)
        self._meaning.read = True
        self._walk(self._at + 1, after)

    def _walk(self, start: int, state: State) -> dict[tuple[int, bool], State]:
        """The states before all instructions that may run from there, apart for those after another
        picture was read in a loop. That one is anything else: it is shown by itself when it is read."""
        states = {(start, False): state}
        waiting = [(start, False)]
        while waiting:
            self._steps += 1
            if self._steps > _MOST_STEPS:
                raise NotShown
            index, again = waiting.pop()
            for following, after in self._step(index, states[index, again].copy()):
                if self._meaning.read and not after.has_picture():
                    continue  # whatever is done after it is gone
                place = following, again or (self._meaning.read and index == self._at)
                known = states.get(place)
                joined = after if known is None else known.joined(after)
                if joined is not None:
                    states[place] = joined
                    waiting.append(place)
        return states

    def _step(self, index: int, state: State) -> Iterator[tuple[int, State]]:
        instruction = self._all[index]
        name = instruction.opname
        if name in ("RETURN_VALUE", "RAISE_VARARGS"):
            self._meaning.unseen(state.pop(1 if name == "RETURN_VALUE" else instruction.arg or 0))
            return
        if "JUMP" in name or name == "FOR_ITER":
            yield from self._jump(index, instruction, state)
            return
        step = STEPS.get(name)
        if step is not None:
            step(self._meaning, state, instruction)
        elif name in ANY_CODE:
            takes, leaves = ANY_CODE[name]
            self._meaning.any_code(state, state.pop(takes), leaves)
        elif name not in _NOTHING:
            raise NotShown
        yield index + 1, state

    def _jump(
        self, index: int, instruction: dis.Instruction, state: State
    ) -> Iterator[tuple[int, State]]:
        name, target = instruction.opname, self._index[instruction.argval]
        if name in _PLAIN_JUMPS:
            yield target, state
            return
        if name == "FOR_ITER":
            over = state.copy()
            self._meaning.any_code(over, over.pop(), 0)
            yield target, over
            self._meaning.any_code(state, [], 1)
            yield index + 1, state
            return
        (value,) = state.pop()
        self._meaning.unseen([value])
        of_none, wanted = name.endswith("NONE"), "NOT_NONE" in name or "IF_TRUE" in name
        jumped = state.copy()
        if "OR_POP" in name:
            jumped.stack.append(value)
        decided = self._meaning.decided(value, of_none)
        if decided is None and not of_none and not self._meaning.is_safe(value):
            self._meaning.any_code(state, [], 0)  # __bool__
            self._meaning.any_code(jumped, [], 0)
        holds = decided if decided is None or not of_none else not decided
        if holds is not (not wanted):
            yield target, jumped
        if holds is not wanted:
            yield index + 1, state


class OnlyUse:
    """What was shown in this process. Not thread-safe in what it keeps, which may be made twice."""

    def __init__(self, takes: Callable[[Any], bool]) -> None:
        """`takes`: whether a call of this object with what stands for a picture takes it."""
        self._takes = takes
        # By code and place: the looks that the answer rests on, and who takes it; None: not shown.
        self._cases: dict[tuple[types.CodeType, int], list[tuple[Any, list[Known] | None]]] = {}

    def shown(self, caller: types.FrameType | None, reader: Any) -> bool:
        """`caller`: a frame that has called `reader`, a function of Python, for a picture."""
        if caller is None or sys.version_info[:2] != _WRITTEN_FOR:
            return False
        if sys.gettrace() is not None or sys.getprofile() is not None:
            return False
        if may_read_frames(caller):
            return False
        place = caller.f_code, caller.f_lasti
        if place not in self._cases and len(self._cases) == _MOST_PLACES:
            return False
        cases = self._cases.setdefault(place, [])
        scope = Scope(caller)
        try:
            for looks, known in cases:
                if scope.same(looks):
                    return known is not None and all(
                        self._takes(scope.value(taker)) for taker in known
                    )
            if len(cases) == _MOST_CASES:
                return False
            meaning = Meaning(scope, reader, self._takes)
            takers: list[Known] | None = meaning.takers
            try:
                _Look(*place, meaning).show()
            except (NotShown, IndexError):
                takers = None
            cases.append((scope.looks(), takers))
            return takers is not None
        except Unknown:
            return False
        finally:
            scope.leave()
