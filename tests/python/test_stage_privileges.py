"""The processes of a stage are confined before the first line of a job's code, and torch works in them."""

import ctypes
import errno
import os
import resource
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import torch
from support.headrace_program import HEADRACE
from support.stage_peer import Base, Stage
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
    """Who makes a batch, what of two files it can read, and whether it can trace itself."""

    def __init__(self, data, secret):
        self.data, self.secret = data, secret

    def __len__(self):
        return 1

    def __getitem__(self, index):
        libc = ctypes.CDLL(None, use_errno=True)
        traced = libc.ptrace(0, 0, 0, 0)
        outcomes = [why(open, self.data), why(open, self.secret), why(os.setuid, 0)]
        return os.getresuid(), outcomes, errno.errorcode[ctypes.get_errno()] if traced else "done"


class Sharing(Dataset):
    """Uses what loaders use: tensors in shared memory, from another process, and another thread."""

    def __len__(self):
        return 1

    def __getitem__(self, index):
        shared = torch.zeros(1000, dtype=torch.int64).share_memory_()
        filling = torch.multiprocessing.get_context("fork").Process(
            target=lambda: shared.copy_(torch.arange(1000))
        )
        filling.start()
        filling.join()
        torch.set_num_threads(2)
        many = torch.ones(1000, 1000).mm(torch.ones(1000, 1000))
        return int(shared.sum()), int(many[0, 0])


def why(action, argument):
    try:
        action(argument)
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"


def _run(*words):
    return subprocess.run([HEADRACE, *words], capture_output=True, text=True, timeout=60)


def _stage(dataset, *confined):
    """A zygote in an interpreter with such words of confinement."""
    base = Base(confined=confined)
    stage = Stage(
        sys.modules[__name__], base=base, dataset=dataset, auto_collation=False, collate_fn=tuple
    )
    stage.own_base = base
    assert stage.problem == ""
    return stage


@pytest.fixture
def folder():
    """For everybody."""
    made = Path(tempfile.mkdtemp())
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def setuid(folder):
    """A copy of `id` that runs as its owner, for everybody."""
    program = folder / "id"
    shutil.copy(shutil.which("id"), program)
    program.chmod(0o755 | stat.S_ISUID)
    return str(program)


def test_a_program_with_the_setuid_bit_gives_code_of_a_stage_no_rights(setuid):
    with _stage(Asking(setuid)) as stage:
        flag, core, user = stage.host().ask([0]).value()
    assert (flag, core) == (1, (0, 0))
    assert user == (_NOBODY if os.geteuid() == 0 else os.geteuid())


@pytest.mark.parametrize("view", [False, True])
def test_torch_shares_memory_and_starts_processes_in_a_confined_stage(tmp_path, view):
    words = ("filter", f"root={tmp_path}") if view else ("filter",)
    with _stage(Sharing(), *words) as stage:
        assert stage.host().ask([0]).value() == (499500, 1000)


def test_code_of_a_stage_sees_the_roots_and_is_the_user_that_the_worker_names(folder):
    data, secret = folder / "data", folder / "secret"
    data.mkdir()
    for path in (data / "sample", secret):
        path.touch(0o644)
    user = ("user=nobody",) if os.geteuid() == 0 else ()
    dataset = Reading(str(data / "sample"), str(secret))
    with _stage(dataset, *user, "filter", f"root={data}") as stage:
        users, outcomes, traced = stage.host().ask([0]).value()
    assert set(users) == {_NOBODY if os.geteuid() == 0 else os.geteuid()}
    assert outcomes[:2] == ["done", "ENOENT"]
    assert outcomes[2] in ("EPERM", "EINVAL")  # of root, or there is none
    assert traced == "EPERM"


def test_what_a_trainer_says_of_import_paths_runs_confined(folder):
    """Python imports `sitecustomize` before the first line of Headrace's own."""
    if os.geteuid() != 0:
        pytest.skip("only root starts processes of another user")
    code = "import os\nprint(os.getresuid(), flush=True)\nos._exit(0)\n"
    (folder / "sitecustomize.py").write_text(code)
    command = [HEADRACE, "stage-process", "user=nobody", "filter", "--", sys.executable, "-c", ""]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    assert done.stdout.strip() == str((_NOBODY,) * 3), done.stderr


@pytest.mark.parametrize(
    ("name", "what"),
    [("root", "has the rights of root"), ("nobody here", "has no user nobody here")],
)
def test_a_user_that_stages_cannot_have_is_refused_in_words(name, what):
    done = _run("worker", "--coordinator", "tcp://127.0.0.1:9", "--stage-user", name)
    assert done.returncode != 0 and what in done.stderr
