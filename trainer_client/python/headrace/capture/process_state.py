"""The part of the trainer's process that code on another host must find the same.

What travels is in stage/process_state.py. What cannot, and what code could notice, keeps the code on
the trainer's host: collect() says so. Objects that the program has put into installed modules are not
looked for here, but in foreign.py.
"""

import functools
import os
import sys

from ..native.plan import Local
from ..stage import process_state
from ..stage.process_state import State
from ..stage.settings import OURS, WORKERS_OWN

_DEVICE_REMEDY = "leave the default device at cpu, and move model and batches"
_MODE_REMEDY = "open the mode inside of the loop, not around the loader"


def collect() -> State:
    """The settings of this process as they are now. Raises Local where one can't travel. Changes
    nothing, draws nothing; takes less than a millisecond."""
    _check_interpreter()
    _check_torch()
    state = process_state.read()
    begun_with = _environment_at_start()
    state["environment"] = {
        name: value
        for name, value in state["environment"].items()
        if name not in WORKERS_OWN or begun_with.get(name) != value
    }
    return state


def hash_seed() -> str | None:
    """PYTHONHASHSEED of this process: with it another interpreter gives the same hashes of text. None:
    it was drawn when the process started, and no other interpreter can be given it."""
    if sys.flags.ignore_environment:
        return None
    seed = _environment_at_start().get("PYTHONHASHSEED", "")
    return seed if seed.isdigit() else None


def _check_interpreter() -> None:
    if sys.flags.optimize:
        raise Local(
            f"Python runs with -{'O' * sys.flags.optimize}, and the workers' does not",
            "run the program without it: installed modules then keep their assertions",
        )


def _check_torch() -> None:
    """Asks no open mode anything: it may be the program's own code."""
    import torch
    from torch.utils._device import DeviceContext

    for i in range(torch._C._len_torch_function_stack()):
        mode = torch._C._get_function_stack_at(i)
        if type(mode) is not DeviceContext:
            kind = type(mode).__qualname__
            raise Local(f"a mode of torch's functions is open: {kind}", _MODE_REMEDY)
        if mode.device.type != "cpu":
            raise Local(f"torch's default device is {mode.device}", _DEVICE_REMEDY)
    depth = torch._C._len_torch_dispatch_stack()
    if depth:
        kind = type(torch._C._get_dispatch_stack_at(depth - 1)).__qualname__
        raise Local(f"a mode of torch's operators is open: {kind}", _MODE_REMEDY)


@functools.cache
def _environment_of(pid: int) -> dict[str, str]:
    """What the process `pid`, which is this one, was started with."""
    try:
        with open("/proc/self/environ", "rb") as file:
            entries = file.read().split(b"\0")
    except OSError:
        return {}
    pairs = (os.fsdecode(entry).partition("=") for entry in entries if b"=" in entry)
    return {name: value for name, _, value in pairs if not name.startswith(OURS)}


def _environment_at_start() -> dict[str, str]:
    return _environment_of(os.getpid())
