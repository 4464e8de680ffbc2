"""Contract: a program whose workers are gone goes on, with the stock loader's bits."""

import contextlib
import functools
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading

import pytest
from support.headrace_program import HEADRACE, clean_environment, ready_workers, running, wait_for

# A line on standard output before each epoch and after each batch: "epoch", a checksum. It goes on
# with a line on standard input.
PROGRAM = """
    import sys, torch, zlib
    from support.pipelines import train_v1
    from torch.utils.data import DataLoader
    from torchvision import datasets
    if "headrace" in sys.modules:  # it waits 10 s for workers, once an epoch, which would be most of the test
        from headrace.service import service
        client = service.binding.Client
        service.binding.Client = lambda **named: client(**named, connect_timeout=3)
    transform = train_v1()
    if sys.argv[2] == "python":
        native = transform
        transform = lambda image: native(image) * 2
    loader = DataLoader(datasets.ImageFolder(sys.argv[1], transform), 2, shuffle=True, num_workers=2)
    torch.manual_seed(7)
    for epoch in range(2):
        print("epoch", flush=True)
        sys.stdin.readline()
        for images, labels in loader:
            print(zlib.crc32(images.numpy().tobytes()), labels.tolist(), flush=True)
            sys.stdin.readline()
"""


class Program:
    """A program that prints a line, and goes on when it is told to."""

    def __init__(self, tmp_path, photos, kind, *launch):
        file = tmp_path / "program.py"
        file.write_text(textwrap.dedent(PROGRAM))
        self.process = subprocess.Popen(
            [*launch, sys.executable, str(file), str(photos), kind],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=clean_environment(
                PYTHONPATH=os.pathsep.join(sys.path), XDG_RUNTIME_DIR=str(tmp_path)
            ),
        )
        self.said = []
        self._reader = threading.Thread(target=self.said.extend, args=(self.process.stderr,))
        self._reader.start()

    def step(self):
        """The next line; empty: the program has ended."""
        line = self.process.stdout.readline()
        if line:
            self.process.stdin.write("\n")
            self.process.stdin.flush()
        return line

    def rest(self):
        return list(iter(self.step, ""))

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        try:
            return self.process.wait(60)
        finally:
            self.process.kill()
            self._reader.join()
            self.process.stderr.close()


@pytest.fixture
def start(tmp_path, photos, address):
    with contextlib.ExitStack() as stack:

        def start(kind, *options):
            run = [HEADRACE, "run", "--coordinator", address, "--remote-only", *options, "--"]
            program = Program(tmp_path, photos, kind, *run)
            stack.callback(program.process.kill)
            return program

        yield start


@pytest.fixture(scope="module")
def stock_lines(tmp_path_factory, photos):
    """What the stock loader's program says, once for each kind: the lines, and its exit code."""

    @functools.cache
    def lines(kind):
        program = Program(tmp_path_factory.mktemp("stock"), photos, kind)
        try:
            return program.rest(), program.end()
        finally:
            program.process.kill()

    return lines


@contextlib.contextmanager
def worker(address, tmp_path):
    words = ["worker", "--coordinator", address, "--threads", "1"]
    with running(*words, "--directory", str(tmp_path / "w"), HEADRACE_LOG="error") as process:
        wait_for(lambda: ready_workers(address), "worker")
        yield process


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.wait()


def made_by(tmp_path):
    """Samples by what made them."""
    (loader,) = json.loads((tmp_path / "report.json").read_text())["loaders"]
    return loader["samples_by_path"]


def test_the_program_makes_the_rest_itself(address, start, stock_lines, tmp_path):
    expected, _ = stock_lines("native")
    with worker(address, tmp_path) as only:
        program = start("native", "--report", str(tmp_path / "report.json"))
        lines = [program.step(), program.step()]
        kill(only)
        lines += program.rest()
        assert program.end() == 0
    assert lines == expected
    said = "".join(program.said)
    assert "the program makes its samples itself until one does" in said
    made = made_by(tmp_path)
    assert made["native"] > 0 and made["local"] > made["native"]


def test_workers_that_come_back_are_used(address, start, stock_lines, tmp_path):
    expected, _ = stock_lines("native")
    program = None
    with worker(address, tmp_path) as first:
        program = start("native", "--report", str(tmp_path / "report.json"))
        lines = [program.step(), program.step()]
        kill(first)
        lines += [program.step() for _ in range(6)]
    with worker(address, tmp_path):
        wait_for(
            lambda: any("workers serve this job again" in line for line in program.said), "line"
        )
        lines += program.rest()
        assert program.end() == 0
    assert lines == expected
    made = made_by(tmp_path)
    assert made["native"] > made["local"] > 0


@pytest.mark.parametrize("kind", ["native", "python"])
def test_who_begins_without_workers_keeps_its_own(start, stock_lines, kind):
    expected, _ = stock_lines(kind)
    program = start(kind)
    assert program.rest() == expected
    assert program.end() == 0
    assert any("keeps its own workers: no data worker serves this job" in x for x in program.said)


@pytest.mark.parametrize("kind", ["native", "python"])
def test_who_waits_gets_the_same_batches(address, start, stock_lines, tmp_path, kind):
    """Longer than a program waits that fails."""
    expected, _ = stock_lines(kind)
    with worker(address, tmp_path) as first:
        program = start(kind, "--no-workers", "wait")
        lines = [program.step(), program.step()]
        kill(first)
        wait_for(lambda: not ready_workers(address), "word of its death")
        rest = []
        reader = threading.Thread(target=lambda: rest.extend(program.rest()))
        reader.start()
        wait_for(
            lambda: any("the program waits for one" in line for line in program.said), "line", 30
        )
    with worker(address, tmp_path):
        reader.join(60)
        assert program.end() == 0
    assert lines + rest == expected


def test_who_fails_gets_an_error(address, start, tmp_path):
    with worker(address, tmp_path) as only:
        program = start("native", "--no-workers", "fail")
        program.step()
        program.step()
        kill(only)
        program.rest()
        assert program.end() != 0
    assert any("WorkersUnavailable: no data worker" in line for line in program.said), program.said
