"""Jobs that share data (T7), a trainer whose speed changes (T8), and the simulator's own speed."""

from __future__ import annotations

import csv
import itertools
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
            joint = [*common, "--cache-gb", 143, "--policy", "utilization"]
            cells[k, shared, "joint"] = joint
            # Each job on a host of its own, and local files: what live workers do not share.
            cells[k, shared, "apart"] = [*joint, "--cache-hosts", k]
            cells[k, shared, "none"] = [*common, "--policy", "fixed"]
    results = sweep.simulate_all(options, cells)
    rows, figures = [], []
    for k in (2, 4, 8):
        ours = results[k, True, "joint"]
        row = [k]
        for shared, kind in ((False, "none"), (False, "lru"), (False, "minio"), (True, "lru"),
                             (True, "minio"), (True, "apart")):  # fmt: skip
            row.append(f"{results[k, shared, kind]['makespan_s'] / ours['makespan_s']:.2f}")
        row.append(f"{ours['cache_hit']:.3f}")
        row.append(f"{results[k, True, 'apart']['cache_hit']:.3f}")
        rows.append(row)
    for (k, shared, kind), each in results.items():
        each.pop("setting")
        figures.append({"sweep": "T7", "jobs": k, "shared": shared, "cache": kind, **each})
    header = ["jobs", "no cache", "own copies, LRU", "own copies, MinIO", "one copy, LRU",
              "one copy, MinIO", "ours, hosts apart", "hit share of ours",
              "hosts apart"]  # fmt: skip
    return (
        figures,
        "Makespan of each over ours. Hosts apart: each job on a host of its own with its part of the cache, as for local files; else one cache, as for objects in stores.\n\n"
        + sweep.table(header, rows),
    )


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


# Two jobs of 100 GB each, a cache of 150 GB, a source of 60 MB/s. `a` reads 50 MB/s, four times as
# much in its quick phase, `b` 100 MB/s: the one that reads faster is worth a whole data set in the
# cache, the other one the rest. 25 or 50 MB/s of misses are left then, so that nobody would wait.
PHASE_S = 20000
DATA, CACHE, SOURCE = 100e9, 150e9, 60e6
UP = {"a": 1.0, "b": 0.5}  # shares of their data that are cached at 4x
DOWN = {"a": 0.5, "b": 1.0}


def cache_ramp(options, folder: pathlib.Path) -> tuple[list[dict], str]:
    """Two jobs, a cache and a scarce source: one goes four times as fast, and back."""
    path = folder / "cache_ramp.csv"
    header = (
        "job_id,arrival_s,gpus,iterations,batch,step_s,input_s,profile_cores,dataset,dataset_gb,"
    )
    steps = f"{PHASE_S}:4;{2 * PHASE_S}:1"
    path.write_text(
        f"{header}sample_bytes,ramp\n"
        f"a,0,1,{60 * PHASE_S},50,0.1,0.1,1,of-a,100,100000,{steps}\n"
        f"b,0,1,{60 * PHASE_S},100,0.1,0.1,1,of-b,100,100000,\n"
    )
    rows, figures = [], []
    for policy, fill in itertools.product(sweep.OURS, (True, False)):
        cache_timeline = folder / f"cache_{policy}_{fill}.csv"
        sweep.simulate(
            options.program,
            ["--trace", path, "--gpus", 2, "--cpu-per-gpu", 16, "--policy", policy,
             "--cache-gb", CACHE / 1e9, "--source-gbps", SOURCE * 8 / 1e9,
             "--cache-timeline", cache_timeline, *(["--fill"] if fill else [])],
        )  # fmt: skip
        points = {"a": [], "b": []}
        for row in csv.DictReader(cache_timeline.open()):
            points[row.pop("job_id")].append(
                {k: float(v) for k, v in row.items() if k != "dataset"}
            )
        for name, begin, shares in (("up", PHASE_S, UP), ("down", 2 * PHASE_S, DOWN)):
            figure = {"sweep": "T8 cache", "policy": policy, "fill": fill, "step": name,
                      **read_cache_step(points, begin, shares)}  # fmt: skip
            figures.append(figure)
            filled = "yes" if fill else "no"
            rows.append([policy, filled, name, *(f"{figure[key]:g}" for key in CACHE_COLUMNS)])
    text = "Filled: idle bandwidth of the source fills the cache, as idle live workers do.\n\n"
    text += sweep.table(["policy", "filled", "step", *CACHE_COLUMNS.values()], rows)
    return figures, text + "\n" + phases_table(figures)


CACHE_COLUMNS = {
    "quota_periods": "periods until the quotas have moved",
    "cached_s": "s until the cache holds 90% of them",
    "hit_s": "s until hit shares are within 10%",
    "no_wait_s": "s until nobody waits 5%",
    "epochs": "the same in epochs of the job that gains",
    "worst_wait_a": "greatest wait of a meanwhile, %",
    "worst_wait_b": "of b, %",
}
NEVER = -1
# Policies leave a quota where it is if it is as near as a fiftieth (ADR 0076).
STAYS = 0.02


def read_cache_step(points: dict, begin: float, shares: dict) -> dict:
    """How both jobs' part of the cache follows a step at `begin`; times from there, -1: never."""

    def when(reached) -> float:
        """First time from which on it holds until the phase ends."""
        times = sorted({each["time_s"] for job in points.values() for each in job})
        times = [begin, *(t for t in times if begin < t < begin + PHASE_S - 1)]
        since = None
        for time in times:
            holds = reached({job: at(points[job], time) for job in points})
            since = (since if since is not None else time) if holds else None
        return NEVER if since is None else since - begin

    def at(job: list[dict], time: float) -> dict:
        return [each for each in job if each["time_s"] <= time + 1e-6][-1]

    quota = when(lambda now: all(
        abs(now[job]["quota_bytes"] - shares[job] * DATA) < STAYS * DATA for job in shares
    ))  # fmt: skip
    cached = when(lambda now: all(
        now[job]["cached_bytes"] >= 0.9 * shares[job] * DATA for job in shares
    ))  # fmt: skip
    hit = when(lambda now: all(abs(now[job]["hit"] - shares[job]) <= 0.1 for job in shares))
    no_wait = when(lambda now: all(now[job]["wait"] < 0.05 for job in shares))
    gains = max(shares, key=shares.get)
    epoch = DATA / (200e6 if gains == "a" else 100e6)
    during = [each for job in points for each in points[job] if begin <= each["time_s"]]
    worst = {
        job: max(
            each["wait"] for each in during
            if each in points[job] and each["time_s"] < begin + PHASE_S - 1
        )
        for job in points
    }  # fmt: skip
    last = {job: at(points[job], begin + PHASE_S - 1) for job in points}
    return {
        "quota_periods": round(quota),
        "cached_s": round(cached),
        "hit_s": round(hit),
        "no_wait_s": round(no_wait),
        "epochs": round(no_wait / epoch, 2),
        "worst_wait_a": round(100 * worst["a"], 1),
        "worst_wait_b": round(100 * worst["b"], 1),
        **{f"{key}_{job}": last[job][f"{key}_bytes"] / 1e9
           for key in ("quota", "cached") for job in points},
        **{f"{key}_{job}": last[job][key] for key in ("hit", "wait") for job in points},
    }  # fmt: skip


def phases_table(figures: list[dict]) -> str:
    """What each job had at the end of the phase after each step."""
    columns = {
        "quota_a": "quota of a, GB", "cached_a": "cached", "hit_a": "hit share",
        "quota_b": "quota of b, GB", "cached_b": "cached", "hit_b": "hit share",
    }  # fmt: skip
    rows = [
        [each["policy"], "yes" if each["fill"] else "no", each["step"],
         *(f"{each[key]:.3g}" for key in columns)]
        for each in figures
    ]  # fmt: skip
    return "At the end of the phase after the step:\n\n" + sweep.table(
        ["policy", "filled", "step", *columns.values()], rows
    )


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
        ("simulate_cache_ramp", "The cache after a trainer whose speed changes", cache_ramp),
        ("simulate_speed", "The simulator's own speed", speed),
    ):
        with tempfile.TemporaryDirectory() as folder:
            figures, text = run(options, pathlib.Path(folder))
        sweep.write(name, title, "bench/simulate/elastic.py", figures, text)


if __name__ == "__main__":
    main()
