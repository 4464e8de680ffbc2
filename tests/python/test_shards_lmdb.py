"""Lists of images in LMDB, and data sets of several mounts."""

import io

import headrace
import lmdb
import numpy as np
import pytest
from headrace.capture.capture import capture
from headrace.errors import HeadraceError
from PIL import Image
from support.tars import packed
from torch.utils.data import DataLoader
from torchvision.transforms import ToTensor


def png(shade: int = 0, size: int = 8) -> bytes:
    file = io.BytesIO()
    noise = np.random.default_rng(shade).integers(0, 256, (size, size, 3), np.uint8)
    noise[0, 0] = shade
    Image.fromarray(noise).save(file, "PNG")
    return file.getvalue()


def write(path, items, **how):
    with lmdb.open(str(path), map_size=1 << 26, lock=False, **how) as environment:
        with environment.begin(write=True) as transaction:
            for key, value in items:
                transaction.put(key, value)
    return path


def seen_of(dataset):
    return [(image.getpixel((0, 0))[0], label) for image, label in dataset]


def test_values_in_leaves_and_in_pages_of_their_own_are_found(tmp_path):
    """Small values lie in the tree's leaves, large ones in pages that follow each other."""
    items = [(b"%s/%03d.png" % (b"ab"[n % 2 :][:1], n), png(n, 4 + n % 3 * 60)) for n in range(90)]
    assert min(len(value) for _, value in items) < 200 < 2**14 < max(len(v) for _, v in items)
    for name, how in (("env.lmdb", {}), ("file.mdb", {"subdir": False})):
        path = write(tmp_path / name, items, **how)
        dataset = headrace.open_dataset(path, ToTensor())
        of = dataset.index
        found = {
            key.encode(): dataset.place.read(of.shards[0], of.versions[0], first, size)
            for key, first, size in zip(
                dataset.keys, of.firsts.tolist(), of.sizes.tolist(), strict=True
            )
        }
        assert found == dict(items)
        assert dataset.classes == ["a", "b"]
        assert dataset.targets.tolist() == [0] * 45 + [1] * 45
        [leaf] = capture(DataLoader(dataset, 1), "auto").plan.leaves
        assert leaf.source == "file_ranges" and not leaf.args


def test_labels_patterns_and_what_does_not_fit(tmp_path):
    items = [(b"image-%03d" % n, png(n)) for n in range(3)] + [(b"num-samples", b"3")]
    path = write(tmp_path / "plain", items)
    name = f"lmdb:{path}"
    with pytest.raises(HeadraceError, match="key b'num-samples' is no encoded image: image="):
        headrace.open_dataset(name, target=None)
    with pytest.raises(ValueError, match="'image-000' names no folder"):
        headrace.open_dataset(name, image="image-*")
    flat = headrace.open_dataset(name, image="image-*", target=None)
    assert seen_of(flat) == [(0, 0), (1, 0), (2, 0)]
    labelled = headrace.open_dataset(name, image="image-*", label=lambda key: int(key[6:]))
    assert labelled.targets.tolist() == [0, 1, 2] and not hasattr(labelled, "classes")
    kept = tmp_path / "kept"
    for _ in range(2):
        again = headrace.open_dataset(
            name, image="image-*", label=lambda key: int(key[6:]) + 1, keep_index=kept
        )
        assert seen_of(again) == [(0, 1), (1, 2), (2, 3)]
    with pytest.raises(ValueError, match="has to be on a disk"):
        headrace.open_dataset("s3://bucket/a.lmdb")
    with pytest.raises(FileNotFoundError):
        headrace.open_dataset(tmp_path / "none.lmdb")
    (tmp_path / "wrong.lmdb").write_bytes(bytes(10_000))
    with pytest.raises(HeadraceError, match="is no LMDB environment"):
        headrace.open_dataset(tmp_path / "wrong.lmdb")


def test_a_torn_environment_is_an_error_and_not_the_end_of_the_program(tmp_path):
    """A look at a page of the map that the file has not ends a program with SIGBUS."""
    items = [(b"a/%03d" % n, png(n, 100)) for n in range(20)]
    path = write(tmp_path / "t.mdb", items, subdir=False)
    whole = path.read_bytes()
    for size in (len(whole) - 4096, len(whole) // 2, 3 * 4096, 2 * 4096):
        path.write_bytes(whole[:size])
        with pytest.raises(HeadraceError, match=r"t\.mdb ends before its last page: it is torn"):
            headrace.open_dataset(path)


def test_an_environment_that_is_written_is_refused(tmp_path):
    path = write(tmp_path / "a.lmdb", [(b"a/%d" % n, png(n)) for n in range(2)])
    dataset = headrace.open_dataset(path)
    assert seen_of(dataset) == [(0, 0), (1, 0)]
    write(path, [(b"a/2", png(2))])
    with pytest.raises(HeadraceError, match="has changed since its samples were listed"):
        dataset[0]
    with lmdb.open(str(path), lock=False):
        with pytest.raises(HeadraceError, match="or open here"):
            headrace.open_dataset(path)


def test_mounts_unite_classes_by_name(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two.lmdb"
    for name, shade in (("cat", 1), ("dog", 2)):
        (one / name).mkdir(parents=True)
        (one / name / "a.png").write_bytes(png(shade))
    write(two, [(b"bee/a", png(3)), (b"dog/b", png(4))])
    dataset = headrace.open_dataset([one, two])
    assert dataset.classes == ["bee", "cat", "dog"] and dataset.class_to_idx["dog"] == 2
    assert seen_of(dataset) == [(1, 1), (2, 2), (3, 0), (4, 2)]
    again = headrace.open_dataset({"mounts": [two, one]})
    assert seen_of(again) == [(3, 0), (4, 2), (1, 1), (2, 2)]


def test_mounts_of_numbers_need_names_for_them(tmp_path):
    folder, tar = tmp_path / "folder", tmp_path / "a.tar"
    (folder / "dog").mkdir(parents=True)
    (folder / "dog" / "a.png").write_bytes(png(1))
    tar.write_bytes(packed([("a.png", png(2)), ("a.cls", b"1")]))
    with pytest.raises(ValueError, match=r"labels of .*a\.tar are numbers without names"):
        headrace.open_dataset([folder, tar])

    def opened(classes):
        return headrace.open_dataset({"mounts": [folder, {"url": tar, "classes": classes}]})

    assert seen_of(opened(["ant", "bee"])) == [(1, 2), (2, 1)]
    with pytest.raises(ValueError, match="has the label 1, and classes= names 1"):
        opened(["ant"])
    with pytest.raises(ValueError, match="a name twice"):
        opened(["ant", "ant"])
    with pytest.raises(ValueError, match="its classes have names"):
        headrace.open_dataset({"mounts": [{"url": folder, "classes": ["x"]}]})
    numbers = headrace.open_dataset({"mounts": [tar, str(tar)]})
    assert seen_of(numbers) == [(2, 1), (2, 1)] and not hasattr(numbers, "classes")
    for wrong in (
        {"mounts": []},
        {"mount": [tar]},
        {"mounts": [{"path": tar}]},
        {"mounts": [{"url": tar, "unknown": 1}]},
        {"mounts": [{"url": folder, "region": "x"}]},
    ):
        with pytest.raises(ValueError):
            headrace.open_dataset(wrong)
    with pytest.raises(ValueError, match="its mount may have them"):
        headrace.open_dataset([folder, tar], names=["a"])
    with pytest.raises(ValueError, match="empty list"):
        headrace.open_dataset([])
