"""Names of several shards in one text: {00..99}, {a,b}, and * as a shell has them."""

import re

_BRACES = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"(\d+)\.\.(\d+)")
_MOST = 10_000_000


def expand(text: str) -> list[str]:
    """The names that braces stand for, in their order. Raises ValueError."""
    names = [""]
    at = 0
    for braces in _BRACES.finditer(text):
        choices = _choices(braces.group(1))
        before = text[at : braces.start()]
        if len(names) * len(choices) > _MOST:
            raise ValueError(f"{text} stands for more than {_MOST} names")
        names = [name + before + choice for name in names for choice in choices]
        at = braces.end()
    if "{" in text[at:] or "}" in text[at:]:
        raise ValueError(f"{text} has a brace without its other one")
    return [name + text[at:] for name in names]


def _choices(inside: str) -> list[str]:
    """ "00..12": from 00 to 12, with zeros in front as the first one has them."""
    span = _RANGE.fullmatch(inside)
    if span is None:
        return inside.split(",")
    first, last = span.groups()
    if int(last) < int(first) or int(last) - int(first) >= _MOST:
        raise ValueError(f"{{{inside}}} is no range that goes up")
    width = len(first) if first.startswith("0") else 0
    return [f"{number:0{width}d}" for number in range(int(first), int(last) + 1)]


def is_pattern(text: str) -> bool:
    return any(sign in text for sign in "*?[")


def plain_start(text: str) -> str:
    """What comes before the first sign of a pattern."""
    return next((text[:i] for i, sign in enumerate(text) if is_pattern(sign)), text)


def folder_of(names: list[str]) -> str:
    """The folder that all of them lie in, with a "/" at its end."""
    first, last = min(names), max(names)
    length = next((i for i in range(len(first)) if first[i] != last[i : i + 1]), len(first))
    return first[: first.rfind("/", 0, length) + 1]
