"""Runs a case with the stock loader's way and with lanes, in forks: a fork for each case, and in each iteration one
that is as a stock worker and one that is as a lane. What lanes hand over is in a folder."""

import contextlib
import gc
import hashlib
import importlib.util
import io
import os
import pickle
import random
import sys
import tempfile
import traceback
from typing import Any

import numpy as np
import torch
from headrace.stage import (
    cached_calls,
    cached_rules,
    call_board,
    fixed_part,
    found_calls,
    found_rules,
    leaf_cost,
    leaves,
)

from support.leaf_worker import LeafWorker

from .table import KEPT, NEVER, Case

ITERATIONS = 3


class FolderWorker(LeafWorker):
    """Its segments outlive the process that hands them over."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        self._path = f"{folder}/segments"

    def index(self, counts):
        if os.path.exists(self._path):
            with open(self._path, "rb") as file:
                self.segments = pickle.load(file)
        return super().index(counts)

    def put(self, fd, rows, end):
        room = super().put(fd, rows, end)
        with open(self._path, "wb") as file:
            pickle.dump(self.segments, file)
        return room


def nothing_is_too_short(compares: bool) -> None:
    """In this process and its forks: all that may be kept is, from the second call on, and nothing is compared unless
    `compares`: so the proof stands alone."""
    found_rules.TRIALS = 1
    found_rules.LEAST_SECONDS = 0.0
    found_rules._UNKNOWN_SHARE = found_rules._LATER_SHARE = found_rules._NAMING_SHARE = 1e9
    found_rules.Gain.is_poor = False
    leaf_cost._LEAST, leaf_cost._FIRST_SHARE, leaf_cost._LATER_SHARE = 0.0, 1e9, 1e9
    leaf_cost.is_worth = lambda seconds, size, first: True
    if not compares:
        cached_rules.Budget.takes = lambda self, compared, seconds, cpu: False


def names_are_walked_again() -> None:
    """In this process and its forks: what is taken as it was is walked as well, and has to be the same."""
    holds = fixed_part.FixedPart.holds

    def checked(self, function, owner, folder):
        if not holds(self, function, owner, folder):
            return False
        content = found_calls.FoundContent(cached_calls.memo)
        content.folder = folder
        content.fixed(function, owner)
        same = (
            content.digest() == self.digest
            and content.marks() == self.seen
            and list(map(id, content.atoms)) == list(map(id, self.atoms))
            and (content.paths, content.memory) == (self.paths, self.memory)
            and (content.codes, content.unclean) == (self.codes, self.unclean)
        )
        if not same:
            os.write(2, b"a name is not what it would be\n")
            os._exit(1)
        return True

    fixed_part.FixedPart.holds = checked


def _module(case: Case, folder: str) -> Any:
    path = f"{folder}/case.py"
    with open(path, "w") as file:
        file.write(case.source())
    spec = importlib.util.spec_from_file_location("found_case", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["found_case"] = module
    spec.loader.exec_module(module)
    return module


def in_fork(do) -> Any:
    """What it returns, in a process of its own."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:  # whatever happens, it is not to go on as the test
            os.close(ours)
            try:
                answer = True, do()
            except BaseException:
                answer = False, traceback.format_exc()
            with os.fdopen(theirs, "wb") as file:
                pickle.dump(answer, file)
        finally:
            os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as file:
        text = file.read()
    os.waitpid(pid, 0)
    if not text:
        raise RuntimeError("the process died")
    fine, answer = pickle.loads(text)
    if not fine:
        raise RuntimeError(answer)
    return answer


def iteration(data: Any, number: int) -> list[str]:
    """What a program could see of one: samples, output, warnings, errors, and the generators afterwards."""
    order = random.Random(number).sample(range(6), 6)
    random.seed(number)
    np.random.seed(number)
    torch.manual_seed(number)
    seen = []
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        for i in order:
            try:
                seen.append(f"{i}: {told(data[i])}")
            except Exception as error:
                seen.append(f"{i}: {type(error).__name__} {error}")
    seen += [out.getvalue(), err.getvalue()]
    states = random.getstate(), np.random.get_state(), torch.get_rng_state().tolist()
    return [*seen, hashlib.sha1(repr(states).encode()).hexdigest()]


def as_lane(data: Any, number: int, folder: str) -> tuple[list[str], int]:
    """The same in a lane, and how many results were handed over by then."""
    worker = FolderWorker(folder)
    leaves.here = leaves.Leaves(number == 0, True, door=lambda: worker)
    leaves.here.begin()
    cached_calls.gives = True  # as a lane that may begin again
    found_calls.enable(0)
    seen = iteration(data, number)
    leaves.here.end()
    return seen, worker.entries


def run(case: Case) -> str:
    """What is wrong; empty: nothing. Called in a fork."""
    nothing_is_too_short(case.compares)
    names_are_walked_again()
    gc.freeze()  # so that forks share it
    call_board.board = None
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/data")
        os.mkdir(f"{folder}/kept")
        module = _module(case, folder)
        data = module.Data(f"{folder}/data")
        for number in range(ITERATIONS):
            module.between(data, number)
            stock = in_fork(lambda number=number: iteration(data, number))
            found_calls.prepare(data)
            lane, _ = in_fork(lambda number=number: as_lane(data, number, f"{folder}/kept"))
            if case.check != NEVER and stock != lane:
                wrong = next((a, b) for a, b in zip(stock, lane, strict=True) if a != b)
                return f"iteration {number}: stock {wrong[0][:300]!r}, lane {wrong[1][:300]!r}"
        told_of = {one["name"]: one for one in call_board.told_of_found()}
        names = ("Data.load", "Data.__getitem__", "helper", "inner")
        hits = sum(one["hits"] for one in told_of.values())
        kept = [name for name in names if name in told_of and told_of[name]["kept"]]
        if case.check == NEVER and kept:
            return f"kept results of {kept}"
        if case.check == KEPT and not hits:
            return (
                f"nothing was found: { {k: (v['kept'], v['why_not']) for k, v in told_of.items()} }"
            )
    return ""


def told(value: Any, depth: int = 0) -> str:
    """All that a program can see of a value."""
    kind = type(value)
    if depth > 100:
        return "deep"
    if kind in (list, tuple):
        return f"{kind.__name__}({', '.join(told(one, depth + 1) for one in value)})"
    if isinstance(value, dict):
        inside = ", ".join(f"{told(k)}: {told(v, depth + 1)}" for k, v in value.items())
        return f"{kind.__name__}({inside})"
    if isinstance(value, np.ndarray):
        flags = value.flags.owndata, value.flags.writeable, value.strides, value.shape, value.dtype
        bits = value.tobytes() if not value.dtype.hasobject else repr(value)
        return f"{kind.__name__} {flags} {value.base is None} {bits!r}"
    if isinstance(value, torch.Tensor):
        about = value.dtype, tuple(value.shape), value.layout, value.requires_grad, value.is_conj()
        if value.layout != torch.strided:
            return f"{kind.__name__} {about} {value.to_dense().tolist()}"
        place = value.stride(), value.storage_offset(), value._is_view(), vars(value)
        return f"{kind.__name__} {about} {place} {value.detach().to(torch.complex64).tolist()}"
    if isinstance(value, float):
        return f"{kind.__name__} {value.hex()}"
    if hasattr(value, "tobytes") and hasattr(value, "mode"):
        return f"{kind.__name__} {value.mode} {value.size} {value.info} {value.tobytes()!r}"
    text = repr(value)
    return f"{kind.__name__} {text if ' at 0x' not in text else ''}"
