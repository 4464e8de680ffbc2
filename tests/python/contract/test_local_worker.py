"""Contract: with a coordinator of another's, this host's CPUs serve first, and leave with us."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap

import pytest
from support.headrace_program import (
    HEADRACE,
    children,
    clean_environment,
    ended,
    ready_workers,
    running,
    wait_for,
    workers,
)

# An epoch a line on standard input, its seed; a line on standard output, its checksum. After
# "SEED pause" another line each way comes after the first batch.
PROGRAM = """
    import sys, torch, zlib
    from support.pipelines import train_v1
    from torch.utils.data import DataLoader
    from torchvision import datasets
    data = datasets.ImageFolder(sys.argv[1], train_v1())
    for line in iter(sys.stdin.readline, ""):
        seed, *pause = line.split()
        torch.manual_seed(int(seed))
        sum = 0
        for images, labels in DataLoader(data, 2, shuffle=True, num_workers=2):
            sum = zlib.crc32(images.numpy().tobytes(), sum)
            if pause:
                print(pause.pop(), flush=True)
                sys.stdin.readline()
        print(sum, flush=True)
"""


class Program:
    """A training program under `headrace run`, or without it."""

    def __init__(self, tmp_path, photos, *launch, **environment):
        file = tmp_path / "program.py"
        file.write_text(textwrap.dedent(PROGRAM))
        self.process = subprocess.Popen(
            [*launch, sys.executable, str(file), str(photos)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=clean_environment(
                PYTHONPATH=os.pathsep.join(sys.path),
                XDG_RUNTIME_DIR=str(tmp_path),
                HEADRACE_LOCAL_WORKER="",
                **environment,
            ),
        )

    def epoch(self, line):
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def finish(self):
        self.process.stdin.close()
        assert self.process.wait(60) == 0

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


@pytest.fixture
def start(tmp_path, photos):
    """Starts programs, ended with the test."""
    with contextlib.ExitStack() as stack:

        def start(*launch, **environment):
            program = Program(tmp_path, photos, *launch, **environment)
            stack.callback(program.kill)
            return program

        yield start


def sockets(tmp_path):
    return sorted(path.name for path in (tmp_path / "headrace").iterdir() if path.is_socket())


def turns(tmp_path):
    return list((tmp_path / "headrace").glob("local-*.lock"))


def only_worker(address):
    """Its heartbeats may be late: then it is not ready for a moment."""
    (worker,) = wait_for(lambda: ready_workers(address), "worker")
    return worker


def successor_of(worker, address):
    wait_for(lambda: [w for w in ready_workers(address) if w["pid"] != worker["pid"]], "successor")


def test_a_coordinator_without_workers_is_lent_this_hosts(address, start, tmp_path):
    stock = start()
    served = start(HEADRACE, "run", "--coordinator", address, "--threads", "1", "--")
    assert served.epoch(1) == stock.epoch(1)
    worker = only_worker(address)
    assert worker["local"]
    assert worker["cores"] == 1
    wait_for(lambda: workers(address)[0]["samples"] > 0, "count of samples")
    assert all(endpoint.startswith("ipc://") for endpoint in worker["endpoints"])
    served.finish()
    wait_for(lambda: ended(worker["pid"]), "end of the worker")
    wait_for(lambda: ready_workers(address) == [], "word of it")
    assert sockets(tmp_path) == []


def test_it_ends_with_a_program_that_is_killed(address, start, tmp_path):
    served = start(HEADRACE, "run", "--coordinator", address, "--")
    served.epoch(1)
    worker = only_worker(address)
    served.kill()
    wait_for(lambda: ended(worker["pid"]), "end of the worker")
    wait_for(lambda: ready_workers(address) == [], "word of it")
    assert sockets(tmp_path) == []


@pytest.mark.parametrize("how", ["finish", "kill"])
def test_programs_share_one_and_the_next_takes_over(address, start, how):
    """Two programs at once have one worker; when the one that started it ends, it goes on."""
    run = [HEADRACE, "run", "--coordinator", address, "--threads", "1", "--"]
    stock = start()
    expected = [stock.epoch(seed) for seed in range(4)]
    first = start(*run)
    assert first.epoch(0) == expected[0]
    worker = only_worker(address)
    second = start(*run)
    assert second.epoch(1) == expected[1]
    assert [each["pid"] for each in workers(address)] == [worker["pid"]]
    getattr(first, how)()
    assert second.epoch(2) == expected[2]
    successor_of(worker, address)
    wait_for(lambda: ended(worker["pid"]), "end of the first worker", 30)
    assert second.epoch(3) == expected[3]
    second.finish()


def test_none_is_started_where_the_host_has_one_or_it_is_not_wanted(address, start, tmp_path):
    run = [HEADRACE, "run", "--coordinator", address]
    words = ["worker", "--coordinator", address, "--threads", "1"]
    with running(*words, "--directory", str(tmp_path / "w"), HEADRACE_LOG="error"):
        wait_for(lambda: ready_workers(address), "worker")
        stock = start()
        expected = stock.epoch(1)
        for launch, wanted in (([*run[:2], "--remote-only", *run[2:]], False), (run, True)):
            served = start(*launch)
            assert served.epoch(1) == expected
            if wanted:  # it leaves only the file in which it waited for its turn
                wait_for(lambda: turns(tmp_path), "start of a worker")
            else:
                assert not turns(tmp_path) and not children(served.process.pid)
            theirs = served.process.pid
            wait_for(lambda pid=theirs: all(map(ended, children(pid))), "end of what is not needed")
            assert [each["local"] for each in workers(address)] == [False]
            served.finish()


def test_a_local_worker_that_dies_is_replaced_between_epochs(address, start):
    stock = start()
    served = start(HEADRACE, "run", "--coordinator", address, "--")
    assert served.epoch(1) == stock.epoch(1)
    worker = only_worker(address)
    os.kill(worker["pid"], signal.SIGKILL)
    assert served.epoch(2) == stock.epoch(2)
    served.finish()


def test_a_local_worker_that_dies_is_replaced_in_the_middle_of_an_epoch(address, start):
    """Nothing is lost or made twice, though nobody else was there to make it."""
    stock = start()
    expected = stock.epoch(1)
    served = start(HEADRACE, "run", "--coordinator", address, "--threads", "1", "--")
    assert served.epoch("1 pause") == "pause\n"
    worker = only_worker(address)
    os.kill(worker["pid"], signal.SIGKILL)
    assert served.epoch("go on") == expected
    successor_of(worker, address)
    served.finish()
