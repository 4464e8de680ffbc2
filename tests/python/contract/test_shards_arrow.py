"""Contract: images in the Arrow files of a Hugging Face data set are read by workers, with the bits of an
ImageFolder of the same files."""

import headrace
import pytest
from headrace.errors import HeadraceError
from headrace.loader.seam import state_of
from support.compare import assert_same, check, stock
from support.pipelines import train_v1
from support.tars import samples_of
from torch.utils.data import DataLoader
from torchvision import datasets as vision


@pytest.fixture(scope="module")
def table(photos, tmp_path_factory):
    hf = pytest.importorskip("datasets")
    hf.disable_progress_bars()
    samples = samples_of(photos)
    features = hf.Features({"label": hf.ClassLabel(num_classes=3), "image": hf.Image()})
    rows = [
        {"label": label, "image": {"bytes": image, "path": None}} for _, image, label in samples
    ]
    made = hf.Dataset.from_list(rows, features=features)
    folder = tmp_path_factory.mktemp("arrow") / "set"
    made.save_to_disk(folder, num_shards=2)
    return made, hf.load_from_disk(folder)


def test_arrow_files_give_the_bits_of_a_folder(photos, table):
    made = []

    def make(loader):
        made.append(
            loader(headrace.open_dataset(table[1], train_v1()), 4, shuffle=True, num_workers=2)
        )
        return made[-1]

    expected = stock(
        lambda loader: loader(
            vision.ImageFolder(photos, train_v1()), 4, shuffle=True, num_workers=2
        )
    )
    assert_same(check(make), expected)
    paths = state_of(made[-1]).report.samples_by_path
    assert paths["local"] == 0, paths


def test_selected_and_sliced_rows_are_the_right_ones(photos, table):
    folder, (_, loaded) = vision.ImageFolder(photos), table
    for chosen, rows in (
        (loaded.select([5, 20, 3]), [5, 20, 3]),
        (loaded.select(range(7, 15)), range(7, 15)),
        (
            loaded.shuffle(seed=3).select(range(4)),
            loaded.shuffle(seed=3)._indices.column(0).to_pylist()[:4],
        ),
    ):
        dataset = headrace.open_dataset(chosen)
        assert len(dataset) == len(rows)
        for place, row in enumerate(rows):
            assert dataset[place][0] == folder[row][0] and dataset[place][1] == folder[row][1]
    assert headrace.open_dataset(loaded, target=None)[26][1] == 0


def test_what_is_no_file_is_refused(table, tmp_path, photos):
    hf = pytest.importorskip("datasets")
    in_memory, loaded = table
    with pytest.raises(ValueError, match="in memory, not in files: save_to_disk"):
        headrace.open_dataset(in_memory)
    with pytest.raises(ValueError, match="image= names no column of label, image"):
        headrace.open_dataset(loaded, image="picture")
    paths = hf.Dataset.from_dict({"image": [str(next(photos.rglob("*.jpg")))], "label": [1]})
    paths.cast_column("image", hf.Image()).save_to_disk(tmp_path / "p", max_shard_size="1MB")
    again = hf.load_from_disk(tmp_path / "p")
    assert headrace.open_dataset(again)[0][1] == 1  # saving takes the files in
    loaded.save_to_disk(tmp_path / "own")
    own = headrace.open_dataset(hf.load_from_disk(tmp_path / "own"))
    assert own[0][1] == 0
    for file in (tmp_path / "own").glob("*.arrow"):
        file.touch()
    with pytest.raises(HeadraceError, match="has changed since"):
        own[0]
    assert DataLoader(own).dataset is own


def test_parquet_files_give_the_bits_of_a_folder(photos, table, tmp_path, monkeypatch, capfd):
    """By an Arrow copy that Hugging Face's own code makes, and makes again when a file has changed."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    rows = table[0]
    rows.select(range(20)).to_parquet(tmp_path / "a-0.parquet")
    rows.select(range(20, len(rows))).to_parquet(tmp_path / "a-1.parquet")
    made = []

    def make(loader):
        dataset = headrace.open_dataset(tmp_path / "a-*.parquet", train_v1())
        made.append(loader(dataset, 4, shuffle=True, num_workers=2))
        return made[-1]

    expected = stock(
        lambda loader: loader(
            vision.ImageFolder(photos, train_v1()), 4, shuffle=True, num_workers=2
        )
    )
    assert_same(check(make), expected)
    paths = state_of(made[-1]).report.samples_by_path
    assert paths["local"] == 0, paths
    assert f"read from an Arrow copy in {tmp_path}" in capfd.readouterr().err
    rows.select(range(5)).to_parquet(tmp_path / "a-0.parquet")
    again = headrace.open_dataset(str(tmp_path / "a-{0..1}.parquet"))
    assert len(again) == len(rows) - 15
    both = headrace.open_dataset({"mounts": [photos, str(tmp_path / "a-1.parquet")]})
    assert both.classes == sorted({*vision.ImageFolder(photos).classes, *again.classes})
    with pytest.raises(FileNotFoundError, match="no Parquet file called"):
        headrace.open_dataset(tmp_path / "none-*.parquet")
    with pytest.raises(ValueError, match="has to be on a disk"):
        headrace.open_dataset("s3://bucket/a.parquet")


def test_a_table_is_a_mount(photos, table):
    dataset = headrace.open_dataset({"mounts": [photos, {"url": table[1]}]})
    assert dataset.classes == sorted({*vision.ImageFolder(photos).classes, "0", "1", "2"})
    assert dataset[len(dataset) - 1][1] == 2
