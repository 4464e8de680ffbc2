"""Contract: code that reads objects by headrace.fs makes the stock loader's batches wherever it runs, and
the workers read for it: with their keys, by their rules, from their cache."""

import time

import fsspec
import headrace
import pytest
import torch
from headrace.loader.seam import state_of
from headrace.service.report import REPORT
from support.compare import assert_same, check
from support.elsewhere import starting_hosts
from support.object_server import BUCKET, Store, serve
from torch.utils.data import DataLoader, Dataset

COUNT = 24


@headrace.pure
class Objects(Dataset):
    """Sums of objects of the program's own kind."""

    def __init__(self, folder, endpoint):
        self.folder, self.endpoint = folder, endpoint

    def __len__(self):
        return COUNT

    def __getitem__(self, index):
        url = f"headrace+s3://{BUCKET}/{self.folder}/{index}"
        with fsspec.open(url, endpoint=self.endpoint) as file:
            return torch.frombuffer(bytearray(file.read()), dtype=torch.uint8).sum()


@pytest.fixture
def store():
    objects = {
        f"{folder}/{index}": bytes([index, seed]) * 50_000
        for seed, folder in enumerate(("open", "closed"))
        for index in range(COUNT)
    }
    with serve(Store(objects)) as made:
        yield made


@pytest.fixture
def keys(monkeypatch, tmp_path):
    """Sets the key that the next processes have."""

    def have(name):
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", name)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", f"secret-of-{name}")

    return have


def loader_of(data):
    return DataLoader(data, 2, shuffle=True, num_workers=2)


def epoch(loader, between=lambda: None):
    torch.manual_seed(5)
    made = []
    for batch in loader:
        made.append(batch)
        between()
    return made


def report_of(loader):
    REPORT.as_dict()
    return state_of(loader).report


def epochs_until(done, loader, expected):
    deadline = time.monotonic() + 120
    while not done(report_of(loader)):
        assert time.monotonic() < deadline, vars(report_of(loader))
        assert_same(epoch(loader, lambda: time.sleep(0.01)), expected)


def test_workers_read_with_their_keys_what_they_may(store, keys, monkeypatch, tmp_path, capfd):
    keys("program")
    data = {folder: Objects(folder, store.url) for folder in ("open", "closed")}
    expected = {folder: epoch(loader_of(one)) for folder, one in data.items()}
    store.signers.clear()
    own = tmp_path / "hosts"
    own.mkdir()
    endpoint = {"HEADRACE_ALLOW_ENDPOINTS": store.url}
    with starting_hosts(monkeypatch, own) as start:
        keys("here")
        start("here")
        keys("there")
        start("elsewhere", words=f"--allow-root s3://{BUCKET}/open", **endpoint)
        keys("program")
        headrace.install()
        try:
            loader = loader_of(data["open"])
            epochs_until(
                lambda report: len(report.samples_by_worker) == 2, loader, expected["open"]
            )
            assert report_of(loader).counts["differed"] == 0
            assert store.signers.pop("there") > 0
            # What the worker there may not read is an error in its code, so it gets no batches.
            loader = loader_of(data["closed"])
            said = ""
            deadline = time.monotonic() + 60
            while "NotAllowedError" not in said:
                assert time.monotonic() < deadline, said
                assert_same(epoch(loader, lambda: time.sleep(0.01)), expected["closed"])
                said += capfd.readouterr().err
            assert_same(epoch(loader), expected["closed"])
            assert len(report_of(loader).samples_by_worker) == 1
            assert "there" not in store.signers
        finally:
            headrace.uninstall()
    assert "secret-of-" not in said + capfd.readouterr().err


def test_lanes_whose_worker_may_not_read_make_the_same_batches(store, keys, no_service):
    """The program names the store, its worker's operator does not."""
    keys("program")
    check(lambda loader: loader(Objects("open", store.url), 2, num_workers=2), path="python")


def test_later_epochs_come_from_the_cache(store, monkeypatch, no_service):
    monkeypatch.setenv("HEADRACE_ALLOW_ENDPOINTS", store.url)
    monkeypatch.setenv("HEADRACE_CACHE", "64M")
    expected = epoch(loader_of(Objects("open", store.url)))
    headrace.install()
    try:
        loader = loader_of(Objects("open", store.url))
        deadline = time.monotonic() + 60
        read = COUNT
        while read:
            assert time.monotonic() < deadline, f"{read} objects are still read"
            asked = len(store.queries)
            assert_same(epoch(loader), expected)
            read = sum(query.startswith("GET") for query in store.queries[asked:])
        # An object that has changed is read again.
        store.objects["open/3"] = bytes(100_000)
        changed = epoch(loader)
        assert sum(int(one.sum()) for one in changed) != sum(int(one.sum()) for one in expected)
        assert "GET /pictures/open/3" in store.queries[-3 * COUNT :]
    finally:
        headrace.uninstall()
