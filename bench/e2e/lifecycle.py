"""Start-up of the embedded default, idle CPU of its processes, memory of its worker."""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import time

import harness
from processes import processes_below


def cpu_seconds(pid: int) -> float:
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_kb(pid: int, field: str) -> int:
    return int(
        re.search(rf"^{field}:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text(), re.M)[1]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=harness.PHOTOS)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--idle-s", type=float, default=20.0)
    args = parser.parse_args()
    photos = harness.describe_photos(args.data)

    # Start-up: from the loader's construction (torch is imported) to the first batch in hand.
    program = [
        str(args.data),
        "--num-workers",
        "2",
        "--epochs",
        "1",
        "--max-batches",
        "1",
        "--batch-size",
        "8",
    ]
    starts = harness.alternate(
        harness.Variant("headrace", []), harness.Variant("stock", None), program, args.pairs
    )
    ours = harness.spread([a["epochs"][0]["first_batch_s"] for a, _ in starts])
    stock = harness.spread([b["epochs"][0]["first_batch_s"] for _, b in starts])

    # Idle: one epoch, then the program sleeps.
    binary = pathlib.Path(sys.executable).with_name("headrace")
    hold = args.idle_s + 6
    child = subprocess.Popen(
        [
            str(binary),
            "run",
            sys.executable,
            str(harness.PROGRAM),
            str(args.data),
            "--num-workers",
            "2",
            "--epochs",
            "1",
            "--persistent",
            "--hold-s",
            str(hold),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    child.stdout.readline()  # the program's result: it is idle from here on
    time.sleep(1.0)
    service = {p: c for p, c in processes_below(child.pid).items() if "headrace" in c}
    roles = {p: ("coordinator" if " coordinator" in c else "worker") for p, c in service.items()}
    before = {p: cpu_seconds(p) for p in service}
    time.sleep(args.idle_s)
    idle = {roles[p]: 100 * (cpu_seconds(p) - before[p]) / args.idle_s for p in service}
    worker = next(p for p, role in roles.items() if role == "worker")
    private_mb = (memory_kb(worker, "VmRSS") - memory_kb(worker, "RssShmem")) / 1e3
    child.wait()
    time.sleep(0.5)
    left = [p for p in service if pathlib.Path(f"/proc/{p}").exists()]

    rows = [
        ("Headrace: loader made to first batch, s", harness.show(ours)),
        ("stock loader: the same, s", harness.show(stock)),
        ("idle CPU of the coordinator, %", f"{idle['coordinator']:.2f}"),
        ("idle CPU of the worker, %", f"{idle['worker']:.2f}"),
        ("resident memory of the worker beside its slots, MB", f"{private_mb:.0f}"),
        ("processes left 0.5 s after the program's end", str(len(left))),
    ]
    harness.write_report(
        "lifecycle",
        "Start-up, idle cost, memory",
        rows,
        {
            "photos": photos,
            "first_batch_s": ours,
            "stock_first_batch_s": stock,
            "idle_cpu_percent": idle,
            "worker_resident_mb": private_mb,
            "left": len(left),
        },
    )


if __name__ == "__main__":
    main()
