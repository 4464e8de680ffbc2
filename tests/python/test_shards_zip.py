"""Lists of images in zips."""

import io
import os
import pickle
import random
import tracemalloc
import zipfile

import headrace
import numpy as np
import pytest
from headrace.capture.capture import capture
from headrace.errors import HeadraceError
from headrace.shards.members import unpacked
from PIL import Image
from support.object_server import BUCKET, Store, serve
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder
from torchvision.transforms import ToTensor


def png(shade: int = 0) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (8, 8), (shade, 0, 0)).save(file, "PNG")
    return file.getvalue()


def packed(members, how=zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", how) as zipped:
        for name, data in members:
            zipped.writestr(name, data)
    return file.getvalue()


def write(path, members, how=zipfile.ZIP_DEFLATED):
    path.write_bytes(packed(members, how))
    os.utime(path, (1, 1))  # or each list waits for a step of the clock
    return str(path)


def seen_of(dataset):
    return [(image.getpixel((0, 0))[0], label) for image, label in dataset]


def test_it_is_the_image_folder_of_the_unpacked_zips(tmp_path):
    names = ["dog/b.PNG", "cat/sub/z.png", "cat/sub-2/y.png", "cat-2/ü.png", "cat/q.png"]
    names += ["dog/a.png", "eel/x.jpeg", "root.png", "dog/notes.txt"]
    members = [(name, png(i)) for i, name in enumerate(names)]
    for count in (1, 3):
        paths = []
        out = tmp_path / f"unpacked{count}"
        for number in range(count):
            paths.append(write(tmp_path / f"{count}-{number}.zip", members[number::count]))
            zipfile.ZipFile(paths[-1]).extractall(out)
        stock, dataset = ImageFolder(out), headrace.open_dataset(paths)
        assert dataset.classes == stock.classes and dataset.class_to_idx == stock.class_to_idx
        if count == 1:
            assert seen_of(dataset) == seen_of(stock)
        assert sorted(seen_of(dataset)) == sorted(seen_of(stock))
        again = headrace.open_dataset(str(tmp_path / f"{count}-*.zip"))
        assert list(again.keys) == list(dataset.keys) and seen_of(again) == seen_of(dataset)
        travelled = pickle.loads(pickle.dumps(dataset))
        assert seen_of(travelled) == seen_of(dataset) and travelled.classes == stock.classes


def test_folders_labels_and_none(tmp_path):
    names = ["train/cat/a.png", "train/dog/b.png", "val/cat/c.png", "__MACOSX/train/cat/._a.png"]
    path = write(tmp_path / "a.zip", [(name, png(i)) for i, name in enumerate(names)])
    dataset = headrace.open_dataset(path, folder="train")
    assert dataset.classes == ["cat", "dog"] and list(dataset.keys) == names[:2]
    assert headrace.open_dataset(path).classes == ["train", "val"]
    flat = headrace.open_dataset(path, target=None, folder="/train/")
    assert seen_of(flat) == [(0, 0), (1, 0)] and not hasattr(flat, "classes")
    dataset = headrace.open_dataset(path, label=lambda name: len(name))
    assert dataset.targets.tolist() == [len(name) for name in names[:3]]
    with pytest.raises(
        HeadraceError, match=r"a\.zip: label= gives no whole number .*'train/cat/a.png'"
    ):
        headrace.open_dataset(path, label=lambda name: {}[name])
    one = write(tmp_path / "one.zip", [("train/cat/a.png", png()), ("train/dog/b.png", png())])
    with pytest.raises(ValueError, match="folder='train' makes these the classes"):
        headrace.open_dataset(one)
    assert headrace.open_dataset(one, folder="").classes == ["train"]
    with pytest.raises(FileNotFoundError, match="no sample in"):
        headrace.open_dataset(path, folder="none")
    with pytest.raises(ValueError, match="in a zip or in LMDB is its folder"):
        headrace.open_dataset(path, target="cls")
    with pytest.raises(FileNotFoundError, match=r"none\.zip"):
        headrace.open_dataset(str(tmp_path / "none.zip"))
    with pytest.raises(FileNotFoundError, match="no zip called"):
        headrace.open_dataset(str(tmp_path / "none-*.zip"))


def test_what_does_not_fit_is_named(tmp_path):
    whole = packed([("a/b.png", png()), ("c/d.png", png())])
    path = tmp_path / "t.zip"
    for wrong, match in (
        (whole[:-30], "torn, or no zip"),
        (whole[40:], "does not fit|begins after"),
        (b"not a zip" * 50, "torn, or no zip"),
        (b"", "torn, or no zip"),
        (whole.replace(b"\x14\x00\x00\x00\x08", b"\x14\x00\x01\x00\x08"), "'a/b.png' is encrypted"),
        (packed([("a/b.png", png())], zipfile.ZIP_LZMA), "packed by method 14"),
    ):
        path.write_bytes(wrong)
        os.utime(path, (1, 1))
        with pytest.raises(HeadraceError, match=rf"t\.zip: .*({match})"):
            headrace.open_dataset(path)
    folder = tmp_path / "d.zip"
    folder.mkdir()
    with pytest.raises(HeadraceError, match="is no regular file"):
        headrace.open_dataset(folder)
    write(path, [("a/b.png", b"no picture")])
    with pytest.raises(Exception, match=r"t\.zip, sample 'a/b.png'"):
        headrace.open_dataset(path, folder="")[0]


def test_a_bomb_is_unpacked_no_further_than_its_directory_says():
    zeros = packed([("a.png", bytes(64 << 20))])
    info = zipfile.ZipFile(io.BytesIO(zeros)).getinfo("a.png")
    tracemalloc.start()
    with pytest.raises(HeadraceError, match="damaged"):
        unpacked(zeros, info.compress_size, 1000, info.CRC)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20
    assert len(unpacked(zeros, info.compress_size, info.file_size, info.CRC)) == 64 << 20
    for wrong in (zeros[:20], b"XX" + zeros, zeros[:100]):
        with pytest.raises(HeadraceError):
            unpacked(wrong, info.compress_size, info.file_size, info.CRC)


def test_what_zipfile_reads_is_what_is_listed(tmp_path):
    """Zips whole and damaged: what is listed is what zipfile finds in its directory, or it is an error."""
    seed = random.randrange(2**32)
    print("seed", seed)
    draw, listed = random.Random(seed), 0
    path = tmp_path / "a.zip"
    for _ in range(300):
        members = {
            f"{draw.choice('ab')}/{draw.choice(['', 'ü/', 'd' * 90 + '/'])}{draw.randrange(9)}.png": (
                bytes(draw.randrange(300)) + draw.randbytes(draw.randrange(300))
            )
            for _ in range(draw.randrange(1, 6))
        }
        how = draw.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
        data = bytearray(packed(members.items(), how))
        end = data.rindex(b"PK\x01\x02")
        for _ in range(draw.choice([0, 0, 1, 2])):
            data[draw.randrange(end, len(data))] = draw.choice([0, 1, 0x20, 0x80, 0xFF])
        path.write_bytes(data)
        os.utime(path, (1, 1))
        try:
            dataset = headrace.open_dataset(path, folder="")
        except (HeadraceError, FileNotFoundError, ValueError):
            continue
        found = {
            name: dataset.place.read(str(path), dataset.index.versions[0], first, size)
            for name, first, size in zip(
                dataset.keys, dataset.index.firsts.tolist(), dataset.index.sizes.tolist(), strict=True
            )
        }  # fmt: skip
        try:
            there = zipfile.ZipFile(path)
        except (NotImplementedError, UnicodeDecodeError):
            continue  # it looks at more of an entry: the version that it asks for, all names
        with there:
            names = {one for one in there.namelist() if one.endswith(".png") and "/" in one}
            assert set(found) == names
            for row, (name, data_of) in enumerate(found.items()):
                try:
                    expected = there.read(name)
                except (zipfile.BadZipFile, NotImplementedError, OSError):
                    continue  # the local header has another name
                if len(expected) != there.getinfo(name).file_size:
                    continue  # it does not mind
                assert unpacked(data_of, *dataset.index.member(row)) == expected
        listed += 1
    assert listed > 30


def test_a_zip_in_a_store_takes_few_requests(tmp_path):
    members = [(f"{n % 3}/{n:05d}.png", png(n % 256)) for n in range(2000)]
    with serve(Store({"p/a.zip": packed(members, zipfile.ZIP_STORED)})) as store:
        dataset = headrace.open_dataset(
            f"s3://{BUCKET}/p/a.zip", ToTensor(), endpoint=store.url, anonymous=True
        )
        assert len(store.queries) <= 4, store.queries
        assert dataset[5][1] == 0 and dataset.classes == ["0", "1", "2"]
        [leaf] = capture(DataLoader(dataset, 1), "auto").plan.leaves
        assert leaf.source == "object_ranges" and leaf.args["members"] == 1


def test_a_list_is_kept_for_as_long_as_the_zip_is_the_same(tmp_path):
    kept = tmp_path / "kept"
    paths = [write(tmp_path / f"{n}.zip", [(f"{n}/a.png", png(n))]) for n in range(2)]

    def opened(**how):
        return seen_of(headrace.open_dataset(paths, keep_index=kept, **how))

    assert opened() == opened() == [(0, 0), (1, 1)]
    assert opened(label=lambda name: 7) == [(0, 7), (1, 7)]
    paths.append(write(tmp_path / "2.zip", [("00/a.png", png(2))]))
    assert opened() == [(0, 0), (1, 2), (2, 1)], "a class between the others"


def test_an_entry_costs_few_bytes(tmp_path):
    count = 5_000
    path = write(
        tmp_path / "a.zip",
        [(f"{n % 10}/{n:09d}.png", b"x") for n in range(count)],
        zipfile.ZIP_STORED,
    )
    tracemalloc.start()
    dataset = headrace.open_dataset(path)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(dataset) == count and dataset.index.nbytes / count < 56
    assert held / count < 200
    assert np.bincount(dataset.targets).tolist() == [500] * 10
