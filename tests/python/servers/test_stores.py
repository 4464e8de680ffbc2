"""Contract: headrace's client reads what is in a store, and says what is wrong, whoever wrote the store.

moto runs in the brief extent. radosgw and swift check signatures as production does; the page
docs/reference/stores.md has the last result."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
from headrace.fs import ObjectChanged, S3FileSystem
from headrace.native import binding
from headrace.objects.listing import pages
from headrace.objects.store import Store
from support.extent import some
from support.headrace_program import clean_environment
from support.object_server import BUCKET, Faults
from support.servers.faulty import between
from support.servers.s3_server import S3Server, content

KINDS = ["moto", "radosgw", "swift"]
every = pytest.mark.parametrize("server", some(KINDS, ["moto"]), indirect=True)
# What takes long, and that tests with fakes look at in the brief extent.
at_length = pytest.mark.parametrize("server", some(KINDS, []), indirect=True)
# These check what moto does not.
strict = pytest.mark.parametrize("server", some(["radosgw", "swift"], []), indirect=True)

LARGE = (24 << 20) + 123  # read in parts


@pytest.fixture(autouse=True)
def _as_user(request, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, value in request.getfixturevalue("server").environment().items():
        monkeypatch.setenv(name, value)
    yield


def reader(server: S3Server, **how: str):
    """One of its own: others keep their credentials for a minute."""
    given = {"endpoint": server.endpoint, "region": server.region} | how
    return binding.ObjectReader(f"s3://{BUCKET}", **given)


def url(key: str) -> str:
    return f"s3://{BUCKET}/{key}"


@every
def test_objects_of_any_name_and_size(server):
    for key, size in [("plain", 10), ("p/ä b+c%&=?'(1)~.txt", 100), ("empty", 0), ("one", 1)]:
        etag = server.hand("put", key=key, size=size)
        assert reader(server).read(url(key)) == content(size)
        assert reader(server).look(url(key)) == (size, etag)
    server.hand("put", key="large", size=LARGE)
    assert reader(server).read(url("large")) == content(LARGE)
    with pytest.raises(FileNotFoundError, match="404"):
        reader(server).read(url("none"))
    with pytest.raises(FileNotFoundError, match="404"):
        reader(server).look(url("none"))


@every
def test_ranges(server):
    etag = server.hand("put", key="ranged", size=5000)
    made, whole = reader(server), content(5000)
    for first, size in [(0, 1), (4999, 1), (10, 4000), (4990, 100)]:
        found = made.read_range(url("ranged"), first, size)
        assert found == (whole[first : first + size], 5000, etag)
    assert made.read_range(url("ranged"), 5000, 10)[0] == b""
    server.hand("put", key="nothing", size=0)
    assert made.read_range(url("nothing"), 0, 10)[0] == b""


@at_length
def test_a_list_goes_on_over_pages(server):
    server.hand("fill", prefix="many/", count=1100)
    server.hand("put", key="list/a b+ä/1", size=3)
    server.hand("put", key="list/2", size=4)
    store = Store(f"s3://{BUCKET}/", server.endpoint, server.region)
    found = list(pages(store, "many/"))
    assert len(found) == 2
    names = [name for page in found for name in page.names]
    assert names == [f"many/{i:05}" for i in range(1100)]
    (page,) = pages(store, "list/", "/")
    assert (page.names, page.sizes, page.folders) == (["list/2"], [4], ["list/a b+ä/"])
    assert list(next(pages(store, "nowhere/")).names) == []


@every
def test_an_object_of_several_uploads(server):
    sizes = [5 << 20, 5 << 20, 100]
    etag = server.hand("multipart", key="joined", sizes=sizes)
    assert etag.strip('"').endswith("-3")
    assert reader(server).look(url("joined")) == (sum(sizes), etag)
    assert reader(server).read(url("joined")) == content(sum(sizes))
    assert (
        reader(server).read_range(url("joined"), (5 << 20) - 2, 4)[0]
        == (content(sum(sizes))[(5 << 20) - 2 : (5 << 20) + 2])
    )


@every
def test_wrong_keys_are_refused_and_not_told(server, monkeypatch):
    server.hand("put", key="kept", size=1)
    for name in ("AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID"):
        with monkeypatch.context() as other:
            other.setenv(name, "wrong-words")
            for ask in (reader(server).read, reader(server).look):
                with pytest.raises(binding.UnavailableError, match="403") as refused:
                    ask(url("kept"))
                assert "wrong-words" not in str(refused.value)
                assert server.secret not in str(refused.value)
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(binding.UnavailableError, match="403 .*no credentials were found|: 400"):
        reader(server).read(url("kept"))


@every
def test_an_object_that_is_another_one_in_the_next_epoch(server):
    """What is open keeps to its version; what is opened then has the new one."""
    server.hand("put", key="changes", size=100_000)
    files = S3FileSystem(endpoint=server.endpoint, region=server.region, skip_instance_cache=True)
    with files.open(f"{BUCKET}/changes", block_size=1000) as file:
        assert file.read(10) == content(10)
        server.hand("put", key="changes", size=100_000, seed=1)
        with pytest.raises(ObjectChanged):
            file.seek(50_000)
            file.read(10)
    assert files.cat_file(f"{BUCKET}/changes") == content(100_000, 1)
    server.hand("delete", key="changes")
    with pytest.raises(FileNotFoundError):
        files.cat_file(f"{BUCKET}/changes")


@at_length
def test_an_object_that_changes_between_its_parts_is_read_anew(server):
    """By If-Match: no content is of two versions."""
    server.hand("put", key="moving", size=LARGE)
    with between(server.endpoint) as way:

        def before(line: str) -> None:
            if len(way.queries) == 2:  # the first part's answer has come
                way.before = lambda line: None
                server.hand("put", key="moving", size=LARGE, seed=1)

        way.before = before
        assert reader(server, endpoint=way.endpoint).read(url("moving")) == content(LARGE, 1)
        assert len(way.queries) > 4


@at_length
def test_a_storm(server):
    """503, 429, cut bodies and slow answers, of one request in three."""
    sizes = {f"storm/{i}": 100 + 997 * i for i in range(40)}
    for key, size in sizes.items():
        server.hand("put", key=key, size=size)
    faults = Faults(seed=3, busy=0.1, throttled=0.1, cut=0.1, slow_seconds=0.01)
    with between(server.endpoint, faults) as way:
        files = S3FileSystem(endpoint=way.endpoint, region=server.region, skip_instance_cache=True)
        assert len(files.find(f"{BUCKET}/storm")) == len(sizes)
        found = files.cat_ranges([f"{BUCKET}/{key}" for key in sizes], 0, None)
        assert found == [content(size) for size in sizes.values()]
        assert way.failed > 5


@strict
def test_a_bucket_in_the_name_of_the_host(server):
    server.hand("put", key="by/name", size=1000)
    made = reader(server, endpoint=server.endpoint_by_name, addressing="virtual")
    assert made.read(url("by/name")) == content(1000)
    assert b"<Key>by/name</Key>" in made.list("list-type=2&prefix=by")


SKEWED = """
import sys
from headrace.native import binding
base, endpoint, region, ask = sys.argv[1:]
reader = binding.ObjectReader(base, endpoint=endpoint, region=region)
name = base + "/timed"
for _ in range(3):
    print(len(reader.read(name)) if ask == "read" else reader.look(name)[0])
"""


@strict
@pytest.mark.parametrize("ask", ["read", "look"])
@pytest.mark.parametrize("clock", ["-2h", "+3d"])
def test_a_clock_that_is_wrong_is_put_right_once(server, ask, clock):
    """A program whose clock is wrong; the store refuses its first request, and no other."""
    server.hand("put", key="timed", size=1000)
    with between(server.endpoint) as way:
        words = [sys.executable, "-c", SKEWED, f"s3://{BUCKET}", way.endpoint, server.region, ask]
        done = subprocess.run(
            ["faketime", "-m", "-f", clock, *words],
            env=clean_environment(FAKETIME_DONT_FAKE_MONOTONIC="1", **server.environment()),
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert done.stdout.split() == ["1000"] * 3, done.stderr
        assert len(way.queries) == 4, way.queries


@pytest.mark.parametrize("server", some(["swift"], []), indirect=True)
@pytest.mark.parametrize(("ask", "asked"), [("read", 4), ("look", 5), ("list", 4)])
def test_the_region_is_learnt_once(server, ask, asked):
    """swift takes its own alone; radosgw and moto take any. A HEAD is told nothing, so a GET asks."""
    server.hand("put", key="placed", size=10)
    with between(server.endpoint) as way:
        made = reader(server, endpoint=way.endpoint, region="us-east-1")
        for _ in range(3):
            made.list("list-type=2") if ask == "list" else getattr(made, ask)(url("placed"))
        assert len(way.queries) == asked, way.queries
