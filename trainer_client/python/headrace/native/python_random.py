"""Whether Python's random is as Python made it, so that native draws may stand for it."""

import math
import random
from types import FunctionType

from .genuine import is_genuine

# What the functions of random.Random call of each other.
_INNER = ("randrange", "_randbelow", "_randbelow_with_getrandbits")
_OF_C = ("random", "getrandbits")


def own_functions(of: str) -> str | None:
    """Names those that a call of this one runs, where they are Python's own; None: they are not."""
    own = vars(random).get("_inst")
    if type(own) is not random.Random or set(vars(own)) - {"gauss_next"}:
        return None
    held = vars(random.Random)
    if any(called in held for called in _OF_C) or any(
        type(getattr(random.Random, called)).__name__ != "method_descriptor" for called in _OF_C
    ):
        return None
    if held.get("_randbelow") is not held.get("_randbelow_with_getrandbits"):
        return None
    if of == "gauss" and not _computes_as_ever():
        return None
    functions = [held.get(called) for called in (of, *_INNER) if called not in _OF_C]
    genuine = all(type(one) is FunctionType and is_genuine(one, "random") for one in functions)
    return of if genuine and vars(random).get(of) == getattr(own, of) else None


def _computes_as_ever() -> bool:
    """What gauss computes with, by the names that its module has for it."""
    space = vars(random)
    functions = {f"_{of}": vars(math)[of] for of in ("cos", "log", "sin", "sqrt")}
    return all(space.get(own) is of for own, of in functions.items()) and (
        space.get("TWOPI") == 2.0 * math.pi
    )
