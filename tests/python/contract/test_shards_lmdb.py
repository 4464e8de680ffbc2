"""Contract: images in LMDB are those of the usual data set that gets them by their keys, bit for bit, and a
data set of several mounts is one data set, whoever reads it."""

import io
import tarfile

import headrace
import lmdb
from headrace.loader.seam import state_of
from PIL import Image
from support.compare import assert_same, batches, check, errors, served, stock
from support.object_server import BUCKET, Store, serve
from support.pipelines import train_v1
from support.tars import write_tars
from support.zips import write_zips
from torch.utils.data import Dataset
from torchvision import datasets


class StockLmdb(Dataset):
    """As programs have it."""

    def __init__(self, path, classes, transform):
        self.path, self.classes, self.transform = str(path), classes, transform
        with lmdb.open(self.path, readonly=True, lock=False) as environment:
            self.keys = [key for key, _ in environment.begin().cursor()]
        self.environment = None

    def __len__(self):
        return len(self.keys)

    def __getitem__(self, index):
        if self.environment is None:
            self.environment = lmdb.open(self.path, readonly=True, lock=False)
        value = self.environment.begin().get(self.keys[index])
        image = Image.open(io.BytesIO(value)).convert("RGB")
        label = self.classes.index(self.keys[index].decode().split("/")[0])
        return self.transform(image), label


def write_lmdb(folder, path):
    with lmdb.open(str(path), map_size=1 << 26) as environment:
        with environment.begin(write=True) as transaction:
            for file in sorted(folder.rglob("*.jpg")):
                transaction.put(str(file.relative_to(folder)).encode(), file.read_bytes())
    return path


def loaders(make_dataset):
    made = []

    def make(loader):
        made.append(loader(make_dataset(), 4, shuffle=True, num_workers=2))
        return made[-1]

    make.made = made
    return make


def by_workers(make):
    paths = state_of(make.made[-1]).report.samples_by_path
    assert paths["local"] == 0, paths


def test_lmdb_gives_the_bits_of_the_usual_data_set(photos, tmp_path):
    path = write_lmdb(photos, tmp_path / "train.lmdb")
    make = loaders(lambda: headrace.open_dataset(path, train_v1()))
    classes = sorted(one.name for one in photos.iterdir() if one.is_dir())
    expected = stock(
        lambda loader: loader(StockLmdb(path, classes, train_v1()), 4, shuffle=True, num_workers=2)
    )
    assert_same(check(make), expected)
    by_workers(make)


def test_an_environment_that_is_written_between_epochs_is_refused(own_photos, tmp_path, no_service):
    path = write_lmdb(own_photos, tmp_path / "train.lmdb")

    def change(loader, epoch):
        if epoch == 1:
            with lmdb.open(str(path), map_size=1 << 26) as environment:
                with environment.begin(write=True) as transaction:
                    transaction.put(b"zebra/a.jpg", b"\xff\xd8\xff")

    make = loaders(lambda: headrace.open_dataset(path, train_v1()))
    seen = served(make, epochs=2, before=change)
    assert "has changed since its samples were listed" in str(errors(seen))
    assert len(batches(seen)) == 4


def test_several_mounts_are_one_data_set(photos, tmp_path, monkeypatch, no_service):
    """A folder, a zip, a tar, LMDB, and the objects of a bucket, each with every class but LMDB, which has
    one more."""
    [zipped] = write_zips(photos, tmp_path, 1, deflated=True)
    [tar] = write_tars(photos, tmp_path, 1, tarfile.GNU_FORMAT)
    extra = tmp_path / "extra"
    (extra / "aardvark").mkdir(parents=True)
    (extra / "aardvark" / "a.jpg").write_bytes(next(photos.rglob("*.jpg")).read_bytes())
    write_lmdb(extra, tmp_path / "extra.lmdb")
    objects = {f"p/{path.relative_to(photos)}": path.read_bytes() for path in photos.rglob("*.jpg")}
    stock_folder = datasets.ImageFolder(photos, train_v1())
    with serve(Store(objects)) as store:
        monkeypatch.setenv("AWS_ENDPOINT_URL", store.url)
        mounts = [
            photos,
            str(zipped),
            {"url": tar, "classes": stock_folder.classes},
            tmp_path / "extra.lmdb",
            f"s3://{BUCKET}/p",
        ]
        make = loaders(
            lambda: headrace.open_dataset({"name": "places", "mounts": mounts}, train_v1())
        )
        seen = check(make)
        dataset = make.made[-1].dataset
        assert not errors(seen) and len(dataset) == 4 * len(stock_folder) + 1
        assert dataset.classes == ["aardvark", *stock_folder.classes]
        labels = [label for part in dataset.datasets for label in part.targets]
        ours = [label + 1 for label in stock_folder.targets]
        assert labels == ours * 3 + [0] + ours
        by_workers(make)
        from headrace.capture.capture import describe

        assert describe(dataset) == "ConcatDataset(places)"
