"""What each statement of Python does. What is not here ends the following."""

import ast
from typing import Any

from ...records import dataclass
from . import chances, sizes
from .arithmetic import combine
from .containers import entries, extend
from .expressions import assign, index, inner, truth, value
from .follower import Follower, Frame
from .values import Held, Special, Stop, name


@dataclass(frozen=True)
class Return:
    value: Any


class _Break:
    pass


class _Continue:
    pass


Left = Return | _Break | _Continue | None  # how a block is left before its end; None: it is not


def is_continue(left: Left) -> bool:
    return isinstance(left, _Continue)


def block(f: Follower, frame: Frame, body: list[ast.stmt]) -> Left:
    for node in body:
        f.spend()
        try:
            left = _statement(f, frame, node)
        except Stop as stop:
            stop.place = stop.place or frame.place(node)
            raise
        if left is not None:
            return left
    return None


def _statement(f: Follower, frame: Frame, node: Any) -> Left:
    match node:
        case ast.Expr():
            value(f, frame, node.value)
        case ast.Assign():
            found = value(f, frame, node.value)
            for target in node.targets:
                assign(f, frame, target, found)
        case ast.AnnAssign(target=ast.Name(), simple=1):
            if node.value is not None:
                assign(f, frame, node.target, value(f, frame, node.value))
        case ast.AugAssign(target=ast.Name()):
            _add(f, frame, node)
        case ast.AugAssign(target=ast.Subscript()):
            _add_to_entry(f, frame, node)
        case ast.Return():
            return Return(None if node.value is None else value(f, frame, node.value))
        case ast.If():
            test = value(f, frame, node.test)
            if (chance := chances.decided(test)) is not None:
                chances.gated(f, frame, node, chance, block)
                return None
            if isinstance(test, sizes.Smaller):
                sizes.followed(f, frame, node, test, block)
                return None
            return block(f, frame, node.body if truth(f, test) else node.orelse)
        case ast.For():
            return _for(f, frame, node)
        case ast.Assert():
            if __debug__ and not truth(f, value(f, frame, node.test)):
                raise Stop("has an assert that does not hold")
        case ast.Break():
            return _Break()
        case ast.Continue():
            return _Continue()
        case ast.Pass():
            pass
        case ast.With() if f.enters:
            return _with(f, frame, node)
        case ast.FunctionDef():
            if node.decorator_list:
                raise Stop("has a decorator")
            frame.names[node.name] = inner(f, frame, node)
        case _:
            raise Stop(f"has {_CALLED.get(type(node), type(node).__name__)}")
    return None


def _add(f: Follower, frame: Frame, node: ast.AugAssign) -> None:
    """A list grows in place, and every name that stands for it with it."""
    assert isinstance(node.target, ast.Name)
    now = value(f, frame, ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
    more = value(f, frame, node.value)
    if type(now) is list and isinstance(node.op, ast.Add):
        f.changes(now)
        extend(f, now, more)
    elif isinstance(now, Special) and now.changes_in_place(f):
        assign(f, frame, node.target, f.combine_in_place(type(node.op), now, more))
    elif type(now) in (list, dict, Held) or isinstance(now, Special) and now.grows():
        raise Stop(f"changes {name(now)} in place")
    else:
        assign(f, frame, node.target, combine(f, type(node.op), now, more))


def _add_to_entry(f: Follower, frame: Frame, node: ast.AugAssign) -> None:
    """owner[key] += more, of what a library's object does so."""
    assert isinstance(node.target, ast.Subscript)
    owner = value(f, frame, node.target.value)
    if not isinstance(owner, Special):
        raise Stop(f"changes an entry of {name(owner)} in place")
    key = index(f, frame, node.target.slice)
    now = owner.entry(f, key)
    made = f.combine_in_place(type(node.op), now, value(f, frame, node.value))
    owner.set_entry(f, key, made)


def _with(f: Follower, frame: Frame, node: ast.With) -> Left:
    entered = []
    for part in node.items:
        manager = value(f, frame, part.context_expr)
        if not isinstance(manager, Special):
            raise Stop("has a with statement")
        found = manager.enter(f)
        entered.append(manager)
        if part.optional_vars is not None:
            assign(f, frame, part.optional_vars, found)
    left = block(f, frame, node.body)
    for manager in entered[::-1]:
        manager.leave(f)
    return left


def _for(f: Follower, frame: Frame, node: ast.For) -> Left:
    over = value(f, frame, node.iter)
    if isinstance(over, Special) and over.loop(f, frame, node):
        return block(f, frame, node.orelse)
    for one in entries(f, over):
        assign(f, frame, node.target, one)
        left = block(f, frame, node.body)
        if isinstance(left, Return):
            return left
        if isinstance(left, _Break):
            return None
    return block(f, frame, node.orelse)


_CALLED: dict[type, str] = {
    ast.AsyncFunctionDef: "an async function",
    ast.ClassDef: "a class of its own",
    ast.Try: "a try statement",
    ast.With: "a with statement",
    ast.While: "a while loop",
    ast.Raise: "a raise",
    ast.Global: "a global statement",
    ast.Nonlocal: "a nonlocal statement",
    ast.Import: "an import",
    ast.ImportFrom: "an import",
    ast.Delete: "a del",
    ast.Match: "a match statement",
    ast.AnnAssign: "an assignment to an attribute",
    ast.AugAssign: "an assignment to an attribute",
}
