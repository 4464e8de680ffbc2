"""The processes of a stage gain no rights, whatever a job's code starts, and may have a user of their own."""

import os
import resource
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from support.headrace_program import HEADRACE
from support.stage_peer import Stage
from torch.utils.data import Dataset

_NOBODY = 65534


class Asking(Dataset):
    """What a batch's process is. Then it runs `program` as a user without rights, if it may."""

    def __init__(self, program):
        self.program = program

    def __len__(self):
        return 1

    def __getitem__(self, index):
        status = Path("/proc/self/status").read_text()
        flag = int(status.partition("NoNewPrivs:")[2].split()[0])
        user = _NOBODY if os.geteuid() == 0 else None
        ran = subprocess.run([self.program, "-u"], user=user, capture_output=True, text=True)
        return flag, resource.getrlimit(resource.RLIMIT_CORE), int(ran.stdout)


class Reading(Dataset):
    """Who makes a batch, and whether it can read `secret` or be root again."""

    def __init__(self, secret):
        self.secret = secret

    def __len__(self):
        return 1

    def __getitem__(self, index):
        return os.getresuid(), os.getresgid(), [why(open, self.secret), why(os.setuid, 0)]


def why(action, argument):
    try:
        action(argument)
    except PermissionError:
        return "refused"
    return "done"


def _run(*words):
    return subprocess.run([HEADRACE, *words], capture_output=True, text=True, timeout=60)


@pytest.fixture
def setuid():
    """A copy of `id` that runs as its owner, for everybody."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    program = folder / "id"
    shutil.copy(shutil.which("id"), program)
    program.chmod(0o755 | stat.S_ISUID)
    yield str(program)
    shutil.rmtree(folder)


def test_a_program_with_the_setuid_bit_gives_code_of_a_stage_no_rights(setuid):
    with Stage(
        sys.modules[__name__], dataset=Asking(setuid), auto_collation=False, collate_fn=tuple
    ) as stage:
        assert stage.problem == ""
        flag, core, user = stage.host().ask([0]).value()
    assert (flag, core) == (1, (0, 0))
    assert user == (_NOBODY if os.geteuid() == 0 else os.geteuid())


def test_code_of_a_stage_runs_as_the_user_that_the_worker_names(tmp_path, monkeypatch):
    if os.geteuid() != 0:
        pytest.skip("only root starts processes of another user")
    secret = tmp_path / "secret"
    secret.touch(0o600)
    monkeypatch.setenv("HEADRACE_STAGE_USER", "nobody")
    with Stage(
        sys.modules[__name__], dataset=Reading(str(secret)), auto_collation=False, collate_fn=tuple
    ) as stage:
        assert stage.problem == ""
        users, groups, outcomes = stage.host().ask([0]).value()
    assert set(users) == {_NOBODY} and 0 not in groups
    assert outcomes == ["refused", "refused"]


@pytest.mark.parametrize(
    ("name", "what"),
    [("root", "has the rights of root"), ("nobody here", "has no user nobody here")],
)
def test_a_user_that_stages_cannot_have_is_refused_in_words(name, what):
    done = _run("worker", "--coordinator", "tcp://127.0.0.1:9", "--stage-user", name)
    assert done.returncode != 0 and what in done.stderr
