"""Contract: objects of a web server that others wrote, over HTTP/1.1, and over TLS with HTTP/2."""

import os
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import headrace
import pytest
from headrace.fs import HttpsFileSystem, ObjectChanged
from headrace.loader.seam import state_of
from headrace.native import binding
from support.compare import assert_same, served, stock
from support.headrace_program import wait_for
from support.pipelines import train_v1
from support.servers.nginx import WebServer, nginx
from support.servers.s3_server import content
from torchvision import datasets

LARGE = (20 << 20) + 77  # read in parts


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory, photos: Path) -> Iterator[WebServer]:
    root = tmp_path_factory.mktemp("root")
    (root / "photos").symlink_to(photos)
    for name, size in [("large", LARGE), ("small", 5000), ("empty", 0)]:
        (root / name).write_bytes(content(size))
    with nginx(tmp_path_factory.mktemp("nginx"), root) as made:
        yield made


@pytest.fixture
def trusted(web: WebServer, monkeypatch: pytest.MonkeyPatch) -> WebServer:
    monkeypatch.setenv("AWS_CA_BUNDLE", web.ca_file)
    os.truncate(web.log, 0)
    return web


@pytest.mark.parametrize("how", ["plain", "tls"])
def test_objects_and_ranges(trusted, how):
    base, whole = getattr(trusted, how), content(5000)
    made = binding.ObjectReader(base)
    assert made.read(f"{base}/small") == whole and made.read(f"{base}/empty") == b""
    size, version = made.look(f"{base}/small")
    assert size == 5000 and version.startswith('"')
    for first, count in [(0, 1), (4999, 10), (10, 4000)]:
        expected = (whole[first : first + count], 5000, version)
        assert made.read_range(f"{base}/small", first, count) == expected
    assert made.read_range(f"{base}/small", 5000, 10)[0] == b""
    with pytest.raises(FileNotFoundError, match="404"):
        made.read(f"{base}/none")
    protocols = {protocol for protocol, *_ in wait_for(lambda: trusted.told(base), "log")}
    assert protocols == {"HTTP/1.1" if how == "plain" else "HTTP/2.0"}


def test_large_objects_come_in_parts_over_few_connections(trusted):
    made = binding.ObjectReader(trusted.tls)
    with ThreadPoolExecutor(8) as pool:
        found = list(
            pool.map(made.read, [f"{trusted.tls}/large"] * 2 + [f"{trusted.tls}/small"] * 30)
        )
    assert found[:2] == [content(LARGE)] * 2 and found[2:] == [content(5000)] * 30
    # A server hears that the rest of a first part is not wanted when its connection has work, or ends.
    del made

    def count() -> Counter:
        return Counter(path for *_, path, _ in trusted.told(trusted.tls))

    # A line is written after the last byte. The test before reads /small, too.
    wait_for(lambda: count()["/large"] >= 2 * 3 and count()["/small"] >= 30, "log of 36 answers")
    assert count()["/large"] == 2 * 3
    told = trusted.told(trusted.tls)
    # HTTP/2 needs one. libcurl makes another one now and then; HTTP/1.1 takes 8 and more.
    assert len({connection for _, connection, *_ in told}) <= 4


def test_a_server_whose_certificate_nobody_vouches_for_is_not_read(web, trusted, monkeypatch):
    by_address = web.tls.replace("localhost", "127.0.0.1")  # not in its certificate
    with pytest.raises(binding.UnavailableError, match="no answer by HTTP"):
        binding.ObjectReader(by_address).read(f"{by_address}/small")
    monkeypatch.delenv("AWS_CA_BUNDLE")
    with pytest.raises(binding.UnavailableError, match="no answer by HTTP"):
        binding.ObjectReader(web.tls).read(f"{web.tls}/small")
    assert web.told() == []


def test_a_file_that_changes_while_it_is_open(trusted):
    path = trusted.root / "changing"
    path.write_bytes(content(100_000))
    files = HttpsFileSystem(skip_instance_cache=True)
    with files.open(f"{trusted.tls.removeprefix('https://')}/changing", block_size=1000) as file:
        assert file.read(10) == content(10)
        path.write_bytes(content(100_001, 1))
        file.seek(50_000)
        with pytest.raises(ObjectChanged):
            file.read(10)


def test_a_server_that_throttles_and_is_slow(trusted):
    """40 requests where 100 a second are taken, one at a time: most are answered 429 at first."""
    made = binding.ObjectReader(trusted.tls)
    with ThreadPoolExecutor(8) as pool:
        slow = pool.submit(made.read, f"{trusted.tls}/slow/small")
        names = [f"{trusted.tls}/throttled/small"] * 40
        assert list(pool.map(made.read, names)) == [content(5000)] * 40
        assert slow.result() == content(5000)

    def statuses():
        return [status for _, _, status, _, path, _ in trusted.told() if "throttled" in path]

    wait_for(lambda: statuses().count("200") == 40, "log of 40 answers")
    assert statuses().count("429") > 5


def test_workers_read_over_tls(trusted, photos, no_service, monkeypatch):
    monkeypatch.setenv("HEADRACE_ALLOW_ENDPOINTS", trusted.tls.removeprefix("https://"))
    names = [str(path.relative_to(photos)) for path in photos.rglob("*.*")]
    made = []

    def remote(loader):
        data = headrace.open_dataset(f"{trusted.tls}/photos", train_v1(), names=names)
        made.append(loader(data, 4))
        return made[-1]

    expected = stock(lambda loader: loader(datasets.ImageFolder(photos, train_v1()), 4))
    assert_same(served(remote), expected)
    assert state_of(made[-1]).report.samples_by_path["local"] == 0
    assert {protocol for protocol, *_ in trusted.told(trusted.tls)} == {"HTTP/2.0"}
