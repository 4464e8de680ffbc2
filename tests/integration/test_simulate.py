"""`headrace simulate` from outside: the same bytes from the same command, errors, files."""

import json

import pytest
from support.headrace_program import headrace

POLICIES = (
    "fifo",
    "sjf",
    "max_min_fair",
    "utilization",
    "fixed",
    "synergy",
    "tfdata",
    "cachew",
    "pecan",
)


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    path = tmp_path_factory.mktemp("simulate") / "trace.csv"
    done = headrace(
        "simulate", "--generate", "60", "--gpus", "16", "--seed", "5", "--vision", "0.5"
    )
    assert done.returncode == 0, done.stderr
    path.write_text(done.stdout)
    return path


@pytest.mark.parametrize("policy", POLICIES)
def test_the_same_command_gives_the_same_bytes(trace, tmp_path, policy):
    written = []
    for name in ("a", "b"):
        jobs = tmp_path / f"{name}.csv"
        words = ["--policy", policy, "--noise", "0.05", "--seed", "7", "--cache-gb", "200"]
        files = ["--jobs-out", str(jobs), "--plot", str(tmp_path / name)]
        done = headrace(
            "simulate", "--trace", str(trace), "--gpus", "16", "--json",
            "--source-gbps", "4", *words, *files,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        plots = [path.read_text() for path in sorted((tmp_path / name).iterdir())]
        assert len(plots) == 3
        written.append((done.stdout, jobs.read_text(), plots))
    assert written[0] == written[1]
    figures = json.loads(written[0][0])
    assert list(figures)[:9] == [
        "avg_jct_s", "median_jct_s", "p99_jct_s", "makespan_s", "gpu_util",
        "fairness_min", "fairness_jain", "cache_hit", "remote_bytes",
    ]  # fmt: skip
    assert figures["jobs_done"] == 60
    assert 0 < figures["gpu_util"] <= figures["gpu_util_held"] <= 1


def test_jobs_take_what_was_measured_when_they_have_what_they_were_measured_with(tmp_path):
    path = tmp_path / "muri.csv"
    path.write_text(
        "job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,"
        "iteration_time,resource_time_0,resource_time_1,resource_time_2,priority\n"
        "0,1,0,1000,shufflenet,128,0,0,800,706,59,0,0\n1,4,0,500,gpt2,4,0,0,433,0.6,413,20,0\n"
        "2,1,5000,100,a2c,64,0,0,517,514,14,0,0\n3,4,1000,10,vgg16,16,0,0,200,82,72,67,0\n"
    )
    jobs = tmp_path / "jobs.csv"
    done = headrace(
        "simulate", "--trace", str(path), "--gpus", "6", "--policy", "fixed",
        "--cpu-per-gpu", "3", "--jobs-out", str(jobs),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = [line.split(",") for line in jobs.read_text().splitlines()]
    run = {row[0]: float(row[rows[0].index("run_s")]) for row in rows[1:]}
    expected = {"0": 800, "1": 216.5, "2": 51.7, "3": 2}
    assert run == pytest.approx(expected, abs=1e-4)


def test_bounds_and_orders(trace):
    """No order betters the bound, and the ones that stop jobs pay for it."""

    def run(*words):
        done = headrace(
            "simulate", "--trace", str(trace), "--gpus", "16", "--json", "--bound", *words
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    first = run("--policy", "utilization")
    assert "order" not in first["setting"]
    assert run("--policy", "utilization", "--order", "fifo")["avg_jct_s"] == first["avg_jct_s"]
    free = run("--order", "least_work", "--round-s", "60")
    dear = run("--order", "least_work", "--round-s", "60", "--restart-s", "200")
    assert free["setting"]["order"] == "least_work"
    assert free["preemptions"] > 0
    assert free["avg_jct_s"] < dear["avg_jct_s"]
    for each in (first, free, dear):
        bounds = each["bounds"]
        for key in ("avg_jct_s", "makespan_s", "gpu_util", "gpu_util_held", "gpu_util_window"):
            assert bounds[key] == first["bounds"][key]
        most = bounds["avg_jct_of_best_prices_at_most_s"]
        assert bounds["avg_jct_s"] <= most <= each["avg_jct_s"]
        assert 0 < bounds["avg_jct_s"] <= each["avg_jct_s"]
        assert bounds["avg_jct_reached"] == pytest.approx(bounds["avg_jct_s"] / each["avg_jct_s"])
        assert each["gpu_util_window"] <= bounds["gpu_util_window"] <= 1


@pytest.mark.parametrize(
    ("text", "words", "says"),
    [
        (None, [], "no such file"),
        ("", [], "expected the first line of a trace"),
        ("job_id,arrival_s,gpus,duration_s\na,0,x,5\n", [], "trace.csv:2: gpus: expected a number"),
        ("0,alexnet,0,5,1\n", [], "give --profiles FILE"),
        (
            "job_id,arrival_s,gpus,duration_s\na,0,1,5\n",
            ["--policy", "fixed", "--cache", "joint"],
            "expected lru, minio or quiver",
        ),
    ],
)
def test_faults_are_one_line(tmp_path, text, words, says):
    path = tmp_path / "trace.csv"
    if text is not None:
        path.write_text(text)
    done = headrace("simulate", "--trace", str(path), *words)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("headrace: ")
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("words", [[], ["--policy", "nobody"], ["--gpus", "0"]])
def test_wrong_options_are_refused(words):
    done = headrace("simulate", "--trace", "x.csv", *words) if words else headrace("simulate")
    assert done.returncode == 2
    assert done.stderr.startswith("headrace: ")
