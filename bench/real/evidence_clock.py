"""Runs a program of bench/real with clocks around what found functions do beside the program's own calls: comparisons,
watches, names and the search, in CPU seconds of the threads that do it. Served programs only; evidence.py starts it.

The clocks are put around functions of the lanes here, so without this file nothing is measured and nothing is paid.
Writes a list to EVIDENCE_FILE: what each had taken at the end of each epoch, over all processes.
"""

import json
import mmap
import os
import runpy
import sys
import time
from typing import Any

import numpy as np

KINDS = ("comparisons", "made_again", "watches", "names", "names_of_hits", "search", "trials")
COUNTS = ("compared", "watched", "named", "hits")
_LANES, _WIDTH = 32, 32
_now = time.thread_time
_memory = mmap.mmap(-1, (_LANES + 1) * _WIDTH * 8)  # that lanes share, each of which has a row
_table = np.frombuffer(_memory, np.float64).reshape(_LANES + 1, _WIDTH)
_row = [_LANES]  # the trainer's
_COLUMNS = {name: at for at, name in enumerate((*KINDS, *COUNTS))}


def add(kind: str, amount: float) -> None:
    _table[_row[0], _COLUMNS[kind]] += amount


def told() -> dict[str, float]:
    """Of all processes until now."""
    sums = _table.sum(axis=0)
    return {name: float(sums[at]) for name, at in _COLUMNS.items()}


def clocked(kind: str, function: Any) -> Any:
    def run(*args: Any, **named: Any) -> Any:
        began = _now()
        try:
            return function(*args, **named)
        finally:
            add(kind, _now() - began)

    return run


def watch_trainer() -> None:
    """And lanes, once functions are looked for."""
    from headrace.stage import declared_here

    declared_here.prepare = clocked("search", declared_here.prepare)
    imported, serve = declared_here._imported, declared_here.serve

    def imports(name: str) -> Any:
        is_new = f"headrace.stage.{name}" not in sys.modules
        module = imported(name)
        if is_new and name == "found_calls":
            watch_lanes(module)
        return module

    def serves(lane: int, gives: bool) -> None:
        _row[0] = lane % _LANES
        clocked("search", serve)(lane, gives)

    declared_here._imported, declared_here.serve = imports, serves


def watch_lanes(found_calls: Any) -> None:
    # Nothing that runs within a call of the program's is wrapped: a trace would take it for the program's.
    calls = found_calls.FoundCall
    naming = [0.0, False]  # of the call at hand: seconds, and whether something was found

    def names(function: Any) -> Any:
        def run(*args: Any) -> Any:
            began = _now()
            try:
                return function(*args)
            finally:
                naming[0] += _now() - began

        return run

    calls._content = names(calls._content)
    found_calls.found_entry = names(found_calls.found_entry)
    looked_for, found, again = calls._looked_for, calls._found, calls._again
    watch, tried, made_again = calls._watch, calls._tried, calls._was_made_again
    make_watched, note = calls._make_watched, found_calls.Trial.note

    def looks(self: Any, *args: Any) -> Any:
        naming[:] = 0.0, False
        try:
            return looked_for(self, *args)
        finally:
            add("named", 1)
            add("names_of_hits" if naming[1] else "names", naming[0])

    def finds(self: Any, *args: Any) -> Any:
        naming[1] = True
        add("hits", 1)
        return found(self, *args)

    def compares(self: Any, *args: Any) -> Any:
        add("compared", 1)
        return clocked("comparisons", again)(self, *args)

    def is_made_again(self: Any, seconds: float) -> None:
        add("made_again", seconds)
        made_again(self, seconds)

    def makes_watched(self: Any, kept: Any, content: Any, seen: Any, trace: Any, *args: Any) -> Any:
        try:
            return make_watched(self, kept, content, seen, trace, *args)
        finally:
            call = seen.seconds - trace.seconds
            add("watches", -call - self._kept_in)  # the call itself, and keeping, are none

    def watches(self: Any, *args: Any) -> Any:
        add("watched", 1)
        return clocked("watches", watch)(self, *args)

    def notes(self: Any, seconds: float) -> None:
        add("trials", -seconds)
        note(self, seconds)

    calls._looked_for, calls._found, calls._again = looks, finds, compares
    calls._was_made_again, calls._make_watched, calls._watch = (
        is_made_again,
        makes_watched,
        watches,
    )
    calls._tried, found_calls.Trial.note = clocked("trials", tried), notes


def watch_epochs() -> list[dict[str, float]]:
    import recording

    epochs: list[dict[str, float]] = []
    epoch = recording.Recorder.epoch

    def recorded(self: Any, loader: Any) -> Any:
        try:
            yield from epoch(self, loader)
        finally:
            epochs.append(told())

    recording.Recorder.epoch = recorded
    return epochs


def main() -> None:
    program = sys.argv[1]
    sys.argv = sys.argv[1:]
    sys.path.insert(0, os.path.dirname(os.path.abspath(program)))
    watch_trainer()
    epochs = watch_epochs()
    runpy.run_path(program, run_name="__main__")
    with open(os.environ["EVIDENCE_FILE"], "w") as file:
        json.dump(epochs, file)


if __name__ == "__main__":
    main()
