"""Training on a GPU with the stock loader and with Headrace, in alternation. Needs a GPU.

    python bench/gpu/gpu.py --data FOLDER --out RUNS          measures; adds a line to RUNS for each run
    python bench/gpu/gpu.py --render RUNS [RUNS ...]          writes bench/report/gpu.{md,json}

`headrace` must be on the PATH. `--budget` ends the measuring after so many seconds; a round goes
through all ways. `--copies` makes the folder first: each image so often, as
files of their own, so that a decoded cache has something to hold.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
import harness  # noqa: E402

# What a run is called -> the options of `headrace run` (None: stock), and those of train.py.
WAYS: dict[str, tuple[list[str] | None, list[str]]] = {
    "stock": (None, []),
    "stock, 8 workers": (None, ["--num-workers", "8"]),
    "Headrace": ([], []),
    "Headrace, 15 threads": (["--threads", "15"], []),
    "Headrace, from its cache": (["--cache", "16G"], ["--passes", "2"]),
    "Headrace before": ([], []),
    "nothing to load": (None, ["--synthetic", "--warm-up", "1", "--seconds", "3"]),
}


def run(way: str, arguments: list[str], before: str, program: str = "train.py") -> dict:
    """One run; its JSON, with Headrace's report of its loader under "report". `before`: the folder of
    another Python package."""
    options, own = WAYS[way]
    command = [sys.executable, str(HERE / program), *arguments]
    command += own if program == "train.py" else []
    environment = {**os.environ, "HEADRACE_CACHE": "0"}  # where the options say none
    if way == "Headrace before":
        environment["PYTHONPATH"] = f"{before}:{environment.get('PYTHONPATH', '')}"
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        if options is None:
            environment["HEADRACE"] = "off"
        else:
            command = ["headrace", "run", "--report", str(report), *options, *command]
        begun = time.perf_counter()
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return {"failed": done.stderr[-3000:]}
        result = json.loads(done.stdout.strip().splitlines()[-1])
        result["process_s"] = time.perf_counter() - begun
        if report.exists():
            result["report"] = json.loads(report.read_text())["loaders"][0]
            result["report"].pop("name")
        if done.stderr.strip():
            result["said"] = done.stderr[-1500:]
        return result


def copy_photos(source: pathlib.Path, target: pathlib.Path, copies: int) -> None:
    for photo in sorted(source.rglob("*.jpg")):
        folder = target / photo.parent.name
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(copies):
            shutil.copy(photo, folder / f"{photo.stem}_{number:03}.jpg")


def measure(args: argparse.Namespace) -> None:
    begun = time.monotonic()
    with args.out.open("a") as out:

        def add(**line: object) -> None:
            out.write(json.dumps(line) + "\n")
            out.flush()
            print(json.dumps(line)[:700], flush=True)

        add(machine=harness.machine(), photos=harness.describe_photos(args.data))
        if args.pinned:
            for way in ("stock", "Headrace"):
                add(way=way, pinned=run(way, [str(args.data)], args.before, "pinned.py"))
        for round_number in range(args.rounds):
            for way in args.ways:
                left = args.budget - (time.monotonic() - begun)
                if left < args.longest:
                    print(f"the budget ends in {left:.0f} s", flush=True)
                    return
                arguments = [str(args.data), "--model", *args.models, *args.options]
                if round_number == 0 and way != "nothing to load":
                    arguments += ["--profile", "20"]
                add(way=way, options=args.options, run=run(way, arguments, args.before))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--copies", type=int, default=0)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--models", nargs="+", default=["resnet18", "resnet50"])
    parser.add_argument("--ways", nargs="+", default=["stock", "Headrace"], choices=list(WAYS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--before", default="", help="folder of another Python package")
    parser.add_argument("--pinned", action="store_true", help="pinned.py first")
    parser.add_argument("--budget", type=float, default=3600.0, help="seconds")
    parser.add_argument("--longest", type=float, default=30.0, help="seconds of one run")
    parser.add_argument("--render", type=pathlib.Path, nargs="+")
    parser.add_argument("options", nargs="*", help="of train.py, after --")
    args = parser.parse_args()
    if args.render:
        import report

        report.write(args.render)
        return
    if args.copies:
        target = args.data.with_name(args.data.name + f"-{args.copies}")
        copy_photos(args.data, target, args.copies)
        args.data = target
    measure(args)


if __name__ == "__main__":
    main()
