"""A program as its user runs it, and the same under `headrace run`: what it was given each time."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from support.headrace_program import HEADRACE, clean_environment, free_port

# Programs import from here what tells their batches (told.py).
IN_PROGRAMS = Path(__file__).parent / "in_programs"
# Lines of theirs that are no different with us, but never the same twice.
_LINES = ("batch ", "weights ", "result ")


@dataclass
class Compared:
    told: list[str]  # sorted, because processes and threads may take turns
    samples: int  # of the batches that were told
    made: Counter[str]  # samples by path, of all loaders
    loaders: list[dict] = field(default_factory=list)
    said: list[str] = field(default_factory=list)  # by us, on stderr


def compare(program: Path, arguments: Sequence[object], place: Path, *options: str) -> Compared:
    """Runs it both ways and asserts that it got the same batches and that no line on stderr is new but
    ours. "{out}" and "{port}" in the arguments: a folder and a free port of its own each time.
    `options`: of `headrace run`."""
    plain = [sys.executable, str(program)]
    report = place / "report.json"
    served = [HEADRACE, "run", "--workers", "2", *options, "--report", str(report), *plain]
    # Both at once: half of the time goes into imports.
    with _start(plain, arguments, place / "stock") as stock:
        with _start(served, arguments, place / "served") as ours:
            (expected, before), (told, after) = _finish(stock), _finish(ours)
    assert expected and told == expected
    known = set(before.splitlines())
    new = [line for line in after.splitlines() if line and line not in known]
    own = [line for line in new if line.startswith("headrace: ")]
    assert [line for line in new if line not in own] == []

    reports = [json.loads(part.read_text()) for part in place.glob("report.json*")]
    loaders = [loader for part in reports for loader in part["loaders"]]
    made: Counter[str] = Counter()
    for loader in loaders:
        made.update(loader["samples_by_path"])
    samples = sum(int(line.split()[-2]) for line in told if line.startswith("batch "))
    return Compared(told, samples, made, loaders, own)


def _start(command: list[str], arguments: Sequence[object], out: Path) -> subprocess.Popen:
    out.mkdir()
    path = os.pathsep.join([str(IN_PROGRAMS), os.environ.get("PYTHONPATH", "")])
    environment = clean_environment(OMP_NUM_THREADS="1", PYTHONPATH=path.rstrip(os.pathsep))
    places = {"out": out, "port": free_port()}
    return subprocess.Popen(
        [*command, *(str(argument).format(**places) for argument in arguments)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def _finish(process: subprocess.Popen) -> tuple[list[str], str]:
    try:
        out, err = process.communicate(timeout=300)
    finally:
        process.kill()
    assert process.returncode == 0, err
    return sorted(line for line in out.splitlines() if line.startswith(_LINES)), err
