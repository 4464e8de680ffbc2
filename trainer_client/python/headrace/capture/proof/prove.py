"""prove(loader): is its code free of state?"""

import os
import sys
from collections.abc import Callable
from typing import Any

import torch

from . import calls, items, methods, statements
from .arguments import Arguments
from .fills import Fills
from .interpreter import Interpreter
from .known.tables import KNOWN
from .proof import Code, Doubt, Proof
from .rules import Rules
from .source import files_read, forget_edited
from .specials import special
from .values import INT, Value, live, one

RULES = Rules(
    apply=calls.apply,
    run=calls.run,
    function=calls.follow,
    call=calls.call,
    call_method=methods.call,
    special=special,
    run_block=statements.run_block,
    run_statement=statements.run_statement,
    assign=statements.assign,
)
_MOST_ROUNDS = 8
_DEEPEST = 20_000


def prove(loader: Any) -> Proof:
    """Whether what the loader's data set, collate_fn and worker_init_fn do to a sample follows from
    its key, from what was there before the first one and from random numbers that travel with the
    lane. Runs none of their code. Never raises."""
    if os.environ.get("HEADRACE_TRUST_CODE") == "1":
        return Proof(True, Code.DECLARED, declared=("the whole program",))
    getitems = bool(getattr(loader, "_auto_collation", True))
    return prove_parts(loader.dataset, loader.collate_fn, loader.worker_init_fn, getitems)


def prove_parts(
    dataset: Any, collate_fn: Any = None, worker_init_fn: Any = None, getitems: bool = True
) -> Proof:
    """Does what prove does. getitems: batches come from __getitems__ if the data set has it."""

    def follow(it: Interpreter) -> None:
        if isinstance(dataset, torch.utils.data.IterableDataset):
            raise Doubt(
                Code.WRITES_STATE,
                "has an iterable data set, which keeps its place from sample to sample",
                "make it a data set with __getitem__",
            )
        _follow(it, dataset, collate_fn, worker_init_fn, getitems)

    return _prove(follow, {"dataset": dataset, "collate_fn": collate_fn})


def prove_call(function: Any, name: str) -> Proof:
    """Does what prove does, for a callable that gets one sample or one list of them. `name`: its
    name in reasons."""

    def follow(it: Interpreter) -> None:
        made = one(it.make(it.outermost, "sample", list))
        calls.apply(it, it.outermost, one(live(function, name)), Arguments([made]))

    return _prove(follow, {name: function})


def _prove(follow: Callable[[Interpreter], None], parts: dict[str, Any]) -> Proof:
    forget_edited(files_read())
    declared: dict[str, None] = {}
    fills = Fills()
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _DEEPEST))
    try:
        for _ in range(_MOST_ROUNDS):
            it = Interpreter(RULES, KNOWN, parts, fills, declared)
            follow(it)
            if not it.overlays:
                break
        else:
            raise Doubt(Code.UNKNOWN_CONSTRUCT, "fills caches in a way that is too odd")
    except Doubt as doubt:
        return Proof(False, doubt.code, f"{doubt.where or 'the loader'} {doubt.text}", doubt.remedy)
    except RecursionError:
        return _not_understood("calls too deep to be followed")
    except Exception as error:  # objects may do anything when they are looked at
        return _not_understood(f"is not understood ({type(error).__name__}: {error})")
    finally:
        sys.setrecursionlimit(before)
    code = Code.DECLARED if declared else Code.CLEAN
    return Proof(True, code, declared=tuple(declared), draws=it.drawn)


def _not_understood(text: str) -> Proof:
    doubt = Doubt(Code.UNKNOWN_CONSTRUCT, text)
    return Proof(False, doubt.code, f"the loader {doubt.text}", doubt.remedy)


def _follow(
    it: Interpreter, dataset: Any, collate_fn: Any, worker_init_fn: Any, getitems: bool
) -> None:
    frame = it.outermost
    if worker_init_fn is not None:
        start = one(live(worker_init_fn, "worker_init_fn"))
        calls.apply(it, frame, start, Arguments([INT]))
    me = live(dataset, "self")
    keys = INT
    whole = getitems and callable(getattr(type(dataset), "__getitems__", None))
    if whole:
        batch = it.make(frame, "keys", list)
        it.grow(batch, keys)
        samples = _item(it, me, "__getitems__", one(batch))
    else:
        sample = _item(it, me, "__getitem__", keys)
        batch = it.make(frame, "batch", list)
        it.grow(batch, sample)
        samples = one(batch) if getitems else sample
    if collate_fn is not None:
        collate = one(live(collate_fn, "collate_fn"))
        calls.apply(it, frame, collate, Arguments([samples]))


def _item(it: Interpreter, me: Any, name: str, key: Value) -> Value:
    found = special(it, it.outermost, me, name, [key])
    if found is not None:
        return found
    if name == "__getitem__":
        return items.take(it, it.outermost, one(me), key, None)
    raise Doubt(Code.UNKNOWN_CALL, f"calls {name} of the data set, which is not known")
