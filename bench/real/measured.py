"""One run of a program of bench/real, measured from outside: CPU of all its processes, their memory, and
how its loaders were served.
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
sys.path.insert(0, str(HERE.parent / "e2e"))
import harness  # noqa: E402
from processes import processes_below  # noqa: E402

HELPERS = {
    "recording",
    "box_transforms",
    "joined_paths",
    "made_here",
}  # modules that programs import
# Programs whose items and batches are the same in each epoch, whatever is drawn: asked of each item twice,
# with a look at the global generators, and read for generators of their own. All that they make could be kept.
DETERMINISTIC = {
    "cutting_out_cars",
    "few_shot_episodes",
    "forecasting_windows",
    "generator_from_zip",
    "letterbox_detection",
    "packed_documents",
    "recommendation_negatives",
    "speech_spectrograms",
    "text_classification",
    "translation_pairs",
    "words_in_lmdb",
}
_GROUPS = pathlib.Path("/sys/fs/cgroup")
_LONGEST_S = 600


def program_names() -> list[str]:
    return sorted({path.stem for path in PROGRAMS.glob("*.py")} - HELPERS)


@contextlib.contextmanager
def accounted() -> Iterator[pathlib.Path | None]:
    """A control group of the kernel whose CPU time counts every process that is started in it, also
    those whose parents have ended. None where none can be made (it takes root)."""
    first = (_GROUPS / "cpuacct").is_dir()  # version of the interface
    group = (_GROUPS / "cpuacct" if first else _GROUPS) / f"headrace-real-{os.getpid()}"
    try:
        group.mkdir(exist_ok=True)
    except OSError:
        yield None
        return
    try:
        yield group
    finally:
        for _ in range(100):  # processes that end just after the program
            with contextlib.suppress(OSError):
                group.rmdir()
                break
            time.sleep(0.05)


def usage_file(group: pathlib.Path) -> pathlib.Path:
    return group / ("cpuacct.usage" if (group / "cpuacct.usage").exists() else "cpu.stat")


def memory_kb(pid: int) -> int:
    """PSS of the process and all below it."""
    total = 0
    for one in (pid, *processes_below(pid)):
        with contextlib.suppress(OSError):  # gone meanwhile
            text = pathlib.Path(f"/proc/{one}/smaps_rollup").read_text()
            found = re.search(r"^Pss:\s+(\d+)", text, re.M)
            total += int(found[1]) if found else 0
    return total


def run(
    name: str,
    data: pathlib.Path,
    served: list[str] | None,
    options: list[str],
    memory: bool,
    within: pathlib.Path | None = None,
) -> dict:
    """What the program prints, with "memory_kb" (the most, if `memory`), "process_s", "report" and
    "said" (our lines). `served`: options of `headrace run`, None for the stock loader; `within`: a program that
    runs it. A program that fails has "failed" with its last lines."""
    runs = [] if within is None else [str(within)]
    command = [sys.executable, *runs, str(PROGRAMS / f"{name}.py"), "--data", str(data), *options]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryDirectory() as folder, accounted() as group:
        report = pathlib.Path(folder) / "report.json"
        if served is None:
            environment["HEADRACE"] = "off"
        else:
            binary = pathlib.Path(sys.executable).with_name("headrace")
            command = [str(binary), "run", "--report", str(report), *served, *command]
        if group is not None:
            environment["CPU_USAGE_FILE"] = str(usage_file(group))
            joined = f'echo $$ > {group / "cgroup.procs"}; exec "$@"'
            command = ["sh", "-c", joined, "sh", *command]
        started = time.perf_counter()
        with open(pathlib.Path(folder) / "err", "w+") as errors:
            child = subprocess.Popen(
                command, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True
            )
            most = _watch(child, memory)
            output = child.communicate()[0]
            errors.seek(0)
            said = errors.read()
        seconds = time.perf_counter() - started
        if child.returncode != 0 or not output.strip():
            return {"failed": said[-1500:], "status": child.returncode}
        result: dict[str, Any] = json.loads(output.strip().splitlines()[-1])
        result["process_s"] = seconds
        result["said"] = [line for line in said.splitlines() if line.startswith("headrace: ")]
        if memory:
            result["memory_kb"] = most
        if report.exists():
            result["report"] = json.loads(report.read_text())
        return result


def _watch(child: subprocess.Popen, memory: bool) -> int:
    """Waits for the end of a program that prints little; its most memory, looked at 5 times a second."""
    most, until = 0, time.monotonic() + _LONGEST_S
    while child.poll() is None:
        if time.monotonic() > until:
            child.kill()
        if memory:
            most = max(most, memory_kb(child.pid))
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(0.2)
    return most


def way(result: dict) -> str:
    """How the samples of the program's loaders were made: "native", "python" and "local", largest first."""
    counts: dict[str, int] = {}
    for loader in result["report"]["loaders"]:
        for path, samples in loader["samples_by_path"].items():
            counts[path] = counts.get(path, 0) + samples
    made = [path for path, samples in sorted(counts.items(), key=lambda c: -c[1]) if samples]
    pictures = sum(one["counts"].get("native_images", 0) for one in result["report"]["loaders"])
    return " and ".join(made) + (" with native pictures" if pictures and "python" in made else "")


def reasons(result: dict) -> list[str]:
    return [text for loader in result["report"]["loaders"] for text in loader["reasons"]]


def differences(stock: dict, other: dict) -> list[str]:
    """Batches and states of random generators that are not the stock loader's, by epoch and number."""
    found = []
    if len(stock["epochs"]) != len(other["epochs"]):
        found.append("number of epochs")
    for number, (a, b) in enumerate(zip(stock["epochs"], other["epochs"], strict=False)):
        if len(a["batches"]) != len(b["batches"]):
            found.append(
                f"epoch {number}: {len(b['batches'])} batches instead of {len(a['batches'])}"
            )
        pairs = zip(a["batches"], b["batches"], strict=False)
        other_batches = [str(at) for at, (x, y) in enumerate(pairs) if x != y]
        if other_batches:
            found.append(f"epoch {number}: batches {', '.join(other_batches[:8])}")
        if a["random"] != b["random"]:
            found.append(f"epoch {number}: random state")
    return found


def machine() -> dict:
    return harness.machine()
