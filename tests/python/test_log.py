"""What the coordinator's log tells, as text and as JSON."""

import json
import re
import subprocess
import sys

from support.headrace_program import (
    HEADRACE,
    clean_environment,
    free_address,
    ready_workers,
    running,
    wait_for,
)

PROGRAM = """
import torch
from torch.utils.data import DataLoader, TensorDataset

for _ in DataLoader(TensorDataset(torch.arange(8.0)), 4, num_workers=1):
    pass
"""


def story(tmp_path, name: str, **environment: str) -> list[str]:
    """The coordinator's lines about a worker and a program of this name."""
    address, log = free_address(), tmp_path / "log"
    program = tmp_path / name
    program.write_text(PROGRAM)
    with running("coordinator", "--listen", address, log=log, **environment):
        with running("worker", "--coordinator", address, "--threads", "1", HEADRACE_LOG="error"):
            wait_for(lambda: ready_workers(address), "worker")
            run = [HEADRACE, "run", "--coordinator", address, sys.executable, str(program)]
            subprocess.run(run, env=clean_environment(), check=True, timeout=100)
        wait_for(lambda: "has left" in log.read_text(), "end of the worker")
    return log.read_text().splitlines()


def test_the_log_tells_who_came_and_went(tmp_path):
    told = "\n".join(story(tmp_path, "train.py"))
    name = r"job \d+ \(train\.py\)"
    for part in (
        r"coordinator listens at|coordinator [\d.]+ listens at tcp://",
        r"worker \d+ on \S+ is ready: \d+ cores?",
        rf"{name} of \S+ is opened",
        rf"{name} has 1 worker$",
        rf"{name} has ended after \d+ s$",
        r"worker \d+ on \S+ leaves when its work is done$",
        r"worker \d+ on \S+ has left$",
        r"coordinator ends$",
    ):
        assert len(re.findall(part, told, re.MULTILINE)) == 1, (part, told)


def test_as_json_each_line_is_an_object_whatever_is_in_it(tmp_path):
    lines = story(tmp_path, 'a "b" \\ {c}.py', HEADRACE_LOG_FORMAT="json")
    told = [json.loads(line) for line in lines]
    assert {tuple(one) for one in told} == {("time", "level", "process", "message")}
    assert {one["process"] for one in told} == {"coordinator"}
    assert any(' (a "b" \\ {c}.py) of ' in one["message"] for one in told), told
    assert all(re.match(r"\d{4}-\d\d-\d\dT[\d:.]{12}[+-]\d\d:?\d\d$", one["time"]) for one in told)
