"""Whether a program goes on to iterate once more: where its iter() stands in a loop, another iteration is likely.

This decides what something may cost, never what a batch is. A program may leave its loop at once.
"""

import dis
from types import CodeType, FrameType

# Before 3.11 a jump back is any jump to a place by its number. The one without interrupts is of `await` alone.
_BACK = frozenset(dis.hasjabs) | {
    code
    for name, code in dis.opmap.items()
    if "JUMP" in name and "BACKWARD" in name and not name.endswith("NO_INTERRUPT")
}
_FOR = dis.opmap["FOR_ITER"]
# Between iter() and the program.
_NOT_THE_PROGRAM = "headrace", "torch.utils.data", "torchdata"


def surround(frame: FrameType | None) -> bool:
    """Whether this frame, or one that has called it, is in a loop of the program's. Frames below the program's main
    module are not looked at: they are of what runs it."""
    while frame is not None:
        name = frame.f_globals.get("__name__")
        name = name if type(name) is str else ""  # a program may put anything there
        if not _is_of(name, _NOT_THE_PROGRAM) and _is_in_a_loop(frame.f_code, frame.f_lasti):
            return True
        if name == "__main__" and frame.f_code.co_name == "<module>":
            return False
        frame = frame.f_back
    return False


def _is_of(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == one or module.startswith(one + ".") for one in packages)


def _is_in_a_loop(code: CodeType, at: int) -> bool:
    """`at`: the place of the instruction that runs."""
    instructions = code.co_code
    if at < 0 or _BACK.isdisjoint(instructions[at::2]):
        return False
    # The loop that asks an iterator for its next item, such as tqdm's generator, may be the iteration itself.
    own = -1
    if instructions[at] == _FOR:
        own = at  # a jump back goes to the first instruction that lengthens its argument
        while own >= 2 and instructions[own - 2] == dis.EXTENDED_ARG:
            own -= 2
    return any(
        found.opcode in _BACK and found.argval <= at <= found.offset and found.argval != own
        for found in dis.get_instructions(code)
    )
