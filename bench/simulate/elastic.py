"""Jobs that share data (T7), a trainer whose speed changes (T8), and the simulator's own speed."""

from __future__ import annotations

import csv
import pathlib
import resource
import tempfile

import sweep

EPOCHS = 5


def sharing(options, folder: pathlib.Path) -> tuple[list[dict], str]:
    """k jobs, ImageNet-1k, one GPU each, ten times what the source gives one of them."""
    cells = {}
    for k in (2, 4, 8):
        for shared in (True, False):
            path = folder / f"{k}_{shared}.csv"
            rows = ["job_id,arrival_s,gpus,iterations,step_s,input_s,profile_cores,batch,dataset"]
            iterations = EPOCHS * 1281167 / 128
            rows += [f"{i},0,1,{iterations},0.128,0.1,3,128,imagenet-1k" for i in range(k)]
            path.write_text("\n".join(rows) + "\n")
            # 1,000 samples/s of 112 kB are 112 MB/s a job; the source gives 112 MB/s to all.
            common = ["--trace", path, "--gpus", k, "--cpu-per-gpu", 3, "--source-gbps", 0.9]
            if not shared:
                common.append("--private-datasets")
            for kind in ("lru", "minio"):
                cells[k, shared, kind] = [
                    *common, "--cache-gb", 143, "--policy", "fixed", "--cache", kind,
                ]  # fmt: skip
            cells[k, shared, "joint"] = [*common, "--cache-gb", 143, "--policy", "utilization"]
            cells[k, shared, "none"] = [*common, "--policy", "fixed"]
    results = sweep.simulate_all(options, cells)
    rows, figures = [], []
    for k in (2, 4, 8):
        ours = results[k, True, "joint"]
        row = [k]
        for shared, kind in ((False, "none"), (False, "lru"), (False, "minio"), (True, "lru"),
                             (True, "minio")):  # fmt: skip
            row.append(f"{results[k, shared, kind]['makespan_s'] / ours['makespan_s']:.2f}")
        row.append(f"{ours['cache_hit']:.3f}")
        rows.append(row)
    for (k, shared, kind), each in results.items():
        each.pop("setting")
        figures.append({"sweep": "T7", "jobs": k, "shared": shared, "cache": kind, **each})
    header = ["jobs", "no cache", "own copies, LRU", "own copies, MinIO", "one copy, LRU",
              "one copy, MinIO", "hit share of ours"]  # fmt: skip
    return figures, "Makespan of each over ours.\n\n" + sweep.table(header, rows)


def ramp(options, folder: pathlib.Path) -> tuple[list[dict], str]:
    """1x, 4x from 600 s on, 1x from 1200 s on; beside a light job, 16 cores."""
    path = folder / "ramp.csv"
    path.write_text(
        "job_id,arrival_s,gpus,iterations,step_s,input_s,profile_cores,dataset,ramp\n"
        "a,0,1,36000,0.1,0.2,1,none,600:4;1200:1\nb,0,1,30000,0.1,0.02,1,none,\n"
    )
    rows, figures = [], []
    for noise in (0, 0.02, 0.05):
        timeline = folder / f"timeline_{noise}.csv"
        sweep.simulate(
            options.program,
            ["--trace", path, "--gpus", 2, "--cpu-per-gpu", 8, "--policy", "utilization",
             "--noise", noise, "--periods", 1000000, "--timeline", timeline],
        )  # fmt: skip
        points = [{k: float(v) for k, v in row.items()} for row in csv.DictReader(timeline.open())]
        figure = {"sweep": "T8", "noise": noise, **read_ramp(points)}
        figures.append(figure)
        rows.append([noise, *(f"{figure[key]:g}" for key in RAMP_COLUMNS)])
    return figures, sweep.table(["noise", *RAMP_COLUMNS.values()], rows)


RAMP_COLUMNS = {
    "periods_to_5_percent": "periods until the wait is under 5%",
    "worst_after": "greatest wait after that, % of a period",
    "cores_before": "cores granted at 1x",
    "cores_up": "cores granted at 4x",
    "cores_after": "cores granted 60 s after the step down",
}


def read_ramp(points: list[dict]) -> dict:
    def at(time: float) -> dict:
        return [each for each in points if each["time_s"] <= time][-1]

    def wait(point: dict) -> float:
        return 1 - point["useful_gpus"] / point["gpus"]

    quick = next(n for n in range(1, 600) if wait(at(600 + n - 0.5)) < 0.05)
    later = [wait(each) for each in points if 600 + quick <= each["time_s"] < 1200]
    return {
        "periods_to_5_percent": quick - 1,
        "worst_after": 100 * max(later, default=wait(at(1199))),
        "cores_before": round(at(599)["granted_cores"], 2),
        "cores_up": round(at(1199)["granted_cores"], 2),
        "cores_after": round(at(1260)["granted_cores"], 2),
    }


def speed(options, folder: pathlib.Path) -> tuple[list[dict], str]:
    """10,000 jobs on 400 GPUs, one simulation after the other; CPU seconds."""
    rows, figures = [], []
    for load in (0.9, 2):
        path = folder / f"speed_{load}.csv"
        arguments = [10000, "--gpus", 400, "--load", load, "--vision", 0.5]
        sweep.generate(options.program, arguments, path)
        for policy in (*sweep.OURS, "fixed", "synergy", "tfdata", "cachew"):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            figure = sweep.simulate(
                options.program,
                ["--trace", path, "--gpus", 400, "--policy", policy],
            )
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            figures.append({"sweep": "speed", "load": load, "policy": policy, "cpu_s": seconds,
                            "decisions": figure["decisions"]})  # fmt: skip
            rows.append([load, policy, f"{seconds:.2f}", figure["decisions"]])
    return figures, sweep.table(["load", "policy", "CPU seconds", "decisions"], rows)


def main() -> None:
    options = sweep.parser(__doc__).parse_args()
    for name, title, run in (
        ("simulate_sharing", "Jobs that read the same data", sharing),
        ("simulate_ramp", "A trainer whose speed changes", ramp),
        ("simulate_speed", "The simulator's own speed", speed),
    ):
        with tempfile.TemporaryDirectory() as folder:
            figures, text = run(options, pathlib.Path(folder))
        sweep.write(name, title, "bench/simulate/elastic.py", figures, text)


if __name__ == "__main__":
    main()
