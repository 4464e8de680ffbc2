"""Objects that a stage's code asks for by headrace.fs: its worker reads them."""

import os
import sys
import threading
from pathlib import Path

import fsspec
import pytest
from headrace.fs import HttpsFileSystem, ObjectChanged, S3FileSystem
from headrace.process import object_reads as reads_of_this_process
from headrace.stage import object_reads
from support.object_server import BUCKET, Store, serve
from support.object_worker import Worker, serving
from support.stage_peer import Stage
from torch.utils.data import Dataset

LARGE = bytes(range(256)) * 2000
BASE = f"s3://{BUCKET}/set"
OBJECTS = {
    f"{BASE}/a.bin": LARGE,
    f"{BASE}/b.bin": b"small",
    f"{BASE}/empty": b"",
    f"s3://{BUCKET}/secret/x": b"secret",
    "https://host.invalid/w": b"web",
}
FORBIDDEN = (f"s3://{BUCKET}/secret",)


@pytest.fixture
def worker():
    with serving(Worker(dict(OBJECTS), FORBIDDEN)) as made:
        yield made


@pytest.fixture
def door(worker):
    """As in a process that a worker has forked."""
    reads_of_this_process.by = object_reads.Door(os.dup(worker.door), may_read=False)
    made = reads_of_this_process.by
    yield made
    reads_of_this_process.by = None
    made.close()


def files():
    return S3FileSystem(skip_instance_cache=True)


def asked(worker):
    return [(ask.what, ask.name) for ask in worker.asks]


def test_all_that_is_asked_for_the_worker_reads(worker, door):
    fs = files()
    assert fs.cat_file(f"{BUCKET}/set/a.bin") == LARGE
    assert fs.cat_file(f"{BUCKET}/set/a.bin", 5, 70_005) == LARGE[5:70_005]
    assert fs.cat_file(f"{BUCKET}/set/empty") == b""
    assert fs.info(f"{BUCKET}/set/b.bin")["size"] == 5
    assert fs.find(f"{BUCKET}/set") == [f"{BUCKET}/set/{n}" for n in ("a.bin", "b.bin", "empty")]
    with fsspec.open(f"headrace+s3://{BUCKET}/set/a.bin", block_size=100_000) as file:
        file.seek(300)
        assert file.read(10) == LARGE[300:310]
    assert HttpsFileSystem().cat_file("headrace+https://host.invalid/w", 0, 1) == b"w"
    assert len(worker.asks) == 8


def test_an_open_file_says_which_version_it_means(worker, door):
    with files().open(f"{BUCKET}/set/a.bin", block_size=1000) as file:
        assert file.read(10) == LARGE[:10]
        look, part = worker.asks
        assert (look.what, part.what) == (object_reads.LOOK, object_reads.RANGE)
        assert (part.version, part.size) == ('"1"', len(LARGE))
        worker.version = '"2"'
        file.seek(300_000)
        with pytest.raises(ObjectChanged):
            file.read(10)


def raised(ask):
    with pytest.raises(OSError) as caught:
        ask()
    return caught.value


def test_errors_are_those_of_the_process_s_own_client(worker, door):
    for ask in (
        lambda: files().cat_file(f"{BUCKET}/set/none"),
        lambda: files().open(f"{BUCKET}/set/none"),
        lambda: files().cat_file(f"{BUCKET}/set/none", 0, 5),
    ):
        here = raised(ask)
        reads_of_this_process.by = None
        with serve(Store({})) as store:
            made = S3FileSystem(endpoint=store.url)
            own = raised(lambda made=made: made.open(f"{BUCKET}/set/none"))
        reads_of_this_process.by = door
        assert type(here) is type(own) and isinstance(here, FileNotFoundError)
    for ask in (
        lambda: files().cat_file(f"{BUCKET}/secret/x"),
        lambda: files().open(f"{BUCKET}/secret/x"),
        lambda: files().ls(f"{BUCKET}/secret"),
    ):
        assert isinstance(raised(ask), PermissionError)
    assert all(ask.what != object_reads.PAID for ask in worker.asks)


def test_what_is_larger_than_an_answer_comes_in_several(worker, door, monkeypatch):
    monkeypatch.setattr(object_reads, "MOST_BYTES", 100_000)
    assert files().cat_file(f"{BUCKET}/set/a.bin") == LARGE
    assert [ask.what for ask in worker.asks][:3] == [2, 0, 1]
    assert {ask.version for ask in worker.asks[2:]} == {'"1"'}
    changing = iter(['"1"'] * 3 + ['"2"'] * 9)
    worker.on_ask = lambda _: setattr(worker, "version", next(changing))
    with pytest.raises(ConnectionError, match="changed while it was read"):
        files().cat_file(f"{BUCKET}/set/a.bin")


def test_side_by_side_and_in_forks(worker, door):
    fs = files()
    path = f"{BUCKET}/set/a.bin"
    starts = list(range(0, 400_000, 10_000))
    expected = [LARGE[start : start + 100] for start in starts]
    for _ in range(2):
        assert fs.cat_ranges([path] * len(starts), starts, [s + 100 for s in starts]) == expected
    kept = len(door._connections())
    assert 1 <= kept <= 4, "connections are kept, and few"
    pid = os.fork()
    if pid == 0:
        ok = fs.cat_file(path, 0, 70_000) == LARGE[:70_000]
        own = list(door._free) == [os.getpid()]  # it has let go of its parent's
        os._exit(0 if ok and own and len(door._connections()) == 1 else 1)
    assert fs.cat_file(path, 7, 70_007) == LARGE[7:70_007]
    assert os.waitpid(pid, 0)[1] == 0
    assert threading.active_count() < 100


def test_a_connection_that_the_worker_has_hung_up_is_made_anew(worker, door):
    fs = files()
    assert fs.cat_file(f"{BUCKET}/set/b.bin") == b"small"
    worker.hang_up()
    assert fs.cat_file(f"{BUCKET}/set/b.bin") == b"small"
    assert len(worker.connections) == 2


def test_a_worker_that_has_gone_is_an_error(worker, door):
    def die(_):
        worker.hang_up()

    worker.on_ask = die
    error = raised(lambda: files().cat_file(f"{BUCKET}/set/b.bin"))
    assert isinstance(error, ConnectionError) and "has gone" in str(error)


@pytest.fixture
def lane(worker):
    """As in a lane of the trainer's, which may read by itself."""
    reads_of_this_process.by = object_reads.Door(os.dup(worker.door), may_read=True)
    made = reads_of_this_process.by
    yield made
    reads_of_this_process.by = None
    made.close()


def test_a_lane_reads_by_itself_what_its_worker_may_not_and_the_job_pays(worker, lane):
    with serve(Store({"secret/x": b"secret", "set/b.bin": b"other"})) as store:
        fs = S3FileSystem(endpoint=store.url, skip_instance_cache=True)
        assert fs.cat_file(f"{BUCKET}/set/b.bin") == b"small", "the worker gives it"
        assert worker.paid == 0 and not store.queries
        assert fs.cat_file(f"{BUCKET}/secret/x") == b"secret"
        assert worker.paid == 6 and len(store.queries) == 1
        refused = len([ask for ask in worker.asks if "secret" in ask.name])
        assert fs.cat_file(f"{BUCKET}/secret/x") == b"secret"
        assert worker.paid == 12
        assert refused == len([ask for ask in worker.asks if "secret" in ask.name]) == 1
        with pytest.raises(FileNotFoundError):
            fs.cat_file(f"{BUCKET}/none")


def test_a_lane_whose_worker_is_lost_reads_by_itself(worker, lane):
    with serve(Store({"set/b.bin": b"small"})) as store:
        fs = S3FileSystem(endpoint=store.url, skip_instance_cache=True)
        assert fs.cat_file(f"{BUCKET}/set/b.bin") == b"small" and not store.queries
        lane.close()
        assert fs.cat_file(f"{BUCKET}/set/b.bin") == b"small" and store.queries


class Opened(Dataset):
    """Has an open file, which travels, and opens others."""

    def __init__(self):
        self.file = None

    def __getstate__(self):
        return {}

    def __setstate__(self, _):
        self.file = fsspec.open(f"headrace+s3://{BUCKET}/set/a.bin", block_size=1000).open()

    def __getitem__(self, index):
        if index == 1:
            fsspec.open(f"headrace+s3://{BUCKET}/secret/x").open()
        self.file.seek(index * 1000)
        own_client = [
            task
            for task in Path("/proc/self/task").iterdir()
            if task.joinpath("comm").read_text().startswith("hr-objects")
        ]
        return list(self.file.read(4)), len(own_client), os.environ.get("AWS_SECRET_ACCESS_KEY", "")


def test_bundles_and_batches_read_by_the_worker_and_have_no_client_nor_key(worker, monkeypatch):
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY", raising=False)
    keep = {"collate_fn": list, "num_workers": 1}
    with Stage(sys.modules[__name__], dataset=Opened(), door=os.dup(worker.door), **keep) as stage:
        assert not stage.problem
        assert asked(worker) == [(object_reads.LOOK, f"{BASE}/a.bin")], "when it is unpickled"
        for key in (0, 100):
            ((read, own_clients, secret),) = stage.host().ask([key]).value()
            assert bytes(read) == LARGE[key * 1000 :][:4]
            assert own_clients == 0 and secret == ""
        answer = stage.host().ask([1])
        assert b"NotAllowedError" in answer.error


def test_without_a_door_a_stage_reads_by_itself():
    object_reads.use()
    assert reads_of_this_process.by is None
