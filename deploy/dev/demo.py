"""The demo: examples/train.py as it is and under `headrace run`, compared. Called by ./dev demo.

    python deploy/dev/demo.py --photos DIR --out DIR [--short]

Exits with 1 when a batch or a loss differs between the two.
"""

import argparse
import ctypes
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADRACE = Path(sys.executable).parent / "headrace"
PR_SET_CHILD_SUBREAPER = 36


def children_cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(name, prefix, arguments, out):
    """Runs examples/train.py; returns what it measured, with the CPU seconds of every process that
    it started, its own start-up taken out."""
    print(f"    {name}", flush=True)
    log, measured = out / f"{name}.log", out / f"{name}.json"
    batches = out / f"{name}.batches"
    command = [*prefix, sys.executable, "examples/train.py", *arguments, "--json", str(measured)]
    if "--no-train" not in arguments:
        command += ["--log-batches", str(batches)]
    before = children_cpu()
    with log.open("w") as file:
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        for line in process.stdout:
            file.write(line)
            print(f"      | {line}", end="", flush=True)
        status = process.wait()
    reap_orphans()
    if status != 0:
        raise SystemExit(f"{' '.join(command)}\nended with status {status}; its output is in {log}")
    result = json.loads(measured.read_text())
    cpu = children_cpu() - before - result["cpu_seconds_before"]
    result["cpu_per_1000"] = 1000 * cpu / result["samples"]
    result["batches"] = batches.read_text().splitlines() if batches.is_file() else []
    return result


def reap_orphans():
    """Waits for what a program left behind (coordinator and workers end just after it), so that
    their CPU time counts as that program's: this process is the subreaper."""
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return


def last_epoch_rate(result):
    ends = [0.0] + [epoch["seconds_since_start"] for epoch in result["epochs"]]
    return result["samples"] / len(result["epochs"]) / (ends[-1] - ends[-2])


def table(title, columns, rows):
    print(f"\n  {title}")
    width = max(len(label) for label, _ in rows) + 2
    print(" " * (4 + width) + "".join(f"{column:>22}" for column in columns))
    for label, cells in rows:
        print(f"    {label:<{width}}" + "".join(f"{cell:>22}" for cell in cells))


def training_table(stock, headrace):
    both = (stock, headrace)
    rows = [
        ("samples/s", [f"{r['samples_per_second']:.0f}" for r in both]),
        ("stall share", [f"{100 * r['wait_share']:.0f} %" for r in both]),
    ]
    for number in range(len(stock["epochs"])):
        rows.append((f"loss, epoch {number}", [f"{r['epochs'][number]['loss']:.6f}" for r in both]))
    rows.append(("validation accuracy", [f"{r['val_accuracy']:.3f}" for r in both]))
    table("Training on the CPU: network and loader share the cores", ["stock", "headrace"], rows)
    equal = sum(a == b for a, b in zip(stock["batches"], headrace["batches"], strict=False))
    total = max(len(stock["batches"]), len(headrace["batches"]))
    print(f"    batches equal: {equal} of {total}")
    losses = [[epoch["loss"] for epoch in r["epochs"]] for r in both]
    return equal == total > 0 and losses[0] == losses[1]


def show_paths(report):
    if not report.is_file():
        return
    for loader in json.loads(report.read_text()).get("loaders", []):
        paths = loader.get("samples_by_path", {})
        shown = ", ".join(f"{count} {path}" for path, count in paths.items() if count)
        print(f"    headrace made {loader.get('samples')} samples: {shown}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--photos", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--short", action="store_true", help="one epoch of training each, no more")
    args = parser.parse_args()
    args.photos, args.out = args.photos.resolve(), args.out.resolve()
    args.out.mkdir(parents=True, exist_ok=True)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    report = args.out / "report.json"
    served = [str(HEADRACE), "run", "--report", str(report)]
    train = [str(args.photos), "--epochs", "1" if args.short else "3"]
    stock = run("train-stock", [], train, args.out)
    headrace = run("train-headrace", served, train, args.out)
    if not args.short:
        load = [str(args.photos), "--epochs", "4", "--no-train"]
        without = [str(HEADRACE), "run", "--cache", "0"]
        loads = [
            run("load-stock", [], load, args.out),
            run("load-headrace-no-cache", without, load, args.out),
            run("load-headrace", [str(HEADRACE), "run"], load, args.out),
        ]
        device = [str(args.photos), "--epochs", "2", "--no-train", "--step-ms", "20"]
        devices = [
            run("device-stock", [], device, args.out),
            run("device-headrace", [str(HEADRACE), "run"], device, args.out),
        ]
    same = training_table(stock, headrace)
    show_paths(report)
    if not args.short:
        table(
            "Loading alone: the network is left out (--no-train)",
            ["stock", "headrace --cache 0", "headrace"],
            [
                ("samples/s", [f"{r['samples_per_second']:.0f}" for r in loads]),
                ("samples/s, last epoch", [f"{last_epoch_rate(r):.0f}" for r in loads]),
                ("CPU-seconds per 1,000 samples", [f"{r['cpu_per_1000']:.2f}" for r in loads]),
            ],
        )
        table(
            "Beside an accelerator: a sleep of 20 ms for each batch of 32 stands for its step",
            ["stock", "headrace"],
            [
                ("samples/s (at most 1600)", [f"{r['samples_per_second']:.0f}" for r in devices]),
                ("stall share", [f"{100 * r['wait_share']:.0f} %" for r in devices]),
            ],
        )
        print(f"""
  CPU-seconds are those of all processes, the coordinator and the workers included.
  What each run printed and measured: {args.out}

  Next: .venv/bin/headrace run .venv/bin/python your_program.py     (your program, unchanged)
        .venv/bin/headrace run --help                               (workers, cache, report)
        docs/architecture.md                                        (how it works)
""")
    if not same:
        print("\n  The two runs differ; they must not.")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
