"""Methods of containers and of libraries' objects, by their names.

Those of containers are followed into what they hold. Those of other classes are in the tables of
known/: which read, which change their object, which reach out of the process.
"""

import types
from typing import Any

from . import attributes, contents, items
from .arguments import Arguments
from .contents import format_all, hash_all
from .frames import Frame
from .interpreter import Interpreter
from .known import classes
from .plain import plain
from .proof import Code, Doubt
from .specials import special
from .values import (
    ANY_SCALAR,
    BOOL,
    INT,
    MAPPINGS,
    NONE,
    NOTHING,
    STR,
    Lasting,
    Made,
    Scalar,
    Value,
    base_of,
    constant_of,
    describe,
    is_container,
    is_scalar,
    maps,
    one,
    values_of,
)

_GROW = {"append", "add", "appendleft", "insert"}
_GROW_BY_ALL = {"extend", "update", "extendleft", "union", "__iadd__", "__ior__"}
_DROP = {
    "remove", "discard", "clear", "reverse", "rotate", "difference_update", "popitem", "pop",
    "popleft", "intersection_update", "symmetric_difference_update", "sort", "subtract",
    "move_to_end", "__delitem__",
}  # fmt: skip
_ASK = {"index", "count", "__len__", "__contains__", "__eq__", "__ne__", "__lt__", "__gt__",
        "__hash__", "isdisjoint", "issubset", "issuperset", "__sizeof__", "total"}  # fmt: skip
_COPY = {"copy", "union", "intersection", "difference", "symmetric_difference", "__add__", "__or__",
         "__and__", "__sub__", "__mul__", "elements", "most_common"}  # fmt: skip


def call(it: Interpreter, frame: Frame, part: Any, name: str, given: Arguments) -> Value:
    """part.name(...), where Python's own method lookup is done."""
    if type(part) is Scalar or is_scalar(part):
        return _of_scalar(it, frame, part, name, given)
    if name in ("__setattr__", "__delattr__", "__getattribute__", "__reduce__", "__reduce_ex__",
                "__dir__", "__init_subclass__", "__subclasshook__"):  # fmt: skip
        return _of_object(it, frame, part, name, given)
    base = base_of(getattr(part, "cls", None))
    if base is not None and type(part) in (Lasting, Made):
        return _of_container(it, frame, part, base, name, given)
    if type(part) is Made and part.cls in (types.GeneratorType, zip, map, filter, enumerate):
        if name in ("__next__", "__iter__", "close"):
            if part.lasting:
                it.writes(part, "moves on in an iterator")
            return part.items if name == "__next__" else one(part)
    if name in ("__init__", "__exit__", "__enter__") and type(part) is Made:
        return NONE
    return classes.call_method(it, frame, part, name, given)


def _of_object(it: Interpreter, frame: Frame, part: Any, name: str, given: Arguments) -> Value:
    known_name = constant_of(given.at(0))
    if name == "__setattr__" and known_name:
        # Sets it as object does, past a __setattr__ of the class.
        it.writes_if_lasting(part, f"sets {describe(part)}.{known_name[0]}")
        if type(part) is Made:
            it.set_field(part, known_name[0], given.at(1))
            return NONE
    if name == "__getattribute__" and known_name:
        return attributes.get(it, frame, one(part), known_name[0])
    raise Doubt(Code.UNKNOWN_CONSTRUCT, f"uses {name} of {describe(part)}")


def _of_scalar(it: Interpreter, frame: Frame, part: Any, name: str, given: Arguments) -> Value:
    code = plain(it, given.all())
    if code and name not in classes.SCALAR_METHODS:
        raise Doubt(Code.UNKNOWN_CALL, f"gives a function to .{name}")
    if name == "format":
        format_all(it, frame, given.all())
    if name == "join":
        contents.iterate(it, frame, given.at(0))
    if part.cls is None:
        if name not in classes.SCALAR_METHODS:
            if it.known.attribute_kind(None, name) is not None:
                return NOTHING  # no value that can't be changed has such a method
            raise Doubt(Code.UNKNOWN_CALL, f"calls .{name} of what is not known")
        return ANY_SCALAR
    if not hasattr(part.cls, name):
        return NOTHING
    if part.cls is str and name in ("split", "rsplit", "splitlines", "partition", "rpartition"):
        made = it.make(frame, ("split", name, frame.line), list)
        it.grow(made, STR)
        return one(made)
    if part.cls is str and not name.startswith(("is", "find", "rfind", "index", "count", "__",
                                                "starts", "ends", "encode")):  # fmt: skip
        return STR
    if part.cls is bytes and name == "decode":
        return STR
    return ANY_SCALAR


def _of_container(
    it: Interpreter, frame: Frame, part: Any, base: type, name: str, given: Arguments
) -> Value:
    mapping = issubclass(base, MAPPINGS)
    it.looked_at(frame, one(part))
    if name in ("__getitem__", "__setitem__", "__iter__", "__init__"):
        if name == "__getitem__":
            return items.take(it, frame, one(part), given.at(0), None)
        if name == "__setitem__":
            it.writes_if_lasting(part)
            items.store(it, frame, one(part), given.at(0), given.at(1))
            return NONE
        if name == "__init__":
            _put_all(it, frame, part, mapping, given)
            return NONE
        return one(part)
    if name in _GROW:
        it.writes_if_lasting(part)
        value = given.at(1 if name == "insert" else 0)
        if base in (set, frozenset):
            hash_all(it, frame, value)
        it.grow(part, value)
        it.set_elements(part, None)
        return NONE
    if name in ("update", "extend", "extendleft", "__iadd__", "__ior__"):
        it.writes_if_lasting(part)
        _put_all(it, frame, part, mapping, given)
        return one(part)
    if name in _DROP:
        it.writes_if_lasting(part)
        if name == "sort":
            _sort(it, frame, contents.iterate(it, frame, one(part)), given)
            return NONE
        found = _contents(it, frame, part, mapping)
        return found | given.at(1) if name.startswith("pop") else NONE
    if mapping:
        given_back = _of_mapping(it, frame, part, name, given)
        if given_back is not None:
            return given_back
    if name in _ASK:
        items.contains(it, frame, given.at(0), one(part))
        return BOOL if name not in ("index", "count") else INT
    if name in _COPY:
        made = it.make(
            frame, (name, frame.line), base if base in (list, dict, set, tuple) else list
        )
        if mapping:
            it.grow(made, contents.entries(it, frame, one(part)))
            it.grow_keys(made, contents.iterate(it, frame, one(part)))
            if type(part) is Made:
                for key, value in list(part.fields.items()):
                    it.grow(made, value, at=key)
            elif len(part.objects) <= 24:
                _copy_entries(it, made, part)
        else:
            it.grow(made, contents.iterate(it, frame, one(part)))
            for value in given.args:
                if name != "__mul__":
                    it.grow(made, contents.iterate(it, frame, value))
        return one(made)
    raise Doubt(Code.UNKNOWN_CALL, f"calls .{name} of {describe(part)}")


def _copy_entries(it: Interpreter, made: Made, part: Lasting) -> None:
    for thing in part.objects:
        if len(thing) <= 64:
            for key, value in thing.items():
                if isinstance(key, str | int):
                    found = values_of([value], None, f"{part.path}[{key!r}]")
                    it.grow(made, found, at=("key", key))


def _contents(it: Interpreter, frame: Frame, part: Any, mapping: bool) -> Value:
    if mapping:
        return contents.entries(it, frame, one(part))
    return contents.iterate(it, frame, one(part))


def _put_all(it: Interpreter, frame: Frame, part: Any, mapping: bool, given: Arguments) -> None:
    for value in given.args + ([given.rest] if given.rest else []):
        if not mapping:
            it.grow(part, contents.iterate(it, frame, value))
            continue
        for other in value:
            if is_container(other) and maps(other):
                it.grow(part, contents.entries(it, frame, one(other)))
                it.grow_keys(part, contents.iterate(it, frame, one(other)))
            else:
                pairs = contents.iterate(it, frame, one(other))
                inner = contents.iterate(it, frame, pairs)
                it.grow(part, inner)
                it.grow_keys(part, inner)
    for value in given.named.values():
        if mapping:
            it.grow(part, value)
            it.grow_keys(part, STR)
    if mapping and given.more:
        it.grow(part, given.more)


def _sort(it: Interpreter, frame: Frame, each: Value, given: Arguments) -> None:
    key = given.named.get("key", NOTHING)
    if key:
        each = it.rules.apply(it, frame, key, Arguments([each]))
    compare_all(it, frame, each)


def compare_all(it: Interpreter, frame: Frame, each: Value) -> None:
    """The entries are compared with each other."""
    for part in each:
        if is_container(part):
            plain(it, one(part))
        else:
            for name in ("__lt__", "__gt__", "__eq__"):
                special(it, frame, part, name, [each])


def _of_mapping(
    it: Interpreter, frame: Frame, part: Any, name: str, given: Arguments
) -> Value | None:
    keys, values = contents.iterate(it, frame, one(part)), contents.entries(it, frame, one(part))
    if name in ("get", "__missing__"):
        hash_all(it, frame, given.at(0))
        found = items._entry(it, frame, part, given.at(0))
        return found | (given.at(1) or NONE)
    if name == "setdefault":
        it.writes_if_lasting(part)
        items.put(it, part, given.at(0), given.at(1))
        return values | given.at(1)
    if name in ("keys", "values", "items"):
        made = it.make(frame, (name, frame.line), list)
        if name == "items":
            pair = it.make(frame, ("pair", frame.line), tuple)
            it.grow(pair, keys | values)
            it.set_elements(pair, [keys, values])
            it.grow(made, one(pair))
        else:
            it.grow(made, keys if name == "keys" else values)
        return one(made)
    if name == "fromkeys":
        return None
    return None
