"""Runs the loader program with and without Headrace, in alternation, and writes reports."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import platform
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "bench" / "e2e" / "loader_program.py"
PHOTOS = ROOT / "build" / "demo" / "photos" / "train"
REPORTS = ROOT / "bench" / "report"


@dataclasses.dataclass(frozen=True)
class Variant:
    """One way to run the program: `headrace` is None for the stock loader, else the options of run."""

    name: str
    headrace: list[str] | None
    cpus: str | None = None  # for taskset; None: not pinned
    python: str = sys.executable  # of the environment whose Headrace it is
    environment: dict[str, str] = dataclasses.field(default_factory=dict)


def run(variant: Variant, program_args: list[str], program: pathlib.Path = PROGRAM) -> dict:
    """Runs the program once; returns its JSON, with Headrace's report under "report"."""
    command = [variant.python, str(program), *program_args]
    # Without a cache, unless the variant says one: what an epoch finds there is not what most benches measure.
    usual = {"OMP_NUM_THREADS": "1", "HEADRACE_CACHE": "0"}
    environment = {**os.environ, **usual, **variant.environment}
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        if variant.headrace is None:
            environment["HEADRACE"] = "off"
        else:
            binary = pathlib.Path(variant.python).with_name("headrace")
            command = [str(binary), "run", "--report", str(report), *variant.headrace, *command]
        if variant.cpus is not None:
            command = ["taskset", "-c", variant.cpus, *command]
        started = time.perf_counter()
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - started
        if done.returncode != 0:
            raise SystemExit(f"{shlex.join(command)} failed:\n{done.stderr}")
        result = json.loads(done.stdout.strip().splitlines()[-1])
        result["process_s"] = seconds
        if report.exists():
            result["report"] = json.loads(report.read_text())
        return result


def alternate(
    a: Variant, b: Variant, program_args: list[str], pairs: int
) -> list[tuple[dict, dict]]:
    """A B A B ...: `pairs` results of each, with progress on stderr."""
    results = []
    for pair in range(pairs):
        print(f"  pair {pair + 1} of {pairs}", file=sys.stderr, flush=True)
        results.append((run(a, program_args), run(b, program_args)))
    return results


def spread(values: list[float]) -> dict:
    """Median, least and greatest."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def show(values: dict, digits: int = 2) -> str:
    """ "3.21 [3.10, 3.30]" """
    return f"{values['median']:.{digits}f} [{values['min']:.{digits}f}, {values['max']:.{digits}f}]"


def machine() -> dict:
    """What the numbers depend on."""
    model = "unknown"
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    versions = {}
    for package in ("torch", "torchvision", "PIL", "numpy"):
        versions[package] = __import__(package).__version__
    return {
        "cpu": model,
        "cpus": os.cpu_count(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        **versions,
    }


def describe_photos(folder: pathlib.Path) -> dict:
    """Number and mean size of the files under `folder`."""
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    if not sizes:
        raise SystemExit(f"no photographs under {folder}: run ./dev demo first, or give --data")
    return {"files": len(sizes), "mean_kb": sum(sizes) / len(sizes) / 1e3}


def _without_place(word: str) -> str:
    """A path outside of this checkout, without where it lies on this machine."""
    path = pathlib.Path(word)
    if not path.is_absolute() or path.is_relative_to(ROOT):
        return word
    return str(pathlib.Path("elsewhere", *path.parts[-3:]))


def write_report(
    name: str,
    title: str,
    rows: list[tuple[str, str]],
    data: dict,
    note: str = "Median [least, greatest] over the pairs of one alternating run.",
) -> None:
    """bench/report/NAME.{md,json}: a table for people and everything that was measured."""
    words = [os.path.relpath(sys.argv[0], ROOT), *map(_without_place, sys.argv[1:])]
    command = "`.venv/bin/python " + shlex.join(words) + "`"
    about = machine()
    lines = [f"# {title}", "", f"Command: {command}", ""]
    lines += [
        f"Machine: {about['cpu']}, {about['cpus']} CPUs; Python {about['python']}, "
        f"torch {about['torch']}, torchvision {about['torchvision']}, Pillow {about['PIL']}.",
        "",
    ]
    if "photos" in data:
        photos = data["photos"]
        lines += [
            f"Data: {photos['files']} photographs, {photos['mean_kb']:.0f} kB on average.",
            "",
        ]
    lines += [note, ""]
    if rows:
        lines += ["| figure | value |", "|---|---|"]
        lines += [f"| {label} | {value} |" for label, value in rows]
    REPORTS.mkdir(parents=True, exist_ok=True)
    (REPORTS / f"{name}.md").write_text("\n".join(lines) + "\n")
    text = json.dumps({"machine": about, **data}, indent=1).replace(f"{ROOT}/", "")
    (REPORTS / f"{name}.json").write_text(text + "\n")
    print("\n".join(lines))
