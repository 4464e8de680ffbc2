"""Contract: images in a store of objects are those of an ImageFolder over a copy on disk, bit for bit,
whether workers read them or the program does, and whatever the store does meanwhile."""

import json
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import headrace
import pytest
from headrace.capture.capture import capture
from headrace.loader.seam import state_of
from headrace.service.report import REPORT
from support.compare import assert_same, check, served, stock
from support.headrace_program import HEADRACE, clean_environment
from support.object_server import BUCKET, Bucket, Faults, Store, moto, objects_of, serve
from support.pipelines import train_v1
from torch.utils.data import DataLoader
from torchvision import datasets


@pytest.fixture(scope="module")
def bucket(photos: Path) -> Iterator[Bucket]:
    with moto(photos, "train") as made:
        yield made


@pytest.fixture
def as_operator(monkeypatch: pytest.MonkeyPatch, no_service: None) -> Iterator[pytest.MonkeyPatch]:
    """What is set is there before the workers start."""
    yield monkeypatch


def loaders(make_dataset, **how):
    return lambda loader: loader(make_dataset(), 4, shuffle=True, **how)


def test_a_bucket_gives_the_bits_of_a_folder(bucket, photos, as_operator):
    for name, value in bucket.environment().items():
        as_operator.setenv(name, value)
    url = f"s3://{BUCKET}/train"
    expected = stock(loaders(lambda: datasets.ImageFolder(photos, train_v1()), num_workers=2))
    remote = loaders(lambda: headrace.open_dataset(url, train_v1()), num_workers=2)
    assert_same(check(remote), expected)


def test_workers_read_by_themselves(photos, as_operator):
    """And the trainer, for the samples that are made both ways before anything is served."""
    with serve(Store(objects_of(photos, "p/"))) as store:
        as_operator.setenv("HEADRACE_ALLOW_ENDPOINTS", store.url.removeprefix("http://"))
        made = []

        def remote(loader):
            made.append(
                loader(headrace.open_dataset(f"s3://{BUCKET}/p", train_v1(), endpoint=store.url), 4)
            )
            return made[-1]

        assert_same(
            served(remote),
            stock(lambda loader: loader(datasets.ImageFolder(photos, train_v1()), 4)),
        )
        paths = state_of(made[-1]).report.samples_by_path
        assert paths["local"] == 0, paths


def test_a_worker_whose_operator_does_not_allow_the_store_reads_nothing(photos, as_operator):
    """The trainer makes the samples, with its own rights."""
    with serve(Store(objects_of(photos, "p/"))) as store:

        def remote(loader):
            url = f"s3://{BUCKET}/p"
            return loader(
                headrace.open_dataset(url, train_v1(), endpoint=store.url), 4, num_workers=1
            )

        check(remote, path=None)


def test_a_storm_changes_no_bit(photos, as_operator):
    faults = Faults(seed=11, busy=0.1, throttled=0.1, cut=0.1)
    expected = stock(loaders(lambda: datasets.ImageFolder(photos, train_v1()), num_workers=2))
    with serve(Store(objects_of(photos, "p/"), faults)) as store:
        as_operator.setenv("AWS_ENDPOINT_URL", store.url)
        remote = loaders(
            lambda: headrace.open_dataset(f"s3://{BUCKET}/p", train_v1()), num_workers=2
        )
        assert_same(served(remote), expected)


def test_a_first_epoch_asks_once_for_an_object(photos, as_operator):
    """Without a HEAD before the GET, but for the first ones, which tell that the cache has none."""
    objects = {
        name.replace(".", f"-{copy}."): content
        for name, content in objects_of(photos, "p/").items()
        for copy in range(12)
    }
    with serve(Store(objects)) as store:
        as_operator.setenv("AWS_ENDPOINT_URL", store.url)
        as_operator.setenv("HEADRACE_CACHE", "64M")

        def remote(loader):
            return loader(headrace.open_dataset(f"s3://{BUCKET}/p", train_v1()), 4, num_workers=1)

        served(remote, epochs=1)
        asked = [line.split()[0] for line in store.queries if "list-type" not in line]
        assert 16 <= asked.count("HEAD") <= len(objects) / 2, asked.count("HEAD")
        whole = asked.count("GET") - store.parts  # the first bytes, which tell sizes, are others
        assert len(objects) <= whole <= len(objects) + 20, whole


@pytest.mark.parametrize("remember", [0, 3600])
def test_an_object_that_changes_between_epochs_is_the_new_one(own_photos, as_operator, remember):
    """Unless the program says that versions may be remembered, and then the old one, never a mixture."""
    with serve(Store(objects_of(own_photos, "p/"))) as store:
        as_operator.setenv("AWS_ENDPOINT_URL", store.url)
        as_operator.setenv("HEADRACE_CACHE", "64M")
        names = sorted(store.objects)
        before, after = dict(store.objects), dict(store.objects)
        after[names[0]], after[names[1]] = before[names[1]], before[names[0]]

        def change(loader, epoch):
            store.objects.update(after if epoch == 2 else before)

        made = []

        def remote(loader):
            url = f"s3://{BUCKET}/p"
            made.append(
                loader(headrace.open_dataset(url, train_v1(), remember=remember), 4, num_workers=2)
            )
            return made[-1]

        seen = served(remote, epochs=3, before=change)
        REPORT.as_dict()  # asks the service
        hits = state_of(made[-1]).report.cache_hits
        assert hits["decoded"] + hits["encoded"] >= len(names) - 2, hits
        store.objects.update(before)
        assert_same(seen, stock(remote, epochs=3, before=None if remember else change))


def test_it_travels_without_credentials(bucket, as_operator):
    for name, value in bucket.environment().items():
        as_operator.setenv(name, value)
    dataset = headrace.open_dataset(f"s3://{BUCKET}/train", train_v1(), remember=60)
    packed = pickle.dumps(dataset)
    plan = capture(DataLoader(dataset, 4), "auto").plan
    told = [packed, repr(dataset).encode(), repr(plan).encode(), plan.signature().encode()]
    told += [bytes(leaf.table) for leaf in plan.leaves]
    for secret in (bucket.key_id, bucket.secret):
        assert not any(secret.encode() in text for text in told)
    assert pickle.loads(packed)[0][1] == dataset[0][1]


PROGRAM = f"""
import headrace, torch
from torchvision.transforms import ToTensor, Resize, Compose
dataset = headrace.open_dataset("s3://{BUCKET}/train", Compose([Resize((32, 32)), ToTensor()]))
total = sum(float(images.sum()) for images, _ in torch.utils.data.DataLoader(dataset, 4, num_workers=1))
print("total", total)
"""


def test_no_log_and_no_report_tells_a_credential(bucket, tmp_path):
    """Also where the store refuses them."""
    (tmp_path / "program.py").write_text(PROGRAM)
    for wrong in (False, True):
        environment = bucket.environment()
        if wrong:
            environment["AWS_SECRET_ACCESS_KEY"] = "wrong-secret"
        report = tmp_path / f"report{wrong}.json"
        ran = subprocess.run(
            [HEADRACE, "run", "--report", report, sys.executable, str(tmp_path / "program.py")],
            env=clean_environment(HEADRACE_LOG="debug", **environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=200,
        )
        told = ran.stdout + ran.stderr
        if wrong:
            assert ran.returncode != 0 and "403" in ran.stderr, ran.stderr
        else:
            assert ran.returncode == 0 and "total" in ran.stdout, ran.stderr
            told += report.read_text()
            assert json.loads(report.read_text())["loaders"][0]["path"] == "native"
        for secret in (bucket.key_id, bucket.secret, "wrong-secret"):
            assert secret not in told
