"""The sections of docs/operate.md, by their own commands: on a real Slurm, and on three hosts with sshd."""

import os
import re
import subprocess
import sys

import pytest
from support.headrace_program import HEADRACE, clean_environment, free_port
from support.operate_page import TRAIN, commands, numbered, parts, write_photos, write_python
from support.servers.slurm import slurm
from support.three_machines import first_hour
from support.wheels import portable_wheel


@pytest.fixture
def on_slurm(tmp_path):
    """Runs a section of the page on a cluster of two nodes, with other ports, and commands that find this
    build and this Python: what it printed, all that was said, and the cluster."""
    home, programs = tmp_path / "home", tmp_path / "bin"
    write_photos(home / "photos")
    (home / "train.py").write_text(TRAIN)
    write_python(programs)
    (programs / "headrace").symlink_to(HEADRACE)
    with slurm(tmp_path / "slurm", nodes=2) as cluster:

        def run(title):
            script = "set -e; trap 'kill $(jobs -p) 2> /dev/null || true' EXIT\n"
            script += numbered(commands(title))
            assert script.count("7070") >= 4
            for port in ("7070", "9470"):
                script = script.replace(port, str(free_port()))
            variables = {"HOME": str(home), "PATH": f"{programs}:{os.environ['PATH']}"}
            done = subprocess.run(
                ["bash", "-c", script],
                cwd=home,
                env=clean_environment(**variables, **cluster.environment, HEADRACE_LOG="info"),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=120,
            )
            said = done.stdout + done.stderr + (home / "headrace.log").read_text()
            assert done.returncode == 0, said
            return done.stdout, said, cluster

        yield run


def test_the_first_hour_on_slurm(on_slurm):
    printed, said, cluster = on_slurm("The first hour on Slurm")
    made = parts(printed)
    assert sorted(made) == [1, 2, 3, 4, 5, 6], said
    assert "batches 6" in made[3].said, said
    assert re.search(r"^\s+\d+_0 .* R ", made[4].said, re.MULTILINE), said
    assert "ready" in made[5].said, said
    assert len({job.partition("_")[0] for job, *_ in cluster.jobs("all")}) == 1, said


def test_cheap_nodes_first(on_slurm):
    """Of two workers, the pre-emptible pool may give one."""
    printed, said, _ = on_slurm("Cheap nodes first")
    assert len(re.findall(r"^\s+\d+_0 +preempt .* R ", printed, re.MULTILINE)) == 1, said
    assert len(re.findall(r"^\s+\d+_0 +all .* R ", printed, re.MULTILINE)) == 1, said
    for row in (
        r"spot +slurm +yes +usable +1 +0 +0 +1 +1 +1 +0\.01 +0\.01",
        r"slurm +slurm +no +usable +1 +0 +0 +1 +- +1 +0\.04 +0\.04",
    ):
        assert re.search(f"^{row}$", printed, re.MULTILINE), (row, said)
    assert 'headrace_pool_workers{pool="spot",state="running"} 1' in printed, said


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """What pip finds on hosts that reach no registry."""
    folder = tmp_path_factory.mktemp("packages")
    pip = [sys.executable, "-m", "pip", "download", "-q", "-d", folder, "numpy", "cloudpickle"]
    done = subprocess.run(pip, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.full
def test_three_machines_with_ssh(tmp_path, packages):
    """Of this system; tests/integration/test_first_hour.py has those of others."""
    first_hour(tmp_path, portable_wheel(), packages, sys.executable)
