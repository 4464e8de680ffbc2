"""What single instructions of Python do to a function's values (only_use.py)."""

import dis
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from .function_state import State
from .known_values import NULL, OTHER, PICTURE, SAFE, TRUSTED, Known
from .value_meaning import Meaning

_TRUSTED = "pandas"  # its objects run its own code
# How many values they take and leave, where they run code that may do anything.
ANY_CODE = {
    "STORE_ATTR": (2, 0), "STORE_SUBSCR": (3, 0), "STORE_GLOBAL": (1, 0), "STORE_DEREF": (1, 0),
    "COMPARE_OP": (2, 1), "CONTAINS_OP": (2, 1), "UNARY_NOT": (1, 1), "UNARY_NEGATIVE": (1, 1),
    "UNARY_INVERT": (1, 1), "GET_ITER": (1, 1), "IMPORT_NAME": (2, 1), "DELETE_SUBSCR": (2, 0),
    "LIST_EXTEND": (1, 0), "SET_ADD": (1, 0), "SET_UPDATE": (1, 0), "DICT_UPDATE": (1, 0),
    "DICT_MERGE": (1, 0), "MAP_ADD": (2, 0), "DELETE_ATTR": (1, 0),
}  # fmt: skip


def _load_fast(look: Meaning, state: State, instruction: dis.Instruction) -> None:
    state.stack.append(state.names.get(instruction.argval, OTHER))


def _load_const(look: Meaning, state: State, instruction: dis.Instruction) -> None:
    state.stack.append(Known((("const", instruction.argval),), True))


def _load_global(look: Meaning, state: State, instruction: dis.Instruction) -> None:
    state.stack += [NULL] if (instruction.arg or 0) & 1 else []
    look.named(state, "global", instruction.argval)


def _load_deref(look: Meaning, state: State, instruction: dis.Instruction) -> None:
    look.named(state, "local", instruction.argval)


def _load_attr(look: Meaning, state: State, instruction: dis.Instruction) -> None:
    (owner,) = state.pop()
    look.unseen([owner])
    found: Any = OTHER if state.stale else look.attribute(owner, instruction.argval)
    if found is OTHER:
        kind = look.type_of(owner)
        if kind is not None and kind.__module__.split(".")[0] == _TRUSTED:
            found = TRUSTED
        else:
            look.any_code(state, [], 0)
    state.stack.append(found)


def _load_method(look: Meaning, state: State, instruction: dis.Instruction) -> None:
    (owner,) = state.pop()
    look.unseen([owner])
    found: Any = OTHER if state.stale else look.attribute(owner, instruction.argval)
    if found is OTHER:
        look.any_code(state, [], 2)
    else:
        state.stack += [NULL, found]


def _store_fast(look: Meaning, state: State, instruction: dis.Instruction) -> None:
    (state.names[instruction.argval],) = state.pop()


def _delete_fast(look: Meaning, state: State, instruction: dis.Instruction) -> None:
    state.names.pop(instruction.argval, None)


def _pop_top(look: Meaning, state: State, instruction: dis.Instruction) -> None:
    state.pop()


def _push_null(look: Meaning, state: State, instruction: dis.Instruction) -> None:
    state.stack.append(NULL)


def _copy(look: Meaning, state: State, instruction: dis.Instruction) -> None:
    state.stack.append(state.stack[-(instruction.arg or 1)])


def _swap(look: Meaning, state: State, instruction: dis.Instruction) -> None:
    stack, far = state.stack, -(instruction.arg or 1)
    stack[-1], stack[far] = stack[far], stack[-1]


def _build_tuple(look: Meaning, state: State, instruction: dis.Instruction) -> None:
    parts = state.pop(instruction.arg or 0)
    look.unseen(parts)
    state.stack.append(SAFE if parts and all(map(look.is_safe, parts)) else OTHER)


def _build_list(look: Meaning, state: State, instruction: dis.Instruction) -> None:
    look.unseen(state.pop(instruction.arg or 0))
    state.stack.append(OTHER)


def _list_append(look: Meaning, state: State, instruction: dis.Instruction) -> None:
    look.unseen(state.pop())


def _build_map(look: Meaning, state: State, instruction: dis.Instruction) -> None:
    look.any_code(state, state.pop(2 * (instruction.arg or 0)), 1)


def _build_slice(look: Meaning, state: State, instruction: dis.Instruction) -> None:
    look.unseen(state.pop(instruction.arg or 0))
    state.stack.append(OTHER)


def _build_const_key_map(look: Meaning, state: State, instruction: dis.Instruction) -> None:
    look.unseen(state.pop((instruction.arg or 0) + 1))
    state.stack.append(OTHER)


def _format_value(look: Meaning, state: State, instruction: dis.Instruction) -> None:
    look.safe_or_any(state, state.pop(2 if (instruction.arg or 0) & 4 else 1))


def _build_string(look: Meaning, state: State, instruction: dis.Instruction) -> None:
    look.unseen(state.pop(instruction.arg or 0))
    state.stack.append(SAFE)


def _binary_op(look: Meaning, state: State, instruction: dis.Instruction) -> None:
    look.safe_or_any(state, state.pop(2))


def _binary_subscr(look: Meaning, state: State, instruction: dis.Instruction) -> None:
    owner, key = state.pop(2)
    look.unseen([owner, key])
    if owner is TRUSTED and look.is_safe(key):
        state.stack.append(OTHER)
        return
    kind = look.type_of(owner)
    if kind in (list, tuple) and look.type_of(key) is int and not state.stale:
        state.stack.append(look.scope.item(owner, key))
    elif kind in (list, tuple, np.ndarray, torch.Tensor) and look.is_safe(key):
        state.stack.append(OTHER)
    else:
        look.any_code(state, [], 1)


def _is_op(look: Meaning, state: State, instruction: dis.Instruction) -> None:
    look.unseen(state.pop(2))
    state.stack.append(SAFE)


def _unpack_sequence(look: Meaning, state: State, instruction: dis.Instruction) -> None:
    (value,), count = state.pop(), instruction.arg or 0
    look.unseen([value])
    if look.type_of(value) in (list, tuple) and not state.stale:
        places = [Known((("const", at),), True) for at in range(count)]
        state.stack += [look.scope.item(value, at) for at in reversed(places)]
    else:
        look.any_code(state, [], count)


def _kw_names(look: Meaning, state: State, instruction: dis.Instruction) -> None:
    state.has_keywords = True


def _call(look: Meaning, state: State, instruction: dis.Instruction) -> None:
    count = instruction.arg or 0
    has_keywords, state.has_keywords = state.has_keywords, False
    first, callee, *args = state.pop(count + 2)
    look.unseen([first, callee])
    look.reads_no_frames(callee)
    if first is NULL and args == [PICTURE] and not has_keywords:
        look.take(callee)
        state.take()
        look.any_code(state, [], 1)
    elif first is NULL and all(map(look.is_safe, args)) and look.is_quiet(callee):
        state.stack.append(SAFE)
    else:
        look.any_code(state, args, 1)


def _call_function_ex(look: Meaning, state: State, instruction: dis.Instruction) -> None:
    look.any_code(state, state.pop(3 + ((instruction.arg or 0) & 1)), 1)


def _load_assertion_error(look: Meaning, state: State, instruction: dis.Instruction) -> None:
    state.stack.append(OTHER)


STEPS: dict[str, Callable[[Meaning, State, dis.Instruction], None]] = {
    "LOAD_FAST": _load_fast,
    "LOAD_CONST": _load_const,
    "LOAD_GLOBAL": _load_global,
    "LOAD_DEREF": _load_deref,
    "LOAD_ATTR": _load_attr,
    "LOAD_METHOD": _load_method,
    "STORE_FAST": _store_fast,
    "DELETE_FAST": _delete_fast,
    "POP_TOP": _pop_top,
    "PUSH_NULL": _push_null,
    "COPY": _copy,
    "SWAP": _swap,
    "BUILD_TUPLE": _build_tuple,
    "BUILD_LIST": _build_list,
    "LIST_APPEND": _list_append,
    "BUILD_MAP": _build_map,
    "BUILD_SLICE": _build_slice,
    "BUILD_CONST_KEY_MAP": _build_const_key_map,
    "FORMAT_VALUE": _format_value,
    "BUILD_STRING": _build_string,
    "BINARY_OP": _binary_op,
    "BINARY_SUBSCR": _binary_subscr,
    "IS_OP": _is_op,
    "UNPACK_SEQUENCE": _unpack_sequence,
    "KW_NAMES": _kw_names,
    "CALL": _call,
    "CALL_FUNCTION_EX": _call_function_ex,
    "LOAD_ASSERTION_ERROR": _load_assertion_error,
}
