"""Handles in stage hosts: who opens them, and what is said where that can't be done."""

import os
import zipfile

import numpy as np
import pytest
from headrace.capture import python_stage
from support.stage_peer import Base, Stage
from torch.utils.data import DataLoader, Dataset


class Holder(Dataset):
    """Knows which process it was unpickled in."""

    def __init__(self, **held):
        self.held = held
        self.made_in = os.getpid()

    def __setstate__(self, state):
        self.__dict__.update(state, made_in=os.getpid())

    def __len__(self):
        return 8

    def __getitem__(self, index):
        archive = self.held.get("archive")
        text = archive.read("a.txt").decode() if archive else int(self.held["tokens"][index])
        return text, self.made_in == os.getpid()


@pytest.fixture(scope="module")
def base():
    made = Base()
    yield made
    made.close()


@pytest.fixture
def files(tmp_path):
    np.arange(50, dtype=np.uint16).tofile(tmp_path / "tokens.bin")
    with zipfile.ZipFile(tmp_path / "set.zip", "w") as archive:
        archive.writestr("a.txt", "text")
    return tmp_path


def bundle_of(data):
    packed = python_stage.pack(DataLoader(data, collate_fn=list, num_workers=2), [])
    return bytes(packed.bundle)


def stage_of(base, content):
    return Stage(None, base=base, content=content)


def held(files, kind):
    if kind == "archive":
        return Holder(archive=zipfile.ZipFile(files / "set.zip"))
    return Holder(tokens=np.memmap(files / "tokens.bin", np.uint16, "r"))


def test_an_archive_is_opened_by_each_host_and_a_memory_map_is_shared(base, files):
    for kind, text, own in (("archive", "text", True), ("tokens", 3, False)):
        with stage_of(base, bundle_of(held(files, kind))) as stage:
            assert not stage.problem
            for host in (stage.host(), stage.host()):
                assert host.ask([3]).value() == [(text, own)]


@pytest.mark.parametrize("kind", ["archive", "tokens"])
def test_another_file_is_told(base, files, kind):
    content = bundle_of(held(files, kind))
    (path,) = files.glob("set.zip" if kind == "archive" else "tokens.bin")
    path.write_bytes(bytes(path.stat().st_size))
    with stage_of(base, content) as stage:
        assert stage.problem == (
            f"{path} has other content here than on the trainer's host; "
            "give this host the trainer's file under this path"
        )


def test_a_process_that_dies_while_it_tries_is_told(base, files):
    class Deadly(Holder):
        def __setstate__(self, state):
            os.abort()

    data = Deadly(archive=zipfile.ZipFile(files / "set.zip"))
    with stage_of(base, bundle_of(data)) as stage:
        assert "the process that tried it has ended: Aborted" in stage.problem
