"""Whether a program goes on to iterate once more: where its iter() stands in a loop, another iteration is likely.

This decides what something may cost, never what a batch is. A program may leave its loop at once. Nothing of the
program's runs here: instructions are read, its constants are not.
"""

import dis
from types import CodeType, FrameType

# Between iter() and the program, or what runs its parts.
_NOT_THE_PROGRAM = (
    "headrace", "torch.utils.data", "torchdata",
    "asyncio", "concurrent", "contextlib", "multiprocessing", "selectors", "threading",
)  # fmt: skip
_A_PROCESS_BEGINS = "multiprocessing.process"  # a fork has the frames of its parent's below that
# What is longer or deeper counts as no loop: to find out would take more than the answer is worth.
_MOST_BYTES, _MOST_FRAMES = 32_000, 100

_CACHE = 0  # room for the interpreter after an instruction, since 3.11
_FOR, _SEND = dis.opmap["FOR_ITER"], dis.opmap.get("SEND", -1)
_ABSOLUTE, _RELATIVE = frozenset(dis.hasjabs), frozenset(dis.hasjrel)
_BACK = frozenset(code for name, code in dis.opmap.items() if "BACKWARD" in name)
# After these, what stands next does not run.
_ENDS = frozenset(
    dis.opmap[name]
    for name in ("JUMP_FORWARD", "JUMP_ABSOLUTE", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT")
    + ("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE")
    if name in dis.opmap
)


def surround(frame: FrameType | None) -> bool:
    """Whether this frame, or one that has called it, is in a loop of the program's. Frames below the program's main
    module are not looked at: they are of what runs it."""
    known: dict[tuple[CodeType, int], bool] = {}
    for _ in range(_MOST_FRAMES):
        if frame is None:
            return False
        name = dict.get(frame.f_globals, "__name__")
        name = name if type(name) is str else ""  # a program may put anything there
        if name == _A_PROCESS_BEGINS:
            return False
        if not _is_of(name, _NOT_THE_PROGRAM):
            place = frame.f_code, frame.f_lasti
            if place not in known:
                known[place] = _is_in_a_loop(*place)
            if known[place]:
                return True
        if name == "__main__" and frame.f_code.co_name == "<module>":
            return False
        frame = frame.f_back
    return False


def _is_of(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == one or module.startswith(one + ".") for one in packages)


def _is_in_a_loop(code: CodeType, at: int) -> bool:
    """Whether the instruction at this place, which runs, may come again in this call."""
    flow = code.co_code
    if at < 0 or len(flow) > _MOST_BYTES or (_BACK | _ABSOLUTE).isdisjoint(flow[::2]):
        return False
    while at > 0 and flow[at] == _CACHE:  # 3.12 tells the room after a FOR_ITER
        at -= 2
    at = _whole(flow, at)
    handlers = _handlers(code)
    # The loop that asks an iterator for its next item, such as tqdm's generator, may be the iteration itself. What
    # matters is where it goes when that one has ended.
    after = _jump(flow, at) if flow[at] == _FOR else -1
    waiting = [after] if after >= 0 else _next(flow, at, handlers)
    seen: set[int] = set()
    while waiting:
        place = waiting.pop()
        if place == at:
            return True
        if place not in seen:
            seen.add(place)
            waiting.extend(_next(flow, place, handlers))
    return False


def _whole(flow: bytes, at: int) -> int:
    """The place of the instruction that begins here with what lengthens its argument."""
    while at + 2 < len(flow) and flow[at] == dis.EXTENDED_ARG:
        at += 2
    return at


def _argument(flow: bytes, at: int) -> int:
    value, shift = flow[at + 1], 8
    while at >= 2 and flow[at - 2] == dis.EXTENDED_ARG:
        at -= 2
        value |= flow[at + 1] << shift
        shift += 8
    return value


def _following(flow: bytes, at: int) -> int:
    at += 2
    while at < len(flow) and flow[at] == _CACHE:
        at += 2
    return at


def _jump(flow: bytes, at: int) -> int:
    """Where the instruction may go to, beside the next one; -1: nowhere else."""
    operation, argument = flow[at], 2 * _argument(flow, at)
    if operation in _ABSOLUTE:
        target = argument
    elif operation not in _RELATIVE:
        return -1
    elif operation in _BACK:
        target = _following(flow, at) - argument
    else:
        target = _following(flow, at) + argument
    if not 0 <= target < len(flow):
        return -1
    target = _whole(flow, target)
    # `await` and `yield from` ask again: that is no loop of the program's.
    return -1 if operation in _BACK and flow[target] == _SEND else target


def _next(flow: bytes, at: int, handlers: dict[int, int]) -> list[int]:
    found = [_jump(flow, at), handlers.get(at, -1)]
    if flow[at] not in _ENDS:
        found.append(_whole(flow, _following(flow, at)))
    return [one for one in found if 0 <= one < len(flow)]


def _handlers(code: CodeType) -> dict[int, int]:
    """By place, where an exception goes to. Before 3.11 an instruction says it."""
    found: dict[int, int] = {}
    numbers, flow = _numbers(getattr(code, "co_exceptiontable", b"")), code.co_code
    for first, length, target, _ in zip(*[iter(numbers)] * 4, strict=False):
        to = _whole(flow, 2 * target)
        found.update((place, to) for place in range(2 * first, 2 * (first + length), 2))
    return found


def _numbers(table: bytes) -> list[int]:
    """Of six bits a byte, the highest first; all but the last have the seventh. Source: CPython,
    Objects/exception_handling_notes.txt."""
    numbers, value = [], 0
    for byte in table:
        value = value << 6 | byte & 63
        if not byte & 64:
            numbers.append(value)
            value = 0
    return numbers
