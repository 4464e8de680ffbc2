"""Peers of another release: real ones, between which a relay changes what they say of themselves."""

import subprocess
import sys
from pathlib import Path

import pytest
from support.headrace_program import (
    clean_environment,
    free_address,
    headrace,
    ready_workers,
    refused,
    running,
    wait_for,
)
from support.relay import Relay

RELEASE = headrace("--version").stdout.split()[1]
OTHER = f"{RELEASE[:-1]}{(int(RELEASE[-1]) + 1) % 10}"
# Each side then looks to the other like a release with wire version 9.
OTHER_WIRE = {b"HRW\x01": b"HRW\x09"}
BOTH = "the peer speaks wire version 9, this is 1: use the same release on both sides"

# Prints the sum of all samples, or what iter() raised.
PROGRAM = """
import time, torch
from torch.utils.data import DataLoader, TensorDataset
import headrace
headrace.install()
started = time.monotonic()
try:
    loader = DataLoader(TensorDataset(torch.arange(64.0).reshape(32, 2)), 4, num_workers=1)
    print(sum(batch[0].sum().item() for batch in loader))
except Exception as error:
    print(type(error).__name__, time.monotonic() - started < 5, error)
"""
SUM = sum(range(64))


def run_program(address: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        timeout=300,
        env=clean_environment(HEADRACE_COORDINATOR=address),
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def cluster(tmp_path: Path):
    """A coordinator's address and the file of its log."""
    address, log = free_address(), tmp_path / "log"
    with running("coordinator", "--listen", address, log=log):
        wait_for(lambda: "listens at" in log.read_text(), "coordinator")
        yield address, log


def worker(address: str, place: Path, **named):
    return running("worker", "--coordinator", address, "--directory", str(place), **named)


def test_worker_of_another_release_serves_and_is_named(cluster, tmp_path):
    address, log = cluster
    with Relay(address, {RELEASE.encode(): OTHER.encode()}) as relay:
        with worker(relay.address, tmp_path / "w"):
            (joined,) = wait_for(lambda: ready_workers(address), "worker")
            assert joined["version"] == OTHER
            assert float(run_program(address)) == SUM
    lines = [line for line in log.read_text().splitlines() if "is of release" in line]
    assert len(lines) == 1
    assert f"worker {joined['worker']} on {joined['hostname']} is of release {OTHER}" in lines[0]
    assert f"this coordinator of {RELEASE}; the protocol is the same" in lines[0]


def test_program_of_another_release_is_served_and_named(cluster, tmp_path):
    address, log = cluster
    with Relay(address, {RELEASE.encode(): OTHER.encode()}) as relay:
        with worker(address, tmp_path / "w"):
            wait_for(lambda: ready_workers(address), "worker")
            assert float(run_program(relay.address)) == SUM
    (line,) = [line for line in log.read_text().splitlines() if "is of release" in line]
    assert f"is of release {OTHER}, this coordinator of {RELEASE}" in line


def test_worker_of_another_wire_version_is_refused_and_others_serve(cluster, tmp_path):
    address, log = cluster
    with Relay(address, OTHER_WIRE) as relay:
        # Advertised elsewhere, since it would say that loopback serves this host alone.
        words = ["worker", "--coordinator", relay.address, "--directory", str(tmp_path / "w")]
        words += ["--advertise", "another.host"]
        refused(headrace(*words), f"refused by the coordinator at {relay.address}: {BOTH}")
    assert f"message refused: OtherRelease: {BOTH}" in log.read_text()
    with worker(address, tmp_path / "w"):
        wait_for(lambda: len(ready_workers(address)) == 1, "worker")
        assert float(run_program(address)) == SUM


def test_program_of_another_wire_version_is_told_at_once(cluster, tmp_path):
    address, log = cluster
    with Relay(address, OTHER_WIRE) as relay:
        says = run_program(relay.address)
        assert says.startswith("VersionMismatch True "), says
        assert relay.address in says and BOTH in says
        refused(headrace("jobs", "--coordinator", relay.address), relay.address, BOTH)
        command = ["run", "--coordinator", relay.address, sys.executable, "-c", "print('ran')"]
        answer = headrace(*command)
        refused(answer, relay.address, BOTH)
        assert answer.stdout == ""
    with worker(address, tmp_path / "w"):
        wait_for(lambda: ready_workers(address), "worker")
        assert float(run_program(address)) == SUM
