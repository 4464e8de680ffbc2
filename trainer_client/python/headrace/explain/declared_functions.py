"""What `headrace explain` says of the functions that the program declares with headrace.cached, and of those that
Headrace would look at by itself."""

import types
from typing import Any

from .. import declared
from ..service import options
from ..stage import call_board, found_search
from ..stage.cached_calls import owns
from ..stage.code_reads import LATER, returns_later
from ..stage.content import Content
from ..stage.content_values import NotHashed, NotYet
from ..stage.proven_content import FoundContent


def told(datasets: list[Any]) -> list[dict[str, Any]]:
    """As the report of a run has it, with what can be said before one. `datasets`: of the loaders, whose
    attributes methods read. Runs no code of the program's."""
    declared_ones = [
        {**about, "why_not": about["why_not"] or _problem(function, datasets)}
        for function, about in zip(
            declared.cached_functions(), call_board.told_of_declared(), strict=True
        )
    ]  # fmt: skip
    return [*declared_ones, *_found(datasets)]


def _found(datasets: list[Any]) -> list[dict[str, Any]]:
    if not options.from_environment().found_functions:
        return []
    found: dict[int, dict[str, Any]] = {}
    for dataset in datasets:
        for one in found_search.find([dataset]):
            why = one.why_not or _problem(one.function, [dataset], FoundContent)
            found[id(one.function)] = {**call_board.told_of(one.function), "why_not": why}
    return list(found.values())


def _problem(
    function: types.FunctionType, datasets: list[Any], kind: type[Content] = Content
) -> str:
    """Why no call of it can be kept; empty: none is known."""
    if returns_later(function.__code__):
        return LATER
    try:
        owners = [one for one in datasets if owns(type(one), function)]
        content = kind()
        content.reads(function, owners[0] if owners else None)
    except NotYet:
        return ""
    except NotHashed as problem:
        return str(problem)
    except Exception as problem:  # of an object that is unlike all others
        return f"{type(problem).__name__}: {problem}"
    return ""


def render(functions: list[dict[str, Any]]) -> str:
    declared_ones = [one for one in functions if not one["found"]]
    found = [one for one in functions if one["found"]]
    lines = _section("Functions that the program declares with headrace.cached:", declared_ones)
    lines += _section("Functions that Headrace has found in its code:", found)
    if lines:
        lines.append(
            "  Hits, seconds saved and seconds of evidence are in the report of a run (headrace run --report)."
        )
    return "\n".join(lines) + "\n" if lines else ""


def _section(title: str, functions: list[dict[str, Any]]) -> list[str]:
    lines = ["", title] if functions else []
    for one in functions:
        lines.append(f"  {one['name']} ({one['file']}:{one['line']})")
        if one["batches_made_again"]:
            lines.append(
                f"      batches made again, since a result was wrong: {one['batches_made_again']}"
            )
        if one["why_not"]:
            lines.append(f"      not cached: {one['why_not']}")
        elif one["found"]:
            lines.append(
                "      may be cached where workers have a cache (--cache), if calls show that it is the same"
            )
            lines.append("      each time, and that it pays")
        else:
            lines.append("      cached where workers have a cache (--cache), if that pays")
    return lines
