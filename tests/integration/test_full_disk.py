"""A coordinator whose journal cannot be written: no answer that is not on disk, and a clear end."""

import contextlib
import json
import os
import resource
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from headrace import _client
from support.headrace_program import HEADRACE, clean_environment, free_address, headrace, wait_for

NAME = "x" * 200  # makes the record of a job large; longer names are cut


@contextlib.contextmanager
def open_jobs(address: str) -> Iterator[tuple[list[str], Exception]]:
    """Opens jobs until one fails, and keeps them: the names of those that were opened, the error."""
    names: list[str] = []
    with contextlib.ExitStack() as clients:
        while len(names) < 500:
            name = f"{len(names)}-{NAME}"
            try:
                client = _client.Client(coordinator=address, job_name=name, connect_timeout=3)
            except _client.HeadraceError as error:
                yield names, error
                return
            clients.callback(client.close)
            names.append(name)
        raise AssertionError("the disk never was full")


def jobs(address: str) -> list[str]:
    answer = headrace("jobs", "--json", "--coordinator", address)
    assert answer.returncode == 0, answer.stderr
    return [job["name"] for job in json.loads(answer.stdout)["jobs"]]


@contextlib.contextmanager
def started(command: list[str], log: Path, **named) -> Iterator[subprocess.Popen]:
    with open(log, "w") as stderr:
        process = subprocess.Popen(command, env=clean_environment(), stderr=stderr, **named)
        try:
            yield process
        finally:
            process.terminate()
            process.wait(20)


def check_end(log: Path, journal: str, *reasons: str) -> None:
    lines = [line for line in log.read_text().splitlines() if line.startswith("headrace: ")]
    assert len(lines) == 1, log.read_text()
    assert journal in lines[0]
    assert any(reason in lines[0] for reason in reasons), lines[0]
    assert "start again" in lines[0]


def test_journal_over_the_limit_of_file_sizes(tmp_path):
    """`ulimit -f`, which would end the process by a signal."""
    address, log = free_address(), tmp_path / "log"
    command = [HEADRACE, "coordinator", "--listen", address, "--state-dir", str(tmp_path / "s")]
    limit = (256 << 10, 256 << 10)
    with started(
        command, log, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    ) as process:
        wait_for(lambda: "listens at" in log.read_text(), "coordinator")
        with open_jobs(address) as (acknowledged, error):
            assert process.wait(20) == 1
            assert len(acknowledged) > 5
            assert address in str(error)
            check_end(log, str(tmp_path / "s/journal.db"), "File too large")
            with started(command, log):
                wait_for(lambda: "listens at" in log.read_text(), "coordinator")
                assert set(acknowledged) <= set(jobs(address))


ON_A_SMALL_DISK = """
mount -t tmpfs -o size={size}k none {place} || exit 77
{coordinator} --parent-pid $$
echo "ended with $?" >&2
read line <{go}
mount -o remount,size=64m {place}
exec {coordinator}
"""


def test_journal_on_a_full_disk(tmp_path):
    """It ends; with space it starts again, and knows all that it has ever acknowledged."""
    address, log, place = free_address(), tmp_path / "log", tmp_path / "disk"
    place.mkdir()
    coordinator = f"{HEADRACE} coordinator --listen {address} --state-dir {place}"
    if shutil.which("unshare") is None:
        pytest.skip("needs unshare (util-linux) to mount a disk of its own")
    go = tmp_path / "go"
    os.mkfifo(go)
    script = ON_A_SMALL_DISK.format(size=300, place=place, go=go, coordinator=coordinator)
    with started(["unshare", "--mount", "sh", "-c", script], log) as process:
        wait_for(lambda: "listens at" in log.read_text() or process.poll(), "coordinator")
        if process.poll() is not None:
            pytest.skip(f"no disk can be mounted here: {log.read_text()}")
        with open_jobs(address) as (acknowledged, error):
            go.write_text("\n")
            wait_for(lambda: log.read_text().count("listens at") == 2, "second coordinator")
            assert set(acknowledged) <= set(jobs(address))
            assert len(acknowledged) > 5
            assert address in str(error)
    assert "ended with 1" in log.read_text()
    check_end(log, str(place / "journal.db"), "disk is full", "No space left on device")


def test_disk_that_is_full_at_the_start(tmp_path):
    place = tmp_path / "disk"
    place.mkdir()
    script = (
        f"mount -t tmpfs -o size=4k none {place} && {{ cat /dev/zero >{place}/filler; "
        f"exec {HEADRACE} coordinator --listen {free_address()} --state-dir {place}; }}"
    )
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        env=clean_environment(),
    )
    if "mount" in done.stderr:
        pytest.skip(f"no disk can be mounted here: {done.stderr.strip()}")
    assert done.returncode == 1
    assert str(place) in done.stderr
