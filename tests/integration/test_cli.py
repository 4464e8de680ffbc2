"""The program `headrace` from outside: starts, ends, errors; no Python client involved."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys

import numpy
import pytest
from PIL import Image
from support.headrace_program import (
    HEADRACE,
    children,
    clean_environment,
    coordinator,
    ended,
    free_address,
    headrace,
    ready_workers,
    refused,
    running,
    wait_for,
    workers,
)


@pytest.fixture
def parent():
    process = subprocess.Popen(["sleep", "1000"])
    yield process
    process.kill()
    process.wait()


def test_embedded_serves_and_ends_with_its_parent(tmp_path, parent):
    place = tmp_path / "e"
    words = ["--embedded", "--dir", str(place), "--parent-pid", str(parent.pid), "--workers", "2"]
    with coordinator(*words) as process:
        ready = wait_for(lambda: (place / "ready").exists() and place / "ready", "ready file")
        address = ready.read_text().strip()
        assert address == f"ipc://{place}/control"
        wait_for(lambda: len(ready_workers(address)) == 2, "two workers")
        mine = children(process.pid)
        assert len(mine) == 2
        parent.kill()
        parent.wait()
        assert process.wait(10) == 0
        assert not place.exists()
        wait_for(lambda: all(ended(pid) for pid in mine), "end")


def test_workers_end_with_a_coordinator_that_is_killed(tmp_path):
    with coordinator("--listen", f"ipc://{tmp_path}/control", "--workers", "1") as process:
        mine = wait_for(lambda: children(process.pid), "worker")
        process.kill()
        process.wait()
        wait_for(lambda: all(ended(pid) for pid in mine), "end")


def test_private_workers_end_with_the_program_and_not_with_their_coordinator(tmp_path, parent):
    place = tmp_path / "e"
    words = ["--embedded", "--dir", str(place), "--parent-pid", str(parent.pid), "--workers", "1"]
    with coordinator(*words) as process:
        wait_for(lambda: (place / "ready").exists(), "ready file")
        (worker,) = wait_for(lambda: ready_workers(f"ipc://{place}/control"), "worker")
        process.kill()
        process.wait()
        assert not ended(worker["pid"])
        parent.kill()
        parent.wait()
        wait_for(lambda: ended(worker["pid"]), "end")


def test_a_killed_local_worker_is_replaced(tmp_path, parent):
    address = f"ipc://{tmp_path}/control"
    with coordinator("--listen", address, "--workers", "1"):
        (first,) = wait_for(lambda: ready_workers(address), "worker")
        os.kill(first["pid"], signal.SIGKILL)
        (second,) = wait_for(
            lambda: [w for w in ready_workers(address) if w["worker"] != first["worker"]],
            "replacement",
        )
        assert second["pid"] != first["pid"]


def test_a_restart_with_a_journal_keeps_the_workers(tmp_path):
    address = free_address()
    with contextlib.ExitStack() as stack:
        with coordinator("--listen", address, "--state-dir", str(tmp_path / "state")):
            worker = subprocess.Popen(
                [HEADRACE, "worker", "--coordinator", address, "--directory", str(tmp_path / "w")],
                env=clean_environment(HEADRACE_LOG="error"),
            )
            stack.callback(worker.wait)
            stack.callback(worker.terminate)
            (before,) = wait_for(lambda: ready_workers(address), "worker")
        with coordinator("--listen", address, "--state-dir", str(tmp_path / "state")):
            (after,) = workers(address)
            assert after["worker"] == before["worker"]
            wait_for(lambda: workers(address)[0]["resident_bytes"] > 0, "heartbeat")
            assert worker.poll() is None


BUSY = """
import sys, torch, headrace
from torch.utils.data import DataLoader
from torchvision import datasets, transforms
chain = transforms.Compose([transforms.Resize((32, 32)), transforms.ToTensor()])
headrace.install()
loader = DataLoader(datasets.ImageFolder(sys.argv[1], chain), 1, num_workers=1)
assert len(list(loader)) == 16
"""


@pytest.fixture
def large_photos(tmp_path):
    """16 pictures whose decoding takes a moment each."""
    folder = tmp_path / "photos" / "class0"
    folder.mkdir(parents=True)
    noise = numpy.random.default_rng(3).integers(0, 256, (2000, 2000, 3), dtype=numpy.uint8)
    Image.fromarray(noise).save(folder / "0.jpg", quality=90)
    for number in range(1, 16):
        shutil.copy(folder / "0.jpg", folder / f"{number}.jpg")
    return folder.parent


def test_cpu_of_a_worker_that_leaves_is_counted_to_its_end(large_photos, tmp_path):
    """The count includes what it used since its last heartbeat."""
    address = f"ipc://{tmp_path}/control"
    with coordinator("--listen", address, "--heartbeat-ms", "60000"):
        place = tmp_path / "w"
        words = [HEADRACE, "worker", "--coordinator", address, "--directory", str(place)]
        worker = subprocess.Popen(words, env=clean_environment())
        try:
            wait_for(lambda: ready_workers(address), "worker")
            environment = clean_environment(HEADRACE_COORDINATOR=address)
            words = [sys.executable, "-c", BUSY, str(large_photos)]
            subprocess.run(words, env=environment, check=True, timeout=100)
        finally:
            worker.terminate()
        _, status, used = os.wait4(worker.pid, 0)
        worker.returncode = os.waitstatus_to_exitcode(status)
        assert worker.returncode == 0
        page = wait_for(lambda: not workers(address) and status_of(address), "end of the worker")
        used_seconds = used.ru_utime + used.ru_stime
        assert used_seconds > 0.4
        # It cannot report the last moments of its own end.
        assert used_seconds - 0.1 < page["ended_workers_cpu_seconds"] <= used_seconds


def status_of(address: str) -> dict:
    answer = headrace("workers", "--json", "--coordinator", address)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


def test_jobs_and_top_print_once(tmp_path):
    address = f"ipc://{tmp_path}/control"
    with coordinator("--listen", address):
        assert headrace("jobs", HEADRACE_COORDINATOR=address).stdout == "no jobs\n"
        page = headrace("top", "--once", "--coordinator", address)
        assert page.returncode == 0
        assert page.stdout.startswith("headrace ")


def test_metrics_have_a_line_for_each_worker(tmp_path):
    address = f"ipc://{tmp_path}/control"
    with coordinator("--listen", address, "--workers", "2"):
        ready = wait_for(lambda: len(ready_workers(address)) == 2 and workers(address), "workers")
        answer = headrace("metrics", "--coordinator", address)
        assert answer.returncode == 0, answer.stderr
        assert "# TYPE headrace_worker_cpu_seconds_total counter\n" in answer.stdout
        name = r"headrace_worker_cpu_seconds_total\{worker_id=\"(\d+)\"\} [0-9.e-]+"
        found = re.findall(f"^{name}$", answer.stdout, re.MULTILINE)
        assert sorted(found) == sorted(str(worker["worker"]) for worker in ready)


def test_nobody_answers():
    address = free_address()
    refused(
        headrace("jobs", "--coordinator", address),
        f"no coordinator answers at {address} within 5 s",
        f"headrace coordinator --listen {address}",
    )


def test_nobody_has_the_name_of_the_coordinator():
    address = "tcp://no-such-host.invalid:7070"
    refused(headrace("run", "--coordinator", address, "true"), address, "start one with")


def test_a_worker_without_its_coordinator_says_so_and_waits(tmp_path):
    address, log = free_address(), tmp_path / "log"
    words = ["worker", "--coordinator", address, "--directory", str(tmp_path / "w")]
    with running(*words, log=log) as worker:
        said = wait_for(lambda: "no coordinator" in log.read_text() and log.read_text(), "warning")
        assert f"no coordinator answers at {address}; still trying" in said
        assert f"headrace coordinator --listen {address}" in said
        assert "correct --coordinator" in said
        with coordinator("--listen", address):
            (ready,) = wait_for(lambda: ready_workers(address), "worker")
            assert ready["pid"] == worker.pid
            wait_for(lambda: f"registered at {address}" in log.read_text(), "second line")


@pytest.mark.parametrize("part", ["coordinator", "worker"])
def test_a_port_in_use_is_named(part, tmp_path):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        port = s.getsockname()[1]
        words = [part, "--listen", f"tcp://127.0.0.1:{port}"]
        if part == "worker":
            words += ["--coordinator", free_address(), "--directory", str(tmp_path / "w")]
        refused(
            headrace(*words),
            f"port {port} is in use by another program (tcp://127.0.0.1:{port})",
            "choose another with --listen",
        )


def test_a_damaged_journal_is_named(tmp_path):
    (tmp_path / "journal.db").write_bytes(b"x" * 8192)
    refused(
        headrace("coordinator", "--listen", free_address(), "--state-dir", str(tmp_path)),
        str(tmp_path / "journal.db"),
        "move the file away",
    )


@pytest.mark.parametrize(
    ("words", "fragment"),
    [
        ([], "subcommand"),
        (["run"], "run what?"),
        (["run", "--bogus", "python"], "--bogus"),
        (["run", "--workers", "many", "python"], "many"),
        (["run", "--rng", "dice", "python"], "dice"),
        (["explain"], "explain what? for example: headrace explain train.py"),
        (["explain", "--loaders", "0", "train.py"], "--loaders"),
        (["verify", "--json"], "verify what?"),
        (["verify", "--svg", "graph.svg", "train.py"], "--svg"),
        (["verify", "--batches", "all", "train.py"], "all"),
        (["jobs"], "HEADRACE_COORDINATOR"),
        (["jobs", "--coordinator", "head:7070"], "tcp://HOST:PORT"),
        (["worker", "--coordinator", "head"], "tcp://HOST:PORT"),
        (["coordinator", "--policy", "dice", "--listen", "tcp://127.0.0.1:0"], "fifo"),
        (["coordinator", "--embedded"], "--dir"),
        (["coordinator", "--listen", "tcp://0.0.0.0:0"], "--insecure"),
        (["worker", "--coordinator", "tcp://192.0.2.1:1", "--listen", "tcp://*:0"], "--insecure"),
        (["run", "--cache", "900000G", "python"], "more than the memory of this host"),
        (["worker", "--coordinator", "tcp://127.0.0.1:1", "--cache", "900000G"], "memory"),
        (["coordinator", "--listen", "tcp://127.0.0.1:0", "--cache", "900000G"], "memory"),
    ],
)
def test_wrong_words_are_one_line(words, fragment):
    refused(headrace(*words), fragment)


def test_servers_listen_on_loopback_unless_told(tmp_path):
    address = free_address()
    assert "tcp://127.0.0.1:7070" in headrace("coordinator", "--help").stdout
    words = ["worker", "--coordinator", address, "--directory", str(tmp_path / "w")]
    with coordinator("--listen", address), running(*words) as worker:
        (ready,) = wait_for(lambda: ready_workers(address), "worker")
        port = ready["endpoints"][0].rpartition(":")[2]
        assert ready["endpoints"] == [f"tcp://127.0.0.1:{port}"]
        table = subprocess.run(["cat", "/proc/net/tcp"], capture_output=True, text=True, check=True)
        bound = [
            line.split()[1] for line in table.stdout.splitlines() if f":{int(port):04X} " in line
        ]
        assert f"0100007F:{int(port):04X}" in bound
        assert f"00000000:{int(port):04X}" not in bound
        assert worker.poll() is None


SHOW = (
    "import json, os, sys;"
    "print(json.dumps([sys.argv[1:], os.getpid(),"
    " {k: v for k, v in os.environ.items() if k == 'PYTHONPATH' or k.startswith('HEADRACE')}]))"
)


def test_run_becomes_the_program_with_its_settings(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("")
    words = ["run", "--workers", "3", "--cache", "2G", "--report", "r.json", "--rng", "torch"]
    words += [
        "--memory",
        "8G",
        "--trust-code",
        "--compare",
        "9",
        "--on-difference",
        "warn",
        "--no-workers",
        "wait",
        "--on-bad-sample",
        "skip",
        "--max-bad-samples",
        "7",
        "--sample-deadline",
        "2.5",
        "--",
    ]
    environment = {"HEADRACE_BOOTSTRAP_DIR": str(tmp_path), "PYTHONPATH": "/elsewhere"}
    process = subprocess.Popen(
        [HEADRACE, *words, sys.executable, "-c", SHOW, "--workers", "9", "--"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=clean_environment(**environment),
    )
    arguments, pid, settings = json.loads(process.communicate(timeout=60)[0])
    assert process.returncode == 0
    assert pid == process.pid, "no process of ours stays in between"
    assert arguments == ["--workers", "9", "--"]
    assert settings["PYTHONPATH"] == f"{tmp_path}:/elsewhere"
    assert settings["HEADRACE"] == "on"
    assert settings["HEADRACE_WORKERS"] == "3"
    assert settings["HEADRACE_CACHE"] == str(2 << 30)
    assert settings["HEADRACE_MEMORY"] == str(8 << 30)
    assert settings["HEADRACE_COMPARE"] == "9" and settings["HEADRACE_ON_DIFFERENCE"] == "warn"
    assert settings["HEADRACE_NO_WORKERS"] == "wait"
    assert settings["HEADRACE_ON_BAD_SAMPLE"] == "skip"
    assert settings["HEADRACE_MAX_BAD_SAMPLES"] == "7"
    assert settings["HEADRACE_SAMPLE_DEADLINE"] == "2.5"
    assert settings["HEADRACE_REPORT"] == str(tmp_path / "r.json")
    assert settings["HEADRACE_RNG"] == "torch"
    assert settings["HEADRACE_TRUST_CODE"] == "1"
    assert "HEADRACE_COORDINATOR" not in settings


def test_run_bypassed_changes_nothing():
    answer = headrace("run", "--workers", "3", sys.executable, "-c", SHOW, HEADRACE="off")
    given = {"HEADRACE": "off", "HEADRACE_LOCAL_WORKER": "off"}
    assert json.loads(answer.stdout)[2] == given | (
        {"PYTHONPATH": os.environ["PYTHONPATH"]} if "PYTHONPATH" in os.environ else {}
    )


def test_run_of_a_program_that_is_not_there_is_127(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("")
    answer = headrace("run", "no-such-program", HEADRACE_BOOTSTRAP_DIR=str(tmp_path))
    assert answer.returncode == 127
    refused(answer, "no-such-program")


def test_run_checks_the_coordinator_first(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("")
    refused(
        headrace(
            "run", "--coordinator", free_address(), "true", HEADRACE_BOOTSTRAP_DIR=str(tmp_path)
        ),
        "no coordinator answers",
    )


def test_version():
    assert headrace("--version").stdout.startswith("headrace 0.")
