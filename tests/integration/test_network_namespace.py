"""A worker on another host: its own network namespace and its own view of the file system.

Only TCP joins the two; the worker's descriptor socket exists in its mount namespace alone, as in a
container. The batches must be the stock loader's, bit for bit.
"""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import numpy
import pytest
from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "bench" / "e2e" / "loader_program.py"
HEADRACE = pathlib.Path(sys.executable).with_name("headrace")
HERE, THERE, PORT = "10.203.77.1", "10.203.77.2", 27961


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


@pytest.fixture
def other_host():
    """Name of a network namespace that is joined to this one by a pair of virtual interfaces."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("needs root and iproute2 to make a network namespace")
    name, ours = f"headrace{os.getpid() % 10000}", f"hra{os.getpid() % 10000}"
    try:
        ip("netns", "add", name)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"this kernel gives us no network namespace: {error.stderr.strip()}")
    try:
        try:
            ip("link", "add", ours, "type", "veth", "peer", "name", "hrb", "netns", name)
            ip("addr", "add", f"{HERE}/30", "dev", ours)
            ip("link", "set", ours, "up")
            ip("-n", name, "addr", "add", f"{THERE}/30", "dev", "hrb")
            ip("-n", name, "link", "set", "hrb", "up")
        except subprocess.CalledProcessError as error:
            pytest.skip(f"two network namespaces cannot be joined here: {error.stderr.strip()}")
        yield name
    finally:
        subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


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


@contextlib.contextmanager
def running(*command: str):
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stderr.close()


def wait_for_worker(address: str) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        listed = subprocess.run(
            [HEADRACE, "workers", "--coordinator", address, "--json"],
            capture_output=True,
            text=True,
            check=False,
        )
        if listed.returncode == 0 and json.loads(listed.stdout):
            return
        time.sleep(0.1)
    pytest.fail(f"no worker joined {address} within 20 s: {listed.stdout} {listed.stderr}")


def run_program(photos, *prefix: str, **environment: str) -> list:
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
    return [epoch["sums"] for epoch in json.loads(done.stdout.splitlines()[-1])["epochs"]]


def test_worker_in_another_network_namespace_gives_the_same_bits_over_tcp(
    other_host, photos, tmp_path
):
    address = f"tcp://{HERE}:{PORT}"
    private = tmp_path / "runtime"
    private.mkdir(mode=0o700)
    # The mount covers `private` in the worker's own mount namespace only.
    worker = (
        f"mount -t tmpfs none {private} && XDG_RUNTIME_DIR={private} exec {HEADRACE} worker "
        f"--coordinator {address} --listen tcp://{THERE}:0 --threads 1"
    )
    with running(str(HEADRACE), "coordinator", "--listen", address):
        with running("ip", "netns", "exec", other_host, "unshare", "--mount", "sh", "-c", worker):
            wait_for_worker(address)
            report = tmp_path / "report.json"
            remote = run_program(
                photos, str(HEADRACE), "run", "--coordinator", address, "--report", str(report)
            )
    assert remote == run_program(photos, HEADRACE="off")
    (loader,) = json.loads(report.read_text())["loaders"]
    assert loader["bytes"]["tcp"] > 0
    assert loader["bytes"]["shm"] == 0
