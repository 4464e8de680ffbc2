"""match: its patterns ask attributes and items, and bind names."""

import ast
from typing import Any

from . import attributes, contents, expressions, operators
from .frames import Frame, join
from .interpreter import Interpreter
from .proof import Code, Doubt
from .specials import check_instance
from .values import Lasting, Scalar, Value, constant_of, one


def _match(it: Interpreter, frame: Frame, node: ast.Match) -> None:
    subject = expressions.value(it, frame, node.subject)
    before, after = frame.env, None
    for case in node.cases:
        frame.env = dict(before or {})
        _pattern(it, frame, case.pattern, subject)
        before = join(before, frame.env)  # names are bound where a pattern fails half-way too
        if case.guard is not None and True not in expressions.condition(it, frame, case.guard):
            continue
        it.rules.run_block(it, frame, case.body)
        after = join(after, frame.env)
    frame.env = join(after, before)


def _pattern(it: Interpreter, frame: Frame, node: Any, subject: Value) -> None:
    it.step()
    if isinstance(node, ast.MatchValue):
        known = expressions.value(it, frame, node.value)
        operators.compare(it, frame, ast.Eq(), subject, known)
    elif isinstance(node, ast.MatchSequence):
        each = contents.iterate(it, frame, subject, quietly=True)
        for inner in node.patterns:
            _pattern(it, frame, inner, each)
    elif isinstance(node, ast.MatchMapping):
        for key in node.keys:
            expressions.value(it, frame, key)
        each = contents.entries(it, frame, subject)
        for inner in node.patterns:
            _pattern(it, frame, inner, each)
        if node.rest:
            made = it.make(frame, node, dict)
            it.grow(made, each)
            it.grow_keys(made, one(Scalar()))
            frame.bind(node.rest, one(made))
    elif isinstance(node, ast.MatchClass):
        cls = expressions.value(it, frame, node.cls)
        check_instance(it, frame, cls)
        names = [*node.kwd_attrs]
        if node.patterns:
            known = constant_of(attributes.get(it, frame, cls, "__match_args__"))
            builtin = all(type(p) is Lasting and p.objects[0] in _SELF_MATCHED for p in cls)
            if builtin:
                for inner in node.patterns:
                    _pattern(it, frame, inner, subject)
                return
            args = _match_args(cls)
            if args is None and known is None:
                raise Doubt(Code.UNKNOWN_CONSTRUCT, "matches a class by position")
            names = [*(args or ())[: len(node.patterns)], *names]
        for name, inner in zip(names, [*node.patterns, *node.kwd_patterns], strict=False):
            found = attributes.get(it, frame, subject, name, quietly=True)
            _pattern(it, frame, inner, found)
    elif isinstance(node, ast.MatchAs):
        if node.pattern is not None:
            _pattern(it, frame, node.pattern, subject)
        if node.name:
            frame.bind(node.name, subject)
    elif isinstance(node, ast.MatchStar):
        if node.name:
            made = it.make(frame, node, list)
            it.grow(made, subject)
            frame.bind(node.name, one(made))
    elif isinstance(node, ast.MatchOr):
        for inner in node.patterns:
            _pattern(it, frame, inner, subject)
    elif not isinstance(node, ast.MatchSingleton):
        raise Doubt(Code.UNKNOWN_CONSTRUCT, "has a pattern that is not followed")


_SELF_MATCHED = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


def _match_args(cls: Value) -> tuple[str, ...] | None:
    for part in cls:
        if type(part) is Lasting:
            found = getattr(part.objects[0], "__match_args__", None)
            return found if type(found) is tuple else None
    return None
