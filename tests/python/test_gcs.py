"""gs://: GCS by its interface for programs that know S3. The real one was never asked."""

import fsspec
import headrace
import pytest
from headrace.native import binding
from headrace.objects.store import store_at
from support.compare import assert_same, served, stock
from support.gcs import Gcs, crc32c, serve
from support.object_server import objects_of
from support.pipelines import train_v1
from torchvision import datasets


@pytest.fixture
def gcs(photos, monkeypatch):
    with serve(Gcs(objects_of(photos, "my.bucket/train/"), page=5)) as store:
        for name, value in store.environment().items():
            monkeypatch.setenv(name, value)
        # Settings for another store are none for this one.
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
        monkeypatch.setenv("AWS_REGION", "eu-west-1")
        yield store


def test_a_folder_of_images(gcs, photos, no_service, monkeypatch):
    """For the program and for workers, with the bits of a copy on disk."""
    monkeypatch.setenv("HEADRACE_ALLOW_ENDPOINTS", gcs.url.removeprefix("http://"))

    def remote(loader):
        return loader(
            headrace.open_dataset("gs://my.bucket/train", train_v1(), endpoint=gcs.url), 4
        )

    expected = stock(lambda loader: loader(datasets.ImageFolder(photos, train_v1()), 4))
    assert_same(served(remote), expected)
    assert sum("list-type=2" in line for line, _ in gcs.queries) == 1 + 3 * 2
    # Of AWS's headers, those of its signatures alone: GCS may refuse others.
    extra = {name for _, headers in gcs.queries for name in headers if name.startswith("x-amz")}
    assert extra == {"x-amz-content-sha256", "x-amz-date"}


def test_names_are_not_encoded_in_lists(gcs):
    gcs.objects["my.bucket/odd/a %20+ä&<>/1.jpg"] = b"x"
    made = headrace.open_dataset("gs://my.bucket/odd", endpoint=gcs.url)
    assert [url for url, _ in made.samples] == ["gs://my.bucket/odd/a %20+ä&<>/1.jpg"]
    with fsspec.open("headrace+gs://my.bucket/odd/a %20+ä&<>/1.jpg", endpoint=gcs.url) as file:
        assert file.read() == b"x"


def test_its_checksums_are_looked_at(gcs):
    assert crc32c(b"123456789") == 0xE3069283
    name = "my.bucket/train/class0/000.jpg"
    made = binding.ObjectReader("gs://my.bucket", endpoint=gcs.url)
    gcs.damage = 1
    assert made.read(f"gs://{name}") == gcs.objects[name]
    assert [line for line, _ in gcs.queries] == [f"GET /{name}"] * 2
    gcs.packed.add(name)  # what it keeps is other bytes, and so is their checksum
    assert made.read(f"gs://{name}") == gcs.objects[name]
    assert len(gcs.queries) == 3


def test_without_an_endpoint_it_is_gcs_itself(gcs):
    assert (store := store_at("gs://bucket/x", None, None, None, False, 0)).args() == {
        "base": "gs://bucket/x/",
        "valid_seconds": 0,
    }
    assert store.prefix == "x/"


def test_a_wrong_key_is_refused(gcs, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "other-words")
    made = binding.ObjectReader("gs://my.bucket", endpoint=gcs.url)
    with pytest.raises(binding.UnavailableError, match="403 SignatureDoesNotMatch"):
        made.read("gs://my.bucket/train/class0/000.jpg")
