"""What the sweeps of the simulator have in common: many runs of the program, and their reports."""

from __future__ import annotations

import argparse
import concurrent.futures
import csv
import json
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
REPORTS = ROOT / "bench" / "report"

OURS = ("fifo", "sjf", "max_min_fair", "utilization")
# The GPU order of each of our policies, for a baseline in the same order.
ORDER = {"fifo": "fifo", "sjf": "sjf", "max_min_fair": "max_min", "utilization": "fifo"}

# What a restart costs a job that was stopped, in every sweep: orders that take GPUs away pay for it.
RESTART_S = 60


def parser(description: str) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--program", default=str(ROOT / "build" / "release" / "cli" / "headrace"))
    made.add_argument("--jobs", type=int, default=2, help="simulations at a time")
    return made


def simulate(program: str, arguments: list[str]) -> dict:
    """One simulation; its figures."""
    command = [program, "simulate", *map(str, arguments), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    return json.loads(done.stdout)


def simulate_all(options: argparse.Namespace, cells: dict) -> dict:
    """`cells`: key -> arguments. Returns key -> figures, in the same order."""
    results = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        futures = {key: pool.submit(simulate, options.program, each) for key, each in cells.items()}
        for done, (key, future) in enumerate(futures.items(), 1):
            results[key] = future.result()
            print(f"\r{done} of {len(futures)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return results


def generate(program: str, arguments: list[str], path: pathlib.Path) -> None:
    command = [program, "simulate", "--generate", *map(str, arguments)]
    path.write_text(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def scale_input(path: pathlib.Path, factor: float) -> None:
    """Makes each step's input take `factor` times the cores."""
    rows = list(csv.DictReader(path.open()))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            for column in ("input_s", "hit_input_s"):
                if row.get(column):
                    row[column] = repr(float(row[column]) * factor)
            writer.writerow(row)


def table(header: list[str], rows: list[list]) -> str:
    def line(cells):
        return "| " + " | ".join(str(cell) for cell in cells) + " |\n"

    return line(header) + line(["---"] * len(header)) + "".join(line(row) for row in rows)


def spread(values: list[float]) -> str:
    """Median, least and greatest."""
    return f"{statistics.median(values):.2f} [{min(values):.2f}, {max(values):.2f}]"


def rounded(figure: dict) -> dict:
    """Six digits of each number are enough for a report."""

    def of(value):
        if isinstance(value, dict):
            return rounded(value)
        return float(f"{value:.6g}") if isinstance(value, float) else value

    return {key: of(value) for key, value in figure.items()}


def write(name: str, title: str, command: str, figures: list[dict], text: str) -> None:
    REPORTS.mkdir(exist_ok=True)
    lines = ",\n".join(json.dumps(rounded(figure)) for figure in figures)
    (REPORTS / f"{name}.json").write_text(f"[\n{lines}\n]\n")
    (REPORTS / f"{name}.md").write_text(f"# {title}\n\nCommand: `{command}`\n\n{text}")
    print(text)
