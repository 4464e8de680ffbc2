"""What a call does: a transform is applied, or the program's code is followed into."""

import functools
import sys
import types
from collections.abc import Callable
from typing import Any

import torch

from ...native.kinds import CONTAINERS, check_unaltered, kind_of
from ..proof.source import trees_of
from . import arrays, constructed, functional, joint, numbers, stacked
from .arrays import takes_pictures
from .attributes import attribute, class_of, in_class, own
from .builtin_calls import BUILTINS, zipped
from .containers import check_size, entries, extend
from .expressions import value
from .follower import DEEPEST, Follower, Frame
from .statements import Return, block
from .values import (
    MISSING,
    VIEWS_OF_DICTS,
    Held,
    Inner,
    Method,
    OfContainer,
    Special,
    Stop,
    builtin_name,
    has_plain_meta,
    is_constant,
    is_dict,
    is_private,
    name,
    wrap,
)

_MODULE_CALL = vars(torch.nn.Module)["__call__"]
_MODULE_STEPS = {step: vars(torch.nn.Module)[step] for step in ("_call_impl", "_slow_forward")}
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_LIBRARIES = frozenset(("torch", "torchvision", "PIL", "numpy", *sys.stdlib_module_names))
_NOT_RUN_AT_ONCE = 0x20 | 0x80 | 0x100 | 0x200  # flags of generators and coroutines
_ANY_ARGUMENTS = 0x04 | 0x08  # *args, **named
_OWN_TRANSFORMS = "a transform of torchvision's in its place"


def call(f: Follower, callee: Any, args: list[Any], named: dict[str, Any], at: str) -> Any:
    """callee(*args, **named). `at`: the place of the call, for people. Raises Stop."""
    f.spend()
    if type(callee) is Method:
        return _follow(f, callee.function, [callee.owner, *args], named, callee.function)
    if type(callee) is Inner:
        return _inner(f, callee, args, named)
    if type(callee) is OfContainer:
        return _of_container(f, callee, args, named)
    if type(callee) is arrays.Copying:
        return arrays.copy(callee, args, named)
    if isinstance(callee, Special):
        return callee.call(f, args, named, at)
    if type(callee) is not Held:
        raise Stop(f"calls {name(callee)}")
    thing = callee.thing
    if (known := f.known(thing)) is not None:
        return known(f, args, named)
    if own_name := builtin_name(thing):
        return builtin(f, own_name, args, named)
    kind = type(thing)
    if kind is types.BuiltinFunctionType and takes_pictures(thing):
        return arrays.call(f, thing, args, named)
    if stacked.is_stack(thing):
        return stacked.call(f, args, named)
    if kind is type and constructed.is_known(thing):
        return constructed.call(f, thing, args, named)
    if joint.is_tensor_class(thing):
        return joint.wrapped(f, thing, args, named)
    if numbers.is_rand(thing):
        return numbers.rand(f, args, named)
    if (rule := numbers.rule_of(thing)) is not None:
        return rule(f, args, named)
    if kind is types.FunctionType and (rule := functional.rule_of(thing)) is not None:
        return rule(f, args, named, at)
    if kind is types.FunctionType:
        return _follow(f, thing, args, named, thing)
    if kind is types.MethodType and type(thing.__func__) is types.FunctionType:
        return _follow(f, thing.__func__, [wrap(thing.__self__), *args], named, thing.__func__)
    if kind is functools.partial:
        return _partial(f, thing, args, named, at)
    if issubclass(kind, type) or not has_plain_meta(kind):
        raise _unknown(callee)
    return _object(f, callee, args, named, at)


def builtin(f: Follower, own_name: str, args: list[Any], named: dict[str, Any]) -> Any:
    """A builtin of Python's, by its name."""
    rule = BUILTINS.get(own_name)
    if own_name == "zip" and type(named.get("strict")) is bool:
        rule = functools.partial(zipped, strict=named.pop("strict"))
    if rule is None or named:
        raise Stop(f"calls {own_name}, which is not followed")
    return rule(f, args)


def _unknown(callee: Any) -> Stop:
    text = f"calls {name(callee)}, which is not followed"
    stop = Stop(text, _OWN_TRANSFORMS, "")
    stop.unknown = callee
    return stop


def _object(f: Follower, callee: Held, args: list[Any], named: dict[str, Any], at: str) -> Any:
    thing = callee.thing
    cls = class_of(f, thing)
    librarys = cls.__module__.startswith(("torchvision.", "timm."))
    kind = kind_of(thing) if librarys else None
    if cls is torch.nn.Sequential or kind in CONTAINERS:
        check_unaltered(thing)
        return _in_turn(f, callee, args, named, at)
    if kind == "v1.Lambda":
        check_unaltered(thing)
        return call(f, attribute(f, callee, "lambd"), _only(callee, args, named), {}, at)
    if kind is not None or cls is torch.nn.Identity:
        return joint.call(f, callee, args, named, at)
    for base in cls.__mro__[1:]:
        if base.__module__.startswith("torchvision.transforms"):
            text = f"class derives from torchvision's {base.__name__}"
            raise Stop(f"calls {name(callee)}, whose {text}", _OWN_TRANSFORMS, f"its {text}")
    function = in_class(f, cls, "__call__")
    if function is _MODULE_CALL:
        _check_no_hooks(f, callee)
        return _within(f, callee, lambda: call(f, attribute(f, callee, "forward"), args, named, at))
    if type(function) is not types.FunctionType:
        raise _unknown(callee)
    return _within(f, callee, lambda: _follow(f, function, [callee, *args], named, thing))


def _only(callee: Any, args: list[Any], named: dict[str, Any]) -> list[Any]:
    if len(args) != 1 or named:
        raise Stop(f"calls {name(callee)} with other than one picture")
    return args


def _in_turn(f: Follower, callee: Held, args: list[Any], named: dict[str, Any], at: str) -> Any:
    """What Compose and Sequential do: each part gets what the one before it made. v2's Compose gives
    on as many values as it is given."""
    spread = len(args) > 1 and kind_of(callee.thing) == "v2.Compose" and not named
    found = args if spread else _only(callee, args, named)
    held = (
        callee if type(callee.thing) is torch.nn.Sequential else attribute(f, callee, "transforms")
    )
    parts = list(entries(f, held))
    if not parts and type(callee.thing) is not torch.nn.Sequential:
        raise Stop(f"calls {name(callee)}, which holds nothing")
    for part in parts:
        try:
            made = call(f, part, found, {}, at)
            found = list(entries(f, made)) if spread else [made]
        except Stop as stop:
            stop.culprit = stop.culprit or (name(part) if f.depth == 0 else "")
            raise
    return made if parts else found[0]


def _check_no_hooks(f: Follower, callee: Held) -> None:
    for table in _HOOKS:
        hooks = own(f, callee.thing, table)
        if not is_dict(Held(hooks)) or f.seen.entries(hooks):
            raise Stop(f"calls {name(callee)}, which has hooks", "remove the hooks")
    compiled = own(f, callee.thing, "_compiled_call_impl")
    if compiled is not MISSING and compiled is not None:
        raise Stop(f"calls {name(callee)}, which is compiled")
    # torch's __call__ gets to forward through these.
    for step, of_torch in _MODULE_STEPS.items():
        theirs = in_class(f, class_of(f, callee.thing), step)
        if theirs is not of_torch or own(f, callee.thing, step) is not MISSING:
            raise Stop(f"calls {name(callee)}, whose {step} is its own")


# The program's functions.


def _within(f: Follower, callee: Held, follow: Callable[[], Any]) -> Any:
    """An object is to blame for what its code does, by its class."""
    outermost = f.depth == 0
    try:
        return follow()
    except Stop as stop:
        if outermost:
            stop.culprit = name(callee)
        raise


def is_librarys(f: Follower, function: types.FunctionType) -> bool:
    """Whether it is no code to be followed."""
    root = (function.__module__ or "").partition(".")[0]
    return root in _LIBRARIES and not f.is_followed(function)


def _follow(
    f: Follower, function: types.FunctionType, args: list[Any], named: dict[str, Any], thing: Any
) -> Any:
    if is_librarys(f, function):
        raise _unknown(Held(function))
    tree = _tree(f, function)
    defaults = _defaults(f, function)
    try:
        return _run(f, Frame(function, tree, _bind(tree, args, named, defaults)))
    except Stop as stop:
        stop.culprit = stop.culprit or (name(Held(thing)) if f.depth == 0 else "")
        raise


def _inner(f: Follower, callee: Inner, args: list[Any], named: dict[str, Any]) -> Any:
    frame = callee.frame.inside(callee.tree)
    frame.names = _bind(callee.tree, args, named, callee.defaults)
    return _run(f, frame)


def _run(f: Follower, frame: Frame) -> Any:
    if f.depth >= DEEPEST:
        raise Stop(f"calls functions in each other, more than {DEEPEST} deep")
    f.depth += 1
    try:
        if isinstance(frame.tree.body, list):
            left = block(f, frame, frame.tree.body)
            return left.value if isinstance(left, Return) else None
        return value(f, frame, frame.tree.body)
    finally:
        f.depth -= 1


def _tree(f: Follower, function: types.FunctionType) -> Any:
    code = f.seen.read(("code", id(function)), lambda: function.__code__)
    called = f"calls {name(Held(function))}"
    if code.co_flags & _NOT_RUN_AT_ONCE:
        raise Stop(f"{called}, which is a generator or a coroutine")
    if "__wrapped__" in function.__dict__:
        raise Stop(f"{called}, which is wrapped by a decorator")
    if code.co_flags & _ANY_ARGUMENTS:
        raise Stop(f"{called}, which takes any arguments")
    trees = trees_of(function)
    if len(trees) != 1:
        why = "shares its line with another lambda" if trees else "is not what its file says"
        raise Stop(f"{called}, which {why}")
    return trees[0]


def _bind(
    tree: Any, args: list[Any], named: dict[str, Any], defaults: dict[str, Any]
) -> dict[str, Any]:
    """What the names of a function's parameters stand for."""
    by_place = [arg.arg for arg in (*tree.args.posonlyargs, *tree.args.args)]
    by_name = [arg.arg for arg in (*tree.args.args, *tree.args.kwonlyargs)]
    called = f"calls {getattr(tree, 'name', 'a lambda')}"
    if changed := [key for key in (*by_place, *by_name) if is_private(key)]:
        raise Stop(f"{called} with {changed[0]}, whose name a class changes")
    if len(args) > len(by_place):
        raise Stop(f"{called} with too many arguments")
    bound = dict(zip(by_place, args, strict=False))
    for key, one in named.items():
        if key not in by_name or key in bound:
            raise Stop(f"{called} with {key}=, which does not fit")
        bound[key] = one
    for key in (*by_place, *by_name):
        if key not in bound and key not in defaults:
            raise Stop(f"{called} without {key}")
    return {**defaults, **bound}


def _defaults(f: Follower, function: types.FunctionType) -> dict[str, Any]:
    code = function.__code__
    by_place = code.co_varnames[: code.co_argcount]
    held = f.seen.read(("defaults", id(function)), lambda: function.__defaults__) or ()
    found = dict(zip(by_place[::-1], map(wrap, held[::-1]), strict=False))
    for key in code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount]:
        look = functools.partial(_default, function, key)
        default = f.seen.read(("default", id(function), key), look)
        if default is not MISSING:
            found[key] = wrap(default)
    return found


def _default(function: types.FunctionType, key: str) -> Any:
    return (function.__kwdefaults__ or {}).get(key, MISSING)


def _partial(
    f: Follower, thing: "functools.partial[Any]", args: list[Any], named: dict[str, Any], at: str
) -> Any:
    function = f.seen.read(("func", id(thing)), lambda: thing.func)
    first = f.seen.read(("args", id(thing)), lambda: thing.args)
    held = f.seen.read(("keywords", id(thing)), lambda: thing.keywords)
    if type(first) is not tuple or type(held) is not dict:
        raise Stop(f"calls {name(Held(thing))}, which is not followed")
    placeholder = getattr(functools, "Placeholder", MISSING)  # of Python 3.14
    if any(one is placeholder for one in first):
        raise Stop("calls a partial with a placeholder")
    keywords = f.mapping(Held(held))
    return call(f, wrap(function), [*map(wrap, first), *args], {**keywords, **named}, at)


# Methods of lists and dicts.


def _of_container(f: Follower, callee: OfContainer, args: list[Any], named: dict[str, Any]) -> Any:
    owner = callee.container
    if callee.name in ("append", "extend") and len(args) == 1 and not named:
        f.changes(owner)
        if callee.name == "append":
            owner.append(args[0])
            check_size(owner)
        else:
            extend(f, owner, args[0])
        return None
    if callee.name == "get" and 1 <= len(args) <= 2 and not named and is_constant(args[0]):
        return f.mapping(owner).get(*args)
    if callee.name in ("items", "keys", "values") and not args and not named:
        found = getattr(f.mapping(owner), callee.name)()
        assert type(found) in VIEWS_OF_DICTS
        return found
    raise Stop(f"calls {name(callee)} with arguments that do not fit")
