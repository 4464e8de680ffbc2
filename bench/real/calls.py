"""Which calls the Python stages of bench/real's programs spend their time in, for choosing what to make native.

py-spy looks at every process of a served program 100 times a second; only the stacks of lanes and stage hosts
are counted. A program without persistent workers has new lanes in each epoch: those of the first one are left out.
Each program counts alike: a call's share is the mean of its shares of the programs' Python time.
Two tables: calls of the program's own code into a library, with all that they call, and the functions that
the time is spent in themselves. A C function has no frame: it is known by the source line that calls it.
"""

from __future__ import annotations

import argparse
import ast
import collections
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import made_data
import measured
from measured import harness

RATE = 100  # samples a second
_FRAME = re.compile(r"^(?P<name>.+) \((?P<file>[^()]+?)(:(?P<line>\d+))?\)$")
_LANES = re.compile(r"lane_main \(headrace/|\(headrace/stage/host")  # stacks of stages
_PROCESS = re.compile(r"process (\d+):")
_BELOW = re.compile(r"\(torch/utils/data/_utils/(fetch|worker)\.py")


@functools.cache
def lines_of(file: pathlib.Path) -> list[list[ast.Call]]:
    """For each line of a program its calls, outermost first."""
    found: list[list[ast.Call]] = [[] for _ in range(len(file.read_text().splitlines()) + 2)]
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Call):
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                found[line].append(node)
    return found


def name_of(function: ast.expr) -> str:
    """np.array; .clip of what is computed; what is the program's own without `self`."""
    if isinstance(function, ast.Attribute):
        return f"{name_of(function.value)}.{function.attr}".removeprefix("self.")
    return function.id if isinstance(function, ast.Name) else ""


def call_on(file: pathlib.Path, line: int) -> str:
    """What a line of a program does that has no frame of its own: the calls that it makes, or arithmetic."""
    calls = lines_of(file)[line] if line else []
    names = [name_of(call.func) for call in calls]
    names = [
        name
        for name in dict.fromkeys(names)
        if not name.startswith(("len", "range", "int", "zip", "enumerate"))
    ]
    if not names:
        return "arithmetic and indexing of the program's own lines"
    return " with ".join(names[:2])


def frames_of(stack: str) -> list[tuple[str, str, int]]:
    """(function, file, line) of a stage's frames, from the data set's or collate's call on."""
    words = stack.split(";")
    below = [at for at, word in enumerate(words) if _BELOW.search(word)]
    found = []
    for word in words[below[-1] + 1 :] if below else words:
        match = _FRAME.match(word)
        if match:
            found.append((match["name"], match["file"], int(match["line"] or 0)))
    return found


def is_own(file: str) -> bool:
    return "/" not in file and (measured.PROGRAMS / file).exists()


def library_function(name: str, file: str) -> str:
    return f"{name.replace('.<locals>', '')} ({file})"


def labels(stack: str) -> tuple[str, str]:
    """The call into a library that the program's own code makes, and the function that is running."""
    found = frames_of(stack)
    frames = [frame for frame in found if not frame[1].startswith("headrace/")]
    if not frames:
        last = _FRAME.match(stack.split(";")[-1])
        label = library_function(last["name"], last["file"]) if last else "?"
        return f"around samples: {label}", label
    # In place of what the program's line, or the library, names.
    ours = ", made by Headrace" if found[-1][1].startswith("headrace/") else ""
    name, file, line = frames[-1]
    if is_own(file):
        inner = call_on(measured.PROGRAMS / file, line) + ours
    else:
        inner = library_function(name, file) + ours
    # torchvision's Compose and torch's Module only pass on; what they pass on to is the call.
    passing = (
        "Compose.__call__",
        "Module._wrapped_call_impl",
        "Module._call_impl",
        "RandomApply.forward",
    )
    last_own = max((at for at, frame in enumerate(frames) if is_own(frame[1])), default=-1)
    outer = next((f for f in frames[last_own + 1 :] if f[0] not in passing), None)
    return inner if outer is None else library_function(outer[0], outer[1]) + ours, inner


def later_epochs(stacks: list[tuple[str, int]], epochs: int) -> list[tuple[str, int]]:
    """Those of lanes that came after the first epoch. All of them, where lanes are fewer than epochs: such
    lanes stay."""
    of_process = [max(map(int, _PROCESS.findall(stack)[-1:]), default=0) for stack, _ in stacks]
    lanes = sorted(set(of_process))
    first = set(lanes[: -(-len(lanes) // epochs)]) if len(lanes) > epochs > 1 else set()
    return [one for one, process in zip(stacks, of_process, strict=True) if process not in first]


def profile(name: str, data: pathlib.Path, epochs: int) -> dict[str, dict[str, int]]:
    """{"outer" or "inner": {call: samples}} of one program's stages."""
    with tempfile.TemporaryDirectory() as folder:
        stacks = pathlib.Path(folder) / "stacks"
        tool = [
            str(pathlib.Path(sys.executable).with_name("py-spy")),
            "record",
            "--subprocesses",
            "--format",
            "raw",
        ]
        program = [str(pathlib.Path(sys.executable).with_name("headrace")), "run", sys.executable]
        program += [
            str(measured.PROGRAMS / f"{name}.py"),
            "--data",
            str(data),
            "--epochs",
            str(epochs),
        ]
        command = [*tool, "--rate", str(RATE), "--output", str(stacks), "--", *program]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=600, check=False
        )
        text = stacks.read_text() if stacks.exists() else ""
        if not text:
            print(f"  {name}: no stacks\n{done.stderr[-500:]}", file=sys.stderr)
    counted = {"outer": collections.Counter(), "inner": collections.Counter()}
    parted = [line.rpartition(" ") for line in text.splitlines()]
    found = [(stack, int(samples)) for stack, _, samples in parted if _LANES.search(stack)]
    for stack, samples in later_epochs(found, epochs):
        outer, inner = labels(stack)
        counted["outer"][outer] += samples
        counted["inner"][inner] += samples
    return {kind: dict(counts) for kind, counts in counted.items()}


def table(profiles: dict[str, dict], kind: str, most: int) -> list[str]:
    shares: dict[str, float] = collections.defaultdict(float)
    samples: dict[str, int] = collections.Counter()
    where: dict[str, dict[str, float]] = collections.defaultdict(dict)
    for name, one in profiles.items():
        total = sum(one[kind].values())
        for call, count in one[kind].items():
            shares[call] += count / total / len(profiles)
            samples[call] += count
            where[call][name] = count / total
    lines = ["| call | mean share | seconds | programs | most of |", "|---|---|---|---|---|"]
    for call in sorted(shares, key=lambda c: -shares[c])[:most]:
        largest = sorted(where[call].items(), key=lambda w: -w[1])[:3]
        shown = ", ".join(f"{name} {share:.0%}" for name, share in largest)
        lines.append(
            f"| `{call}` | {shares[call]:.1%} | {samples[call] / RATE:.1f} | {len(where[call])} | {shown} |"
        )
    return lines


def of_some(profiles: dict[str, dict]) -> str:
    """The names of the programs, for a command; nothing, where they are all."""
    return "" if set(profiles) >= set(measured.program_names()) else f" {' '.join(profiles)}"


def write(profiles: dict[str, dict], epochs: int, share: float, report: str) -> None:
    good = {name: one for name, one in profiles.items() if sum(one["outer"].values()) >= RATE // 4}
    seconds = sum(sum(one["outer"].values()) for one in good.values()) / RATE
    lines = [
        "# Calls of Python stages by their time", "",
        f"Command: `.venv/bin/python bench/real/calls.py --share {share} --epochs {epochs}{of_some(profiles)}` (py-spy is "
        "needed; no part of the project's environment)", "",
        f"{len(good)} programs of [bench/real](../real/README.md) whose stages are Python, {epochs} epochs each, "
        f"served with the default cache, without the first epochs of lanes that do not stay; {seconds:.0f} s of lanes and stage hosts, looked at {RATE} times a second. A mean share "
        "counts each program alike. A process that is ready to run and waits for a core is counted, too: on a busy "
        "machine the lines `around samples` have more than they cost.", "",
        "## What the program's code calls", "",
        "A library's function with all that it calls itself; what is the program's own has the calls of its line.", "",
        *table(good, "outer", 60), "",
        "## Where the time is spent", "",
        *table(good, "inner", 40),
    ]  # fmt: skip
    harness.REPORTS.mkdir(parents=True, exist_ok=True)
    (harness.REPORTS / f"{report}.md").write_text("\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=measured.program_names())
    parser.add_argument(
        "--data", type=pathlib.Path, default=harness.ROOT / "build" / "real" / "data"
    )
    parser.add_argument(
        "--share",
        type=float,
        default=1,
        help="of the files that the data have, for data of their own",
    )
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument(
        "--kept", type=pathlib.Path, default=harness.ROOT / "build" / "real" / "calls.json"
    )
    parser.add_argument(
        "--go-on", action="store_true", help="with the programs that --kept does not have"
    )
    parser.add_argument("--report", default="real_calls", help="its name in bench/report")
    args = parser.parse_args()
    data = made_data.make(args.data, share=args.share).resolve()
    profiles = json.loads(args.kept.read_text()) if args.go_on and args.kept.exists() else {}
    for name in args.names:
        if name not in profiles:
            print(f"  {name}", file=sys.stderr, flush=True)
            profiles[name] = profile(name, data, args.epochs)
            args.kept.write_text(json.dumps(profiles))
    write(profiles, args.epochs, args.share, args.report)


if __name__ == "__main__":
    main()
