"""The cases of tests/programs_state, run as their user runs them and under `headrace run`: each line that a
case prints must be the same.

The cases of one file (a theme) run one after the other, each in a process that is forked from one that has
imported torch; stock and served programs run at the same time.
"""

import ast
import contextlib
import difflib
import json
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.both_ways import IN_PROGRAMS
from support.headrace_program import HEADRACE, clean_environment

CASES = Path(__file__).parents[1] / "programs_state" / "cases"
SEED = os.environ.get("HEADRACE_TEST_SEED", "1234")
_SHOWN = 30  # lines of a difference
_STOCK_AGAIN = 2
# Way -> how the program is started, and settings. Ways of two hosts get a coordinator besides.
ONE, TWO = "one worker", "two workers"
WAYS = {ONE: ["--workers", "1"], TWO: ["--workers", "2"]}


@dataclass(frozen=True)
class Case:
    theme: str
    name: str
    way: str
    always: bool = False  # in the runs that leave out most cases, too

    def __str__(self) -> str:
        return f"{self.theme}.{self.name}-{self.way.replace(' ', '_')}"


def cases(themes: Iterable[str], ways: Iterable[str] = (), hosts: int = 1) -> list[Case]:
    """The cases of these themes, by their text: @case(workers=2) is run with two workers, too. With
    `hosts=2` those with @case(hosts=2), in `ways`. @case(always=True) is run by default, in its
    first way."""
    found = []
    for theme in themes:
        for name, settings in _decorated(CASES / f"{theme}.py"):
            if hosts == 2:
                found += [Case(theme, name, way) for way in ways if settings.get("hosts") == 2]
                continue
            found.append(Case(theme, name, ONE, settings.get("always", False)))
            if settings.get("workers") == 2:
                found.append(Case(theme, name, TWO))
    return found


def parameters(found: Iterable[Case]) -> list[Any]:
    """Makes pytest's parameters: most are marked `full` (support/extent.py)."""
    return [
        pytest.param(case, id=str(case), marks=() if case.always else pytest.mark.full)
        for case in found
    ]


def _decorated(file: Path) -> list[tuple[str, dict[str, int]]]:
    found = []
    for node in ast.parse(file.read_text()).body:
        for mark in getattr(node, "decorator_list", ()):
            if isinstance(mark, ast.Call) and getattr(mark.func, "id", "") == "case":
                named = {word.arg: ast.literal_eval(word.value) for word in mark.keywords}
                found.append((node.name, named))
    return found


class Runs:
    """Runs the selected cases of a theme when the first of them is asked for. For one test process."""

    def __init__(self, place: Path, photos: Path, selected: Iterable[Case]) -> None:
        self._place, self._photos = place, photos
        self._selected: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for case in selected:
            self._selected[case.theme][case.way].append(case.name)
        self._ran: set[str] = set()
        self.ways: dict[str, list[str]] = dict(WAYS)
        self.environment: Mapping[str, str] = {}

    def check(self, case: Case, promised: str = "") -> None:
        """`promised`: what a line of the service's log on stderr may say."""
        if case.theme not in self._ran:
            self._ran.add(case.theme)
            self._run(case.theme)
        stock, served = self._stock_lines(case), self._lines(case, case.way)
        said = self._file(case, case.way, "err")
        difference = list(difflib.unified_diff(stock, served, "stock", case.way, lineterm="", n=1))
        text = "\n".join([*difference[:_SHOWN], "on stderr:", *said.splitlines()[-_SHOWN:]])
        assert stock and stock[-1].startswith("ended"), f"seed {SEED}: stock itself: {stock[-3:]}"
        assert not difference, f"{case}, seed {SEED}:\n{text}"
        raw = [line for line in said.splitlines() if re.match(r"\[\d{4}-\d\d-\d\d", line)]
        raw = [line for line in raw if not promised or promised not in line]
        assert raw == [], f"{case}: lines of a log on the program's stderr: {raw}"

    def samples_by_path(self) -> Counter[str]:
        """How many samples each path made in all that ran. Empty: nothing was selected."""
        made: Counter[str] = Counter()
        for report in self._place.glob("*/*/*.report.json*"):
            for loader in json.loads(report.read_text())["loaders"]:
                made.update(loader["samples_by_path"])
        return made

    def _stock_lines(self, case: Case) -> list[str]:
        """A worker that torch forks in one thread, while another thread holds a lock of torch's, never
        begins. So a case with threads may stand still in the stock loader, and is run once more."""
        lines = self._lines(case, "stock")
        for number in range(_STOCK_AGAIN):
            if lines and lines[-1].startswith("ended"):
                break
            way = f"stock {case.name} {number}"
            with self._start(case.theme, way, [case.name], []) as process:
                process.communicate(timeout=1500)
            lines = self._lines(case, way)
        return lines

    def _run(self, theme: str) -> None:
        ways = self._selected[theme]
        names = list(dict.fromkeys(name for way in ways.values() for name in way))
        with contextlib.ExitStack() as stack:
            running = [stack.enter_context(self._start(theme, "stock", names, []))]
            for way, names in ways.items():
                report = self._place / theme / way / "report.json"
                prefix = [HEADRACE, "run", *self.ways[way], "--report", str(report)]
                running.append(stack.enter_context(self._start(theme, way, names, prefix)))
            for process in running:
                stack.callback(process.kill)
            for process in running:
                _, err = process.communicate(timeout=1500)
                assert process.returncode == 0, err

    def _start(self, theme: str, way: str, names: list[str], prefix: list[str]) -> subprocess.Popen:
        out = self._place / theme / way
        out.mkdir(parents=True)
        path = os.pathsep.join([str(IN_PROGRAMS), os.environ.get("PYTHONPATH", "")])
        environment = clean_environment(
            OMP_NUM_THREADS="1",
            PYTHONPATH=path.rstrip(os.pathsep),
            BITS_PHOTOS=str(self._photos),
            BITS_SEED=SEED,
            **({} if way.startswith("stock") else self.environment),
        )
        return subprocess.Popen(
            [*prefix, sys.executable, str(CASES / f"{theme}.py"), str(out), *names],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def _lines(self, case: Case, way: str) -> list[str]:
        return self._file(case, way, "out").splitlines()

    def _file(self, case: Case, way: str, ending: str) -> str:
        return (self._place / case.theme / way / f"{case.name}.{ending}").read_text()
