"""Contract: images in zips are those of an ImageFolder of the unpacked zips, bit for bit, whether workers
read and unpack them or the program does, from files and from a store, whatever happens meanwhile."""

import os
import zipfile
from collections.abc import Iterator

import headrace
import pytest
from headrace.loader.seam import state_of
from support.compare import assert_same, batches, check, errors, served, stock
from support.object_server import BUCKET, Faults, Store, serve
from support.pipelines import train_v1
from support.zips import write_zips
from torchvision import datasets


@pytest.fixture
def as_operator(monkeypatch: pytest.MonkeyPatch, no_service: None) -> Iterator[pytest.MonkeyPatch]:
    """What is set is there before the workers start."""
    yield monkeypatch


def loaders(make_dataset, **how):
    made = []

    def make(loader):
        made.append(loader(make_dataset(), 4, shuffle=True, **how))
        return made[-1]

    make.made = made
    return make


def folder_of(photos):
    return stock(
        lambda loader: loader(
            datasets.ImageFolder(photos, train_v1()), 4, shuffle=True, num_workers=2
        )
    )


def by_workers(make):
    paths = state_of(make.made[-1]).report.samples_by_path
    assert paths["local"] == 0, paths


@pytest.mark.parametrize("deflated", [False, True])
def test_a_zip_on_disk_gives_the_bits_of_a_folder(photos, tmp_path, deflated):
    [path] = write_zips(photos, tmp_path, 1, deflated)
    make = loaders(lambda: headrace.open_dataset(path, train_v1()), num_workers=2)
    assert_same(check(make), folder_of(photos))
    by_workers(make)


def test_zips_in_a_store_give_the_bits_of_a_folder_in_a_storm(photos, tmp_path, as_operator):
    [path] = write_zips(photos, tmp_path, 1, deflated=True)
    faults = Faults(seed=11, busy=0.1, throttled=0.1, cut=0.1)
    with serve(Store({"p/a.zip": path.read_bytes()}, faults)) as store:
        as_operator.setenv("AWS_ENDPOINT_URL", store.url)
        url = f"s3://{BUCKET}/p/*.zip"
        make = loaders(lambda: headrace.open_dataset(url, train_v1()), num_workers=2)
        assert_same(served(make), folder_of(photos))
        by_workers(make)


@pytest.mark.parametrize("kind", ["files", "store"])
def test_a_zip_that_changes_between_epochs_is_never_served_stale(
    own_photos, tmp_path, as_operator, kind
):
    """The program sees the same error as without Headrace, and the right bits where the zip is what it
    was. The worker's cache has the samples meanwhile."""
    [path] = write_zips(own_photos, tmp_path, 1, deflated=True)
    before, state = path.read_bytes(), path.stat()
    changed = before.replace(b"JFIF", b"JFIX", 1)  # as long as before
    as_operator.setenv("HEADRACE_CACHE", "64M")
    with serve(Store({"a.zip": before})) as store:
        as_operator.setenv("AWS_ENDPOINT_URL", store.url)

        def put(content, like):  # in place
            store.objects["a.zip"] = content
            path.write_bytes(content)
            if like is not None:  # as a copy that keeps times
                os.utime(path, ns=(like.st_atime_ns, like.st_mtime_ns))

        def change(loader, epoch):
            put(changed if epoch == 2 else before, None if epoch == 2 else state)

        url = str(path) if kind == "files" else f"s3://{BUCKET}/a.zip"
        make = loaders(lambda: headrace.open_dataset(url, train_v1()), num_workers=2)
        seen = served(make, epochs=4, before=change)
        assert errors(seen) and "has changed since its samples were listed" in str(errors(seen))
        assert len(batches(seen)) == 3 * 4
        put(before, state)
        assert_same(seen, stock(make, epochs=4, before=change))


def test_a_damaged_member_is_the_same_error_in_both_ways(own_photos, tmp_path):
    """Its directory is whole, so that only its checksum tells."""
    [path] = write_zips(own_photos, tmp_path, 1, deflated=True)
    with zipfile.ZipFile(path) as zipped:
        info = zipped.infolist()[3]
    data = bytearray(path.read_bytes())
    data[info.header_offset + 30 + len(info.filename) + info.compress_size // 2] ^= 0x10
    path.write_bytes(data)
    make = loaders(lambda: headrace.open_dataset(path, train_v1()), num_workers=2)
    seen = served(make)
    assert "a damaged member of a zip" in str(errors(seen)) and info.filename in str(errors(seen))
    assert_same(seen, stock(make))
