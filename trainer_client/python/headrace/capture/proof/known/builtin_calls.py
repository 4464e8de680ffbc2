"""Functions of Python whose results are followed into what they are given.

This file is long because each builtin has a short function.
"""

import functools
import types
from typing import Any

from .. import attributes, contents, expressions, methods, operators
from ..arguments import Arguments
from ..contents import format_all, hash_all, library_children
from ..frames import Frame
from ..interpreter import Interpreter
from ..plain import plain
from ..proof import Code, Doubt
from ..specials import check_instance, special
from ..values import (
    ANY_SCALAR,
    BOOL,
    INT,
    NONE,
    NOTHING,
    STR,
    Abstract,
    Lasting,
    Made,
    Scalar,
    Value,
    base_of,
    constant,
    constant_of,
    describe,
    is_container,
    is_scalar,
    live,
    one,
)
from .entry import check_mode


def _container(cls: type) -> Any:
    def make(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
        made = it.make(frame, ("call", cls, frame.line), cls)
        mapping = issubclass(cls, dict)
        methods._put_all(it, frame, made, mapping, given)
        if mapping and len(given.args) == 1:
            for part in given.args[0]:
                if type(part) is Made and is_container(part):
                    for key, value in list(part.fields.items()):
                        it.grow(made, value, at=key)
        if cls in (set, frozenset):
            hash_all(it, frame, made.items)
        return one(made)

    return make


def _through(cls: type, pairs: bool = False) -> Any:
    """zip, enumerate, reversed, iter: what goes through the arguments."""

    def make(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
        made = it.make(frame, ("through", cls, frame.line), types.GeneratorType)
        each = [contents.iterate(it, frame, value) for value in given.args]
        if given.rest:
            each = []
            rest = contents.iterate(it, frame, given.rest)
        if not pairs:
            it.grow(made, frozenset().union(*each))
            return one(made)
        pair = it.make(frame, ("pair", cls, frame.line), tuple)
        elements = [INT, each[0]] if cls is enumerate and each else each
        for value in elements:
            it.grow(pair, value)
        if given.rest:
            it.grow(pair, rest)
        it.set_elements(pair, elements if not given.rest else None)
        it.grow(made, one(pair))
        return one(made)

    return make


def _iter(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
    if len(given.args) != 1:
        raise Doubt(Code.UNKNOWN_CONSTRUCT, "calls iter with a function")
    result = NOTHING
    for part in given.args[0]:
        if base_of(getattr(part, "cls", None)) is None:
            found = special(it, frame, part, "__iter__")
            if found is not None:
                result |= found
                continue
        made = it.make(frame, ("iter", frame.line), types.GeneratorType)
        it.grow(made, contents.iterate(it, frame, one(part)))
        result |= one(made)
    return result


def _next(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
    result = given.at(1)
    for part in given.at(0):
        found = special(it, frame, part, "__next__")
        if found is not None:
            result |= found
        elif type(part) is Made and part.cls is types.GeneratorType and not part.lasting:
            result |= part.items
        elif type(part) is Abstract and not part.lasting:
            result |= frozenset((Abstract(), *ANY_SCALAR))
        else:
            it.writes(part, "moves on in")
    return result


def _map(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
    made = it.make(frame, ("map", frame.line), types.GeneratorType)
    each = [contents.iterate(it, frame, value) for value in given.args[1:]]
    if given.rest:
        each = []
    given_all = Arguments(each, rest=contents.iterate(it, frame, given.rest))
    it.grow(made, it.rules.apply(it, frame, given.at(0), given_all))
    return one(made)


def _filter(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
    made = it.make(frame, ("filter", frame.line), types.GeneratorType)
    each = contents.iterate(it, frame, given.at(1))
    test = given.at(0)
    if constant_of(test) != (None,):
        expressions.truth(it, frame, it.rules.apply(it, frame, test, Arguments([each])))
    else:
        expressions.truth(it, frame, each)
    it.grow(made, each)
    return one(made)


def _reduce(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
    each = contents.iterate(it, frame, given.at(1)) | given.at(2)
    for _ in range(3):
        each |= it.rules.apply(it, frame, given.at(0), Arguments([each, each]))
    return each


def _sorted(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
    made = it.make(frame, ("sorted", frame.line), list)
    each = contents.iterate(it, frame, given.at(0))
    methods._sort(it, frame, each, given)
    it.grow(made, each)
    return one(made)


def _extreme(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
    each = given.named.get("default", NOTHING)
    each |= contents.iterate(it, frame, given.args[0]) if len(given.args) == 1 else NOTHING
    if len(given.args) != 1:
        each |= frozenset().union(*given.args, given.rest)
        if given.rest:
            each |= contents.iterate(it, frame, given.rest)
    methods._sort(it, frame, each, given)
    return each


def _sum(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
    import ast

    each = contents.iterate(it, frame, given.at(0))
    start = given.at(1, "start") or constant(0)
    total = start
    for _ in range(2):
        total |= operators.binary(it, frame, ast.Add(), total, each)
    return total


def _truths(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
    each = contents.iterate(it, frame, given.at(0))
    expressions.truth(it, frame, each)
    return BOOL


def _bool(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
    truths = expressions.truth(it, frame, given.at(0))
    return constant(next(iter(truths))) if len(truths) == 1 else BOOL


def _len(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
    for part in it.looked_at(frame, given.at(0)):
        if base_of(getattr(part, "cls", None)) is None:
            if special(it, frame, part, "__len__") is None and type(part) is Lasting:
                if part.cls not in it.known.value_classes and not is_scalar(part):
                    if library_children(it, part) is None:
                        methods.call(it, frame, part, "__len__", Arguments())
        else:
            special(it, frame, part, "__len__")
    return INT


def _text(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
    known = constant_of(given.at(0))
    if thing is str and known and type(known[0]) in (str, int) and len(given.args) == 1:
        return constant(str(known[0]))
    format_all(it, frame, given.all())
    return STR


def _print(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
    import sys

    format_all(it, frame, given.all() - given.named.get("file", NOTHING))
    for part in given.named.get("file", NOTHING):
        where = getattr(part, "objects", [None])[0]
        if not (where is None or where is sys.stdout or where is sys.stderr):
            raise Doubt(Code.OUTSIDE_EFFECT, "prints to a file")
    return NONE


def _number(kind: Any) -> Any:
    dunders = {int: ("__int__", "__index__", "__trunc__"), float: ("__float__", "__index__"),
               complex: ("__complex__", "__float__"), abs: ("__abs__",),
               round: ("__round__",)}[kind]  # fmt: skip

    def make(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
        result = NOTHING
        for part in given.at(0):
            for name in dunders:
                found = special(it, frame, part, name)
                result |= found or NOTHING
        if kind in (int, float, complex):
            return one(Scalar(kind))
        kept = frozenset(p for p in given.at(0) if type(p) is Abstract)
        return result | ANY_SCALAR | frozenset(Abstract(p.cls) for p in kept)

    return make


def _isinstance(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
    check_instance(it, frame, given.at(1))
    classes: list[Any] = []
    for part in given.at(1):
        if type(part) is Lasting and len(given.at(1)) == 1:
            classes = list(part.objects)
        elif type(part) is Made and part.elements is not None:
            for element in part.elements:
                classes += [o for p in element for o in getattr(p, "objects", [None])]
    flat: list[Any] = []
    for cls in classes:
        flat += cls if isinstance(cls, tuple) else [cls]
    if not flat or not all(isinstance(cls, type) for cls in flat):
        return BOOL
    truths = set()
    for part in given.at(0):
        cls = getattr(part, "cls", None)
        if cls is None or type(part) is Abstract and not isinstance(cls, type):
            return BOOL
        if type(part) is Made and part.closure is not None:
            cls = types.FunctionType
        if type(part) is Abstract or cls is types.GeneratorType:
            return BOOL  # an object of a class that derives from it
        try:
            truths.add(issubclass(cls, tuple(flat)))
        except TypeError:
            return BOOL
    return constant(truths.pop()) if len(truths) == 1 else BOOL


def _type(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
    if len(given.args) != 1:
        raise Doubt(Code.UNKNOWN_CONSTRUCT, "makes a class")
    result = NOTHING
    for part in given.args[0]:
        cls = getattr(part, "cls", None)
        if cls is None or type(part) is Abstract:
            raise Doubt(Code.UNKNOWN_CONSTRUCT, "takes the type of what is not followed")
        result |= one(live(cls, cls.__qualname__))
    return result


def _getattr(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
    name = constant_of(given.at(1))
    if not name or type(name[0]) is not str:
        names = [getattr(p, "objects", [None]) for p in given.at(1)]
        flat = [n for some in names for n in some]
        if not flat or not all(type(n) is str for n in flat):
            raise Doubt(Code.UNKNOWN_CONSTRUCT, "takes an attribute by a name that it computes")
        found = [attributes.get(it, frame, given.at(0), n) for n in flat]
        return frozenset().union(*found) | given.at(2)
    return attributes.get(it, frame, given.at(0), name[0]) | given.at(2)


def _hasattr(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
    name = constant_of(given.at(1))
    if not name:
        raise Doubt(Code.UNKNOWN_CONSTRUCT, "asks for an attribute by a name that it computes")
    found = NOTHING
    for part in given.at(0):
        if type(part) is Abstract or is_scalar(part):
            return BOOL
        found |= attributes.get(it, frame, one(part), name[0])
    if not found:
        return constant(False)
    return BOOL


def _setattr(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
    name = constant_of(given.at(1))
    if not name:
        for part in given.at(0):
            it.writes_if_lasting(part, f"sets attributes of {describe(part)}")
        raise Doubt(Code.UNKNOWN_CONSTRUCT, "sets an attribute by a name that it computes")
    attributes.store(it, frame, given.at(0), name[0], given.at(2))
    return NONE


def _open(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
    import io

    check_mode(given.at(1, "mode"), "open")
    if given.named.get("opener") or given.more:
        raise Doubt(Code.UNKNOWN_CALL, "calls open with an opener")
    return one(Abstract(io.TextIOWrapper))


def _partial(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
    made = it.make(frame, ("partial", frame.line), functools.partial)
    if given.rest or given.more or made.fields:
        if given.rest or given.more:
            raise Doubt(Code.UNKNOWN_CONSTRUCT, "makes a partial of arguments that are not counted")
    args, named = list(given.args[1:]), dict(given.named)
    if made.fields:
        before = made.fields
        args = [a | b for a, b in zip(args, before["args"], strict=False)]
        named = {n: v | before["named"].get(n, NOTHING) for n, v in named.items()}
        made.fields["func"] |= given.at(0)
    else:
        made.fields["func"] = given.at(0)
    made.fields["args"], made.fields["named"] = args, named
    for value in [given.at(0), *args, *named.values()]:
        made.items |= value
    return one(made)


def _copy(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
    """copy.copy: the content is the same. copy.deepcopy: only of plain values."""
    deep = getattr(thing, "__name__", "") == "deepcopy"
    result = NOTHING
    for part in given.at(0):
        if is_scalar(part) or deep and not plain(it, one(part)) and _is_plain_data(it, part):
            result |= one(part) if is_scalar(part) else one(Abstract(_cls(it, part)))
        elif is_container(part) and not deep:
            result |= methods.call(it, frame, part, "copy", Arguments())
        elif type(part) is Abstract:
            result |= one(Abstract(part.cls, part.lasting and not deep))
        elif type(part) is Lasting and part.cls in it.known.value_classes:
            result |= one(Abstract(part.cls, False))
        else:
            raise Doubt(Code.UNKNOWN_CALL, f"copies {describe(part)}")
    return result


def _cls(it: Interpreter, part: Any) -> Any:
    return part.cls if part.cls in it.known.value_classes else None


def _is_plain_data(it: Interpreter, part: Any) -> bool:
    return is_container(part) or getattr(part, "cls", None) in it.known.value_classes


def _choice(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
    """random.choice, choices, sample: entries of the first argument."""
    it.draws()
    each = contents.iterate(it, frame, given.at(0))
    if getattr(thing, "__name__", "") == "choice":
        return each
    made = it.make(frame, ("choice", frame.line), list)
    it.grow(made, each)
    return one(made)


def _chain(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
    made = it.make(frame, ("chain", frame.line), types.GeneratorType)
    each = NOTHING
    for value in [*given.args, given.rest]:
        found = contents.iterate(it, frame, value)
        each |= contents.iterate(it, frame, found) if "from_iterable" in repr(thing) else found
    it.grow(made, each)
    return one(made)


def _tuples(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
    """itertools.product and the like: tuples of entries."""
    made = it.make(frame, ("tuples", frame.line), types.GeneratorType)
    inner = it.make(frame, ("tuple", frame.line), tuple)
    it.set_elements(inner, None)
    for value in [*given.args, given.rest]:
        it.grow(inner, frozenset(p for p in value if not is_container(p)) and NOTHING)
        containers = frozenset(p for p in value if not is_scalar(p))
        it.grow(inner, contents.iterate(it, frame, containers) | ANY_SCALAR)
    it.grow(made, one(inner))
    return one(made)


def _identity(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
    return given.at(len(given.args) - 1) if given.args else NOTHING


def _callable(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
    truths = set()
    for part in given.at(0):
        objects = getattr(part, "objects", None)
        if objects is not None and len(objects) <= 24:
            truths |= {callable(o) for o in objects}
        else:
            return BOOL
    return constant(truths.pop()) if len(truths) == 1 else BOOL


def _slice(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
    return one(Scalar(slice))


def _hash(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
    for part in given.at(0):
        if not is_scalar(part) and not is_container(part):
            if special(it, frame, part, "__hash__") is None:
                raise Doubt(Code.READS_OUTSIDE, f"asks for the hash of {describe(part)}")
    hash_all(it, frame, given.at(0))
    return INT


def _exit(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
    frame.env = None
    return NOTHING
