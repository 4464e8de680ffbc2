"""Programs as users of each framework write them: the same batches, made by workers.

programs/ has one file a framework, with no word of Headrace. Each runs as it is and under
`headrace run`, and prints a line with a checksum for each batch that its training step was given.
"""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from support.headrace_program import HEADRACE, clean_environment, free_port
from support.photos import write_jpegs

PROGRAMS = Path(__file__).parent / "programs"
# Program -> how many samples its training steps see, and how they are made.
EXPECTED = {
    "ddp": (56, "native"),
    "with_accelerate": (48, "native"),
    "with_lightning": (81, "python"),
    "with_hf_trainer": (62, "python"),
    "with_timm": (48, "python"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_jpegs(tmp_path_factory.mktemp("photos"), classes=3, count=9)


def run(command, folder, out):
    out.mkdir()
    program = [*command, str(folder), str(out), str(free_port())]
    done = subprocess.run(
        program,
        capture_output=True,
        text=True,
        timeout=300,
        env=clean_environment(OMP_NUM_THREADS="1"),
    )
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stdout.splitlines() if line.startswith(("batch ", "weights "))]
    return sorted(told), done.stderr


def samples_of(told):
    """From the shapes in the lines."""
    return sum(int(line.split(" (")[-1].split(",")[0]) for line in told if line[0] == "b")


@pytest.mark.parametrize("name", EXPECTED)
def test_same_batches_from_workers(name, folder, tmp_path):
    plain = [sys.executable, str(PROGRAMS / f"{name}.py")]
    expected, said = run(plain, folder, tmp_path / "stock")
    report = tmp_path / "report.json"
    options = [HEADRACE, "run", "--workers", "2", "--report", str(report)]
    told, said_served = run([*options, *plain], folder, tmp_path / "served")
    assert told == expected

    samples, path = EXPECTED[name]
    assert samples_of(told) == samples
    made = Counter()
    for part in tmp_path.glob("report.json*"):
        for loader in json.loads(part.read_text())["loaders"]:
            made.update(loader["samples_by_path"])
    # Frameworks ask for a few batches that no training step sees.
    assert made[path] >= samples and made["local"] == 0, made

    before = set(said.splitlines())
    new = [line for line in said_served.splitlines() if line and line not in before]
    assert [line for line in new if not line.startswith("headrace: ")] == []
