"""Whether every batch and random state of bench/real's programs is stock's, and how each is served; no times.

One process imports what most programs import and forks for each of them, so that all of them take the time
of a few: for a busy machine, and for whoever changes how code is captured. The programs' loops, workers and
hosts are as in real.py.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import pathlib
import runpy
import subprocess
import sys
import tempfile

import made_data
import measured
from measured import harness

COMMON = (
    "torch",
    "torchvision",
    "torchvision.transforms.v2",
    "cv2",
    "scipy.signal",
    "scipy.ndimage",
    "pandas",
)


def run_here(names: list[str], data: str, epochs: int, out: pathlib.Path) -> None:
    """Each program in a fork of this process: OUT/NAME.json, and OUT/NAME.err with what it writes on stderr."""
    sys.path.insert(0, str(measured.PROGRAMS))
    for module in COMMON:
        importlib.import_module(module)
    for name in names:
        child = os.fork()
        if child == 0:
            for descriptor, suffix in ((1, "json"), (2, "err")):
                file = os.open(out / f"{name}.{suffix}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
                os.dup2(file, descriptor)
                os.close(file)
            sys.argv = [
                str(measured.PROGRAMS / f"{name}.py"),
                "--data",
                data,
                "--epochs",
                str(epochs),
            ]
            runpy.run_path(sys.argv[0], run_name="__main__")
            return  # to the interpreter's end, where the report is written
        os.waitpid(child, 0)
        with contextlib.suppress(OSError):
            os.replace(out / "report.json", out / f"{name}.report")


def start(
    names: list[str], args: argparse.Namespace, out: pathlib.Path, served: bool
) -> subprocess.Popen:
    out.mkdir()
    command = [
        sys.executable,
        __file__,
        "--child",
        str(out),
        "--data",
        str(args.data),
        "--epochs",
        str(args.epochs),
        *names,
    ]
    if served:
        binary = str(pathlib.Path(sys.executable).with_name("headrace"))
        command = [binary, "run", "--report", str(out / "report.json"), *command]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.Popen(
        command, env=environment if served else {**environment, "HEADRACE": "off"}
    )


def result(out: pathlib.Path, name: str) -> dict:
    said = (out / f"{name}.err").read_text() if (out / f"{name}.err").exists() else ""
    text = (out / f"{name}.json").read_text().strip() if (out / f"{name}.json").exists() else ""
    if not text.endswith("}"):
        return {"failed": said[-1500:]}
    found = json.loads(text.splitlines()[-1])
    if (out / f"{name}.report").exists():
        found["report"] = json.loads((out / f"{name}.report").read_text())
    return found


def show(name: str, stock: dict, ours: dict) -> bool:
    """Prints how the program was served; whether all was equal."""
    if "failed" in stock or "failed" in ours:
        print(
            f"{name}: failed {'in stock too' if 'failed' in stock else ''}\n{ours.get('failed') or stock['failed']}"
        )
        return False
    unequal = measured.differences(stock, ours)
    print(f"{name}: {measured.way(ours)}; {'equal' if not unequal else 'UNEQUAL'}")
    for text in [*unequal, *measured.reasons(ours)]:
        print(f"    {text}")
    return not unequal


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=measured.program_names())
    parser.add_argument(
        "--data", type=pathlib.Path, default=harness.ROOT / "build" / "real" / "small"
    )
    parser.add_argument("--share", type=float, default=0.25)
    parser.add_argument("--there", action="store_true", help="the data, or as much as is wanted")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--child", type=pathlib.Path)
    args = parser.parse_args()
    if args.child:
        return run_here(args.names, str(args.data), args.epochs, args.child)
    if not args.there:
        made_data.make(args.data, share=args.share)
    args.data = args.data.resolve()
    with tempfile.TemporaryDirectory() as folder:
        outs = [pathlib.Path(folder) / kind for kind in ("stock", "served")]
        for child in [start(args.names, args, out, out.name == "served") for out in outs]:
            child.wait()
        equal = [show(name, *(result(out, name) for out in outs)) for name in args.names]
    print(f"{sum(equal)} of {len(equal)} equal")
    sys.exit(not all(equal))


if __name__ == "__main__":
    main()
