"""Contract: images in tars are those of an ImageFolder of the same files, bit for bit, whether workers
read their ranges or the program does, from files and from a store, whatever happens meanwhile."""

import os
import pickle
import tarfile
from collections.abc import Iterator

import headrace
import pytest
from headrace.loader.seam import state_of
from headrace.service.report import REPORT
from support.compare import assert_same, batches, check, errors, served, stock
from support.object_server import BUCKET, Faults, Store, serve
from support.pipelines import train_v1
from support.tars import write_tars
from torchvision import datasets


@pytest.fixture(scope="module")
def tars(photos, tmp_path_factory):
    return write_tars(photos, tmp_path_factory.mktemp("tars"), 3, tarfile.GNU_FORMAT)


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


def test_tars_on_disk_give_the_bits_of_a_folder(photos, tars):
    pattern = str(tars[0].parent / "train-*.tar")
    make = loaders(lambda: headrace.open_dataset(pattern, train_v1()), num_workers=2)
    assert_same(check(make), folder_of(photos))
    paths = state_of(make.made[-1]).report.samples_by_path
    assert paths["local"] == 0, paths


def test_tars_in_a_store_give_the_bits_of_a_folder_in_a_storm(photos, tars, as_operator):
    objects = {f"p/{path.name}": path.read_bytes() for path in tars}
    faults = Faults(seed=11, busy=0.1, throttled=0.1, cut=0.1)
    with serve(Store(objects, faults)) as store:
        as_operator.setenv("AWS_ENDPOINT_URL", store.url)
        url = f"s3://{BUCKET}/p/train-{{00..02}}.tar"
        make = loaders(lambda: headrace.open_dataset(url, train_v1()), num_workers=2)
        assert_same(served(make), folder_of(photos))
        paths = state_of(make.made[-1]).report.samples_by_path
        assert paths["local"] == 0, paths


@pytest.mark.parametrize("kind", ["files", "store"])
def test_a_tar_that_changes_between_epochs_is_never_served_stale(
    own_photos, tmp_path, as_operator, kind
):
    """Its ranges may hold other samples now: the program sees the same error as without Headrace, and
    the right bits where the tar is what it was."""
    [path] = write_tars(own_photos, tmp_path / "tars", 1)
    before, state = path.read_bytes(), path.stat()
    # As long as before, with the same layout: nothing but its version tells.
    after = before.replace(b".cls\0", b".CLS\0")
    assert after != before
    as_operator.setenv("HEADRACE_CACHE", "64M")
    with serve(Store({"a.tar": before})) as store:
        as_operator.setenv("AWS_ENDPOINT_URL", store.url)

        def put(content):  # in place
            store.objects["a.tar"] = content
            path.write_bytes(content)
            if content == before:  # as a copy that keeps times
                os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))

        def change(loader, epoch):
            put(after if epoch == 2 else before)

        url = str(path) if kind == "files" else f"s3://{BUCKET}/a.tar"
        make = loaders(lambda: headrace.open_dataset(url, train_v1()), num_workers=2)
        seen = served(make, epochs=4, before=change)
        REPORT.as_dict()  # asks the service
        hits = state_of(make.made[-1]).report.cache_hits
        assert hits["decoded"] + hits["encoded"] > 0, hits
        assert errors(seen) and "has changed since its samples were listed" in str(errors(seen))
        assert len(batches(seen)) == 3 * 4
        put(before)
        assert_same(seen, stock(make, epochs=4, before=change))


def test_it_travels_without_its_bytes(tars):
    dataset = headrace.open_dataset([str(path) for path in tars], train_v1())
    again = pickle.loads(pickle.dumps(dataset))
    assert again[5][1] == dataset[5][1] and list(again.keys) == list(dataset.keys)
