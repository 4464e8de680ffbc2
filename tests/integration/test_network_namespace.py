"""A worker on another host: its own network namespace and its own view of the file system.

Only TCP joins the two; the worker's descriptor socket exists in its mount namespace alone, as in a
container. The batches must be the stock loader's, bit for bit.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import numpy
import pytest
from PIL import Image
from support.headrace_program import HEADRACE, clean_environment, headrace, wait_for, workers
from support.two_hosts import narrow, other_host, pool

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "bench" / "e2e" / "loader_program.py"


@pytest.fixture
def host():
    with other_host() as name:
        yield name


@pytest.fixture
def photos(tmp_path):
    """A class-per-folder set of 48 JPEG files of different sizes."""
    generator = numpy.random.default_rng(7)
    for index in range(48):
        height, width = generator.integers(120, 400, 2)
        small = generator.integers(0, 256, (9, 12, 3), dtype=numpy.uint8)
        folder = tmp_path / "photos" / f"class{index % 3}"
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(small).resize((int(width), int(height))).save(
            folder / f"{index}.jpg", quality=90
        )
    return tmp_path / "photos"


def run_program(photos, *prefix: str, **environment: str) -> list:
    return run_and_hear(photos, *prefix, **environment)[0]


def run_and_hear(photos, *prefix: str, **environment: str) -> tuple[list, str]:
    """Sums of the batches of each epoch, and what was said to standard error."""
    done = subprocess.run(
        [
            *prefix,
            sys.executable,
            str(PROGRAM),
            str(photos),
            "--num-workers",
            "2",
            "--epochs",
            "2",
            "--batch-size",
            "7",
            "--sums",
        ],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    epochs = json.loads(done.stdout.splitlines()[-1])["epochs"]
    return [epoch["sums"] for epoch in epochs], done.stderr


def test_worker_in_another_network_namespace_gives_the_same_bits_over_tcp(host, photos, tmp_path):
    with pool(host, tmp_path / "runtime") as address:
        report = tmp_path / "report.json"
        remote = run_program(
            photos, str(HEADRACE), "run", "--coordinator", address, "--report", str(report)
        )
    assert remote == run_program(photos, HEADRACE="off")
    (loader,) = json.loads(report.read_text())["loaders"]
    assert loader["bytes"]["tcp"] > 0
    assert loader["bytes"]["shm"] == 0


def other_pictures(photos, copy):
    """The same names, sizes in pixels and bytes, and times; in half of them other pictures."""
    shutil.copytree(photos, copy)
    for file in sorted(copy.rglob("*.jpg"))[24:]:
        times, size = file.stat(), file.stat().st_size
        with Image.open(file) as image:
            other = image.transpose(Image.Transpose.FLIP_TOP_BOTTOM)
        other.save(file, quality=60)
        content = file.read_bytes()
        comment = size - len(content)  # fills it up, after the marker of its start
        assert 4 <= comment < 1 << 16
        head = b"\xff\xfe" + (comment - 2).to_bytes(2, "big") + bytes(comment - 4)
        file.write_bytes(content[:2] + head + content[2:])
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


def test_a_worker_over_tcp_sends_a_quarter_of_the_bytes(host, photos, tmp_path):
    stock = run_program(photos, HEADRACE="off")
    received = {}
    with pool(host, tmp_path / "runtime") as address:
        for form in ("auto", "uint8", "as-made"):
            report = tmp_path / f"{form}.json"
            launch = [str(HEADRACE), "run", "--coordinator", address, "--report", str(report)]
            assert run_program(photos, *launch, "--wire", form) == stock
            (loader,) = json.loads(report.read_text())["loaders"]
            received[form] = loader["counts"]["received_bytes"]
            assert (loader["counts"]["finished_batches"] > 0) == (form != "as-made")
    # "auto" begins with uint8 and leaves it where a busy processor finishes too slowly.
    assert received["uint8"] <= 0.26 * received["as-made"]


def bound_by_its_link(address: str) -> bool:
    answer = headrace("jobs", "--json", "--coordinator", address)
    assert answer.returncode == 0, answer.stderr
    words = "the network binds: the links of its workers leave it 17 MB/s"
    pixels = 3 * 224 * 224  # they cross as uint8
    for job in json.loads(answer.stdout)["jobs"]:
        sent = job["sent_bytes_per_sample"]
        # In its first second batches have come that are not taken yet.
        if words not in job["advice"] or sent > 1.2 * pixels:
            continue
        assert sent >= pixels
        assert job["link_bytes_per_second_share"] == 16 << 20
        assert job["granted_cores"] < 0.9, "its worker has one, and a sample takes milliseconds"
        return True
    return False


def test_a_narrow_link_is_named_in_place_of_cores_and_bounds_the_grant(host, photos, tmp_path):
    narrow(host, "128mbit")
    options = "--link 16M --rack west"
    with pool(host, tmp_path / "runtime", options=options, hostname="far") as address:
        (worker,) = workers(address)
        assert (worker["link_bytes_per_second"], worker["rack"]) == (16 << 20, "west")
        command = [HEADRACE, "run", "--coordinator", address, sys.executable, str(PROGRAM)]
        command += [str(photos), "--num-workers", "2", "--batch-size", "7", "--epochs", "1000"]
        program = subprocess.Popen(
            command, env=clean_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            wait_for(lambda: bound_by_its_link(address), "word of its link", 60)
        finally:
            program.send_signal(signal.SIGINT)  # it ends its job
            program.wait()


def test_a_worker_with_other_files_under_the_same_paths_is_found_out(host, photos, tmp_path):
    copy = tmp_path / "copy"
    other_pictures(photos, copy)
    with pool(host, tmp_path / "runtime", {photos: copy}) as address:
        sums, said = run_and_hear(photos, str(HEADRACE), "run", "--coordinator", address)
    assert sums == run_program(photos, HEADRACE="off")
    lines = [line for line in said.splitlines() if "has not the trainer's file" in line]
    assert len(lines) == 1, said
    assert str(photos) in lines[0] and "give that worker the files" in lines[0]


def test_an_unfit_worker_is_shown_with_its_reason(host, photos, tmp_path):
    copy = tmp_path / "copy"
    other_pictures(photos, copy)
    with pool(host, tmp_path / "runtime", {photos: copy}) as address:
        program = [sys.executable, str(PROGRAM), str(photos), "--num-workers", "2"]
        running = subprocess.Popen(
            [str(HEADRACE), "run", "--coordinator", address, *program, "--epochs", "1000"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            shown, page = wait_for_lines(address, running)
        finally:
            running.terminate()
            running.wait()
    assert "has not the trainer's file " + str(photos) in shown
    worker, reason = shown.split(" is unfit for job ")
    assert f"unfit     {worker}: {reason.split(': ', 1)[1]}" in page


def wait_for_lines(address, running) -> tuple[str, str]:
    """The line of `headrace workers`, and the page of `headrace jobs show`."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and running.poll() is None:
        for line in asked(address, "workers").splitlines():
            if " is unfit for job " in line:
                job = line.split(" is unfit for job ")[1].split()[0]
                page = asked(address, "jobs", "show", job)
                if "unfit" in page:  # else an epoch's session came between that has not met it yet
                    return line, page
        time.sleep(0.2)
    raise AssertionError(f"not shown; the program ended with {running.poll()}")


def asked(address: str, *words: str) -> str:
    command = [str(HEADRACE), *words, "--coordinator", address]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout


def test_a_worker_without_the_files_leaves_the_program_to_its_own_workers(host, photos, tmp_path):
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    report = tmp_path / "report.json"
    with pool(host, tmp_path / "runtime", {photos: nothing}) as address:
        sums, said = run_and_hear(
            photos, str(HEADRACE), "run", "--coordinator", address, "--report", str(report)
        )
    assert sums == run_program(photos, HEADRACE="off")
    (loader,) = json.loads(report.read_text())["loaders"]
    assert loader["path"] == "local", said
    assert said.count("keeps its own workers") == 1, said
