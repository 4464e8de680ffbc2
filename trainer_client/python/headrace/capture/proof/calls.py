"""Calls: what is called, and what it does to what it is given.

This file is long because a call is followed from its arguments to its frame.
"""

import ast
import contextlib
import functools
import types
from typing import Any

import torch

from ...declared import is_declared
from . import construct, contents, expressions, methods
from .arguments import Arguments
from .frames import FACTS, Frame, parameters
from .interpreter import Interpreter
from .lookup import full_name, lookup
from .proof import Code, Doubt
from .source import trees_of
from .statements import run_block
from .values import (
    CONTAINERS,
    NONE,
    NOTHING,
    STR,
    Bound,
    Lasting,
    Made,
    Method,
    Value,
    describe,
    is_scalar,
    live,
    one,
    values_of,
)

_DEEPEST = 60
_MOST_ROUNDS = 12
_MANAGED = contextlib.contextmanager(lambda: iter(())).__code__
_DECORATED = "context_decorator.<locals>.decorate_context"
_C_CALLABLES = (types.MethodDescriptorType, types.WrapperDescriptorType)


def call(it: Interpreter, frame: Frame, node: ast.Call) -> Value:
    function = node.func
    if isinstance(function, ast.Attribute) and _is_super(function.value):
        return _super(it, frame, node, function.attr)
    if isinstance(function, ast.Name) and function.id in ("super", "locals", "globals"):
        raise Doubt(Code.UNKNOWN_CONSTRUCT, f"uses {function.id}()")
    callee = expressions.value(it, frame, function)
    return apply(it, frame, callee, arguments(it, frame, node))


def arguments(it: Interpreter, frame: Frame, node: ast.Call) -> Arguments:
    given = Arguments()
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            found = expressions.value(it, frame, argument.value)
            known = _elements(found)
            if known is not None and not given.rest:
                given.args += known
            else:
                given.rest |= contents.iterate(it, frame, found)
        else:
            found = expressions.value(it, frame, argument)
            if given.rest:
                given.rest |= found
            else:
                given.args.append(found)
    for keyword in node.keywords:
        found = expressions.value(it, frame, keyword.value)
        if keyword.arg is not None:
            given.named[keyword.arg] = found
        else:
            _spread(it, frame, given, found)
    return given


def _elements(found: Value) -> list[Value] | None:
    if len(found) != 1:
        return None
    (part,) = found
    if type(part) is Made and part.elements is not None:
        return part.elements
    if type(part) is Lasting and part.cls is tuple and len(part.objects) == 1:
        things = enumerate(part.objects[0])
        return [values_of([thing], None, f"{part.path}[{n}]") for n, thing in things]
    return None


def _spread(it: Interpreter, frame: Frame, given: Arguments, found: Value) -> None:
    for part in found:
        names = None
        if type(part) is Made and part.cls is dict and "other entries" not in part.fields:
            names = {k[1]: v for k, v in part.fields.items() if type(k) is tuple}
        elif type(part) is Lasting and part.cls is dict and len(part.objects) == 1:
            names = {
                n: values_of([v], None, f"{part.path}[{n!r}]") for n, v in part.objects[0].items()
            }
        if names is None:
            given.more |= contents.entries(it, frame, one(part))
        else:
            for name, value in names.items():
                given.named[name] = given.named.get(name, NOTHING) | value


def _is_super(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    return node.func.id == "super"


def _super(it: Interpreter, frame: Frame, node: ast.Call, name: str) -> Value:
    given = arguments(it, frame, node)
    home = frame
    while home.function is None and home.outer is not None:
        home = home.outer
    cell = home._of_outside("__class__")
    names = parameters(home.node)
    if len(cell) != 1 or not names:
        raise Doubt(Code.UNKNOWN_CONSTRUCT, "uses super() where its class is not known")
    (of,) = cell
    result = NOTHING
    for part in home.find(names[0]):
        cls = (
            part.cls
            if not isinstance(getattr(part, "objects", [None])[0], type)
            else part.objects[0]
        )
        order = cls.__mro__
        behind = order[order.index(of.objects[0]) + 1 :] if of.objects[0] in order else ()
        found = next((vars(b)[name] for b in behind if name in vars(b)), None)
        if isinstance(found, types.FunctionType):
            result |= apply(it, frame, one(Bound(found, part)), given)
        elif isinstance(found, classmethod) and isinstance(found.__func__, types.FunctionType):
            result |= apply(it, frame, one(Bound(found.__func__, live(cls, "cls"))), given)
        elif isinstance(found, staticmethod):
            result |= apply(it, frame, one(live(found.__func__, name)), given)
        elif name == "__init__" and found is object.__init__:
            result |= NONE
        elif isinstance(found, types.WrapperDescriptorType | types.MethodDescriptorType):
            result |= methods.call(it, frame, part, name, given)
        elif found is not None:
            raise Doubt(Code.UNKNOWN_CALL, f"calls super().{name}, which is not known")
    return result


def apply(it: Interpreter, frame: Frame, callee: Value, given: Arguments) -> Value:
    it.step()
    result = NOTHING
    for part in callee:
        kind = type(part)
        if kind is Method:
            result |= methods.call(it, frame, part.owner, part.name, given)
        elif kind is Bound:
            result |= follow(it, frame, part.function, given.behind(one(part.owner)))
        elif kind is Made:
            result |= _made(it, frame, part, given)
        elif kind is Lasting:
            for thing in part.objects if len(part.objects) <= 24 else ():
                result |= _live(it, frame, part, thing, given)
            if len(part.objects) > 24:
                result |= _instance(it, frame, part, given)
        elif not is_scalar(part):
            raise Doubt(Code.UNKNOWN_CALL, "calls an object that is not followed")
    return result


def _made(it: Interpreter, frame: Frame, part: Made, given: Arguments) -> Value:
    if part.closure is not None:
        node, outer, snapshot, defaults, named = part.closure
        new = it.frame(frame, node, getattr(node, "name", "<lambda>"), outer.file, id(node))
        new.outer, new.snapshot, new.globals = outer, snapshot, outer.globals
        new.hidden = set()
        return _run(it, frame, new, given, defaults, named, ("closure", id(part)))
    if part.cls is functools.partial:
        held = part.fields["args"]
        more = Arguments(held, {**part.fields["named"], **given.named}, given.rest, given.more)
        more.args += given.args
        return apply(it, frame, part.fields["func"], more)
    return _instance(it, frame, part, given)


def _live(it: Interpreter, frame: Frame, part: Lasting, thing: Any, given: Arguments) -> Value:
    known = it.known.of(thing)
    if known is not None:
        return known(it, frame, thing, given)
    if isinstance(thing, types.MethodType):
        owner = live(thing.__self__, f"{part.path}.__self__")
        return follow(it, frame, thing.__func__, given.behind(one(owner)))
    if isinstance(thing, functools._lru_cache_wrapper):
        return it.fills.cached_call(it, frame, thing, given)
    if isinstance(thing, functools.partial):
        args = [values_of([a], None, f"{part.path}.args") for a in thing.args]
        named = {n: values_of([v], None, f"{part.path}.{n}") for n, v in thing.keywords.items()}
        more = Arguments([*args, *given.args], {**named, **given.named}, given.rest, given.more)
        return apply(it, frame, values_of([thing.func], None, part.path), more)
    if isinstance(thing, types.FunctionType):
        return follow(it, frame, thing, given)
    if isinstance(thing, types.BuiltinFunctionType | types.MethodWrapperType):
        owner = thing.__self__
        if owner is None or isinstance(owner, types.ModuleType):
            raise Doubt(Code.UNKNOWN_CALL, f"calls {full_name(thing)}, which is not known")
        if isinstance(owner, type):
            return methods.call(it, frame, live(owner, owner.__name__), thing.__name__, given)
        return methods.call(it, frame, live(owner, f"{part.path}"), thing.__name__, given)
    if isinstance(thing, _C_CALLABLES):
        if not given.args:
            raise Doubt(Code.UNKNOWN_CONSTRUCT, f"calls {full_name(thing)} without its object")
        rest = Arguments(given.args[1:], given.named, given.rest, given.more)
        result = NOTHING
        for owner in given.args[0]:
            result |= methods.call(it, frame, owner, thing.__name__, rest)
        return result
    if isinstance(thing, type):
        return construct.construct(it, frame, thing, given)
    return _instance(it, frame, live(thing, part.path), given)


def _instance(it: Interpreter, frame: Frame, part: Any, given: Arguments) -> Value:
    cls = part.cls
    if is_scalar(part) or cls in CONTAINERS:
        return NOTHING
    known = it.known.instance(part)
    if known is not None:
        return known(it, frame, part, given)
    if issubclass(cls, torch.nn.Module):
        _check_hooks(part)
        forward = lookup(cls, "forward")
        wrapped = lookup(cls, "__call__")
        if wrapped is torch.nn.Module.__call__ and isinstance(forward, types.FunctionType):
            return follow(it, frame, forward, given.behind(one(part)))
    found = lookup(cls, "__call__")
    if isinstance(found, types.FunctionType):
        if is_declared(cls):
            return it.believe(cls)
        return follow(it, frame, found, given.behind(one(part)))
    raise Doubt(
        Code.UNKNOWN_CALL, f"calls {describe(part)}, of class {full_name(cls)}, which is not known"
    )


def _check_hooks(part: Any) -> None:
    for thing in getattr(part, "objects", ()):
        held = vars(thing)
        if any(held.get(n) for n in ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks")):
            raise Doubt(Code.UNKNOWN_CONSTRUCT, f"calls {describe(part)}, which has hooks")
    module = torch.nn.modules.module
    if module._global_forward_hooks or module._global_forward_pre_hooks:
        raise Doubt(Code.UNKNOWN_CONSTRUCT, "calls a module while modules have global hooks")


# Functions of Python.


def run(it: Interpreter, frame: Frame | None, function: Any, args: list[Value]) -> Value:
    return follow(it, frame or it.outermost, function, Arguments(args))


def follow(it: Interpreter, frame: Frame, function: Any, given: Arguments) -> Value:
    if is_declared(function) or _declared_class(function, given):
        return it.believe(function)
    known = it.known.of(function)
    if known is not None:
        return known(it, frame, function, given)
    if not isinstance(function, types.FunctionType):
        return apply(it, frame, values_of([function], None, full_name(function)), given)
    if function.__code__ is _MANAGED:
        made = it.make(frame, ("manager", frame.line), contextlib._GeneratorContextManager)
        wrapped = vars(function)["__wrapped__"]
        it.grow(made, contents.iterate(it, frame, follow(it, frame, wrapped, given)))
        return one(made)
    if function.__qualname__ == _DECORATED and function.__module__.startswith("torch"):
        return apply(it, frame, values_of([vars(function)["__wrapped__"]], None, "wrapped"), given)
    generated = construct.generated(it, frame, function, given)
    if generated is not None:
        return generated
    trees = trees_of(function)
    if not trees:
        raise Doubt(
            Code.UNKNOWN_CONSTRUCT,
            f"calls {full_name(function)}, whose source can't be read",
            "keep the program's files as they were when it was started, or decorate the function "
            "with headrace.pure if it keeps nothing",
        )
    defaults = [values_of([d], None, f"a default of {function.__qualname__}")
                for d in function.__defaults__ or ()]  # fmt: skip
    named = {
        name: values_of([d], None, f"a default of {function.__qualname__}")
        for name, d in (function.__kwdefaults__ or {}).items()
    }
    result = NOTHING
    for tree in trees:
        if isinstance(tree, ast.AsyncFunctionDef):
            raise Doubt(Code.UNKNOWN_CONSTRUCT, f"calls {function.__qualname__}, asynchronous code")
        new = it.frame(frame, tree, function.__qualname__, function.__code__.co_filename,
                       id(function))  # fmt: skip
        new.function, new.globals = function, function.__globals__
        result |= _run(it, frame, new, given, defaults, named, function)
    return result


def _declared_class(function: Any, given: Arguments) -> bool:
    if not given.args or len(given.args[0]) != 1:
        return False
    (part,) = given.args[0]
    cls = getattr(part, "cls", None)
    if cls is None or not is_declared(cls):
        return False
    return vars(cls).get(getattr(function, "__name__", "")) is function


def _run(
    it: Interpreter, frame: Frame, new: Frame, given: Arguments, defaults: Any, named: Any, of: Any
) -> Value:
    bound = _bind(it, new, given, defaults, named)
    facts = frozenset(f for f in frame.facts if len(f) == 2)
    key: tuple[Any, ...] = (of, tuple(bound.items()), facts, it.filling, new.context)
    plain_key = not it.filling and not any(
        type(p) in (Made, Method, Bound) for v in bound.values() for p in v
    )
    if type(of) is tuple:
        plain_key = False
    if plain_key:
        key = (of, tuple(bound.items()), facts, it.filling)
        known = it.memo.get(key)
        if known is not None and known[0] == it.overlays:
            frame.facts = frame.facts | known[2]
            before: Value = known[1]
            return before
    if key in it.active:
        it.recursed.add(key)
        return it.summaries.get(key, NOTHING)
    if it.depth >= _DEEPEST:
        raise Doubt(Code.UNKNOWN_CONSTRUCT, "calls too deep to be followed")
    it.active.add(key)
    it.depth += 1
    try:
        for _ in range(_MOST_ROUNDS):
            version, result = it.version, NOTHING
            new.env = {FACTS: facts}
            new.returns, new.yields, new.return_facts = NOTHING, NOTHING, None
            for name, value in bound.items():
                if new.bind(name, value):
                    it.version += 1
            if isinstance(new.node, ast.Lambda):
                new.line = new.node.lineno
                try:
                    new.returns = expressions.value(it, new, new.node.body)
                except Doubt as doubt:
                    doubt.where = doubt.where or f"{new.name} ({new.file}:{new.line})"
                    raise
            else:
                run_block(it, new, new.node.body)
                if new.env is not None:
                    new.returns |= NONE
            reached = [
                f for f in (new.return_facts, new.facts if new.env else None) if f is not None
            ]
            result = new.returns
            if new.scope.generates:
                made = it.make(new, "generator", types.GeneratorType)
                it.grow(made, new.yields)
                result = one(made)
                reached = [facts]
            if key in it.recursed and it.summaries.get(key) != result:
                it.summaries[key] = it.summaries.get(key, NOTHING) | result
                continue
            if it.version == version or not new.cells:
                break
        else:
            raise Doubt(
                Code.UNKNOWN_CONSTRUCT, f"calls {new.name}, which is too odd to be followed"
            )
    finally:
        it.active.discard(key)
        it.depth -= 1
    gained = frozenset.intersection(*reached) if reached else facts
    gained = frozenset(f for f in gained if len(f) == 2)
    frame.facts = frame.facts | gained
    if plain_key and key not in it.recursed:
        it.memo[key] = (it.overlays, result, gained)
    return result


def _bind(
    it: Interpreter, new: Frame, given: Arguments, defaults: Any, named: Any
) -> dict[str, Value]:
    tree = new.node.args
    bound: dict[str, Value] = {}
    positional = [a.arg for a in [*tree.posonlyargs, *tree.args]]
    args = list(given.args)
    optional = dict(zip(positional[len(positional) - len(defaults) :], defaults, strict=True))
    left = dict(given.named)
    for name in positional:
        if args:
            bound[name] = args.pop(0)
        elif name in left:
            bound[name] = left.pop(name)
        else:
            loose = given.rest | given.more
            bound[name] = loose | optional.get(name, NOTHING)
    for name in [a.arg for a in tree.kwonlyargs]:
        bound[name] = left.pop(name) if name in left else given.more | named.get(name, NOTHING)
    if tree.vararg is not None:
        made = it.make(new, "*", tuple)
        for value in args:
            it.grow(made, value)
        it.grow(made, given.rest)
        it.set_elements(made, args if not given.rest else None)
        bound[tree.vararg.arg] = one(made)
    if tree.kwarg is not None:
        made = it.make(new, "**", dict)
        for name, value in left.items():
            it.grow(made, value, at=("key", name))
        if given.more:
            it.grow(made, given.more)
        it.grow_keys(made, STR)
        bound[tree.kwarg.arg] = one(made)
    return bound
