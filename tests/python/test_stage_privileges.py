"""The processes of a stage gain no rights, whatever a job's code starts."""

import os
import resource
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
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
