"""Sessions that are forked from one interpreter, spoken to as a data worker does."""

import functools
import importlib
import os
import signal
import socket
import sys

import numpy as np
import PIL
import pytest
import torchvision
from headrace.process.modules import MARK, names_in, tail
from headrace.stage import wire
from support import stage_peer
from torch.utils.data import Dataset

# Modules as if they were installed; one that is the program's own lies in a folder.
FINDER = """
import importlib.abc, importlib.util, sys
CODE = {
    "starts_a_thread":
        "import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()",
    "raises": "raise RuntimeError('not today')",
    "imports_own": "import own_module",
}
class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        return importlib.util.spec_from_loader(name, self) if name in CODE else None
    def exec_module(self, module):
        exec(CODE[module.__name__], module.__dict__)
sys.meta_path.insert(0, Finder())
"""


LOOKED_FOR = ("PIL.PngImagePlugin", "colorsys", "own_module", "headrace.stage.images")


class Settled(Dataset):
    """Says what it found when it was loaded, and changes an installed module then."""

    def __init__(self, change=0.0):
        self.change = change

    def __setstate__(self, state):
        self.found = {
            "imported": [name for name in LOOKED_FOR if name in sys.modules],
            "constant": importlib.import_module("colorsys").ONE_SIXTH,
            "drawn": np.random.rand(),
            "threads": len(os.listdir("/proc/self/task")),
            "parent": os.getppid(),
        }
        if state["change"]:
            importlib.import_module("colorsys").ONE_SIXTH = state["change"]

    def __getitem__(self, index):
        return self.found


def only(samples):
    return samples[0]


Stage = functools.partial(
    stage_peer.Stage, user_module=sys.modules[__name__], collate_fn=only, dataset=Settled()
)


def found(stage):
    return stage.host().ask([0]).value()


@pytest.fixture
def own_folder(tmp_path):
    (tmp_path / "own_module.py").write_text("")
    return str(tmp_path)


@pytest.fixture
def base(own_folder):
    base = stage_peer.Base(sys_path=[*sys.path, own_folder], before=FINDER)
    yield base
    base.close()


def test_one_session_does_not_see_what_another_did(base):
    same = {"base": base, "modules": ["colorsys", "numpy.random"]}
    with Stage(dataset=Settled(change=0.5), **same) as first, Stage(**same) as second:
        one, other = found(first), found(second)
    assert one["constant"] == other["constant"] == 1 / 6
    assert one["drawn"] != other["drawn"]
    assert one["parent"] == other["parent"] == base.process.pid


def test_installed_modules_of_a_bundle_are_there_before_it_is_loaded(base):
    with Stage(base=base) as stage:
        assert found(stage)["imported"] == []
    with Stage(base=base, modules=["colorsys", "own_module", "nowhere", "raises"]) as stage:
        assert stage.forked
        assert found(stage)["imported"] == ["colorsys"]
    with Stage(base=base) as stage:
        assert found(stage)["imported"] == ["colorsys"]


@pytest.mark.parametrize("others", [{}, {"torchvision": torchvision.__version__}])
def test_what_looks_at_pil_comes_behind_the_program(others):
    base = stage_peer.Base(packages={"PIL": PIL.__version__, **others})
    with Stage(base=base, by_pil=[]) as stage:
        assert found(stage)["imported"] == ["PIL.PngImagePlugin"]
    base.close()


@pytest.mark.parametrize("module", ["starts_a_thread", "imports_own"])
def test_an_interpreter_that_must_not_be_forked_takes_on_the_session(module, own_folder):
    base = stage_peer.Base(sys_path=[*sys.path, own_folder], before=FINDER)
    with Stage(base=base, modules=[module]) as stage:
        assert not stage.forked
        assert found(stage)["parent"] == os.getpid()
    assert base.process.wait(60) == 0
    base.close()


@pytest.mark.parametrize("module", ["starts_a_thread", "imports_own"])
def test_with_sessions_it_asks_for_a_fresh_one(base, module):
    with Stage(base=base) as stage:
        ours, theirs = socket.socketpair()
        assert base.begin(7, tail([module]), theirs) == (wire.UNFIT, 7)
        with ours:
            assert ours.recv(1) == b""
        assert found(stage)["constant"] == 1 / 6


def test_a_session_that_is_to_be_alone_is(own_folder):
    base = stage_peer.Base(sys_path=[*sys.path, own_folder])
    ours, theirs = socket.socketpair()
    with ours:
        assert base.begin(7, b"", theirs, alone=True) == (wire.BECAME, 7)
    base.close()


@pytest.mark.parametrize("told", [False, True])
def test_the_end_of_a_session_is_told(base, told):
    with Stage(base=base) as stage:
        if told:
            wire.send(base.control, wire.END, wire.numbers(1))
        else:
            os.kill(stage.pid, signal.SIGKILL)
        how = b"its Python process was killed by signal: Killed"
        assert base.receive() == (wire.ENDED, 1, how)
        with Stage(base=base) as after:
            assert found(after)["constant"] == 1 / 6


def test_sessions_end_with_their_interpreter(base):
    with Stage(base=base) as stage:
        host = stage.host()
        base.process.kill()
        for sock in (host.sock, stage.control):
            # Reset: it died before it had read what it was greeted with.
            with pytest.raises((EOFError, ConnectionResetError)):
                wire.receive(sock)


@pytest.mark.parametrize(
    "content", [b"", b"x", MARK, b"\xff\xff\xff\xff" + MARK, b"pickle\x10\0\0\0" + MARK[:-1]]
)
def test_a_bundle_without_names_has_none(content):
    assert names_in(stage_peer.memory(content)) == []


def test_names_are_behind_the_bundle():
    assert names_in(stage_peer.memory(b"pickle" + tail(["a", "b.c"]))) == ["a", "b.c"]
