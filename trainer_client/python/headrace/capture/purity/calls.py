"""Calls, items and iteration: what they reach, and what they do to what they are given."""

import ast
import collections
import functools
import types
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from . import names, paths
from .values import (
    AN_ITERATOR,
    FRESH,
    SHARED_GENERATOR,
    Value,
    attribute,
    call_of,
    callables_in,
    consumed_by_use,
    draws,
    is_generator,
    is_immutable,
    is_own_code,
    items,
    joined,
    text_of,
)

_GENERATORS = "random numbers"
_IN_PLACE = (list, dict, set, bytearray, collections.deque, collections.Counter, np.ndarray)


# Items.


def entry_of(owner: Value, key: ast.expr) -> Value:
    """The place that `owner[key] = ...` writes to."""
    if owner.path.endswith(".__dict__"):
        return Value(paths.entry_path(owner.path, key), item=owner.item)
    if isinstance(key, ast.Constant) and isinstance(key.value, str):
        return Value(f"{owner.path}[{key.value!r}]", item=owner.item)
    path = owner.path if owner.path.endswith("[...]") else f"{owner.path}[...]"
    return Value(path, item=owner.item or text_of(key))


def take_item(walker: Any, owner: Value, node: ast.Subscript) -> Value:
    """What `owner[key]` is."""
    if not owner.shared:
        return FRESH
    if owner.path.endswith(".__dict__") and isinstance(node.slice, ast.Constant):
        at = Value(paths.entry_path(owner.path, node.slice), item=owner.item)
        walker.read(at, node)
        return attribute(owner.bound, str(node.slice.value))
    if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        at = Value(f"{owner.path}[{node.slice.value!r}]", item=owner.item)
        walker.read(at, node)
        found = [o[node.slice.value] for o in owner.objects if _has(o, node.slice.value)]
        if found and all(map(is_immutable, found)):
            return FRESH
        return Value(at.path, tuple(found), owner.item)
    results = [_getitem(walker, owner, thing, node) for thing in owner.objects]
    if any(result is not None for result in results):
        return joined([result for result in results if result is not None])
    key = text_of(node.slice)
    taken = items(owner, key)
    walker.note("item", owner.path.partition("[...]")[0], node, key=owner.item or key)
    return taken


def _has(thing: Any, key: str) -> bool:
    return type(thing) in (dict, collections.OrderedDict, collections.defaultdict) and key in thing


def _getitem(walker: Any, owner: Value, thing: Any, node: ast.AST) -> Value | None:
    """Of an object with a __getitem__ of its own; None: it has none."""
    if is_immutable(thing) or isinstance(thing, np.ndarray | torch.Tensor | list | dict | tuple):
        return None
    function = getattr(type(thing), "__getitem__", None)
    if isinstance(function, types.FunctionType):
        me = Value(owner.path, (thing,), owner.item)
        if is_own_code(function):
            return walker.run(function, [me, FRESH])
        return use_library_object(walker, me, node)
    return None


def class_of(owner: Value) -> Value:
    classes = tuple(type(thing) for thing in owner.objects)
    return Value(classes[0].__qualname__ if classes else f"{owner.path}.__class__", classes)


def dict_of(owner: Value) -> Value:
    """owner.__dict__"""
    return Value(f"{owner.path}.__dict__", item=owner.item, bound=owner) if owner.shared else FRESH


# Iteration.


def entries(walker: Any, node: ast.expr) -> list[Value]:
    """The values that a loop over the expression binds: one for each part of its target."""
    if isinstance(node, ast.Call):
        function = node.func
        if isinstance(function, ast.Name) and function.id in names.YIELDING:
            taken = [joined(entries(walker, argument)) for argument in node.args]
            return [FRESH, *taken] if function.id == "enumerate" else taken
        if isinstance(function, ast.Attribute) and function.attr in ("items", "values"):
            held = walker.value(function.value)
            return [FRESH, items(held)] if function.attr == "items" else [items(held)]
    value = walker.value(node)
    if any(consumed_by_use(thing) for thing in value.objects):
        walker.note("use", value, node, what=consumed_by_use(value.objects[0]))
    return [items(value)]


# Calls.


def call(walker: Any, node: ast.Call) -> Value:
    function = node.func
    owner = FRESH
    if isinstance(function, ast.Attribute):
        if _is_super(function.value):
            return _super_call(walker, node, function.attr)
        owner = walker.value(function.value, as_owner=True)
        if function.attr in names.DRAW_IN_PLACE:
            walker.note("draw", _GENERATORS, node)
        done = _method(walker, owner, node, function.attr)
        if done is not None:
            return done
    callee = walker.value(function, as_owner=True)
    args, named = arguments(walker, node)
    if not callee.objects:
        if owner.shared:
            walker.read(owner, node)
        _callables(walker, args)
        return FRESH
    results = [apply(walker, callee, thing, args, named, node) for thing in callee.objects]
    return joined(results)


def arguments(walker: Any, node: ast.Call) -> tuple[list[Value], dict[str, Value]]:
    args = []
    for argument in node.args:
        starred = isinstance(argument, ast.Starred)
        value = walker.value(argument.value if starred else argument, as_owner=True)
        args.append(items(value) if starred else value)
    named = {k.arg or "**": walker.value(k.value, as_owner=True) for k in node.keywords}
    return args, named


def _is_super(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"
    )


def _super_call(walker: Any, node: ast.Call, name: str) -> Value:
    args, named = arguments(walker, node)
    me = walker.frame.names.get("self", FRESH)
    cell = _closure(walker.frame.function, "__class__")
    types_of = [type(thing) for thing in me.objects] or ([me.made_by] if me.made_by else [])
    for cls in types_of:
        order = cls.__mro__
        behind = order[order.index(cell) + 1 :] if cell in order else order[1:]
        found = next((vars(base)[name] for base in behind if name in vars(base)), None)
        if isinstance(found, types.FunctionType):
            if is_own_code(found):
                return walker.run(found, [me, *args], named)
            return use_library_object(walker, me, node)
    return FRESH


def _closure(function: Any, name: str) -> Any:
    code = getattr(function, "__code__", None)
    if code is None or name not in code.co_freevars or not function.__closure__:
        return None
    try:
        return function.__closure__[code.co_freevars.index(name)].cell_contents
    except ValueError:
        return None


def _method(walker: Any, owner: Value, node: ast.Call, name: str) -> Value | None:
    """Methods known by name; None: call what the attribute is."""
    if not owner.shared:
        return None
    thing = owner.objects[0] if owner.objects else None
    if any(map(is_generator, owner.objects)):
        args, _ = arguments(walker, node)
        walker.note("draw", _GENERATORS, node)
        if name == "shuffle" and args and args[0].shared:
            walker.write(args[0], node, derived=True)
        if owner.path.startswith(("global ", "class ")) and not _is_module_level(thing):
            walker.note("use", owner, node, what=SHARED_GENERATOR)
        return FRESH
    for held in owner.objects:
        if (what := consumed_by_use(held)) and not isinstance(held, types.ModuleType):
            walker.note("use", owner, node, what=what)
    if isinstance(thing, types.ModuleType | type) or is_own_code(type(thing)) and thing is not None:
        return None
    in_place = isinstance(thing, _IN_PLACE) or thing is None
    of_tensor = isinstance(thing, torch.Tensor) and name.endswith("_") and not name.endswith("__")
    if in_place and name in names.CHANGE or of_tensor:
        arguments(walker, node)
        at = _changed(owner, node, name)
        key_by_name = name == "setdefault" and bool(node.args)
        walker.write(at, node, derived=name in names.GROW or of_tensor)
        return at if key_by_name else FRESH
    if name in names.WRITE_FILE_METHODS and thing is not None:
        walker.note("file", f"file written by {name}", node)
    if name == "get" and isinstance(thing, dict | type(None)) and node.args:
        arguments(walker, node)
        walker.note("item", owner.path.partition("[...]")[0], node, key=text_of(node.args[0]))
        return items(owner, text_of(node.args[0]))
    if name in names.VIEWS and isinstance(thing, dict | np.ndarray | torch.Tensor):
        arguments(walker, node)
        walker.read(owner, node)
        return owner
    return None


def _is_module_level(generator: Any) -> bool:
    """Of random and numpy.random: their state travels."""
    return generator is np.random.mtrand._rand or generator is torch.default_generator


def _changed(owner: Value, node: ast.Call, name: str) -> Value:
    if name in ("setdefault",) and node.args:
        return entry_of(owner, node.args[0])
    return owner


def apply(walker: Any, callee: Value, thing: Any, args: Any, named: Any, node: ast.Call) -> Value:
    me = [callee.bound] if callee.bound is not None else []
    if isinstance(thing, functools.partial):
        held = [Value(f"{callee.path}.args", (a,)) for a in thing.args]
        more = {k: Value(f"{callee.path}.{k}", (v,)) for k, v in thing.keywords.items()}
        inner = Value(callee.path, (thing.func,))
        return apply(walker, inner, thing.func, [*held, *args], {**more, **named}, node)
    if isinstance(thing, functools._lru_cache_wrapper):
        walker.note("write", f"cache of {thing.__wrapped__.__qualname__}", node, guarded=True)
        return apply(walker, callee, thing.__wrapped__, args, named, node)
    if isinstance(thing, types.MethodType):
        if not is_own_code(thing.__func__):
            return _library(walker, thing, args, named, node)
        mine = Value(f"{callee.path}.__self__", (thing.__self__,))
        return apply(walker, Value(callee.path, bound=mine), thing.__func__, args, named, node)
    if isinstance(thing, types.FunctionType):
        if is_own_code(thing):
            return walker.run(thing, [*me, *args], named)
        return _library(walker, thing, [*me, *args], named, node)
    if isinstance(thing, type):
        return _construct(walker, thing, args, named, node)
    if isinstance(thing, types.BuiltinFunctionType | types.BuiltinMethodType):
        return _library(walker, thing, [*me, *args], named, node)
    function = call_of(thing)
    if function is not None and is_own_code(type(thing)):
        return walker.run(function, [Value(callee.path, (thing,), callee.item), *args], named)
    return use_library_object(walker, Value(callee.path, (thing,)), node, [*args, *named.values()])


def _construct(walker: Any, cls: type, args: Any, named: Any, node: ast.Call) -> Value:
    if cls is type and len(args) == 1:
        return class_of(args[0])
    if cls is open or cls.__name__ in ("VideoWriter", "SummaryWriter"):
        walker.note("file", f"file written by {cls.__name__}", node)
    if cls is map and args:
        _callables(walker, args[:1])
    made = Value(made_by=cls)
    start = getattr(cls, "__init__", None)
    if is_own_code(cls) and isinstance(start, types.FunctionType):
        walker.run(start, [made, *args], named)
    elif not is_own_code(cls):
        _callables(walker, [*args, *named.values()])
    return made


def _library(walker: Any, function: Any, args: Any, named: Any, node: ast.Call) -> Value:
    """A function of a library or of Python itself."""
    module = getattr(function, "__module__", None) or ""
    if module in ("builtins", "io", "_io"):
        done = _builtin(walker, function.__name__, args, node)
        if done is not None:
            return done
    home = {"random": "random", "numpy.random.mtrand": "numpy.random", "posix": "os",
            "_heapq": "heapq", "_bisect": "bisect", "_pickle": "pickle"}.get(module, module)  # fmt: skip
    self_of = getattr(function, "__self__", None)
    if type(self_of).__module__ in ("random", "numpy.random.mtrand"):
        home = "random" if type(self_of).__module__ == "random" else "numpy.random"
    name = f"{home}.{function.__name__}"
    of_torch = function.__name__ in names.DRAW_TORCH and home.partition(".")[0] in ("", "torch")
    if home in ("random", "numpy.random") or of_torch:
        walker.note("draw", _GENERATORS, node)
    if name in names.CHANGE_FIRST and args and args[0].shared:
        walker.write(args[0], node, derived=True)
    if name in names.SEED and walker._guards:
        walker.note("seed", "random numbers", node)
    if name in names.WRITE_FILES or name == "torch.serialization.save":
        walker.note("file", f"file written by {name}", node)
    _callables(walker, [*args, *named.values()])
    for value in [*args, *named.values()]:
        if value.shared and any(consumed_by_use(thing) for thing in value.objects):
            walker.note("use", value, node, what=consumed_by_use(value.objects[0]))
        elif value.shared and not _is_code(value):
            walker.read(value, node)
    return args[0] if name in names.VIEW_FUNCTIONS and args else FRESH


def _is_code(value: Value) -> bool:
    return any(isinstance(o, types.FunctionType | type | types.ModuleType) for o in value.objects)


def _builtin(walker: Any, name: str, args: list[Value], node: ast.Call) -> Value | None:
    if name == "open":
        mode = node.args[1] if len(node.args) > 1 else None
        for keyword in node.keywords:
            mode = keyword.value if keyword.arg == "mode" else mode
        text = mode.value if isinstance(mode, ast.Constant) else "r"
        if isinstance(text, str) and set(text) & set("wax+"):
            walker.note("file", "file that it opens to write", node)
        return FRESH
    if name in ("setattr", "delattr", "getattr") and args and args[0].shared:
        key = node.args[1] if len(node.args) > 1 else None
        if not isinstance(key, ast.Constant):
            if name != "getattr":
                walker.write(args[0], node, derived=True, by_any_name=True)
            return FRESH
        at = attribute(args[0], str(key.value))
        if name == "getattr":
            walker.read(at, node)
            return at
        walker.write(Value(f"{args[0].path}.{key.value}", item=args[0].item), node)
        return FRESH
    if name == "next" and args and args[0].shared:
        if args[0].made_by is Iterator:
            return items(args[0])
        walker.note("use", args[0], node, what=AN_ITERATOR)
        return FRESH
    if name in ("len", "hasattr", "isinstance", "id", "callable") and args:
        if args[0].shared and name == "len":
            _length(walker, args[0], node)
        return FRESH
    if name == "vars" and args:
        return dict_of(args[0])
    if name == "iter" and args:
        kept = any(map(consumed_by_use, args[0].objects))
        return args[0] if kept else replace(args[0], made_by=Iterator)
    return None


def _length(walker: Any, value: Value, node: ast.Call) -> None:
    for thing in value.objects:
        function = getattr(type(thing), "__len__", None)
        if isinstance(function, types.FunctionType) and is_own_code(function):
            walker.run(function, [value])
            return
    walker.note_size(value, node)


def _callables(walker: Any, values: list[Value]) -> None:
    """User functions that are handed to library code, which may call them."""
    for value in values:
        for thing in value.objects:
            if isinstance(thing, types.ModuleType | type):
                continue
            function = thing.__func__ if isinstance(thing, types.MethodType) else thing
            if isinstance(function, types.FunctionType) and is_own_code(function):
                bound = value.bound
                if isinstance(thing, types.MethodType):
                    bound = Value(f"{value.path}.__self__", (thing.__self__,))
                walker.run(function, [bound] if bound is not None else [])


def use_library_object(walker: Any, me: Value, node: ast.AST, args: Any = ()) -> Value:
    """A library's object is used: all that it holds may be read, and its callables called."""
    walker.read(me, node)
    _callables(walker, list(args))
    if any(map(draws, me.objects)):
        walker.note("draw", _GENERATORS, node)
    for thing in me.objects:
        for path, found in callables_in(thing):
            at = Value(f"{me.path}{path}", (found,))
            if isinstance(found, types.MethodType):
                owner = Value(f"{at.path}.__self__", (found.__self__,))
                if is_own_code(found.__func__):
                    walker.run(found.__func__, [owner])
            elif isinstance(found, types.FunctionType):
                walker.run(found, [])
            else:
                walker.run(call_of(found), [at])
    return FRESH
