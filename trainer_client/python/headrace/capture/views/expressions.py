"""What each expression of Python stands for. What is not here ends the following."""

import __future__

import ast
from collections.abc import Callable, Iterator
from typing import Any

from ..proof.frames import scope_of
from . import arrays, chances, sizes
from .arithmetic import combine
from .attributes import attribute, in_class
from .comparisons import holds
from .containers import check_size, entries, take
from .follower import Follower, Frame
from .values import (
    MISSING,
    Array,
    Held,
    Inner,
    Lazy,
    Special,
    Stop,
    is_constant,
    is_dict,
    is_sequence,
    name,
)

_NOT_EVALUATED = __future__.annotations.compiler_flag  # `from __future__ import annotations`


def value(f: Follower, frame: Frame, node: ast.expr) -> Any:
    """Raises Stop, with the place."""
    f.spend()
    try:
        rule = _RULES.get(type(node))
        if rule is None:
            raise Stop(f"has {_CALLED.get(type(node), type(node).__name__)}")
        return rule(f, frame, node)
    except Stop as stop:
        stop.place = stop.place or frame.place(node)
        raise


def truth(f: Follower, what: Any) -> bool:
    """What `if what` decides by, where that is no code of anybody's."""
    if is_constant(what) or type(what) in (list, tuple, dict, range):
        return bool(what)
    if is_sequence(what):
        return bool(f.items(what))
    if is_dict(what):
        return bool(f.mapping(what))
    if type(what) is Held and not issubclass(type(what.thing), type):
        cls = type(what.thing)
        if all(in_class(f, cls, of) is MISSING for of in ("__bool__", "__len__")):
            return True
    raise Stop(f"decides by {name(what)}")


def assign(f: Follower, frame: Frame, target: ast.expr, what: Any) -> None:
    if isinstance(target, ast.Name):
        if not frame.binds(target.id):
            raise Stop(f"sets {target.id}, which is not its own")
        frame.names[target.id] = what
    elif isinstance(target, ast.Tuple | ast.List):
        if any(isinstance(part, ast.Starred) for part in target.elts):
            raise Stop("has a starred target")
        parts = what.unpacked(f, len(target.elts)) if isinstance(what, Special) else None
        parts = list(entries(f, what)) if parts is None else parts
        if len(parts) != len(target.elts):
            raise Stop(f"unpacks {len(parts)} values to {len(target.elts)} names")
        for part, one in zip(target.elts, parts, strict=True):
            assign(f, frame, part, one)
    elif isinstance(target, ast.Subscript):
        owner = value(f, frame, target.value)
        if isinstance(owner, Special):
            owner.set_entry(f, index(f, frame, target.slice), what)
            return
        if type(owner) is list:
            f.set_item(owner, value(f, frame, target.slice), what)
            return
        if type(owner) is not dict:
            raise Stop(f"sets an entry of {name(owner)}")
        key = value(f, frame, target.slice)
        if not is_constant(key):
            raise Stop("sets an entry of dict by what is no constant")
        f.changes(owner)
        owner[key] = what
    else:
        raise Stop("sets an attribute")


def _constant(f: Follower, frame: Frame, node: Any) -> Any:
    if not is_constant(node.value):
        raise Stop(f"has the constant {node.value!r}")
    return node.value


def _name(f: Follower, frame: Frame, node: Any) -> Any:
    return f.name(frame, node.id)


def _attribute(f: Follower, frame: Frame, node: Any) -> Any:
    return attribute(f, value(f, frame, node.value), node.attr)


def _subscript(f: Follower, frame: Frame, node: Any) -> Any:
    owner = value(f, frame, node.value)
    if type(owner) is Array:
        return arrays.take(owner, ast.unparse(node.slice))
    if isinstance(owner, Special) and owner.has_rows:
        return owner.entry(f, index(f, frame, node.slice))
    if isinstance(owner, Special) and isinstance(node.slice, ast.Tuple):
        if any(isinstance(one, ast.Slice) for one in node.slice.elts):
            return owner.part(f, ast.unparse(node.slice))
    if not isinstance(node.slice, ast.Slice):
        return take(f, owner, value(f, frame, node.slice))
    return take(f, owner, _slice(f, frame, node.slice))


def _slice(f: Follower, frame: Frame, node: ast.Slice) -> slice:
    bounds = (node.lower, node.upper, node.step)
    return slice(*[b if b is None else value(f, frame, b) for b in bounds])


def index(f: Follower, frame: Frame, node: ast.expr) -> Any:
    """The key of a value that says itself what its entries are."""
    if isinstance(node, ast.Tuple):
        return tuple(index(f, frame, part) for part in node.elts)
    if isinstance(node, ast.Slice):
        return _slice(f, frame, node)
    if isinstance(node, ast.Constant) and node.value is Ellipsis:
        return Ellipsis
    return value(f, frame, node)


def _elements(f: Follower, frame: Frame, nodes: list[ast.expr]) -> list[Any]:
    found: list[Any] = []
    for node in nodes:
        if isinstance(node, ast.Starred):
            found.extend(entries(f, value(f, frame, node.value)))
        else:
            found.append(value(f, frame, node))
    return found


def _list(f: Follower, frame: Frame, node: Any) -> Any:
    return _elements(f, frame, node.elts) if node.elts else f.new_list()


def _tuple(f: Follower, frame: Frame, node: Any) -> Any:
    return tuple(_elements(f, frame, node.elts))


def _dict(f: Follower, frame: Frame, node: Any) -> Any:
    made = {}
    for key, one in zip(node.keys, node.values, strict=True):
        if key is None:
            more = value(f, frame, one)
            if not is_dict(more):
                raise Stop(f"takes the entries of {name(more)}")
            made.update(f.mapping(more))
            continue
        under = _key(value(f, frame, key))
        made[under] = value(f, frame, one)
    return made


def _key(key: Any) -> Any:
    if not is_constant(key):
        raise Stop(f"has {name(key)} as a key of a dict")
    return key


def _text(f: Follower, frame: Frame, node: Any) -> Any:
    found = []
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            one = value(f, frame, part.value)
            if isinstance(one, Special) and part.conversion == -1:
                spec = None if part.format_spec is None else value(f, frame, part.format_spec)
                found.append(f.text(one, spec))
                continue
            if part.conversion != -1 or part.format_spec or type(one) not in (int, str):
                raise Stop("makes a text that is not followed")
            found.append(str(one))
        else:
            found.append(value(f, frame, part))
    if any(isinstance(part, Special) for part in found):
        return f.joined(found)
    return check_size("".join(found))


# Comprehensions: entries are made one by one, in the frame of the comprehension.


def _each(f: Follower, frame: Frame, node: Any, make: Callable[[Frame], Any]) -> Any:
    """An iterator; or one value for all, where it goes over such. The first container is looked at
    at once, in the frame around."""
    if any(generator.is_async for generator in node.generators):
        raise Stop("has an async comprehension")
    over = value(f, frame, node.generators[0].iter)
    if isinstance(over, Special) and (made := over.over(f, frame, node, make)) is not None:
        return made
    return _from(f, frame.inside(node), node, 0, entries(f, over), make)


def _from(
    f: Follower, inner: Frame, node: Any, level: int, over: Iterator[Any], make: Callable[..., Any]
) -> Iterator[Any]:
    generator = node.generators[level]
    for one in over:
        assign(f, inner, generator.target, one)
        if not all(truth(f, value(f, inner, test)) for test in generator.ifs):
            continue
        if level + 1 == len(node.generators):
            yield make(inner)
        else:
            deeper = entries(f, value(f, inner, node.generators[level + 1].iter))
            yield from _from(f, inner, node, level + 1, deeper, make)


def _list_comprehension(f: Follower, frame: Frame, node: Any) -> Any:
    made = _each(f, frame, node, lambda inner: value(f, inner, node.elt))
    return made if isinstance(made, Special) else list(made)


def _dict_comprehension(f: Follower, frame: Frame, node: Any) -> Any:
    def make(inner: Frame) -> tuple[Any, Any]:
        key = _key(value(f, inner, node.key))
        return key, value(f, inner, node.value)

    made = _each(f, frame, node, make)
    if isinstance(made, Special):
        raise Stop("makes a dict of the samples")
    return dict(made)


def _generator(f: Follower, frame: Frame, node: Any) -> Any:
    made = _each(f, frame, node, lambda inner: value(f, inner, node.elt))
    return made.lazy(f) if isinstance(made, Special) else Lazy(made)


# Operators.


def _binary(f: Follower, frame: Frame, node: Any) -> Any:
    left = value(f, frame, node.left)
    return combine(f, type(node.op), left, value(f, frame, node.right))


def _unary(f: Follower, frame: Frame, node: Any) -> Any:
    operand = value(f, frame, node.operand)
    if (made := f.unary(node.op, operand)) is not None:
        return made
    if isinstance(node.op, ast.Not):
        chance = chances.decided(operand)
        return not truth(f, operand) if chance is None else chances.opposite(chance)
    if isinstance(node.op, ast.USub) and type(operand) in (int, float):
        return -operand
    raise Stop(f"computes with {name(operand)}")


def _either(f: Follower, frame: Frame, node: Any) -> Any:
    *first, last = node.values
    for part in first:
        found = value(f, frame, part)
        if truth(f, found) is isinstance(node.op, ast.Or):
            return found
    return value(f, frame, last)  # whose truth nobody asks for


def _compare(f: Follower, frame: Frame, node: Any) -> Any:
    left = value(f, frame, node.left)
    if len(node.ops) == 1:
        right = value(f, frame, node.comparators[0])
        op = node.ops[0]
        if (made := f.compared(op, left, right)) is not None:
            return made
        known = chances.compared(op, left, right) or sizes.compared(op, left, right)
        return holds(op, left, right) if known is None else known
    for op, part in zip(node.ops, node.comparators, strict=True):
        right = value(f, frame, part)
        if not holds(op, left, right):
            return False
        left = right
    return True


def _choice(f: Follower, frame: Frame, node: Any) -> Any:
    test = value(f, frame, node.test)
    if isinstance(test, sizes.Smaller):
        return sizes.chosen(test, value(f, frame, node.body), value(f, frame, node.orelse))
    return value(f, frame, node.body if truth(f, test) else node.orelse)


def inner(f: Follower, frame: Frame, node: Any) -> Inner:
    """A lambda or def: a function of the followed code's own."""
    args = node.args
    if args.vararg is not None or args.kwarg is not None:
        raise Stop("makes a function that takes any arguments")
    if scope_of(node).generates:
        raise Stop("makes a generator")
    if _annotations(node) and not frame.function.__code__.co_flags & _NOT_EVALUATED:
        raise Stop("makes a function with annotations, which are code")
    by_place = [arg.arg for arg in (*args.posonlyargs, *args.args)]
    last = by_place[len(by_place) - len(args.defaults) :]
    defaults = {one: value(f, frame, at) for one, at in zip(last, args.defaults, strict=True)}
    for arg, at in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        if at is not None:
            defaults[arg.arg] = value(f, frame, at)
    return Inner(node, frame, defaults)


def _annotations(node: Any) -> bool:
    args = node.args
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    return bool(getattr(node, "returns", None) or any(arg.annotation for arg in every))


def _call(f: Follower, frame: Frame, node: Any) -> Any:
    callee = value(f, frame, node.func)
    args: list[Any] = []
    named = {}
    alone = [type(part) for part in node.args] == [ast.Starred]
    for part in node.args:
        if not isinstance(part, ast.Starred):
            args.append(value(f, frame, part))
        elif alone and f.stars:
            args.append(value(f, frame, part.value))
        else:
            args.extend(entries(f, value(f, frame, part.value)))
    for keyword in node.keywords:
        if keyword.arg is None:
            raise Stop("calls with two stars before an argument")
        named[keyword.arg] = value(f, frame, keyword.value)
    try:
        if alone and f.stars:
            return f.starred(callee, args[0], named)
        return f.call(f, callee, args, named, frame.place(node))
    except Stop as stop:
        if stop.unknown is callee:  # the program's own name of it says most
            stop.text = f"calls {ast.unparse(node.func)}, which is not followed"
        raise


_RULES: dict[type, Callable[[Follower, Frame, Any], Any]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.List: _list,
    ast.Tuple: _tuple,
    ast.Dict: _dict,
    ast.JoinedStr: _text,
    ast.ListComp: _list_comprehension,
    ast.DictComp: _dict_comprehension,
    ast.GeneratorExp: _generator,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _either,
    ast.Compare: _compare,
    ast.IfExp: _choice,
    ast.Call: _call,
    ast.Lambda: inner,
}
_CALLED: dict[type, str] = {
    ast.NamedExpr: "an assignment inside an expression",
    ast.Await: "an await",
    ast.Yield: "a yield",
    ast.YieldFrom: "a yield",
    ast.Set: "a set",
    ast.SetComp: "a set",
}
