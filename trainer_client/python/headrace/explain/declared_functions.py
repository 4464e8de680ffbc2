"""What `headrace explain` says of the functions that the program declares with headrace.cached."""

import types
from typing import Any

from .. import declared
from ..stage import call_board
from ..stage.cached_calls import owns
from ..stage.code_reads import LATER, returns_later
from ..stage.content import Content
from ..stage.content_values import NotHashed, NotYet


def told(datasets: list[Any]) -> list[dict[str, Any]]:
    """As the report of a run has it, with what can be said before one. `datasets`: of the loaders, whose
    attributes methods read. Runs no code of the program's."""
    return [
        {**about, "why_not": about["why_not"] or _problem(function, datasets)}
        for function, about in zip(
            declared.cached_functions(), call_board.told_of_declared(), strict=True
        )
    ]  # fmt: skip


def _problem(function: types.FunctionType, datasets: list[Any]) -> str:
    """Why no call of it can be kept; empty: none is known."""
    if returns_later(function.__code__):
        return LATER
    try:
        owners = [one for one in datasets if owns(type(one), function)]
        content = Content()
        content.reads(function, owners[0] if owners else None)
    except NotYet:
        return ""
    except NotHashed as problem:
        return str(problem)
    except Exception as problem:  # of an object that is unlike all others
        return f"{type(problem).__name__}: {problem}"
    return ""


def render(functions: list[dict[str, Any]]) -> str:
    if not functions:
        return ""
    lines = ["", "Functions that the program declares with headrace.cached:"]
    for one in functions:
        lines.append(f"  {one['name']} ({one['file']}:{one['line']})")
        if one["why_not"]:
            lines.append(f"      not cached: {one['why_not']}")
        else:
            lines.append("      cached where workers have a cache (--cache), if that pays")
    lines.append("  Hits and seconds saved are in the report of a run (headrace run --report).")
    return "\n".join(lines) + "\n"
