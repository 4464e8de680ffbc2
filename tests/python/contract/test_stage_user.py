"""Contract: a worker whose stages are confined, as another user, makes the same batches. The trainer's own
lanes are as the stock loader's."""

import os
import shutil
import socket
import tempfile
import threading
import time
from pathlib import Path

import headrace
import pytest
import torch
from headrace.loader.seam import state_of
from headrace.service.report import REPORT
from support.compare import assert_same
from support.elsewhere import HOST, starting_hosts
from torch.utils.data import DataLoader, Dataset


class Signing(Dataset):
    """Each process that makes a sample says where it is, who it is, and what it can read."""

    def __init__(self, folder, port):
        self.folder, self.port = folder, port

    def __len__(self):
        return 64

    def __getitem__(self, index):
        status = Path("/proc/self/status").read_text()
        confined = status.partition("Seccomp:")[2].split()[0]
        secret = "reads" if (self.folder / "secret").exists() else "sees no"
        data = (self.folder / "data" / "sample").read_text()
        with socket.create_connection(("127.0.0.1", self.port)) as told:
            told.sendall(f"{os.uname().nodename}:{os.geteuid()}:{confined}:{secret}".encode())
        return torch.rand(3), index, len(data)


@pytest.fixture
def folder():
    made = Path(tempfile.mkdtemp())
    made.chmod(0o755)
    (made / "data").mkdir()
    (made / "data" / "sample").write_text("sample")
    (made / "secret").touch()
    yield made
    shutil.rmtree(made)


@pytest.fixture
def told():
    """A port, and what comes there."""
    server = socket.create_server(("127.0.0.1", 0), backlog=128)
    seen = set()

    def listen():
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return  # it is over
            with connection:
                seen.add(connection.recv(100).decode())

    thread = threading.Thread(target=listen)
    thread.start()
    yield server.getsockname()[1], seen
    server.shutdown(socket.SHUT_RDWR)
    server.close()
    thread.join()


def test_confined_stages_of_another_user_make_the_same_batches(monkeypatch, tmp_path, folder, told):
    if os.geteuid() != 0:
        pytest.skip("only root starts processes of another user")
    port, seen = told

    def loader_of():
        return DataLoader(Signing(folder, port), 2, shuffle=True, num_workers=2)

    def epoch(loader):
        torch.manual_seed(5)
        made = []
        for batch in loader:
            made.append([each.clone() for each in batch])
            if len(made) == 1:
                time.sleep(0.1)  # or it is over before a worker on trial has shown anything
        return made

    def by_two(loader):
        REPORT.as_dict()
        return len(state_of(loader).report.samples_by_worker) == 2

    headrace.pure(Signing)  # whoever makes it, it is the same
    expected = epoch(loader_of())
    words = f"--stage-user nobody --allow-root {folder / 'data'} --stage-sandbox required"
    with starting_hosts(monkeypatch, tmp_path) as start:
        start("here")
        start("elsewhere", words=words)
        headrace.install()
        try:
            loader = loader_of()
            deadline = time.monotonic() + 40
            while not by_two(loader):
                assert time.monotonic() < deadline, vars(state_of(loader).report)
                assert_same(epoch(loader), expected)
        finally:
            headrace.uninstall()
    assert seen == {f"{os.uname().nodename}:0:0:reads", f"{HOST}:65534:2:sees no"}
