"""Which attribute does not pickle, as people would point to it in their program."""

import io
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

from ..native.collate import name_of
from ..process.modules import namespace
from .handles import Refused
from .pickler import Pickler, names_in_code, refusal

_DEEPEST = 12
_WIDEST = 100


def blame(parts: dict[str, Any], error: Exception | None, own: dict[str, ModuleType]) -> str:
    """The deepest thing that does not pickle by itself: an attribute of one of the parts, or the
    global name of a module that their code reads. `own`: as Pickler's."""
    for name, part in parts.items():
        problem = _problem(part, own)
        if problem is None:
            continue
        path, value = name, part
        for _ in range(_DEEPEST):
            if refusal(value) is not None:
                break
            step = next(
                (
                    (n, v, p)
                    for n, v in _children(path, value, own)
                    if (p := _problem(v, own)) is not None
                ),
                None,
            )
            if step is None:
                break
            path, value, problem = step
        if isinstance(problem, Refused):
            return f"{path} {problem}"
        kind = value if callable(value) else type(value)
        return f"{path} ({name_of(kind)}) does not pickle: {problem}"
    return f"the pipeline does not pickle: {error}"


def _problem(value: Any, own: dict[str, ModuleType]) -> Exception | None:
    try:
        Pickler(io.BytesIO(), own).dump(value)
    except Exception as error:  # whatever user code raises from __reduce__ or __getstate__
        return error
    return None


def _children(path: str, value: Any, own: dict[str, ModuleType]) -> Iterator[tuple[str, Any]]:
    """What a value's pickle holds, with its path."""
    if isinstance(value, dict):
        yield from ((f"{path}[{key!r}]", item) for key, item in value.items())
    elif isinstance(value, list | tuple):
        yield from ((f"{path}[{i}]", item) for i, item in enumerate(value[:_WIDEST]))
    elif isinstance(value, ModuleType):
        for name, item in namespace(value).items():
            if not name.startswith("__"):
                yield f"{value.__name__}.{name}", item
    elif isinstance(value, FunctionType):
        for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True):
            yield f"{path}.<{name}>", cell.cell_contents
        for name in sorted(names_in_code(value.__code__) & value.__globals__.keys()):
            item = value.__globals__[name]
            named = isinstance(item, ModuleType | FunctionType | type)
            yield name_of(item) if named else f"{value.__module__}.{name}", item
    else:
        for name, item in getattr(value, "__dict__", {}).items():
            inner = getattr(item, "__func__", item) if isinstance(value, type) else item
            yield f"{path}.{name}", inner
        if not isinstance(value, type) and _travels(type(value), own):
            yield path, type(value)


def _travels(cls: type, own: dict[str, ModuleType]) -> bool:
    return cls.__module__ == "__main__" or cls.__module__ in own
