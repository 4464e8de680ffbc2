"""The bytes of a bundle (stage/host.py), or the one thing that can't be in it.

The first entry of a bundle makes the process that unpickles it as the trainer's is, the last one
again, with what is known when all else is pickled.
"""

import contextlib
import io
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import cloudpickle

from ..native.plan import Local
from ..process.modules import made_modules, own_modules, tail
from ..stage import process_state
from ..stage.settings import BY_PACKAGE, FILTERS, LEVELS
from . import text_hashes
from .blame import blame
from .foreign import attributes, check
from .pickler import Late, Pickler, names_in_code
from .process_state import collect, hash_seed

_REMEDY = "make it where it is first used, in __getitem__: each process then has its own"
# Names by which code may read globals that it does not name.
_BY_ANY_NAME = frozenset(
    ("__dict__", "eval", "exec", "getattr", "globals", "import_module", "vars")
)


def dump(parts: dict[str, Any]) -> bytes:
    """The bundle of these entries. Raises Local with what keeps the pipeline in the trainer. Equal for
    the same objects in the same process, as long as nobody changes them."""
    state = collect()
    with _by_value() as own:
        try:
            return _dump(parts, state, Pickler(io.BytesIO(), own))
        except Local:
            raise
        except Exception as error:  # user code's, from __reduce__ or __getstate__, means the same
            problem = error
        # Own modules travel whole. Once more, without what in them does not pickle and nobody reads.
        left = _Unpicklable(own)
        try:
            return _dump(parts, state, Pickler(io.BytesIO(), own, left.names))
        except Local:
            raise
        except Exception:
            raise Local(blame(parts, problem, own), _REMEDY) from None


def _dump(parts: dict[str, Any], state: process_state.State, pickler: Pickler) -> bytes:
    first = {name: value for name, value in state.items() if name not in BY_PACKAGE}

    def last(_: Pickler) -> tuple[Any, ...]:
        whole = {**first, **_of_packages(state, pickler)}
        return process_state.apply_last, whole, attributes(pickler), _hashes(pickler, parts)

    pickler.dump(
        {
            "process": Late(lambda _: (process_state.apply, first)),
            **parts,
            "process_at_end": Late(last),
        }
    )
    _check_left(pickler)
    _check_made(pickler)
    check(pickler)
    file = pickler.file
    named = pickler.named.difference(["__main__"], pickler.own)
    file.write(tail(name for name in list(sys.modules) if name in named))
    content: bytes = file.getvalue()
    return content


def _of_packages(state: process_state.State, pickler: Pickler) -> process_state.State:
    """The settings BY_PACKAGE, of packages that the pipeline refers to and of no package at all: others
    are imported by and by, and the same pipeline would give other bytes."""
    packages = {name.partition(".")[0] for name in pickler.named}
    others = {name.partition(".")[0] for name in list(sys.modules)} - packages - {"builtins"}
    disable, loggers = state[LEVELS]
    return {
        LEVELS: (disable, [one for one in loggers if one[0].partition(".")[0] not in others]),
        FILTERS: [
            one
            for one in state[FILTERS]
            if isinstance(one[2], type) or one[2][0].partition(".")[0] not in others
        ],
    }


def _hashes(pickler: Pickler, parts: dict[str, Any]) -> process_state.Hashes | None:
    """What a worker's hashes must be like; None: no code could tell. Raises Local if they can't be."""
    functions = list(pickler.functions.values())
    why = text_hashes.reason(functions, list(parts.values()))
    if not why:
        return None
    if hash_seed() is None:
        raise Local(
            f"{why}, and hashes of text are this process's own",
            "PYTHONHASHSEED=0, or any other number, for the program: workers then have the same",
        )
    return why, hash(process_state.SOME_TEXT)


@contextlib.contextmanager
def _by_value() -> Iterator[dict[str, ModuleType]]:
    """The modules that travel by value, by name: the program's own, and those that it has made."""
    own = {module.__name__: module for module in (*own_modules(), *made_modules())}
    for module in own.values():
        cloudpickle.register_pickle_by_value(module)
    try:
        yield own
    finally:
        for module in own.values():
            cloudpickle.unregister_pickle_by_value(module)


class _Unpicklable:
    """Names in own modules whose values do not pickle."""

    def __init__(self, own: dict[str, ModuleType]) -> None:
        self._own = own
        self._names: dict[str, set[str]] = {}

    def names(self, module: ModuleType) -> set[str]:
        name = module.__name__
        if name not in self._names:
            self._names[name] = set()  # where one of its values leads back to it
            self._names[name] = {
                key
                for key, value in vars(module).items()
                if key != "__builtins__" and not self._pickles(value)
            }
        return self._names[name]

    def _pickles(self, value: Any) -> bool:
        try:
            Pickler(io.BytesIO(), self._own, self.names).dump(value)
        except Exception:  # as in dump()
            return False
        return True


def _check_left(pickler: Pickler) -> None:
    """Raises Local if code that travels may read what was left out."""
    if not pickler.left:
        return
    names = _names(pickler)
    for module, name in pickler.left:
        if name not in names and not names & _BY_ANY_NAME:
            continue
        value = vars(module)[name]
        raise Local(blame({f"{module.__name__}.{name}": value}, None, pickler.own), _REMEDY)


def _check_made(pickler: Pickler) -> None:
    names = _names(pickler)
    for name, module in pickler.own.items():
        if name in names and module.__spec__ is None and _imports(pickler, name):
            raise Local(
                f"the code imports {name}, a module that the program has made while it ran",
                "import it at the top of the module that uses it",
            )


def _names(pickler: Pickler) -> set[str]:
    return set().union(*(names_in_code(f.__code__) for f in pickler.functions.values()))


def _imports(pickler: Pickler, name: str) -> bool:
    return any(name in text_hashes.imports(f) for f in pickler.functions.values())
