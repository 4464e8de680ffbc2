"""headrace.install(coordinator=, workers=, cache=): settings of a program by its own code."""

import json
import subprocess
import sys

import pytest
from support.headrace_program import (
    clean_environment,
    coordinator,
    headrace,
    ready_workers,
    wait_for,
    wait_for_answer,
)

PROGRAM = """
import os, sys
import headrace
from headrace import OptionError
address = sys.argv[1]
for wrong in ({"coordinator": "head:7070"}, {"workers": "many"}, {"cache": "lots"}):
    try:
        headrace.install(**{"coordinator": address, **wrong})
    except OptionError:
        assert "HEADRACE_COORDINATOR" not in os.environ
    else:
        raise AssertionError(wrong)
headrace.install(coordinator=address, cache="64M")
assert os.environ["HEADRACE_CACHE"] == "64M"
import torch
from torch.utils.data import DataLoader, TensorDataset
loader = DataLoader(TensorDataset(torch.arange(8)), 2, num_workers=1)
assert [x.tolist() for (x,) in loader] == [[0, 1], [2, 3], [4, 5], [6, 7]]
headrace.install(coordinator=address)  # nothing changes
try:
    headrace.install(workers=3)
except OptionError as error:
    assert "served already" in str(error), error
else:
    raise AssertionError("a setting that comes too late")
print("ready", flush=True)
sys.stdin.readline()
"""


def test_a_program_names_its_coordinator(tmp_path):
    address = f"ipc://{tmp_path}/control"
    with coordinator("--listen", address, "--workers", "1"):
        wait_for_answer(address)
        wait_for(lambda: ready_workers(address), "worker")
        program = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, address],
            env=clean_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        with program:
            assert program.stdout.readline() == "ready\n"
            (job,) = json.loads(headrace("jobs", "--json", "--coordinator", address).stdout)["jobs"]
            assert job["pid"] == program.pid
            program.stdin.write("\n")
        assert program.returncode == 0


TYPED = """
import headrace
import torch.utils.data


class Words(torch.utils.data.Dataset[str]):
    def __getitem__(self, index: int) -> str:
        return str(index)


loader: headrace.DataLoader[str] = headrace.DataLoader(Words(), batch_size=2, rng="sample")
reveal_type(headrace.DataLoader(Words()))
headrace.DataLoader(Words(), batch_sise=2)
headrace.install(coordinator=7070)
"""


@pytest.mark.full  # mypy reads torch: half a minute
def test_type_checkers_know_torchs_signature(tmp_path):
    file = tmp_path / "typed.py"
    file.write_text(TYPED)
    words = ["--no-incremental", "--follow-imports", "silent", str(file)]
    said = subprocess.run(
        [sys.executable, "-m", "mypy", *words], cwd=tmp_path, capture_output=True, text=True
    ).stdout
    assert 'Revealed type is "headrace.loader.dataloader.DataLoader[str]"' in said.replace(
        "builtins.str", "str"
    ), said
    assert 'Unexpected keyword argument "batch_sise"' in said, said
    assert 'Argument "coordinator" to "install" has incompatible type "int"' in said, said
    assert "Found 2 errors" in said, said
